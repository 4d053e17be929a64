import { sql } from 'kysely';
import { sqlState } from '../../db/connection/sql-state.ts';
import type { Db } from '../../db/connection/db.ts';
import { dataTable, tableOf } from '../../mirror/table.ts';
import { shortened } from '../../model/status/report-words.ts';

/** Characters of a value that are shown. */
const SHOWN = 60;

/** A field of a collection's items, and the column that the mirror made for it. */
interface RegisteredField {
  readonly table: string;
  /** Null: the field stays in `_raw`. */
  readonly column: string | null;
  readonly field: string;
  readonly type: string;
  /** The service's specification names it: its type stays. */
  readonly documented: boolean;
  readonly firstSeenAt: Date;
  /** Values that did not fit so far, over all accounts: NULL in the column, whole in `_raw`. */
  readonly conflicts: number;
}

/** What values that did not fit show; null: none is there any more, or looking for it takes long. */
interface Unfit {
  /** The beginning of one, as JSON. */
  readonly example: string | null;
  /** A type that would take every value that is there. */
  readonly suggestion: { readonly type: string; readonly values: number } | null;
}

const NOTHING: Unfit = { example: null, suggestion: null };
/** How long (ms) the values of one column are looked at: without an end there is neither example nor suggestion. */
const LOOK_MS = 5_000;
const BROKEN_OFF = '57014';

/** Every registered field, those with values that did not fit first. */
export async function reportColumns(db: Db): Promise<readonly (RegisteredField & Unfit)[]> {
  const { rows } = await db.sql<RegisteredField>`
    select c.collection as table, c.column_name as column, c.field, c.type, c.documented,
      c.first_seen_at as "firstSeenAt", c.conflicts::float8 as conflicts
    from ${db.table('columns')} as c
    order by (c.conflicts > 0) desc, c.collection, c.column_name nulls last, c.field`;
  const reported: (RegisteredField & Unfit)[] = [];
  for (const row of rows) {
    const { column, conflicts } = row;
    reported.push({
      ...row,
      ...(conflicts === 0 || column === null ? NOTHING : await lookAt(db, row, column)),
    });
  }
  return reported;
}

async function lookAt(
  db: Db,
  { table: collection, field, type, documented }: RegisteredField,
  column: string,
): Promise<Unfit> {
  const table = tableOf(db.schema, collection);
  const values = (suffix: string) => sql`
    select t._raw -> ${field}::text as value, t.${sql.id(column)} is null as unfit from ${dataTable(table, suffix)} as t
    where coalesce(t._raw -> ${field}::text, 'null') <> 'null'`;
  try {
    const { rows } = await db.transaction(async (trx) => {
      await trx.sql`select set_config('statement_timeout', ${String(LOOK_MS)}, true)`;
      return trx.sql<{ kind: string; count: number; example: string | null }>`
        select jsonb_typeof(v.value) as kind, count(*)::float8 as count,
          min(left(v.value::text, 200)) filter (where v.unfit) as example
        from (${values('')} union all ${values('_history')}) as v group by 1 order by 1`;
    });
    const example = rows.flatMap((row) => row.example ?? [])[0];
    if (example === undefined) return NOTHING;
    const better = typeFor(rows.map(({ kind }) => kind));
    const count = rows.reduce((sum, row) => sum + row.count, 0);
    return {
      example: shortened(example, SHOWN),
      suggestion: documented || better === type ? null : { type: better, values: count },
    };
  } catch (error) {
    if (sqlState(error) !== BROKEN_OFF) throw error;
    return NOTHING;
  }
}

/** The plainest type that takes every JSON value of these kinds. */
function typeFor([kind = '', ...others]: readonly string[]): string {
  if (others.length > 0) return 'jsonb';
  return { string: 'text', number: 'numeric', boolean: 'boolean' }[kind] ?? 'jsonb';
}
