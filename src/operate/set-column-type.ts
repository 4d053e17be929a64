/** `columns set-type`: a second column is filled beside the first one, and takes its place. */

import type { Clock } from '@research-mirror/runtime/clock';
import { Unusable } from '@research-mirror/runtime/errors';
import { sql } from 'kysely';
import { BATCH, fillBatch, type FilledBatch } from '../mirror/backfill.ts';
import { COLUMN_TYPES, readRegistry, SECOND_COLUMN, tableVersion } from '../mirror/columns.ts';
import type { ColumnType, FieldColumn, PlannedColumn } from '../mirror/columns.ts';
import { countConflicts } from '../mirror/counters.ts';
import { recreateView } from '../mirror/recreate-view.ts';
import { addColumns, LOCK_TIMEOUT, recreateDependents, takeTurn } from '../mirror/table-columns.ts';
import { dataTable, relation, type Table, tableOf } from '../mirror/table.ts';
import type { CollectionName } from '../model/collections.ts';
import { TypeRefused } from '../model/errors.ts';
import { hasCitus } from '../postgres/citus.ts';
import { databaseTime, type Db, quotedText } from '../postgres/db.ts';
import { PLANNED_WITHOUT_VALUES } from '../postgres/fenced.ts';
import { logAct, type Operator } from '../postgres/operator-log.ts';
import { sqlState } from '../postgres/sql-state.ts';

interface SetTypeRequest {
  readonly db: Db;
  readonly clock: Pick<Clock, 'sleep' | 'monotonic'>;
  readonly signal: AbortSignal;
  readonly table: CollectionName;
  readonly column: string;
  readonly type: string;
  readonly by: Operator;
}

/** How the present values would fit, of rows that are not deleted and of versions in history. */
export interface TypeTrial {
  values: number;
  /** Number of values that would not fit, by account: they become NULL. */
  readonly unfit: Map<string, number>;
  /** Number of those that the column has now, and some of these. */
  lost: number;
  readonly examples: (NonNullable<FilledBatch>['unfit'][number] & { readonly userId: string })[];
}

const EXAMPLES = 5;
const LOCK_NOT_AVAILABLE = '55P03';
const UNDEFINED_COLUMN = '42703';

/** How long a table that others lock is tried again, ms. Sessions behind an attempt wait 300 ms at most. */
const PATIENCE_MS = 60_000;

/**
 * Gives a column another type, beside readers and writers: a second column is filled from `_raw` in batches, and then
 * replaces the column. Rows get no new `_change_id`, `_changed_at` or version. A failed change is undone; after a
 * SIGKILL an unused column stays until the next call for the table.
 * @param confirm gets what would not fit; false: nothing is done
 * @returns whether it was done
 * @throws TypeRefused; a database error 55P03 if the table stays locked; Unusable; the signal's reason
 */
export async function setColumnType(
  request: SetTypeRequest,
  confirm: (tried: TypeTrial) => Promise<boolean>,
): Promise<boolean> {
  const { db, signal } = request;
  const table = tableOf(db.schema, request.table);
  const change = await typeChange(db, table, request.column, request.type);
  await db.transaction((trx) => viewsUpon(trx, change));
  const tried = await tryType(request, change);
  if (!(await confirm(tried))) return false;

  const second = await whenFree(request, () => db.transaction((trx) => makeSecond(trx, change)));
  const through = new Map<string, string>();
  try {
    await whenFree(request, async () => {
      // The second pass fills what was written meanwhile, so that little is left for the moment of the replacement.
      for (let pass = 1; pass <= 2; pass += 1) {
        for await (const _ of fillColumn((work) => db.transaction(work), table, second, through)) {
          signal.throwIfAborted();
        }
      }
      await db.transaction(async (trx) => {
        await takeTables(trx, table);
        for await (const _ of fillColumn((work) => work(trx), table, second, through));
        await putInPlace(trx, change, second.name, tried.unfit);
        const given = { table: table.name, column: request.column, type: request.type };
        await logAct(trx, request.by, { act: 'columns set-type', given });
      });
    });
  } catch (error) {
    if (sqlState(error) === UNDEFINED_COLUMN) {
      const why = `another "columns set-type" of ${table.name} began meanwhile; this one changed nothing`;
      throw new Unusable(why);
    }
    await db.transaction((trx) => dropSecond(trx, table)).catch(() => {});
    throw error;
  }
  return true;
}

