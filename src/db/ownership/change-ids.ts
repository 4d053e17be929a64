import type { Db } from '../connection/db.ts';

/**
 * Change IDs follow a hybrid logical clock (Kulkarni et al., "Logical Physical Clocks", 2014): microseconds since
 * 1970 by the database's clock, but always above the last one. They rise in the order of commits and are unique per
 * account. They are not used again after the database went back, since the outage took time: a plain counter would
 * give the numbers of lost rows to other rows, which a consumer that has passed them would never see. They fit 2^53
 * until 2255.
 */
export interface IdClockOptions {
  /** Microseconds since 1970, by the database's clock. */
  readonly now: bigint;
  /** `installation.change_floor`: the clock may be behind the one that gave the last IDs. */
  readonly floor: bigint;
  /** The account's `change_id`, whose row the transaction has locked; left out: not known. */
  readonly current?: bigint;
  readonly monotonic: () => number;
}

interface IdClock extends Omit<IdClockOptions, 'current'> {
  /** The account's `change_id` as the transaction leaves it so far; undefined: not known. */
  current: bigint | undefined;
  /** The last ID that the transaction took. */
  last: bigint | undefined;
  /** When it took the first one: milliseconds, monotonic. */
  firstTakenAt: number | undefined;
}

/** By fenced transaction. */
const clocks = new WeakMap<Db, IdClock>();

/** Lets the fenced transaction `trx` take change IDs. */
export function beginChangeIds(trx: Db, options: IdClockOptions): void {
  clocks.set(trx, { current: undefined, ...options, last: undefined, firstTakenAt: undefined });
}

/**
 * How long (ms) a transaction may last after its first change ID. The IDs become visible when it commits, and whoever
 * reads all accounts by a single watermark looks back ten minutes only.
 */
export const LONGEST_WITH_IDS = 60_000;

/** The last change ID that the transaction took. @throws Error, to roll it back, where it has lasted too long */
export function endChangeIds(trx: Db): bigint | undefined {
  const clock = clocks.get(trx);
  if (clock?.firstTakenAt !== undefined && clock.monotonic() - clock.firstTakenAt > LONGEST_WITH_IDS) {
    throw new Error(
      `a transaction lasted longer than ${LONGEST_WITH_IDS / 1000} s after it took change IDs: it is rolled back, since readers may have passed them`,
    );
  }
  return clock?.last;
}

/**
 * Takes `count` change IDs of the account in a fenced transaction.
 * @returns the ID before the first one
 */
export async function takeChangeIds(trx: Db, userId: string, count: number): Promise<bigint> {
  const clock = clockOf(trx);
  if (clock.current !== undefined) {
    const { before, stored } = sendChangeIds(trx, userId, count);
    await stored;
    return before;
  }
  const { rows } = await trx.sql<{ last: string }>`
    update ${trx.stateTable('account')}
    set change_id = greatest(change_id, ${String(clock.floor)}::bigint, ${String(clock.now)}::bigint) + ${count}::bigint
    where _user_id = ${userId}::bigint returning change_id as last`;
  const last = rows[0]?.last;
  if (last === undefined) throw new Error(`account ${userId} has no row`);
  clock.last = BigInt(last);
  return clock.last - BigInt(count);
}

/**
 * The same where the transaction has locked the account's row and knows its `change_id`: the IDs are computed here,
 * and what follows needs not wait for the answer.
 * @returns the ID before the first one, and the statement that stores the last one, on its way
 */
export function sendChangeIds(
  trx: Db,
  userId: string,
  count: number,
): { readonly before: bigint; readonly stored: Promise<void> } {
  const clock = clockOf(trx);
  if (clock.current === undefined) throw new RangeError('the account’s change_id is not known');
  const before = [clock.current, clock.floor, clock.now].reduce((a, b) => (a > b ? a : b));
  const last = before + BigInt(count);
  clock.current = last;
  clock.last = last;
  return { before, stored: storeChangeId(trx, userId, last) };
}

async function storeChangeId(trx: Db, userId: string, last: bigint): Promise<void> {
  const { numAffectedRows } = await trx.sql`
    update ${trx.stateTable('account')} set change_id = ${String(last)}::bigint
    where _user_id = ${userId}::bigint`;
  if (numAffectedRows !== 1n) throw new Error(`account ${userId} has no row`);
}

function clockOf(trx: Db): IdClock {
  const clock = clocks.get(trx);
  if (clock === undefined) throw new RangeError('change IDs are taken in fenced transactions only');
  clock.firstTakenAt ??= clock.monotonic();
  return clock;
}
