import type { Db } from '../../db/connection/db.ts';
import { type RawBuilder, sql } from 'kysely';
import type { CollectionName } from '../../model/collections.ts';
import type { FoundRow } from '../../model/lookup/search-answer.ts';
import { dataTable, DOMAIN_COLUMN, type Table, tableOf, typeName } from '../table.ts';
import { hasDomain, isoMoment, keyArray, sameRow } from './look-up-row.ts';

type StoredRow = Omit<FoundRow, 'kind' | 'by' | 'collection'>;

/**
 * Rows of all accounts with one of these IDs, in any order: deleted ones too, and those that MIRROR_DELETES=hard
 * removed, as far as their history is kept. Primary keys begin with the account: each one's rows are looked up apart,
 * items in each of its lists.
 * @param ids of the key's type
 * @param limit rows at most
 */
export async function rowsById(
  db: Db,
  name: CollectionName,
  ids: readonly string[],
  limit: number,
): Promise<FoundRow[]> {
  const table = tableOf(db.schema, name);
  const { key, parent } = table;
  if (key === undefined || ids.length === 0) return [];
  const hasId = sql`r.${sql.id(key.column)} = any(${[...ids]}::${typeName(key)}[])`;
  const inList =
    parent === undefined ? sql`` : sql`and r.${sql.id(parent.column)} = p.${sql.id(parent.column)}`;
  const lookUp = async (suffix: '' | '_history', more: RawBuilder<unknown>): Promise<StoredRow[]> => {
    // The limit within keeps the planner from joining the whole table to the accounts.
    const { rows } = await db.sql<StoredRow>`
      select f.* from ${db.stateTable('account')} as a ${lists(db, table)}
      cross join lateral (
        select ${shown(table, suffix)} from ${dataTable(table, suffix)} as r
        where r._user_id = a._user_id ${inList} and ${hasId} ${more} limit ${limit}) as f
      limit ${limit}`;
    return rows;
  };
  const there = await lookUp('', sql``);
  const removed = await lookUp(
    '_history',
    sql`and r._op = 'delete' and not exists (
      select from ${dataTable(table)} as t where t._user_id = r._user_id and ${sameRow(table, 't', 'r')})`,
  );
  return [...there, ...lastVersions(removed)].map((row) => ({
    kind: 'row',
    by: 'id',
    collection: name,
    ...row,
  }));
}

/**
 * Rows of all accounts whose company has this domain.
 * @param which live ones, those with the greatest keys first where keys are numbers; or those that the service has no more, as far as they are
 *   still in their table
 */
export async function rowsByDomain(
  db: Db,
  name: CollectionName,
  domain: string,
  which: 'live' | 'deleted',
  limit: number,
): Promise<FoundRow[]> {
  const table = tableOf(db.schema, name);
  if (!hasDomain(table)) return [];
  const state = which === 'live' ? sql`is null` : sql`is not null`;
  // The index of live ones has them in this order.
  const column = table.parent?.column ?? (table.key?.type === 'bigint' ? table.key.column : undefined);
  const order =
    column === undefined || which === 'deleted' ? sql`` : sql`order by ${sql.id('r', column)} desc`;
  const { rows } = await db.sql<StoredRow>`
    select f.* from ${db.stateTable('account')} as a
    cross join lateral (
      select ${shown(table, '')} from ${dataTable(table)} as r
      where r._user_id = a._user_id and r.${sql.id(DOMAIN_COLUMN)} = ${domain} and r._deleted_at ${state}
      ${order} limit ${limit}) as f
    limit ${limit}`;
  return rows.map((row) => ({ kind: 'row', by: 'domain', collection: name, ...row }));
}

/** Where rows belong to the rows of another table: all those that there are, or were, as `p`. */
function lists(db: Db, { parent }: Table): RawBuilder<unknown> {
  if (parent === undefined) return sql``;
  const column = sql.id(parent.column);
  return sql`
    cross join lateral (
      select l.${column} from ${db.table('lists')} as l where l._user_id = a._user_id
      union
      select h.${column} from ${db.table('lists_history')} as h where h._user_id = a._user_id and h._op = 'delete') as p`;
}

/** What is shown of a row aliased `r`. */
function shown(table: Table, suffix: '' | '_history'): RawBuilder<unknown> {
  const gone = suffix === '' ? sql`r._deleted_at` : sql`r._valid_to`;
  return sql`
    r._user_id as "userId", ${keyArray(table, 'r')} as key,
    left(r._raw ->> 'name', 200) as name, left(r._raw ->> 'status', 100) as status,
    ${hasDomain(table) ? sql.id('r', DOMAIN_COLUMN) : sql`null::text`} as domain,
    ${isoMoment(sql`r._changed_at`)} as "changedAt", ${isoMoment(gone)} as "deletedAt"`;
}

/** A key may have been removed more than once. */
function lastVersions(rows: readonly StoredRow[]): StoredRow[] {
  const sorted = rows.toSorted((a, b) => ((a.deletedAt ?? '') < (b.deletedAt ?? '') ? -1 : 1));
  return [...new Map(sorted.map((row) => [JSON.stringify([row.userId, row.key]), row])).values()];
}
