import { systemClock } from '@research-mirror/runtime/clock';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { Mutex } from '@research-mirror/runtime/mutex';
import { RemoteClock } from '@research-mirror/runtime/remote-clock';
import { type RawBuilder, sql } from 'kysely';
import {
  AccountRetired,
  ClockStepped,
  DatabaseWentBack,
  LeaseLost,
  OutcomeUnknown,
} from '../model/errors.ts';
import { beginChangeIds, endChangeIds } from './change-ids.ts';
import { moveWithClock, wordsOfStep } from './clock-step.ts';
import type { Db, KnownCommit, ServerNode } from './db.ts';
import { hasNewTimeline, type KnownNodes, nodeExpression, withNode } from './fingerprint.ts';

/** What an owner knows about its account's row from its own transactions. */
interface Ownership {
  /**
   * Serialises the transactions. Otherwise they would wait in Postgres for the lock on the account's row, each with a
   * connection and against the statement's time bound, which several pages of megabytes may exceed together.
   */
  readonly line: Mutex;
  /**
   * `change_id` of the last commit under this fence; two values if the outcome of that commit is unknown; undefined
   * before the first.
   */
  changeIds: readonly bigint[] | undefined;
  /** As of the first transaction. */
  installation: Installed | undefined;
  /** The database's clock as seen by its transactions. */
  readonly clock: RemoteClock;
  /** Why this fence no longer writes. */
  over: LeaseLost | undefined;
}

interface Installed {
  readonly nodes: KnownNodes;
  readonly floor: bigint;
  /** Time of the last recovery, as text: the database was noticed to have gone back. */
  readonly recovery: string | null;
  /** A commit of this process under an earlier fence is gone, which was not noticed before. */
  readonly wentBack: boolean;
}

/** Answer of the fence's statement. */
interface FenceRow {
  readonly micros: string;
  readonly changeId: string;
  readonly createdAt: Date;
  readonly node: ServerNode;
}

/**
 * Runs `work` in a transaction that may write for the fence's account (invariant 9): its first statement locks the
 * account's row under this owner and token, reads the database's time, and has what follows planned without values
 * (`PLANNED_WITHOUT_VALUES`). A takeover waits for the lock, or has happened and leaves no row; a plain check, or one
 * inside a later statement, lets a stale owner commit (test/integration/postgres/lease.test.ts). The transaction's
 * bounds (database.ts) end an owner that hangs.
 *
 * The same statement detects that the database went back under its owner (invariant 4): a server writes another
 * timeline, or the account's `change_id`, which only the owner changes, is not the one that this owner committed last.
 * An owner's first transaction compares with what this process committed under earlier fences. Round trips: fence,
 * commit, and those of `work`; two more the first time.
 *
 * It also detects that the database's clock stepped since this owner's last transaction: then the account's stored
 * times are moved with it, and the ownership ends, since the owner remembers times as well.
 * @param work gets the transaction, the time by the database's clock, and the result of `read`
 * @param read is sent with the fence, without a round trip of its own: it runs after the lock and only reads
 * @param monotonic milliseconds; bounds a transaction that takes change IDs
 * @param steps `pass`: a step of the clock ends nothing, since `work` compares no moments
 * @throws LeaseLost, DatabaseWentBack, nothing written; ClockStepped, nothing of `work`; OutcomeUnknown, where the
 *   commit was not answered; DatabaseUnavailable, nothing written; errors of `work`
 */
export async function fenced<T, R = undefined>(
  db: Db,
  fence: Fence,
  work: (trx: Db, now: Date, read: R) => Promise<T>,
  monotonic: () => number = () => systemClock.monotonic(),
  read?: (trx: Db) => Promise<R>,
  steps: 'end' | 'pass' = 'end',
): Promise<T> {
  const ownership = ownershipOf(fence);
  return ownership.line.run(async () => {
    const { over } = ownership;
    if (over !== undefined && !(over instanceof ClockStepped && steps === 'pass')) throw over;
    try {
      return await inTransaction(db, fence, ownership, work, monotonic, read, steps);
    } catch (error) {
      if (error instanceof DatabaseWentBack || error instanceof ClockStepped) ownership.over = error;
      throw error;
    }
  });
}

/** Time of the last recovery as of this owner's first transaction. */
export function recoveryKnownTo(fence: Fence): string | null {
  return ownershipOf(fence).installation?.recovery ?? null;
}

function ownershipOf(fence: Fence): Ownership {
  return (fence.ownership ??= {
    line: new Mutex(),
    clock: new RemoteClock(),
    changeIds: undefined,
    installation: undefined,
    over: undefined,
  });
}

/** The last commit known for the account that was made at `createdAt`. */
function knownCommit({ known }: Db, { userId }: Fence, createdAt: number): KnownCommit | undefined {
  const commit = known.commits.get(userId);
  return commit?.createdAt === createdAt ? commit : undefined;
}

/** Why the fence's row is not there. Tokens only rise, so a lower one shows that the takeover was lost. */
async function whyNotOwner(trx: Db, { userId, token }: Fence): Promise<LeaseLost> {
  const { rows } = await trx.sql<{ gone: boolean; free: boolean; retired: boolean }>`
    select token < ${token}::bigint as gone, owner is null as free, state = 'retired' as retired
    from ${trx.stateTable('account')} where _user_id = ${userId}`;
  if (rows[0]?.retired === true) return new AccountRetired(userId);
  const why = rows[0]?.free === true ? 'was taken from this process' : 'has another owner now';
  return rows[0]?.gone === true
    ? new DatabaseWentBack(`account ${userId}: that this process took it is not there any more`, 'commits')
    : new LeaseLost(`account ${userId} ${why}: this process writes nothing more for it`);
}

