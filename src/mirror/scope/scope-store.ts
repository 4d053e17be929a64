import { type Db, onlyRow } from '../../db/connection/db.ts';
import { type RawBuilder, sql } from 'kysely';
import type { CollectionName, Scope } from '../../model/collections.ts';
import { type Alarms, BELIEF } from '../../plan/alarms.ts';
import { LONGEST_MS, PRIOR_MS, unannouncedShare } from '../../plan/change-rate.ts';
import type { LearntChanges } from '../../plan/learnt-changes.ts';
import { ofScope } from '../table.ts';

/** A scope's row in `<schema>_sync.scope`. */
export interface StoredScope {
  readonly scope: Scope;
  /** JSON as stored; {} for a new scope. */
  readonly memory: unknown;
  /** Since when it is to be read as soon as possible: its parent's row is new, or has changed. */
  readonly dueAt: Date | undefined;
  /** When its last walk ended. */
  readonly lastReadAt: Date | undefined;
  readonly polledAt: Date | undefined;
  readonly fullAt: Date | undefined;
  /** Since when its parent's row is deleted. */
  readonly goneAt: Date | undefined;
  /** Failures in a row. */
  readonly failures: number;
  /** Checkpoint of the unfinished full walk, JSON as stored; undefined where none is. */
  readonly fullWalk: unknown;
  readonly lastObs: number;
  readonly learnt: LearntChanges;
  readonly alarms: Alarms;
  /** Milliseconds within which nearly all of its rows finish after their last change; undefined: none was seen to. */
  readonly finishMs: number | undefined;
}

/** A row of `COLUMNS`: null where nothing is stored. */
type ScopeRow = OrNull<Omit<StoredScope, 'scope' | 'learnt' | 'alarms'>> &
  LearntChanges &
  Alarms & { readonly parent: string };
type OrNull<T> = { readonly [K in keyof T]: undefined extends T[K] ? Exclude<T[K], undefined> | null : T[K] };

const COLUMNS = sql`t.parent, t.memory, t.due_at as "dueAt", t.last_read_at as "lastReadAt",
  t.polled_at as "polledAt", t.full_at as "fullAt", t.gone_at as "goneAt", t.failures, t.full_walk as "fullWalk",
  t.last_obs::float8 as "lastObs", t.changes, t.announced, t.watched_ms as "watchedMs", t.cost,
  t.true_alarms as "trueAlarms", t.false_alarms as "falseAlarms", t.finish_ms as "finishMs"`;

/** The scope's row, made where there is none. In a fenced transaction, or for a scope that the account owns. */
export async function openScope(db: Db, scope: Scope): Promise<StoredScope> {
  const found = await readScope(db, scope);
  if (found !== undefined) return found;
  await db.sql`
    insert into ${db.stateTable('scope')} (_user_id, collection, parent)
    select a._user_id, ${scope.collection}, ${scope.parent} from ${db.stateTable('account')} as a
    where a._user_id = ${scope.userId}::bigint
    on conflict (_user_id, collection, parent) do nothing`;
  const made = await readScope(db, scope);
  if (made === undefined) throw new Error(`account ${scope.userId} has no row`);
  return made;
}

export async function readScope(db: Db, scope: Scope): Promise<StoredScope | undefined> {
  const { rows } = await db.sql<ScopeRow>`
    select ${COLUMNS} from ${db.stateTable('scope')} as t
    where t._user_id = ${scope.userId}::bigint and ${ofScope('t', scope)}`;
  return rows.map((row) => storedScope(scope, row))[0];
}

/** Which of a collection's scopes are to be read, and in which order. */
export interface DueScopesQuery {
  readonly userId: string;
  readonly collection: CollectionName;
  /** Parents read since then are left out, unless they have become due again. */
  readonly notReadSince: Date;
  /** Only full walks count as read: a poll since then leaves a scope to be walked. */
  readonly fully: boolean;
  /** Parents that are left out: they are being read, or were read often enough. */
  readonly except: readonly string[];
  /** As long as there are others, those read since then come, too, where they need it more. */
  readonly again: boolean;
  readonly limit: number;
  readonly now: Date;
  /** Of those that have changed and those read longer ago than `LONGEST_MS`, which go first. */
  readonly first: 'changed' | 'oldest';
  /** Scopes that failed, and that rest before they are tried again: behind all others, or left out. */
  readonly resting: 'last' | 'out';
  /** Of which scopes a change of the parent's row counts: of those that it told the truth of (`isBelieved`), or of all. */
  readonly announced: 'believed' | 'all';
}

/**
 * Scopes of a collection that has one for each row of its parent collection, in the order in which they are to be
 * read: changed ones first, the oldest of them first, unless their row has changed without them again and again; then
 * new ones; then those that were not read for too long (or these before all others, as asked); then those where a
 * request buys most freshness (`needOf` in src/plan/next-reading.ts: a test compares them). Full walks take those read
 * longest ago. Those that failed come last until they have rested. Deleted parents have none.
 */
