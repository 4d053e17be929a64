import type { Db, IdClock } from './db.ts';

/**
 * Lets the transaction `trx`, which keeps the account from all others, take change IDs.
 *
 * Change IDs follow a hybrid logical clock (Kulkarni et al., "Logical Physical Clocks", 2014): microseconds since
 * 1970 by the database's clock, but always above the last one. They rise in the order of commits and are unique per
 * account. They are not reused after the database went back, since the outage took time: a plain counter would give the
 * numbers of lost rows to other rows, and a consumer that has passed them would never see those. They fit 2^53 until
 * 2255.
 */
export function beginChangeIds(trx: Db, clock: Omit<IdClock, 'firstTakenAt'>): void {
  trx.ids = { ...clock, firstTakenAt: undefined };
}

/**
 * How long (ms) a transaction may last after its first change ID. The IDs become visible when it commits, and whoever
 * reads all accounts by a single watermark looks back ten minutes only.
 */
export const LONGEST_WITH_IDS = 60_000;

/** The last change ID that the transaction took. @throws Error, to roll it back, where it has lasted too long */
export function endChangeIds(trx: Db): bigint | undefined {
  const clock = trx.ids;
  if (clock?.firstTakenAt !== undefined && clock.monotonic() - clock.firstTakenAt > LONGEST_WITH_IDS) {
    throw new Error(
      `a transaction lasted longer than ${LONGEST_WITH_IDS / 1000} s after it took change IDs: it is rolled back, since readers may have passed them`,
    );
  }
  return clock?.firstTakenAt === undefined ? undefined : clock.current;
}

/**
 * Takes `count` change IDs of the account. They are computed here: what follows needs not wait for the answer.
 * @returns the ID before the first one, and the statement that stores the last one, on its way
 */
export function sendChangeIds(
  trx: Db,
  userId: string,
  count: number,
): { readonly before: bigint; readonly stored: Promise<unknown> } {
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

/** The same, stored. @returns the ID before the first one */
export async function takeChangeIds(trx: Db, userId: string, count: number): Promise<bigint> {
  const { before, stored } = sendChangeIds(trx, userId, count);
  await stored;
  return before;
}
