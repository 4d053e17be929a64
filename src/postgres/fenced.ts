import { systemClock } from '@research-mirror/runtime/clock';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { Mutex } from '@research-mirror/runtime/mutex';
import { RemoteClock } from '@research-mirror/runtime/remote-clock';
import { type RawBuilder, sql } from 'kysely';
import { AccountRetired, ClockStepped, DatabaseWentBack, LeaseLost, OutcomeUnknown } from '../model/errors.ts';
import { moveWithClock, wordsOfStep } from './clock-step.ts';
import type { Db, KnownCommit, ServerNode } from './db.ts';
import { hasNewTimeline, type KnownNodes, nodeExpression, withNode } from './fingerprint.ts';

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

/**
 * The right of this process to write for an account (invariant 9). Every transaction that writes for the account begins
 * by locking the account's row under this owner and token, and rolls back if there is no such row.
 */
export interface Fence {
  readonly userId: string;
  /** `process_id` of the owner. */
  readonly owner: string;
  /** Fencing token: rises at every takeover. Decimal digits of a bigint. */
  readonly token: string;
  /** What the owner knows from its own transactions. Set by the first one. */
  ownership?:
    | {
        /** Serialises the transactions: in Postgres each would wait with a connection, and against its time bound. */
        readonly line: Mutex;
        /** `change_id` after the last commit; two values if its outcome is unknown; undefined before the first. */
        changeIds: readonly bigint[] | undefined;
        /** As of the first transaction. */
        installation: Awaited<ReturnType<typeof readInstallation>> | undefined;
        /** The database's clock as seen by the transactions. */
        readonly clock: RemoteClock;
        /** Why this fence no longer writes. */
        over: LeaseLost | undefined;
      }
    | undefined;
}

/**
 * Runs `work` in a transaction that may write for the fence's account (invariant 9). Its first statement locks the
 * account's row under this owner and token, reads the database's time, and has what follows planned without values
 * (`PLANNED_WITHOUT_VALUES`). A takeover waits for the lock, or has happened and leaves no such row; a check without
 * the lock lets a stale owner commit (test/integration/postgres/lease.test.ts). The transaction's bounds (database.ts)
 * end a hung owner.
 *
 * It detects that the database went back under its owner (invariant 4): a server writes another timeline, or the
 * account's `change_id`, which only the owner changes, is not the last that this owner committed. The first transaction
 * compares with this process's commits under earlier fences. It also detects that the database's clock stepped since
 * the owner's last transaction. Then it moves the account's stored times with the clock and ends the ownership, since
 * the owner remembers times as well. Round trips: fence, commit, and those of `work`; two more the first time.
 * @param work gets the transaction, the time by the database's clock, and the result of `read`
 * @param read is sent with the fence, without a round trip of its own: it runs after the lock and only reads
 * @param monotonic milliseconds; bounds a transaction that takes change IDs
 * @param steps `pass`: a step of the clock ends nothing, since `work` compares no times
 * @throws LeaseLost, DatabaseWentBack, DatabaseUnavailable: nothing is written; ClockStepped: nothing of `work`;
 *   OutcomeUnknown: the commit was not answered; errors of `work`
 */
export async function fenced<T, R = undefined>(
  db: Db,
  fence: Fence,
  work: (trx: Db, now: Date, read: R) => Promise<T>,
  monotonic: () => number = () => systemClock.monotonic(),
  read?: (trx: Db) => Promise<R>,
  steps: 'end' | 'pass' = 'end',
): Promise<T> {
  const { userId, owner, token } = fence;
  const ownership = (fence.ownership ??= {
    line: new Mutex(),
    clock: new RemoteClock(),
    changeIds: undefined,
    installation: undefined,
    over: undefined,
  });
  return ownership.line.run(async () => {
    const { over } = ownership;
    if (over !== undefined && !(over instanceof ClockStepped && steps === 'pass')) throw over;
    const node = await nodeExpression(db);
    /** The account before and after, once only the commit remains. */
    let moved: { readonly from: KnownCommit; readonly to: KnownCommit } | undefined;
    try {
      const done = await db.transaction(async (trx) => {
        const askedAt = systemClock.monotonic();
        const locked = trx.sql<{ micros: string; changeId: string; createdAt: Date; node: ServerNode }>`
          select (extract(epoch from clock_timestamp()) * 1000000)::bigint as micros, change_id as "changeId",
            created_at as "createdAt", ${node} as node, ${PLANNED_WITHOUT_VALUES}
          from ${trx.stateTable('account')}
          where _user_id = ${userId} and owner = ${owner} and token = ${token}
          for no key update`;
        const reading = read?.(trx);
        // Its outcome does not matter without the fence.
        reading?.catch(() => {});
        const [row] = (await locked).rows;
        const answeredAt = systemClock.monotonic();
        if (row === undefined) throw await whyNotOwner(trx, fence);
        const changeId = BigInt(row.changeId);
        const createdAt = row.createdAt.getTime();
        const known = db.known.commits.get(userId);
        ownership.installation ??= await readInstallation(
          trx,
          row.node,
          changeId,
          known?.createdAt === createdAt ? known : undefined,
        );
        const { nodes, floor, recovery, wentBack } = ownership.installation;
        if (hasNewTimeline(nodes, row.node)) {
          throw new DatabaseWentBack('a standby took over, or a backup was restored', 'timeline');
        }
        if (ownership.changeIds === undefined ? wentBack : !ownership.changeIds.includes(changeId)) {
          throw new DatabaseWentBack(`account ${userId}: the last commit of this process is gone`, 'commits');
        }
        const from = { changeId, createdAt, recovery };
        const now = new Date(Number(row.micros) / 1000);
        if (steps === 'end') {
          const look = [now.getTime(), askedAt, answeredAt] as const;
          const steppedBy = ownership.clock.stepAt(...look);
          if (steppedBy !== 0) {
            await moveWithClock(trx, userId, now, steppedBy);
            moved = { from, to: from };
            return { steppedBy };
          }
          ownership.clock.observe(...look);
        }
        beginChangeIds(trx, { now: BigInt(row.micros), floor, current: changeId, monotonic });
        const result = await work(trx, now, (await reading) as R);
        moved = { from, to: { ...from, changeId: endChangeIds(trx) ?? changeId } };
        return { result };
      });
      if (moved !== undefined) {
        ownership.changeIds = [moved.to.changeId];
        db.known.commits.set(userId, moved.to);
      }
      if ('result' in done) return done.result;
      const { steppedBy } = done;
      throw new ClockStepped(`account ${userId} is opened again: ${wordsOfStep(steppedBy)}`, steppedBy);
    } catch (error) {
      if (error instanceof DatabaseWentBack || error instanceof ClockStepped) ownership.over = error;
      if (moved === undefined || !(error instanceof DatabaseUnavailable)) throw error;
      ownership.changeIds = [moved.from.changeId, moved.to.changeId];
      db.known.commits.set(userId, moved.from);
      throw new OutcomeUnknown(`account ${userId} is opened again: a commit got no answer, so its outcome is unknown`, {
        cause: error,
      });
    }
  });
}