export async function dueScopes(db: Db, due: DueScopesQuery): Promise<StoredScope[]> {
  const readAt = sql.id('t', due.fully ? 'full_at' : 'last_read_at');
  const others = sql`exists (
        select 1 from ${db.stateTable('scope')} as o
        where o._user_id = ${due.userId}::bigint and o.collection = ${due.collection} and o.parent <> ''
          and o.parent <> all(${[...due.except]}::text[]) and o.gone_at is null
          and o.last_read_at < ${due.notReadSince})`;
  const now = sql`${due.now}::timestamptz`;
  const since = sql`greatest(0, 1000 * extract(epoch from ${now} - t.last_read_at)::float8)`;
  // Milliseconds since the last reading, where that is too long ago.
  const overdue = sql`case when ${since} >= ${LONGEST_MS}::float8 then ${since} end desc nulls last`;
  // λ·τ²/k. The share q of changes that nothing announces is that of all lists: one factor, which decides nothing
  // between them (docs/design/plan.md).
  const byNeed = sql`${overdue}, ${ratePerMs(db, due.userId)} * ${since} * ${since} / t.cost desc`;
  const rests = isResting(now);
  const dueAt =
    due.announced === 'all' ? sql`t.due_at` : sql`case when ${isAnnounced(now)} then t.due_at end`;
  const oldest = due.first === 'oldest' && !due.fully ? sql`${overdue},` : sql``;
  const { rows } = await db.sql<ScopeRow>`
    select ${COLUMNS} from ${db.stateTable('scope')} as t
    where t._user_id = ${due.userId}::bigint and t.collection = ${due.collection} and t.parent <> ''
      and t.parent <> all(${[...due.except]}::text[])
      and (${dueAt} is not null or ${readAt} is null or ${readAt} < ${due.notReadSince}
        ${due.again ? sql`or ${others}` : sql``})
      and t.gone_at is null ${due.resting === 'out' ? sql`and not ${rests}` : sql``}
    order by ${rests}, ${oldest} ${dueAt} nulls last, ${readAt} is not null,
      ${due.fully ? readAt : byNeed}, t.parent
    limit ${due.limit}`;
  return rows.map((row) => storedScope(due, row));
}

/**
 * The scope of the table aliased `t` is due, and that is a reason to read it before others: its parent's row is
 * believed, or it is to be read in any case (`needOf` in src/plan/next-reading.ts).
 */
export function isAnnounced(now: RawBuilder<unknown>): RawBuilder<boolean> {
  const proven = sql`(${BELIEF.granted}::float8 + t.true_alarms)`;
  return sql`(t.due_at is not null and (t.last_read_at is null
    or 1000 * extract(epoch from ${now} - t.last_read_at)::float8 >= ${LONGEST_MS}::float8
    or ${proven} >= ${BELIEF.leastShare}::float8 * (${proven} + t.false_alarms)))`;
}

/**
 * A scope that failed rests: a second after the first failure, twice as long after each further one, an hour at most.
 * As long as the loop waits that tries a failed reading again (account-service.ts), so that a first failure is mended
 * at once. Failures that lie ahead of the clock, which went back, count for nothing.
 */
function isResting(now: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(t.failures > 0 and coalesce(t.last_error_at <= ${now} and t.last_error_at
    + least(3600, 2 ^ least(t.failures - 1, 12)) * interval '1 second' > ${now}, false))`;
}

/** λ: changes per millisecond (`changesPerMs` in src/plan/change-rate.ts), faster while rows are unfinished. */
function ratePerMs(db: Db, userId: string): RawBuilder<unknown> {
  return sql`(1 + t.changes) / (t.watched_ms + case when exists (
      select from ${db.stateTable('unsettled')} as u
      where u._user_id = ${userId}::bigint and u.collection = t.collection and u.parent = t.parent)
      then ${PRIOR_MS.collection}::float8 else ${PRIOR_MS.list}::float8 end)`;
}

/** How much all scopes of a collection need to be read. */
export interface ScopesNeed {
  readonly count: number;
  /** Of one reading of each: Σ k. */
  readonly requests: number;
  /** Σ √(k·q·λ), λ by the millisecond; q is that of all of them together. */
  readonly need: number;
}

export async function needOfScopes(db: Db, userId: string, collection: CollectionName): Promise<ScopesNeed> {
  const found = await db.sql<ScopesNeed & Pick<LearntChanges, 'changes' | 'announced'>>`
    select count(*)::float8 as count, coalesce(sum(greatest(1, t.cost)), 0) as requests,
      coalesce(sum(sqrt(t.cost * ${ratePerMs(db, userId)})), 0) as need,
      coalesce(sum(t.changes), 0) as changes, coalesce(sum(t.announced), 0) as announced
    from ${db.stateTable('scope')} as t
    where t._user_id = ${userId}::bigint and t.collection = ${collection} and t.parent <> '' and t.gone_at is null`;
  const { count, requests, need, ...seen } = onlyRow(found);
  return { count, requests, need: need * Math.sqrt(unannouncedShare(seen)) };
}

function storedScope(
  { userId, collection }: Pick<Scope, 'userId' | 'collection'>,
  { parent, changes, announced, watchedMs, cost, trueAlarms, falseAlarms, ...row }: ScopeRow,
): StoredScope {
  const known = Object.fromEntries(Object.entries(row).map(([name, value]) => [name, value ?? undefined]));
  return {
    scope: { userId, collection, parent },
    learnt: { changes, announced, watchedMs, cost },
    alarms: { trueAlarms, falseAlarms },
    ...(known as Omit<StoredScope, 'scope' | 'learnt' | 'alarms'>),
  };
}

/** Scopes of a collection that could not be read when they were read last, and the latest of their failures. */
export async function failingScopes(
  db: Db,
  userId: string,
  collection: CollectionName,
): Promise<{ readonly count: number; readonly latest: string | undefined }> {
  const { rows } = await db.sql<{ latest: string; count: string }>`
    select t.last_error as latest, count(*) over () as count from ${db.stateTable('scope')} as t
    where t._user_id = ${userId}::bigint and t.collection = ${collection} and t.parent <> ''
      and t.gone_at is null and t.last_error is not null
    order by t.last_error_at desc limit 1`;
  return { count: Number(rows[0]?.count ?? 0), latest: rows[0]?.latest };
}
