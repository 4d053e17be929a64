import type { Db } from '../connection/db.ts';
import { sql } from 'kysely';
import { BLOCK_MEMORY_MS } from '../../budget/slots/timing.ts';
import type { LoadedBudget } from '../../budget/store/store.ts';
import { loadedBlock, loadedLearnt } from '../budget/budget-store.ts';
import {
  COLLECTION_COLUMNS,
  type CollectionColumn,
  type CollectionFigures,
  QUALITY_COLUMNS,
} from '../../model/collection-columns.ts';
import type { CollectionName } from '../../model/collections.ts';
import type {
  AccountStatus,
  Backlog,
  CollectionState,
  CollectionStatus,
  ErrorStatus,
  HoldStatus,
  ProcessStatus,
  RecoveryStatus,
  WalkStatus,
} from '../../model/status/status-report.ts';
import { AHEAD_MS } from '../ownership/moment-ahead.ts';
import { type MissedRows, readMissedRows } from './missed-rows.ts';
import { NO_SUBMISSIONS, NO_WEBHOOK, readWebhooksAndSubmissions } from './stored-webhooks-and-submissions.ts';

/** A collection, and an account, without what is read less often (workload.ts). */
type StoredCollection = Omit<CollectionStatus, keyof Backlog>;
interface AccountInPostgres extends Omit<
  AccountStatus,
  'collections' | 'next' | 'credits' | 'activity' | 'budgets'
> {
  readonly collections: readonly StoredCollection[];
  readonly budgets: readonly StoredBudget[];
}

/** What any program knows of a key's budget: others' use, and what waits, only its owner does. */
export interface StoredBudget extends LoadedBudget {
  readonly keyHash: string;
}

/** The part of a status report that any program can make: from Postgres alone. */
export interface StoredStatus {
  /** The database's time. */
  readonly now: Date;
  readonly processes: readonly ProcessStatus[];
  readonly accounts: readonly AccountInPostgres[];
  /** When each account came to the mirror. */
  readonly begun: ReadonlyMap<string, Date>;
  readonly errors: readonly ErrorStatus[];
  readonly held: HoldStatus | null;
  readonly recovery: RecoveryStatus | null;
  /** How far the database's clock is behind what it showed to a daemon before: it went back. */
  readonly clockBackMs: number;
  readonly missed: readonly MissedRows[];
}

/** Errors shown, and unfinished walks, over all accounts. */
const ERRORS = 5;
const WALKS = 50;
/** Programs that ended longer ago are left out. */
const HISTORY = sql`interval '24 hours'`;

/** Reads the state of all accounts in one snapshot, so that figures agree while pages commit. */
export async function readStoredStatus(db: Db): Promise<StoredStatus> {
  return db.snapshot(async (trx) => {
    const { rows } = await trx.sql<{ now: Date }>`select clock_timestamp() as now`;
    const now = rows[0]?.now ?? new Date(0);
    const processes = await processesAt(trx, now);
    const missed = await readMissedRows(trx);
    const collections = await collectionsOf(trx, missed);
    const walks = await walksOf(trx);
    const budgets = await budgetsAt(trx, now);
    const byAccount = await readWebhooksAndSubmissions(trx, now);
    const accounts = await trx.state
      .selectFrom('account')
      .select(['_user_id', 'state', 'error', 'owner', 'recheck', 'created_at'])
      .orderBy('_user_id')
      .execute();
    const emails = await trx.mirror.selectFrom('account').select(['_user_id', 'email']).execute();
    return {
      now,
      processes,
      accounts: accounts.map(({ _user_id: userId, state, error, owner }) => ({
        userId,
        email: emails.find((row) => row._user_id === userId)?.email ?? null,
        state: state === 'stopped' || state === 'retired' ? state : 'active',
        error,
        owner,
        collections: collections.get(userId) ?? [],
        walks: walks.get(userId) ?? [],
        budgets: budgets.get(userId) ?? [],
        webhook: byAccount.get(userId)?.webhook ?? NO_WEBHOOK,
        submissions: byAccount.get(userId)?.submissions ?? NO_SUBMISSIONS,
      })),
      begun: new Map(accounts.map((row) => [row._user_id, row.created_at])),
      errors: await errorsOf(trx),
      ...(await readInstallation(trx, now)),
      recovery: await recoveryAt(
        trx,
        now,
        accounts.some(({ recheck }) => recheck),
      ),
      missed,
    };
  });
}

async function processesAt(db: Db, now: Date): Promise<ProcessStatus[]> {
  const rows = await db.state
    .selectFrom('process')
    .select(['process_id', 'command', 'version', 'host', 'pid', 'started_at', 'alive_until'])
    .where('alive_until', '>', sql<Date>`${now}::timestamptz - ${HISTORY}`)
    .orderBy('started_at', 'desc')
    .execute();
  return rows.map((row) => ({
    processId: row.process_id,
    command: row.command,
    version: row.version,
    host: row.host,
    pid: row.pid,
    startedAt: row.started_at.toISOString(),
    // One that lies further ahead is of a time before the clock went back.
    alive: row.alive_until > now && row.alive_until.getTime() <= now.getTime() + AHEAD_MS.aliveUntil,
  }));
}

