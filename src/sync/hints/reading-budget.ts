import { rateGroup } from '../../budget/rate-groups.ts';
import type { AccountSource } from '../reader/account-source.ts';

/** What an account's budget says of its reads. */
export interface ReadingBudget {
  /** Requests a minute that it allows. */
  readonly perMinute: () => number;
  /** A read waits for a slot: a request more would take one from others. */
  readonly crowded: () => boolean;
}

/** All reads are of one endpoint group. */
const READS = rateGroup('GET', '/v1/research');

/** Of all reads of the account: submissions that wait for slots of their own groups are nothing to it. */
export function readingBudget(source: Pick<AccountSource, 'keys' | 'sizeOf'>): ReadingBudget {
  return {
    perMinute: () => source.sizeOf(READS),
    crowded: () =>
      source.keys.some(({ budget }) =>
        budget.snapshot().groups.some(({ group, waiting }) => group === READS && waiting > 0),
      ),
  };
}
