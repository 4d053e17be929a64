import type { Db } from '../../db/connection/db.ts';
import { type RawBuilder, sql } from 'kysely';
import { childrenOf, type ListCollection, type Scope } from '../../model/collections.ts';
import { countSuspects, forgetAllSuspects, forgetSuspects } from '../deletion/save-suspects.ts';
import { releaseKeys, releaseScope } from '../quarantine/update-quarantine.ts';
import { countRows } from '../rows/counters.ts';
import { forgetUnfinished } from '../rows/unfinished.ts';
import { dataTable, inParent, ofScope, type Table, tableOf, typeName } from '../table.ts';
import { eraseMentions, type ErasedMentions } from './erase-mentions.ts';

/** How much was erased. */
export interface Erased extends ErasedMentions {
  /** Rows, deleted ones included; of a list, its items too. */
  readonly rows: number;
  readonly versions: number;
  readonly quarantined: number;
}

/**
 * Erases a row from every table of both schemas: itself and its versions, a list's items with it; what is known of it
 * elsewhere; events and submissions that name it. Everything that the daemon learnt from pages with it is forgotten,
 * too, where it names the key: the scope is read again in full. In a transaction that has taken the account from its
 * owner, whose memory is wrong from then on.
 * @param at the database's time
 */
export async function eraseRow(
  trx: Db,
  list: ListCollection,
  scope: Scope,
  key: string,
  at: Date,
): Promise<Erased> {
  const table = tableOf(trx.schema, list.name);
  const before = await quarantineOf(trx, scope, list, key);
  let { rows, versions } = await eraseFrom(trx, table, scope, ofKeyColumn(table, key));
  await eraseState(trx, scope, key, at);
  for (const child of childrenOf(list.name)) {
    const items: Scope = { userId: scope.userId, collection: child.name, parent: key };
    const erased = await eraseFrom(trx, tableOf(trx.schema, child.name), items, sql`true`);
    rows += erased.rows;
    versions += erased.versions;
    await eraseScope(trx, items);
  }
  const mentions = await eraseMentions(trx, list, scope, key, at);
  return { rows, versions, quarantined: before, ...mentions };
}

async function eraseFrom(
  trx: Db,
  table: Table,
  scope: Scope,
  which: RawBuilder<unknown>,
): Promise<Pick<Erased, 'rows' | 'versions'>> {
  const { rows } = await trx.sql<{ live: boolean }>`
    delete from ${dataTable(table)} as t where t._user_id = ${scope.userId}::bigint and ${inParent(table, scope)} and ${which}
    returning t._deleted_at is null as live`;
  const { numAffectedRows } = await trx.sql`
    delete from ${dataTable(table, '_history')} as t
    where t._user_id = ${scope.userId}::bigint and ${inParent(table, scope)} and ${which}`;
  const live = rows.filter((row) => row.live).length;
  if (rows.length > 0) await countRows(trx, scope, -live, live - rows.length);
  await trx.sql`
    update ${trx.stateTable('scope')} as s set live_rows = s.live_rows - ${live}::bigint
    where s._user_id = ${scope.userId}::bigint and ${ofScope('s', scope)}`;
  return { rows: rows.length, versions: Number(numAffectedRows ?? 0n) };
}

function ofKeyColumn({ key: part }: Table, key: string): RawBuilder<unknown> {
  if (part === undefined) throw new RangeError('a table of one row an account has no keys');
  return sql`t.${sql.id(part.column)} = ${key}::${typeName(part)}`;
}

/** How many items in quarantine are about the row. */
async function quarantineOf(trx: Db, scope: Scope, list: ListCollection, key: string): Promise<number> {
  const children = childrenOf(list.name).map(({ name }) => name);
  const { rows } = await trx.sql<{ count: string }>`
    select count(*) as count from ${trx.table('quarantine')} as q
    where q._user_id = ${scope.userId}::bigint
      and (${ofScope('q', scope)} and q.key = ${key} or q.collection = any(${children}::text[]) and q.parent = ${key})`;
  return Number(rows[0]?.count);
}

/** What the daemon knows of the row, and of where it stands. */
async function eraseState(trx: Db, scope: Scope, key: string, at: Date): Promise<void> {
  const { userId } = scope;
  await releaseKeys(trx, scope, [key]);
  await trx.sql`
    update ${trx.table('quarantine')} as q set place = null
    where q._user_id = ${userId}::bigint and ${ofScope('q', scope)} and q.place = ${key}`;
  await forgetUnfinished(trx, scope, [key]);
  const suspects = await forgetSuspects(trx, scope, [key]);
  await countSuspects(trx, scope, -suspects.total, -suspects.proven);
  await trx.sql`
    delete from ${trx.stateTable('hint')} as h
    where h._user_id = ${userId}::bigint and ${ofScope('h', scope)} and h.key = ${key}`;
  // Its page size stays: without it a list of one row may look unfinished.
  const { numAffectedRows } = await trx.sql`
    update ${trx.stateTable('scope')} as s set full_walk = null,
      memory = coalesce(('{"limit":' || (s.memory #>> '{limit}') || '}')::jsonb, '{}')
    where s._user_id = ${userId}::bigint and ${ofScope('s', scope)}
      and strpos(s.memory::text || coalesce(s.full_walk::text, ''), ${JSON.stringify(key)}) > 0`;
  if (Number(numAffectedRows ?? 0n) > 0) {
    await trx.sql`
      update ${trx.table('_collections')} as c set next_full_at = ${at}::timestamptz
      where c._user_id = ${userId}::bigint and c.collection = ${scope.collection}`;
  }
}

/** All that is known of a list's items as a whole. */
async function eraseScope(trx: Db, scope: Scope): Promise<void> {
  const { userId } = scope;
  await releaseScope(trx, scope);
  const suspects = await forgetAllSuspects(trx, scope);
  await countSuspects(trx, scope, -suspects.total, -suspects.proven);
  for (const name of ['unsettled', 'hint', 'scope']) {
    await trx.sql`
      delete from ${trx.stateTable(name)} as s where s._user_id = ${userId}::bigint and ${ofScope('s', scope)}`;
  }
  await trx.sql`
    delete from ${trx.table('sync_log')} as l
    where l._user_id = ${userId}::bigint and l.collection = ${scope.collection} and l.list_id = ${scope.parent}::bigint`;
}
