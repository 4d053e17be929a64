import type { Db } from '../connection/db.ts';

/**
 * Change IDs follow a hybrid logical clock (Kulkarni et al., "Logical Physical Clocks", 2014): microseconds since 1970
 * by the database's clock, but always above the last one. They rise in the order of commits, are unique per account, and
 * do not come again after the database went back, since the outage took time: a plain counter would give the numbers of
 * lost rows to other rows, and a consumer that has passed them would never see these. They fit 2^53 until 2255.
 */
interface IdClock {
  /** Microseconds since 1970, by the fence. */
  readonly now: bigint;
  /** `installation.change_floor`: for a clock that is behind the one that gave the last IDs. */
  readonly floor: bigint;
  /** The last ID that the transaction took. */
  last: bigint | undefined;
  /** When it took the first one: milliseconds, monotonic. */
  firstTakenAt: number | undefined;
  readonly monotonic: () => number;
}

/** Of the transactions under way: a fenced transaction begins one. */
const clocks = new WeakMap<Db, IdClock>();

export interface IdClockOptions {
  readonly now: bigint;
  readonly floor: bigint;
  readonly monotonic: () => number;
}

/** Lets the fenced transaction `trx` take change IDs. */
export function beginChangeIds(trx: Db, options: IdClockOptions): void {
  clocks.set(trx, { ...options, last: undefined, firstTakenAt: undefined });
}

/**
 * From its first change ID on a transaction may last so long (milliseconds): IDs of a transaction become visible when it
 * commits, and whoever reads all accounts by a single watermark looks back no further than ten minutes.
 */
export const LONGEST_WITH_IDS = 60_000;

/** The last change ID that the transaction took. @throws Error, to roll it back, where it has lasted too long with them */
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
  const clock = clocks.get(trx);
  if (clock === undefined) throw new RangeError('change IDs are taken in fenced transactions only');
  clock.firstTakenAt ??= clock.monotonic();
  const { rows } = await trx.sql<{ change_id: string }>`
    update ${trx.stateTable('account')}
    set change_id = greatest(change_id, ${String(clock.floor)}::bigint, ${String(clock.now)}::bigint) + ${count}::bigint
    where _user_id = ${userId}::bigint returning change_id`;
  const last = rows[0]?.change_id;
  if (last === undefined) throw new Error(`account ${userId} has no row`);
  clock.last = BigInt(last);
  return clock.last - BigInt(count);
}
