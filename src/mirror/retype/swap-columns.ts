import type { Db } from '../../db/connection/db.ts';
import { sql } from 'kysely';
import { quotedText } from '../../db/connection/quoted.ts';
import { sqlState } from '../../db/connection/sql-state.ts';
import { databaseTime } from '../../db/connection/database-time.ts';
import type { CollectionName } from '../../model/collections.ts';
import { countConflicts } from '../rows/counters.ts';
import { remakeFollowers } from '../columns/follow-columns.ts';
import { dataTable, relation, type Table } from '../table.ts';
import { createView, ownView, type StandingView, type TableView } from '../views/extend-view.ts';
import { liveView } from '../views/live-view.ts';
import { makeAnew } from '../views/make-anew.ts';
import { versionsView } from '../views/versions-view.ts';
import { RetypeRefused } from '../../model/errors.ts';
import type { RetypableColumn } from './retypable-column.ts';
import { type FillProgress, fillRest, lastChangeIds, type Shadow, takeTables } from './shadow.ts';
import { thingsInTheWay } from './things-in-the-way.ts';

const DEPENDENTS_EXIST = '2BP01';

/** A view of ours that shows the column: dropped before the columns change places, and made again. */
interface Follower {
  /** The table that it is named after. */
  readonly table: Table;
  readonly suffix: string;
  readonly columns: readonly string[];
  readonly create: () => Promise<void>;
}

/** @returns what somebody built upon the column, in words. Leaves nothing behind, and takes no lock that others feel */
export async function obstaclesTo(db: Db, column: RetypableColumn): Promise<string[]> {
  return db.transaction(async (trx) => {
    const followers = await followersOf(trx, column);
    return wayOf(trx, column, followers);
  });
}

/**
 * Has the shadow take the column's place: between two pages, with everything that shows the column, its comment and
 * its rights. Who writes pages by the old type notices by the table's version.
 * @param unfit by account, values that do not fit, besides those that `progress` notes
 * @returns all values that do not fit
 * @throws RetypeRefused; a database error 55P03 when something stays locked; in both cases nothing was changed
 */
export async function swapColumns(
  db: Db,
  shadow: Shadow,
  progress: FillProgress,
  unfit: ReadonlyMap<string, number>,
): Promise<number> {
  const { replaces, column, suffixes } = shadow;
  const { table, field } = replaces;
  return db.transaction(async (trx) => {
    await takeTables(trx, table);
    const followers = await followersOf(trx, replaces);
    const inTheWay = await wayOf(trx, replaces, followers);
    if (inTheWay.length > 0) throw refusedBy(replaces, inTheWay);
    // Views come first: who reads one has locked it, and waits for the table. Whoever held the table then, and wanted
    // the view, would never get it.
    await dropAndRemake(trx, replaces, followers, async () => {
      for (const suffix of suffixes) {
        await trx.sql`lock table only ${dataTable(table, suffix)} in access exclusive mode`;
      }
      await fillRest(trx, shadow, progress);
      for (const suffix of suffixes) await replaceColumn(trx, shadow, suffix);
    });
    await trx.sql`
      update ${trx.table('_columns')} set type = ${column.type} where collection = ${table.name} and field = ${field}`;
    let sum = 0;
    for (const userId of (await lastChangeIds(trx)).keys()) {
      const count = (unfit.get(userId) ?? 0) + (progress.unfit.get(userId)?.size ?? 0);
      await recount(trx, replaces, userId, count);
      sum += count;
    }
    await remakeFollowers(trx);
    return sum;
  });
}

export function refusedBy({ table, name }: RetypableColumn, inTheWay: readonly string[]): RetypeRefused {
  return new RetypeRefused(
    `${table.name}.${name} can't get another type while these depend on it: ${inTheWay.join(', ')}. ` +
      'Keep their definitions (pg_get_viewdef, pg_get_indexdef), drop them, retype, and make them again',
  );
}

/** What is filled, and counted, is all of the account's: nothing is left to be filled. */
async function recount(
  trx: Db,
  { table, field }: RetypableColumn,
  userId: string,
  count: number,
): Promise<void> {
  const ofField = sql`collection = ${table.name} and field = ${field}`;
  await trx.sql`delete from ${trx.stateTable('backfill')} where _user_id = ${userId}::bigint and ${ofField}`;
  await trx.sql`delete from ${trx.table('_conflicts')} where _user_id = ${userId}::bigint and ${ofField}`;
  if (count === 0) return;
  const scope = { userId, collection: table.name as CollectionName, parent: '' };
  await countConflicts(trx, scope, new Map([[field, count]]), await databaseTime(trx));
}