/** Why the fence's row is not there. Tokens only rise, so a lower one shows that the takeover was lost. */
async function whyNotOwner(trx: Db, { userId, token }: Fence): Promise<LeaseLost> {
  const { rows } = await trx.sql<{ gone: boolean; free: boolean; retired: boolean }>`
    select token < ${token}::bigint as gone, owner is null as free, state = 'retired' as retired
    from ${trx.stateTable('account')} where _user_id = ${userId}`;
  if (rows[0]?.retired === true) return new AccountRetired(userId);
  const why = rows[0]?.free === true ? 'was taken from this process' : 'has another owner now';
  return rows[0]?.gone === true
    ? new DatabaseWentBack(`account ${userId}: the takeover by this process is gone`, 'commits')
    : new LeaseLost(`account ${userId} ${why}: this process writes nothing more for it`);
}

/** Reads `installation`, after the fence: raising the floor takes all accounts from their owners first (hold.ts). */
async function readInstallation(trx: Db, node: ServerNode, changeId: bigint, known: KnownCommit | undefined) {
  const { rows } = await trx.sql<{
    nodes: KnownNodes | null;
    floor: string | null;
    recovery: string | null;
    noticed: boolean;
    gone: boolean;
  }>`
    select i.nodes, i.change_floor as floor, r.at::text as recovery,
      coalesce(r.at, '-infinity') > r.known as noticed, coalesce(r.at, '-infinity') < r.known as gone
    from (select max(detected_at) as at, coalesce(${known?.recovery ?? null}::timestamptz, '-infinity') as known
        from ${trx.table('recoveries')}) as r
      left join ${trx.stateTable('installation')} as i on true`;
  const [row] = rows;
  return {
    // An unknown server is a new worker of Citus.
    nodes: { ...withNode({}, node), ...row?.nodes },
    floor: BigInt(row?.floor ?? 0),
    /** Time of the last recovery, as text. */
    recovery: row?.recovery ?? null,
    /** A commit of this process under an earlier fence is lost, and no recovery was recorded for it. */
    wentBack: known !== undefined && row?.noticed !== true && (row?.gone === true || changeId < known.changeId),
  };
}

/** Most rows that one transaction removes: it must stay short. */
const BATCH = 5_000;

/**
 * Removes old rows of the account, one batch per transaction. `key` is the key column within an account.
 * @param signal stops after the current batch; the next call continues
 * @param isOld the condition and order; gets a function for the time a number of milliseconds ago
 */
export async function pruneInBatches(
  db: Db,
  fence: Fence,
  { table, key }: { readonly table: RawBuilder<unknown>; readonly key: string },
  signal: AbortSignal,
  isOld: (before: (ms: number) => Date) => RawBuilder<unknown>,
): Promise<void> {
  let removed = BATCH;
  while (removed === BATCH && !signal.aborted) {
    removed = await fenced(db, fence, async (trx, now) => {
      const { numAffectedRows } = await trx.sql`
        delete from ${table} where _user_id = ${fence.userId}::bigint and ${sql.id(key)} in (
          select ${sql.id(key)} from ${table}
          where _user_id = ${fence.userId}::bigint and ${isOld((ms) => new Date(now.getTime() - ms))}
          limit ${BATCH})`;
      return Number(numAffectedRows ?? 0);
    });
  }
}

/**
 * Makes Postgres plan a transaction's later statements without their values. With values it takes an account that its
 * statistics lack for empty, and reads all the account's rows for each key (docs/design/sql.md, "Plans"). Select it
 * from the account's own row: then it takes effect on the account's node of Citus.
 */
export const PLANNED_WITHOUT_VALUES: RawBuilder<string> = sql`set_config('plan_cache_mode', 'force_generic_plan', true)`;

/** Runs a query planned without values: one that looks up many keys of an account, or scans its rows in order. */
export function readAccount<Row>(db: Db, userId: string, query: RawBuilder<Row>): Promise<Row[]> {
  return db.transaction(async (trx) => {
    await trx.sql`
      select ${PLANNED_WITHOUT_VALUES} from ${trx.stateTable('account')} where _user_id = ${userId}::bigint`;
    return (await query.execute(trx)).rows;
  });
}
