import type { Db } from './db.ts';

/**
 * Lets `trx`, which has the account's row locked, take change IDs: a hybrid logical clock (Kulkarni et al., "Logical
 * Physical Clocks", 2014) of microseconds since 1970 by the database's clock, always above the last ID. IDs rise in the
 * order of commits, are unique per account and fit 2^53 until 2255. They are not reused after the database went back: a
 * plain counter would give the numbers of lost rows to other rows, which a consumer past them would never see.
 */
export function beginChangeIds(trx: Db, clock: Omit<NonNullable<Db['ids']>, 'firstTakenAt'>): void {
  trx.ids = { ...clock, firstTakenAt: undefined };
}

/** Longest time, ms, from a first change ID to its commit: readers with one watermark look back ten minutes only. */
export const LONGEST_WITH_IDS = 60_000;

/** The last change ID that the transaction took. @throws Error, to roll it back, if it lasted too long */
export function endChangeIds(trx: Db): bigint | undefined {
  const clock = trx.ids;
  if (clock?.firstTakenAt !== undefined && clock.monotonic() - clock.firstTakenAt > LONGEST_WITH_IDS) {
    throw new Error(
      `a transaction lasted longer than ${LONGEST_WITH_IDS / 1000} s after it took change IDs: it is rolled back, since readers may have passed them`,
    );
  }
  return clock?.firstTakenAt === undefined ? undefined : clock.current;
}

/** Takes `count` change IDs without a round trip. @returns the ID before them; the statement that stores the last */
export function sendChangeIds(trx: Db, userId: string, count: number) {
  const clock = trx.ids;
  if (clock === undefined) throw new RangeError('change IDs are taken in fenced transactions only');
  clock.firstTakenAt ??= clock.monotonic();
  const before = [clock.current, clock.floor, clock.now].reduce((a, b) => (a > b ? a : b));
  clock.current = before + BigInt(count);
  const stored = trx.sql`
    update ${trx.stateTable('account')} set change_id = ${String(clock.current)}::bigint
    where _user_id = ${userId}::bigint`;
  return { before, stored };
}

/** Takes `count` change IDs and waits until the last is stored. @returns the ID before the first */
export async function takeChangeIds(trx: Db, userId: string, count: number): Promise<bigint> {
  const { before, stored } = sendChangeIds(trx, userId, count);
  await stored;
  return before;
}