/** Tries every value of the field with the expressions that write pages. */
async function tryType({ db, signal }: SetTypeRequest, change: TypeChange): Promise<TypeTrial> {
  const tried: TypeTrial = { values: 0, unfit: new Map(), lost: 0, examples: [] };
  const { unfit, examples } = tried;
  const read = fillColumn((work) => db.transaction(work), change.table, change, new Map(), true);
  for await (const batch of read) {
    signal.throwIfAborted();
    const { userId } = batch;
    const lost = batch.unfit.filter(({ filled }) => filled);
    tried.values += batch.values;
    tried.lost += lost.length;
    unfit.set(userId, (unfit.get(userId) ?? 0) + batch.unfit.length);
    examples.push(...lost.slice(0, EXAMPLES - examples.length).map((each) => ({ userId, ...each })));
  }
  return tried;
}

/** Repeats work that needs the table for a moment while others lock it. */
async function whenFree<T>(
  { clock, signal }: Pick<SetTypeRequest, 'clock' | 'signal'>,
  work: () => Promise<T>,
): Promise<T> {
  const until = clock.monotonic() + PATIENCE_MS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (sqlState(error) !== LOCK_NOT_AVAILABLE || clock.monotonic() > until) throw error;
      await clock.sleep(1_000, signal);
    }
  }
}

/**
 * Adds the columns that a table's fields wait for, beside readers and writers; daemons fill them from `_raw`.
 * @param request.field this field alone; undefined: all of them
 * @returns the columns; those without a name found the table full
 * @throws a database error 55P03 if the table stays locked; the signal's reason
 */
export function acceptFields(
  request: Omit<SetTypeRequest, 'column' | 'type'> & { readonly field: string | undefined },
): Promise<readonly PlannedColumn[]> {
  const { db, by, table, field } = request;
  return whenFree(request, () =>
    db.transaction(async (trx) => {
      const planned = await addColumns(trx, tableOf(db.schema, table), new Map(), 'add', field);
      const columns = planned.flatMap(({ name }) => name ?? []);
      if (columns.length > 0) await logAct(trx, by, { act: 'columns accept', given: { table, columns } });
      return planned;
    }),
  );
}

/**
 * Replaces the column by the second one, in everything that shows it. Processes that write pages by the old type notice
 * by the table's version.
 * @param unfit numbers of values that do not fit, by account; they replace the numbers counted so far
 * @throws TypeRefused; a database error 55P03
 */
async function putInPlace(trx: Db, change: TypeChange, second: string, unfit: ReadonlyMap<string, number>) {
  const { table, field, type } = change;
  // Views come first: a view's reader has locked it and waits for the table. A change that held the table and wanted
  // the view would never get it.
  let work: () => Promise<unknown> = async () => {
    for (const suffix of SUFFIXES) await replaceColumn(trx, change, second, suffix);
  };
  for (const { name, options, definition } of await viewsUpon(trx, change)) {
    const inner = work;
    work = async () => {
      const done = await recreateView(trx, { ...table, name }, '', async () => {
        await inner();
        if (name === 'companies') return trx.sql`select ${trx.stateTable('make_companies')}()`;
        const given = options === null ? sql`` : sql`with (${sql.raw(options)})`;
        return trx.sql`create view ${trx.table(name)} ${given} as ${sql.raw(definition)}`;
      });
      if (!done)
        throw new TypeRefused(`the view ${name} has additions that can't be recreated with it. Drop them first`);
    };
  }
  await work();
  const ofField = sql`collection = ${table.name} and field = ${field}`;
  await trx.sql`update ${trx.table('_columns')} set type = ${type} where ${ofField}`;
  const at = await databaseTime(trx);
  for (const [userId, count] of unfit) {
    await trx.sql`delete from ${trx.stateTable('backfill')} where _user_id = ${userId}::bigint and ${ofField}`;
    await trx.sql`delete from ${trx.table('_conflicts')} where _user_id = ${userId}::bigint and ${ofField}`;
    const scope = { userId, collection: table.name as CollectionName, parent: '' };
    if (count > 0) await countConflicts(trx, scope, new Map([[field, count]]), at);
  }
  await recreateDependents(trx);
}

/**
 * Our views that show the column: they are recreated with it. Options are `security_invoker=true`, ….
 * @throws TypeRefused that names what else depends on the column or on one of these views
 */