async function collectionsOf(
  db: Db,
  missed: readonly MissedRows[],
): Promise<Map<string, StoredCollection[]>> {
  const rows = await db.mirror
    .selectFrom('freshness as f')
    .innerJoin('data_quality as q', (join) =>
      join.onRef('q._user_id', '=', 'f._user_id').onRef('q.collection', '=', 'f.collection'),
    )
    .selectAll('f')
    .select(QUALITY_COLUMNS.map(({ column }) => `q.${column}` as const))
    .orderBy('f.collection')
    .execute();
  const waitingForWalks = (userId: string, collection: string): number =>
    missed
      .filter((each) => each.userId === userId && each.collection === collection && each.kind === 'pair')
      .reduce((sum, each) => sum + each.rows, 0);
  return byUser(rows, (row) => ({
    collection: row.collection as CollectionName,
    state: row.state as CollectionState,
    ...figuresOf(row),
    waitingForWalks: waitingForWalks(row._user_id, row.collection),
  }));
}

function figuresOf(
  row: Readonly<Record<CollectionColumn['column'], string | Date | null>>,
): CollectionFigures {
  const figures = COLLECTION_COLUMNS.map(({ field, column, kind }) => {
    const value = row[column];
    if (kind === 'count') return [field, Number(value)];
    return [field, value instanceof Date ? value.toISOString() : value];
  });
  return Object.fromEntries(figures) as CollectionFigures;
}

/** Unfinished full walks: under way, or left by an interrupted program to be resumed. */
async function walksOf(db: Db): Promise<Map<string, WalkStatus[]>> {
  const rows = await db.state
    .selectFrom('scope')
    .select(['_user_id', 'collection', 'parent', 'full_walk'])
    .where('full_walk', 'is not', null)
    .orderBy('_user_id')
    .orderBy('collection')
    .orderBy('parent')
    .limit(WALKS)
    .execute();
  return byUser(rows, (row) => {
    // src/walk/checkpoint.ts; another version's may lack a member.
    const { began, pages, items } = row.full_walk as { began?: number; pages?: number; items?: number };
    return {
      collection: row.collection as CollectionName,
      listId: row.parent === '' ? null : row.parent,
      kind: 'full',
      startedAt: new Date(began ?? 0).toISOString(),
      pages: pages ?? 0,
      items: items ?? 0,
      inserted: 0,
      updated: 0,
    };
  });
}

async function budgetsAt(db: Db, now: Date): Promise<Map<string, StoredBudget[]>> {
  const blocks = await db.state
    .selectFrom('slot_block')
    .selectAll()
    .where('valid_until', '>=', new Date(now.getTime() - BLOCK_MEMORY_MS))
    .execute();
  const learnt = await db.state
    .selectFrom('rate_group')
    .selectAll()
    .orderBy('_user_id')
    .orderBy('key_hash')
    .orderBy('rate_group')
    .execute();
  const keyOf = (row: { _user_id: string; key_hash: string }): string => `${row._user_id} ${row.key_hash}`;
  const blocksOf = Map.groupBy(blocks, keyOf);
  return byUser(
    [...Map.groupBy(learnt, keyOf)].map(([key, rows]) => ({ _user_id: key.split(' ')[0] ?? '', key, rows })),
    ({ key, rows }) => ({
      keyHash: key.split(' ')[1] ?? '',
      now: now.getTime(),
      known: true,
      blocks: (blocksOf.get(key) ?? []).map(loadedBlock),
      learnt: rows.map(loadedLearnt),
    }),
  );
}

async function errorsOf(db: Db): Promise<ErrorStatus[]> {
  const rows = await db.mirror
    .selectFrom('sync_log')
    .select(['_user_id', 'collection', 'list_id', 'ended_at', 'error'])
    .where('error', 'is not', null)
    .orderBy('ended_at', 'desc')
    .limit(ERRORS)
    .execute();
  return rows.map((row) => ({
    at: row.ended_at.toISOString(),
    where: [row._user_id, row.collection, row.list_id].filter((part) => part !== null).join('/'),
    message: row.error ?? '',
  }));
}

/** Whether a restore or copy of the database holds submissions back, and whether its clock went back. */
async function readInstallation(db: Db, now: Date): Promise<Pick<StoredStatus, 'held' | 'clockBackMs'>> {
  const row = await db.state
    .selectFrom('installation')
    .select(['held_at', 'held_why', 'alive_at'])
    .executeTakeFirst();
  const since = moment(row?.held_at ?? null);
  return {
    held: since === null ? null : { since, why: row?.held_why ?? 'the database was restored or copied' },
    clockBackMs: Math.max(0, (row?.alive_at?.getTime() ?? 0) - now.getTime()),
  };
}

/** How long (ms) the report names a database that went back. */
const NAMED_FOR = 7 * 24 * 3_600_000;

async function recoveryAt(db: Db, now: Date, recheck: boolean): Promise<RecoveryStatus | null> {
  const row = await db.mirror
    .selectFrom('recoveries')
    .select(['detected_at', 'reason'])
    .where('detected_at', '>', new Date(now.getTime() - NAMED_FOR))
    .orderBy('detected_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (row === undefined) return null;
  // Walks that are due since then have not ended.
  const unread = await db.mirror
    .selectFrom('_collections')
    .select('collection')
    .where('next_full_at', '<=', now)
    .limit(1)
    .executeTakeFirst();
  return {
    at: row.detected_at.toISOString(),
    reason: row.reason,
    open: recheck || unread !== undefined,
  };
}

function byUser<Row extends { _user_id: string }, T>(
  rows: readonly Row[],
  make: (row: Row) => T,
): Map<string, T[]> {
  const groups = Map.groupBy(rows, (row) => row._user_id);
  return new Map([...groups].map(([userId, group]) => [userId, group.map(make)]));
}

function moment(date: Date | null): string | null {
  return date === null ? null : date.toISOString();
}
