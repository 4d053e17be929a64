import type { Clock } from '@research-mirror/runtime/clock';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import type { RowAddress } from '../../model/lookup/row-address.ts';
import type { RowStory } from '../../model/lookup/row-story.ts';
import type { SearchAnswer } from '../../model/lookup/search-answer.ts';

/** What viewers look up. Rejects with DatabaseUnavailable where it can't be answered now. */
export interface Lookups {
  search(query: string): Promise<SearchAnswer>;
  /** @param entries of the timeline, at most. @returns undefined: nothing has this address */
  row(address: RowAddress, entries: number): Promise<RowStory | undefined>;
}

/** Lookups at a time, each of them on a connection. */
export const LOOKUPS_AT_ONCE = 2;
/** So many wait for their turn; whoever comes then is refused at once. */
const MOST_WAITING = 8;
/** Every lookup is answered within this time, in milliseconds, its wait included. */
const PATIENCE_MS = 8_000;

/** The same lookups, bounded: however many viewers there are, they take two connections and nobody else's time. */
export function fewLookups(lookups: Lookups, clock: Pick<Clock, 'sleep'>): Lookups {
  let underWay = 0;
  const waiting: (() => void)[] = [];

  const inTurn = async <T>(work: () => Promise<T>, late: AbortSignal): Promise<T> => {
    if (underWay >= LOOKUPS_AT_ONCE) {
      if (waiting.length >= MOST_WAITING) {
        throw new DatabaseUnavailable('the search is busy: others are being answered; try again in a moment');
      }
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else {
      underWay += 1;
    }
    try {
      late.throwIfAborted();
      return await work();
    } finally {
      const next = waiting.shift();
      // Whoever is next takes this turn.
      if (next === undefined) underWay -= 1;
      else next();
    }
  };

  const patiently = async <T>(work: () => Promise<T>): Promise<T> => {
    const answered = new AbortController();
    const late = new AbortController();
    const tooLate = clock.sleep(PATIENCE_MS, answered.signal).then(() => {
      const error = new DatabaseUnavailable(`the database did not answer within ${PATIENCE_MS / 1000} s`);
      late.abort(error);
      throw error;
    });
    tooLate.catch(() => {});
    const turn = inTurn(work, late.signal);
    turn.catch(() => {});
    try {
      return await Promise.race([turn, tooLate]);
    } finally {
      answered.abort();
    }
  };

  return {
    search: (query) => patiently(() => lookups.search(query)),
    row: (address, entries) => patiently(() => lookups.row(address, entries)),
  };
}