async function viewsUpon(trx: Db, { table, name }: TypeChange) {
  const names = [`${table.name}_live`, `${table.name}_versions`, 'companies'];
  const ofColumn = sql`exists (select from pg_attribute a where a.attrelid = d.refobjid and a.attnum = d.refobjsubid
    and a.attname = ${name} and a.attrelid in (${relation(table)}, ${relation(table, '_history')}))`;
  const { rows: views } = await trx.sql<Record<'oid' | 'name' | 'definition', string> & { options: string | null }>`
    select v.oid::text as oid, v.relname as name, array_to_string(v.reloptions, ', ') as options,
      pg_get_viewdef(v.oid) as definition
    from pg_class v
    where v.relnamespace = ${trx.schema}::regnamespace and v.relname = any(${names}) and exists (
      select from pg_rewrite r join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid
      where r.ev_class = v.oid and d.refclassid = 'pg_class'::regclass and ${ofColumn})`;
  const oids = sql`${views.map(({ oid }) => oid)}::oid[]`;
  const { rows } = await trx.sql<{ what: string }>`
    select case when r.rulename = '_RETURN' then pg_describe_object('pg_class'::regclass, r.ev_class, 0)
      else pg_describe_object(d.classid, d.objid, d.objsubid) end as what
    from pg_depend d left join pg_rewrite r on d.classid = 'pg_rewrite'::regclass and r.oid = d.objid
    where d.deptype in ('n', 'a') and not coalesce(r.ev_class = any(${oids}) and r.rulename = '_RETURN', false)
      and (d.refclassid = 'pg_class'::regclass and (d.refobjid = any(${oids}) or ${ofColumn})
        or d.refclassid = 'pg_type'::regclass and d.refobjid in (
          select t.oid from pg_class c join pg_type t on t.oid = c.reltype or t.typelem = c.reltype and t.typcategory = 'A'
          where c.oid = any(${oids})))
    union
    select format('rights on column %I of table %s', a.attname, a.attrelid::regclass) from pg_attribute a
    where a.attrelid in (${relation(table)}, ${relation(table, '_history')}) and a.attname = ${name} and exists (
      -- Rights to read it come again with it.
      select from aclexplode(a.attacl) e where e.privilege_type <> 'SELECT' or e.is_grantable)
    order by 1`;
  if (rows.length === 0) return views;
  throw new TypeRefused(
    `the type of ${table.name}.${name} can't change while these depend on it: ${rows.map(({ what }) => what).join(', ')}. ` +
      'Save their definitions (pg_get_viewdef, pg_get_indexdef, …), drop them, and create them again afterwards',
  );
}

/** Drops the column and renames the second one. Another column comes and goes, so that the table's version rises. */
async function replaceColumn(trx: Db, { table, name }: TypeChange, second: string, suffix: string) {
  const data = dataTable(table, suffix);
  const passing = sql.id(`${second}_passing`);
  const { rows } = await trx.sql<{ text: string | null; readers: string[] }>`
    select col_description(attrelid, attnum) as text, array(
      select case e.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(e.grantee)) end
      from aclexplode(attacl) as e) as readers
    from pg_attribute where attrelid = ${relation(table, suffix)} and attname = ${name}`;
  const { text: comment = null, readers = [] } = rows[0] ?? {};
  await trx.sql`alter table ${data} drop column ${sql.id(name)}, add column ${passing} boolean`;
  await trx.sql`alter table ${data} drop column ${passing}`;
  await trx.sql`alter table ${data} rename column ${sql.id(second)} to ${sql.id(name)}`;
  const quoted = comment === null ? sql`null` : sql.raw(quotedText(comment));
  await trx.sql`comment on column ${data}.${sql.id(name)} is ${quoted}`;
  if (readers.length > 0) await trx.sql`grant select (${sql.id(name)}) on ${data} to ${sql.raw(readers.join(', '))}`;
}

/** Of a table and its history. */
const SUFFIXES = ['', '_history'] as const;

/** How long a change waits for pages and for vacuum, which gives way after a second. No session waits behind it. */
const WRITERS_TIMEOUT = '5s';

/** A column that the mirror added for a field, with its new type. */
interface TypeChange extends FieldColumn {
  readonly table: Table;
  readonly from: ColumnType;
  /** `pg_attribute.attnum` in the table. */
  readonly number: number;
}

/** @throws TypeRefused if the column may not get the type */
async function typeChange(db: Db, table: Table, name: string, to: string): Promise<TypeChange> {
  const refused = (why: string): TypeRefused => new TypeRefused(`${table.name}.${name} ${why}`);
  const type = COLUMN_TYPES.find((each) => each === to);
  if (type === undefined) throw refused(`can't have type ${JSON.stringify(to)}. Use one of ${COLUMN_TYPES.join(', ')}`);
  // It is usable if table and history have it with the registered type.
  const { rows } = await db.sql<
    Pick<TypeChange, 'field' | 'from' | 'number'> & Record<'documented' | 'usable', boolean>
  >`
    select r.field, r.type as from, a.attnum as number, r.documented,
      (select count(*) from pg_attribute u
        where u.attrelid in (${relation(table)}, ${relation(table, '_history')}) and u.attname = r.column_name
          and not u.attisdropped and u.atttypid = to_regtype(r.type) and u.atttypmod = -1) = 2 as usable
    from ${db.table('_columns')} as r
    left join pg_attribute as a on a.attrelid = ${relation(table)} and a.attname = r.column_name
    where r.collection = ${table.name} and r.column_name = ${name}`;
  const [found] = rows;
  if (found === undefined)
    throw refused('is not a column that the mirror created for a field. "research-mirror columns" lists those');
  const { documented, usable, ...column } = found;
  if (documented) throw refused('is part of the key or named in the service’s specification: its type is fixed');
  if (!usable) throw refused(`was changed by hand. Change it back to ${column.from} first (ALTER TABLE)`);
  if (column.from === type) throw refused(`already has type ${type}`);
  const ofCitus = () => db.sql`select from pg_dist_partition where logicalrelid = ${relation(table)}`;
  if ((await hasCitus(db)) && (await ofCitus()).rows.length > 0)
    throw refused('is in a table that Citus distributes, where types are fixed. Read the field from _raw');
  return { table, name, type, ...column };
}