async function followersOf(trx: Db, { table, name }: RetypableColumn): Promise<Follower[]> {
  const followers: Follower[] = [];
  const kinds: readonly ((trx: Db, table: Table) => Promise<TableView>)[] = [liveView, versionsView];
  for (const viewNow of kinds) {
    const view = await viewNow(trx, table);
    const standing: StandingView | undefined = await ownView(trx, table, view);
    if (standing === undefined || !standing.columns.includes(name)) continue;
    const { suffix } = view;
    const create = async (): Promise<void> => createView(trx, table, await viewNow(trx, table), standing);
    followers.push({ table, suffix, columns: standing.columns, create });
  }
  const companies: Table = { schema: table.schema, name: 'companies', parent: undefined, key: undefined };
  const { rows } = await trx.sql<{ column: string }>`
    select c.attname as column from pg_attribute c
    where c.attrelid = ${relation(companies)} and c.attnum > 0 and exists (
      select from pg_rewrite r join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid
        join pg_attribute a on d.refclassid = 'pg_class'::regclass and a.attrelid = d.refobjid and a.attnum = d.refobjsubid
        join pg_class v on v.oid = r.ev_class
      where r.ev_class = ${relation(companies)} and a.attrelid = ${relation(table)} and a.attname = ${name}
        and pg_has_role(v.relowner, 'usage'))`;
  if (rows.length > 0) {
    const create = async (): Promise<void> =>
      void (await trx.sql`select ${trx.stateTable('make_companies')}()`);
    followers.push({ table: companies, suffix: '', columns: rows.map(({ column }) => column), create });
  }
  return followers;
}

function wayOf(trx: Db, column: RetypableColumn, followers: readonly Follower[]): Promise<string[]> {
  const views = followers.map(({ table, suffix }) => relation(table, suffix));
  return thingsInTheWay(trx, column, views);
}

/** Drops the followers, one inside the other, does the work, and makes them again. */
async function dropAndRemake(
  trx: Db,
  column: RetypableColumn,
  [first, ...others]: readonly Follower[],
  work: () => Promise<void>,
): Promise<void> {
  if (first === undefined) return work();
  const { table, suffix, columns, create } = first;
  const done = await makeAnew(trx, table, suffix, columns, async () => {
    await dropAndRemake(trx, column, others, work);
    await create();
  });
  if (!done) throw refusedBy(column, [`what was added to the view ${table.name}${suffix}`]);
}

/** Old column out, shadow in. Another column comes and goes, so that the table's version rises. */
async function replaceColumn(trx: Db, { replaces, column }: Shadow, suffix: string): Promise<void> {
  const { table, name } = replaces;
  const data = dataTable(table, suffix);
  const rights = await trx.sql<{ privilege: string; grantee: string | null; grantable: boolean }>`
    select e.privilege_type as privilege, r.rolname as grantee, e.is_grantable as grantable
    from pg_attribute a cross join aclexplode(a.attacl) as e left join pg_roles r on r.oid = e.grantee
    where a.attrelid = ${relation(table, suffix)} and a.attname = ${name}`;
  const described = await trx.sql<{ text: string | null }>`
    select col_description(a.attrelid, a.attnum) as text from pg_attribute a
    where a.attrelid = ${relation(table, suffix)} and a.attname = ${name}`;
  const passing = sql.id(`${column.name}_passing`);
  try {
    await trx.sql`alter table ${data} drop column ${sql.id(name)}, add column ${passing} boolean`;
  } catch (error) {
    if (sqlState(error) !== DEPENDENTS_EXIST) throw error;
    throw refusedBy(replaces, [String((error as { detail?: unknown }).detail)]);
  }
  await trx.sql`alter table ${data} drop column ${passing}`;
  await trx.sql`alter table ${data} rename column ${sql.id(column.name)} to ${sql.id(name)}`;
  const text = described.rows[0]?.text ?? null;
  if (text !== null) await trx.sql`comment on column ${data}.${sql.id(name)} is ${sql.raw(quotedText(text))}`;
  for (const { privilege, grantee, grantable } of rights.rows) {
    const to = grantee === null ? sql`public` : sql.id(grantee);
    const option = grantable ? sql`with grant option` : sql``;
    await trx.sql`grant ${sql.raw(privilege)} (${sql.id(name)}) on ${data} to ${to} ${option}`;
  }
}
