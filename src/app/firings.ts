import { createHash } from 'node:crypto';
import { type Config, NEVER } from '../config/config.ts';
import type { CollectionName } from '../model/collections.ts';
import { nextFirings } from '../schedule/cron.ts';

/** When a collection's cron lines fire next; null: never. */
export interface Firings {
  readonly nextPollAt: Date | null;
  readonly nextFullAt: Date | null;
}

/** Full walks of many accounts begin within this time (ms) of their cron line, not all at its moment. */
const LONGEST_SPREAD_MS = 3_600_000;

/** Next firings of the account's collection, full walks spread by account. */
export function firingsOf(config: Config, userId: string, name: CollectionName): Firings {
  const { poll, full } = config.cron[name];
  const [nextFull] = full === NEVER ? [] : nextFirings(full);
  const [nextPoll] = poll === NEVER ? [] : nextFirings(poll);
  return {
    nextPollAt: nextPoll ?? null,
    nextFullAt: nextFull === undefined ? null : new Date(nextFull.getTime() + spreadMs(full, userId)),
  };
}

/**
 * How long (ms) after its cron line the account's full walk begins: the same each time, different for each account,
 * up to an hour and to a quarter of the line's interval.
 */
export function spreadMs(expression: string, userId: string): number {
  const [first, second] = nextFirings(expression);
  if (first === undefined || second === undefined) return 0;
  const width = Math.min(LONGEST_SPREAD_MS, (second.getTime() - first.getTime()) / 4);
  const share = createHash('sha256').update(userId).digest().readUInt32BE(0) / 2 ** 32;
  return Math.floor(width * share);
}