/**
 * Begins a change of a table's columns: waits for pages and vacuum and keeps them off, so that only readers are left to
 * wait for. Pages wait for their account's row meanwhile, and hold nothing that readers want.
 * @throws a database error 55P03
 */
async function takeTables(trx: Db, table: Table): Promise<void> {
  await takeTurn(trx);
  await trx.sql`select set_config('lock_timeout', ${WRITERS_TIMEOUT}, true)`;
  await trx.sql`lock table ${dataTable(table)}, ${dataTable(table, '_history')} in share update exclusive mode`;
  await trx.sql`select a._user_id from ${trx.stateTable('account')} as a order by a._user_id for no key update`;
  await trx.sql`select set_config('lock_timeout', ${LOCK_TIMEOUT}, true), ${PLANNED_WITHOUT_VALUES}`;
}

/** Drops second columns, finished or not: a process that fills one fails. @throws a database error 55P03 */
async function dropSecond(trx: Db, table: Table): Promise<void> {
  await takeTables(trx, table);
  for (const name of (await readRegistry(trx, table)).taken) {
    if (!SECOND_COLUMN.test(name)) continue;
    for (const suffix of SUFFIXES)
      await trx.sql`alter table ${dataTable(table, suffix)} drop column if exists ${sql.id(name)}`;
  }
  await recreateDependents(trx);
}

/** Adds an empty second column, in place of any other. @throws a database error 55P03 */
async function makeSecond(trx: Db, { table, field, number, type }: TypeChange): Promise<FieldColumn> {
  await dropSecond(trx, table);
  const name = `_set_type_${number}_${(await tableVersion(trx, table)) + 1}`;
  for (const suffix of SUFFIXES)
    await trx.sql`alter table ${dataTable(table, suffix)} add column ${sql.id(name)} ${sql.raw(type)}`;
  await recreateDependents(trx);
  return { field, name, type };
}

/**
 * Fills the column in what was written since the last pass: rows first, in the order of their change IDs, then
 * versions. A row that changes meanwhile gets a later change ID, and comes with the next pass. The version that it
 * leaves was filled before, or is then in history.
 * @param run `db.transaction`, or a function that runs all in one transaction, which has locked the tables
 * @param through change IDs up to which versions were filled, by account; it is updated
 * @param dry nothing is written or locked, and deleted rows are left out; else pages and batches take turns
 */
async function* fillColumn(
  run: Db['transaction'],
  table: Table,
  column: FieldColumn,
  through: Map<string, string>,
  dry = false,
): AsyncGenerator<NonNullable<FilledBatch> & { readonly userId: string }> {
  const { rows: accounts } = await run(
    (trx) => trx.sql<{ userId: string; until: string }>`
      select _user_id as "userId", change_id as until from ${trx.stateTable('account')} order by 1`,
  );
  for (const { userId, until } of accounts) {
    const which = sql`t._change_id <= ${until}::bigint ${dry ? sql`and t._deleted_at is null` : sql``}`;
    for (const suffix of SUFFIXES) {
      let after: string | undefined = through.get(userId) ?? String(-(2n ** 63n));
      while (after !== undefined) {
        // A page writes a row and a version of each item that it changes, and waits its turn: with smaller batches,
        // filling would never end beside a busy writer; with larger ones, pages would wait for longer.
        const rest: Parameters<typeof fillBatch>[3] = { suffix, after, which, most: 4 * BATCH, dry };
        const batch: FilledBatch = await run(async (trx) => {
          const account = sql`${trx.stateTable('account')} where _user_id = ${userId}::bigint`;
          await trx.sql`select ${PLANNED_WITHOUT_VALUES} from ${account}`;
          if (!dry) await trx.sql`select _user_id from ${account} for no key update`;
          return fillBatch(trx, table, userId, rest, column);
        });
        if (batch !== undefined) yield { userId, ...batch };
        after = batch?.last;
      }
    }
    through.set(userId, until);
  }
}
