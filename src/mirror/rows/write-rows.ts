import { allSent, type Db } from '../../db/connection/db.ts';
import { type RawBuilder, sql } from 'kysely';
import type { Scope } from '../../model/collections.ts';
import { archiveRows } from '../history/archive.ts';
import { type FieldColumn, payloadText, type RowPayload } from './row-payload.ts';
import { keyColumns, keyTypeName, dataTable, type Table, typeName } from '../table.ts';

/** What the rows of one write have in common. */
export interface RowWrite {
  readonly table: Table;
  readonly scope: Scope;
  readonly columns: readonly FieldColumn[];
  /** `_changed_at`: the database's clock when the transaction began. */
  readonly at: Date;
  /** Columns that superseded versions are archived with; undefined where no history is kept. */
  readonly archived: readonly string[] | undefined;
}

/** Postgres wrote other rows than it was sent, and gave no error. */
export class RowsNotWritten extends Error {}

/**
 * Inserts and updates rows from one JSON parameter that SQL expands (docs/design/writing-a-page.md, "Write"). Before
 * that, in a statement of its own (docs/design/sql.md, "Rule 3"), it archives the versions that updates supersede; an
 * undeletion supersedes nothing. `ON CONFLICT … WHERE` is a guard only: the rows are known to differ.
 * @param before the last change ID before theirs
 * @throws RowsNotWritten when SQL did not write exactly the rows that were sent
 */
export async function writeRows(
  trx: Db,
  write: RowWrite,
  rows: readonly RowPayload[],
  before: bigint,
): Promise<void> {
  if (rows.length === 0) return;
  const { table, scope, columns, at, archived } = write;
  const superseded = rows.filter(({ row }) => row.change === 'updated').map(({ row }) => row.key);
  const archive =
    archived === undefined ? undefined : archiveRows(trx, table, scope, superseded, at, 'update', archived);
  const keys = keyColumns(table);
  const values = [
    ...columns.map((column) => column.name),
    '_change_id',
    '_deleted_at',
    '_hash',
    '_raw',
    '_verbatim',
  ];
  const names = [...keys, '_first_seen_at', '_changed_at', ...values].map((name) => sql.id(name));
  const keyValues: RawBuilder<unknown>[] = [sql`a._user_id`];
  if (table.parent !== undefined) keyValues.push(sql`${scope.parent}::${typeName(table.parent)}`);
  if (table.key !== undefined) keyValues.push(sql`x.k`);
  const insert = trx.sql`
    insert into ${dataTable(table)} as t (${sql.join(names)})
    select ${sql.join(keyValues)}, ${at}::timestamptz, ${at}::timestamptz, ${sql.join([
      ...columns.map(columnExpression),
      sql`x.c, null::timestamptz, decode(x.h, 'hex'), x.r, x.v`,
    ])}
    from ${trx.stateTable('account')} as a
    cross join jsonb_to_recordset(${payloadText(rows, before)}::text::jsonb)
      as x (k ${keyTypeName(table)}, h text, c bigint, o jsonb, v text, r jsonb)
    where a._user_id = ${scope.userId}::bigint
    on conflict (${sql.join(keys.map((name) => sql.id(name)))}) do update
    set _changed_at = greatest(excluded._changed_at, t._changed_at),
      ${sql.join(values.map((name) => sql`${sql.id(name)} = excluded.${sql.id(name)}`))}
    where t._hash is distinct from excluded._hash or t._deleted_at is not null`;
  // Both are on their way, in this order.
  const [result] = await allSent(insert, archive);
  const written = Number(result.numAffectedRows ?? 0n);
  if (written !== rows.length) {
    // As if it had refused them: `status` names whose doing it is by this text (problems.ts).
    throw new RowsNotWritten(
      `the database refuses (02000 ${table.name}: ${rows.length} rows were sent, ${written} were written): a rule or trigger of the table takes them away`,
    );
  }
}

/** The column's value from the row sent: `o` where it has the field, else the field's text in `_raw`. */
export function columnExpression({ field, type }: FieldColumn): RawBuilder<unknown> {
  const name = sql`${field}::text`;
  if (type === 'jsonb') return sql`case when x.o ? ${name} then null else nullif(x.r -> ${name}, 'null') end`;
  return sql`(case when x.o ? ${name} then x.o ->> ${name} else x.r ->> ${name} end)::${sql.raw(type)}`;
}