async function inTransaction<T, R>(
  db: Db,
  fence: Fence,
  ownership: Ownership,
  work: (trx: Db, now: Date, read: R) => Promise<T>,
  monotonic: () => number,
  read: ((trx: Db) => Promise<R>) | undefined,
  steps: 'end' | 'pass',
): Promise<T> {
  const node = await nodeExpression(db);
  /** The account before and after, once only the commit remains. */
  let moved: { readonly from: KnownCommit; readonly to: KnownCommit } | undefined;
  try {
    const done = await db.transaction(async (trx) => {
      const askedAt = systemClock.monotonic();
      const locked = trx.sql<FenceRow>`
        select (extract(epoch from clock_timestamp()) * 1000000)::bigint as micros, change_id as "changeId",
          created_at as "createdAt", ${node} as node, ${PLANNED_WITHOUT_VALUES}
        from ${trx.stateTable('account')}
        where _user_id = ${fence.userId} and owner = ${fence.owner} and token = ${fence.token}
        for no key update`;
      const reading = read?.(trx);
      // Its outcome does not matter without the fence.
      reading?.catch(() => {});
      const [row] = (await locked).rows;
      const answeredAt = systemClock.monotonic();
      if (row === undefined) throw await whyNotOwner(trx, fence);
      const from = BigInt(row.changeId);
      const createdAt = row.createdAt.getTime();
      ownership.installation ??= await installationOf(trx, row.node, from, knownCommit(db, fence, createdAt));
      const { nodes, floor, recovery, wentBack } = ownership.installation;
      if (hasNewTimeline(nodes, row.node)) {
        throw new DatabaseWentBack('a standby took over, or a backup was restored', 'timeline');
      }
      if (ownership.changeIds === undefined ? wentBack : !ownership.changeIds.includes(from)) {
        throw new DatabaseWentBack(
          `account ${fence.userId}: what this process committed last is not there any more`,
          'commits',
        );
      }
      const before = { changeId: from, createdAt, recovery };
      const now = new Date(Number(row.micros) / 1000);
      if (steps === 'end') {
        const look = [now.getTime(), askedAt, answeredAt] as const;
        const steppedBy = ownership.clock.stepAt(...look);
        if (steppedBy !== 0) {
          await moveWithClock(trx, fence.userId, now, steppedBy);
          moved = { from: before, to: before };
          return { steppedBy };
        }
        ownership.clock.observe(...look);
      }
      beginChangeIds(trx, { now: BigInt(row.micros), floor, current: from, monotonic });
      const result = await work(trx, now, (await reading) as R);
      moved = { from: before, to: { ...before, changeId: endChangeIds(trx) ?? from } };
      return { result };
    });
    if (moved !== undefined) {
      ownership.changeIds = [moved.to.changeId];
      db.known.commits.set(fence.userId, moved.to);
    }
    if ('result' in done) return done.result;
    const { steppedBy } = done;
    throw new ClockStepped(
      `account ${fence.userId}: ${wordsOfStep(steppedBy)}: it is opened again`,
      steppedBy,
    );
  } catch (error) {
    if (moved === undefined || !(error instanceof DatabaseUnavailable)) throw error;
    ownership.changeIds = [moved.from.changeId, moved.to.changeId];
    db.known.commits.set(fence.userId, moved.from);
    throw new OutcomeUnknown(
      `account ${fence.userId}: a commit was not answered, so it is not known whether it took place: the account is opened anew`,
      { cause: error },
    );
  }
}

/**
 * Reads `installation` after the fence: raising the floor takes all accounts from their owners first (hold.ts).
 * @param from the account's `change_id`
 */
async function installationOf(
  trx: Db,
  node: ServerNode,
  from: bigint,
  known: KnownCommit | undefined,
): Promise<Installed> {
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
    recovery: row?.recovery ?? null,
    wentBack: known !== undefined && row?.noticed !== true && (row?.gone === true || from < known.changeId),
  };
}

/** Most rows removed by one transaction, which has to stay short. */
const BATCH = 5_000;

/**
 * Removes old rows of the account, one batch per transaction.
 * @param rows the table and the key column within an account
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
 * Makes Postgres plan the rest of a transaction's statements without their values. It is a column of a select from the
 * account's own row, so that on Citus it takes effect on the account's node.
 *
 * With values, PostgreSQL considers an account that is missing in its statistics empty, and any index that begins with
 * `_user_id` as good as the primary key: it then reads all rows of the account for each key. Without them it expects
 * the average number of rows per account (docs/design/sql.md, "Plans").
 */
export const PLANNED_WITHOUT_VALUES: RawBuilder<string> = sql`set_config('plan_cache_mode', 'force_generic_plan', true)`;

/** Runs a query planned without values: one that looks up many keys of an account or scans its rows in order. */
export function readAccount<Row>(db: Db, userId: string, query: RawBuilder<Row>): Promise<Row[]> {
  return db.transaction(async (trx) => {
    await trx.sql`
      select ${PLANNED_WITHOUT_VALUES} from ${trx.stateTable('account')} where _user_id = ${userId}::bigint`;
    return (await query.execute(trx)).rows;
  });
}

/**
 * The right of this process to write for an account (invariant 9): every transaction that writes for the account begins
 * by locking the account's row under this owner and token, and rolls back if there is no such row.
 */
export interface Fence {
  readonly userId: string;
  /** `process_id` of the owner. */
  readonly owner: string;
  /** Fencing token: rises at every takeover. Decimal digits of a bigint. */
  readonly token: string;
  /** Set by the first transaction. */
  ownership?: Ownership | undefined;
}
