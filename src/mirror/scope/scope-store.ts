import type { Db } from '../../db/connection/db.ts';
import { type RawBuilder, sql } from 'kysely';
import type { CollectionName, Scope } from '../../model/collections.ts';
import { ofScope } from '../table.ts';

/** A scope's row in `<schema>_sync.scope`. */
export interface StoredScope {
  readonly scope: Scope;
  /** JSON as stored; {} for a new scope. */
  readonly memory: unknown;
  /** When its last walk ended. */
  readonly lastReadAt: Date | undefined;
  readonly polledAt: Date | undefined;
  readonly fullAt: Date | undefined;
  /** Since when its parent's row is deleted. */
  readonly goneAt: Date | undefined;
  /** Checkpoint of the unfinished full walk, JSON as stored; undefined where none is. */
  readonly fullWalk: unknown;
  readonly lastObs: number;
}

/** A row of `COLUMNS`: null where nothing is stored. */
type ScopeRow = OrNull<Omit<StoredScope, 'scope'>> & { readonly parent: string };
type OrNull<T> = { readonly [K in keyof T]: undefined extends T[K] ? Exclude<T[K], undefined> | null : T[K] };

const COLUMNS = sql`t.parent, t.memory, t.last_read_at as "lastReadAt",
  t.polled_at as "polledAt", t.full_at as "fullAt", t.gone_at as "goneAt", t.full_walk as "fullWalk",
  t.last_obs::float8 as "lastObs"`;

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
  readonly limit: number;
  readonly now: Date;
  /** Which scopes go first: those whose parent's row has changed, or those unread longest, whatever changed. */
  readonly first: 'changed' | 'unread';
  /** Scopes that failed, and that rest before they are tried again: behind all others, or left out. */
  readonly resting: 'last' | 'out';
}

/**
 * Scopes of a collection that has one for each row of its parent collection, in the order in which they are to be
 * read: those whose parent's row is new or has changed, the oldest change first; then those unread longest. Those that
 * failed come last until they have rested. Deleted parents have none.
 */
export async function dueScopes(db: Db, due: DueScopesQuery): Promise<StoredScope[]> {
  const readAt = sql.id('t', due.fully ? 'full_at' : 'last_read_at');
  const rests = isResting(sql`${due.now}::timestamptz`);
  const { rows } = await db.sql<ScopeRow>`
    select ${COLUMNS} from ${db.stateTable('scope')} as t
    where t._user_id = ${due.userId}::bigint and t.collection = ${due.collection} and t.parent <> ''
      and t.parent <> all(${[...due.except]}::text[])
      and (t.due_at is not null or ${readAt} is null or ${readAt} < ${due.notReadSince})
      and t.gone_at is null ${due.resting === 'out' ? sql`and not ${rests}` : sql``}
    order by ${rests}, ${due.first === 'changed' ? sql`t.due_at,` : sql``} ${readAt} nulls first, t.parent
    limit ${due.limit}`;
  return rows.map((row) => storedScope(due, row));
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

function storedScope(
  { userId, collection }: Pick<Scope, 'userId' | 'collection'>,
  { parent, ...row }: ScopeRow,
): StoredScope {
  const known = Object.fromEntries(Object.entries(row).map(([name, value]) => [name, value ?? undefined]));
  return { scope: { userId, collection, parent }, ...(known as Omit<StoredScope, 'scope'>) };
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
