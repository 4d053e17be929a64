import type { Db } from '../../db/connection/db.ts';
import { sql } from 'kysely';
import { hasCitus } from '../../db/distribution/citus.ts';
import { PLANNED_WITHOUT_VALUES } from '../../db/ownership/account-plans.ts';
import { TypeRefused } from '../../model/errors.ts';
import { SECOND_COLUMN } from '../../model/second-column.ts';
import { COLUMN_TYPES, type ColumnType } from '../rows/column-value.ts';
import type { FieldColumn } from '../rows/row-payload.ts';
import { dataTable, relation, type Table } from '../table.ts';
import { readRegistry, tableVersion } from './column-registry.ts';
import { BATCH, fillBatch, type FilledBatch, type RowsToFill } from './backfill.ts';
import { LOCK_TIMEOUT, remakeFollowers, takeTurn } from './follow-columns.ts';

/** A table and its history. */
export const SUFFIXES = ['', '_history'] as const;

/** How long a change waits for vacuum, which gives way after a second, and for pages. Nobody waits behind it. */
const WRITERS_TIMEOUT = '5s';

/** A column that the mirror made for a field, with the type that it is to get. */
export interface TypeChange extends FieldColumn {
  readonly table: Table;
  readonly from: ColumnType;
  /** `pg_attribute.attnum` in the table. */
  readonly number: number;
}

type Found = Pick<TypeChange, 'field' | 'from' | 'number'> & Record<'documented' | 'usable', boolean>;

/** @throws TypeRefused where the column may not get the type */
export async function typeChange(db: Db, table: Table, name: string, to: string): Promise<TypeChange> {
  const refused = (why: string): TypeRefused => new TypeRefused(`${table.name}.${name} ${why}`);
  const type = COLUMN_TYPES.find((each) => each === to);
  if (type === undefined)
    throw refused(`can't be ${JSON.stringify(to)}: types are ${COLUMN_TYPES.join(', ')}`);
  // It is usable where table and history have it with the registered type.
  const { rows } = await db.sql<Found>`
    select r.field, r.type as from, a.attnum as number, r.documented,
      (select count(*) from pg_attribute u
        where u.attrelid in (${relation(table)}, ${relation(table, '_history')}) and u.attname = r.column_name
          and not u.attisdropped and u.atttypid = to_regtype(r.type) and u.atttypmod = -1) = 2 as usable
    from ${db.table('_columns')} as r
    left join pg_attribute as a on a.attrelid = ${relation(table)} and a.attname = r.column_name
    where r.collection = ${table.name} and r.column_name = ${name}`;
  const [found] = rows;
  if (found === undefined) {
    throw refused('is no column that the mirror made for a field: "research-mirror columns" lists those');
  }
  const { documented, usable, ...column } = found;
  if (documented) throw refused('is of the key, or named in the service’s specification: its type stays');
  if (!usable) throw refused(`was changed by hand: make it ${column.from} again first (ALTER TABLE)`);
  if (column.from === type) throw refused(`is ${type} already`);
  const ofCitus = () => db.sql`select from pg_dist_partition where logicalrelid = ${relation(table)}`;
  if ((await hasCitus(db)) && (await ofCitus()).rows.length > 0) {
    throw refused('is in a table that Citus distributes: there, types stay. Read the field from _raw');
  }
  return { table, name, type, ...column };
}

/**
 * Begins a change of a table's columns when neither pages nor vacuum have it, and keeps them off: only readers are left
 * to be waited for. Pages wait for their account's row meanwhile, and hold nothing that readers want.
 * @throws a database error 55P03
 */
export async function takeTables(trx: Db, table: Table): Promise<void> {
  await takeTurn(trx);
  await trx.sql`select set_config('lock_timeout', ${WRITERS_TIMEOUT}, true)`;
  await trx.sql`lock table ${dataTable(table)}, ${dataTable(table, '_history')} in share update exclusive mode`;
  await trx.sql`select a._user_id from ${trx.stateTable('account')} as a order by a._user_id for no key update`;
  await trx.sql`select set_config('lock_timeout', ${LOCK_TIMEOUT}, true), ${PLANNED_WITHOUT_VALUES}`;
}

/** Removes second columns, finished or not: who fills one fails. @throws a database error 55P03 */
export async function dropSecond(trx: Db, table: Table): Promise<void> {
  await takeTables(trx, table);
  for (const name of (await readRegistry(trx, table)).taken) {
    if (!SECOND_COLUMN.test(name)) continue;
    for (const suffix of SUFFIXES) {
      await trx.sql`alter table ${dataTable(table, suffix)} drop column if exists ${sql.id(name)}`;
    }
  }
  await remakeFollowers(trx);
}

/** Makes an empty second column, in place of any other. @throws a database error 55P03 */
export async function makeSecond(trx: Db, { table, field, number, type }: TypeChange): Promise<FieldColumn> {
  await dropSecond(trx, table);
  const name = `_set_type_${number}_${(await tableVersion(trx, table)) + 1}`;
  for (const suffix of SUFFIXES) {
    await trx.sql`alter table ${dataTable(table, suffix)} add column ${sql.id(name)} ${sql.raw(type)}`;
  }
  await remakeFollowers(trx);
  return { field, name, type };
}

/**
 * Fills the column in what was written since the last pass: rows first, in the order of their change IDs, then versions.
 * A row that changes meanwhile gets a later change ID, and comes with the next pass; the version that it leaves was
 * filled before, or is in history then.
 * @param run `db.transaction`, or what does all in one transaction, which has locked the tables
 * @param through up to which change ID each account's versions were filled: is moved
 * @param dry nothing is written or locked, and deleted rows are left out; else pages and batches take turns
 */
export async function* fillColumn(
  run: Db['transaction'],
  table: Table,
  column: FieldColumn,
  through: Map<string, string>,
  dry = false,
): AsyncGenerator<FilledBatch & { readonly userId: string }> {
  const which = dry ? sql`and t._deleted_at is null` : sql``;
  const accounts = await run(async (trx) => {
    const { rows } = await trx.sql<{ userId: string; until: string }>`
      select _user_id as "userId", change_id as until from ${trx.stateTable('account')} order by 1`;
    return rows;
  });
  for (const { userId, until } of accounts) {
    for (const suffix of SUFFIXES) {
      let after: string | undefined = through.get(userId) ?? String(-(2n ** 63n));
      while (after !== undefined) {
        const rest: RowsToFill = {
          suffix,
          after,
          which: sql`t._change_id <= ${until}::bigint ${which}`,
          // A page makes a row and a version of each item that it changes, and waits its turn: with fewer, filling would
          // never come to an end beside a busy writer; with more, pages would wait for longer.
          most: 4 * BATCH,
          dry,
        };
        const batch: FilledBatch | undefined = await run(async (trx) => {
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
