/** `columns`: lists what columns hold and refuse, gives one another type, makes columns that a freeze left out. */

import { countOf, formatCount } from '@research-mirror/runtime/figures';
import { sql } from 'kysely';
import { dataTable, tableOf } from '../mirror/table.ts';
import { COLLECTION_NAMES, type CollectionName } from '../model/collections.ts';
import { TypeRefused } from '../model/errors.ts';
import type { Db } from '../postgres/db.ts';
import { operatorOn } from '../postgres/operator-log.ts';
import { sqlState } from '../postgres/sql-state.ts';
import { shortened } from '../status/status-report.ts';
import { chooseFrom } from '../terminal/given.ts';
import { onMirror } from '../terminal/open-mirror.ts';
import { askPerson, complain, EXIT, type Options, say, type Shell, UsageError } from '../terminal/shell.ts';
import { printable, printList } from '../terminal/text-table.ts';
import { acceptFields, setColumnType } from './set-column-type.ts';

type ColumnsOptions = Options<'dryRun' | 'yes' | 'json' | 'demo'>;

/** Characters of a value that are shown. */
const SHOWN = 60;

export async function columnsAction(
  shell: Shell,
  action: string,
  name: string | undefined,
  type: string | undefined,
  options: ColumnsOptions,
) {
  const { demo } = options;
  if (action === 'list') {
    if (name !== undefined) throw new UsageError('columns list takes no name');
    return onMirror(shell, 'columns', { demo }, ({ db }) => list(shell, db, options));
  }
  const [given = '', ...fields] = (name ?? '').split('.');
  const named = fields.length === 0 ? undefined : fields.join('.');
  const readTable = () => chooseFrom(COLLECTION_NAMES, given, `columns ${action}: unknown table`);
  if (action === 'accept') {
    if (given === '' || type !== undefined) throw new UsageError('columns accept needs a table, as in research_jobs');
    const table = readTable();
    return onMirror(shell, 'columns', { demo }, ({ db }) => accept(shell, db, table, named));
  }
  if (named === undefined || named === '' || type === undefined)
    throw new UsageError('columns set-type needs a column and a type, as in research_jobs.score numeric');
  const to = { table: readTable(), column: named, type };
  return onMirror(shell, 'columns', { demo }, ({ db }) => setType(shell, db, to, options));
}

async function list(shell: Shell, db: Db, { json = false }: ColumnsOptions) {
  const { rows } = await db.sql<RegisteredField>`
    select c.collection as table, c.column_name as column, c.field, c.type, c.documented,
      c.first_seen_at as "firstSeenAt", c.conflicts::float8 as conflicts
    from ${db.table('columns')} as c
    order by (c.conflicts > 0) desc, c.collection, c.column_name nulls last, c.field`;
  const columns: (RegisteredField & Awaited<ReturnType<typeof unfitValues>>)[] = [];
  for (const row of rows) columns.push({ ...row, ...(await unfitValues(db, row)) });
  const hints = columns.flatMap(({ table, column, suggestion: better }) =>
    better === null || column === null
      ? []
      : [`"columns set-type ${table}.${column} ${better.type} --dry-run" tries it`],
  );
  return printList(shell, {
    json: json ? JSON.stringify({ columns }) : undefined,
    rows: columns.map(({ table, column, firstSeenAt, conflicts, suggestion: better, ...each }) => ({
      column: column === null ? `${table} (in _raw)` : `${table}.${column}`,
      type: each.type,
      field: each.field,
      since: firstSeenAt.toISOString().slice(0, 10),
      'did not fit': conflicts === 0 ? '' : formatCount(conflicts),
      'for example': each.example,
      instead: better && `${better.type} would fit all ${formatCount(better.values)}`,
    })),
    none: 'no column has been added for a new field yet',
    below: [countOf(columns.length, 'column'), ...hints].join('\n'),
  });
}

async function setType(
  shell: Shell,
  db: Db,
  named: Readonly<{ table: CollectionName; column: string; type: string }>,
  { dryRun = false, yes = false }: ColumnsOptions,
) {
  const { table, column, type } = named;
  const { clock, signal, scrubber } = shell;
  let fits = true;
  try {
    const by = await operatorOn(db);
    const done = await setColumnType({ db, clock, signal, by, ...named }, async (tried) => {
      const { values, lost } = tried;
      const unfit = [...tried.unfit.values()].reduce((sum, count) => sum + count, 0);
      fits = unfit === 0;
      const examples = tried.examples.map(
        ({ userId, key, value }) =>
          `  ${printable(`${table} ${key} of account ${userId}: ${shortened(value, SHOWN)}`)}\n`,
      );
      const told =
        `${table}.${column} as ${type}: of ${countOf(values, 'value')}, history included, ${formatCount(unfit)} would ` +
        `not fit: NULL in the column, whole in _raw\nthe column would lose ${countOf(lost, 'value')} that it has now` +
        `${lost === 0 ? '' : ', for example:'}\n${examples.join('')}`;
      (dryRun ? shell.out : shell.err).write(scrubber.scrub(told));
      return !dryRun && (yes || (await askPerson(shell, 'Change the column?', type)));
    });
    if (dryRun) return fits ? EXIT.DONE : EXIT.NO;
    say(shell, `${table}.${column} ${done ? `is now ${type}` : 'is unchanged'}`);
    return done ? EXIT.DONE : EXIT.NO;
  } catch (error) {
    if (error instanceof TypeRefused) throw new UsageError(`columns set-type: ${error.message}`);
    throw error;
  }
}

async function accept(shell: Shell, db: Db, table: CollectionName, field: string | undefined) {
  const { clock, signal } = shell;
  const fields = await acceptFields({ db, clock, signal, by: await operatorOn(db), table, field });
  for (const { field: each, name, type } of fields) {
    const is = name === undefined ? 'stays in _raw: the table is full' : `is now ${table}.${name}, ${type}`;
    say(shell, printable(`${JSON.stringify(shortened(each, SHOWN))} ${is}`));
  }
  if (fields.length > 0) {
    shell.err.write('the daemon fills rows and history from _raw while it runs; "status" shows how far it is\n');
    return fields.some(({ name }) => name === undefined) ? EXIT.NO : EXIT.DONE;
  }
  if (field === undefined) say(shell, `no field of ${table} waits for a column`);
  else complain(shell, `${JSON.stringify(shortened(field, SHOWN))} of ${table} does not wait for a column`);
  return field === undefined ? EXIT.DONE : EXIT.NO;
}

/** A field of a collection's items that came later, and its column. Part of the answer in JSON. */
interface RegisteredField extends Readonly<Record<'table' | 'field' | 'type', string>> {
  /** Null: the field stays in `_raw`. */
  readonly column: string | null;
  /** The service's specification names the field, so its type stays. */
  readonly documented: boolean;
  readonly firstSeenAt: Date;
  /** Values of all accounts that did not fit: NULL in the column, whole in `_raw`. */
  readonly conflicts: number;
}

/** Bound (ms) of a search for values that did not fit. Without an answer there is neither example nor suggestion. */
const SEARCH_MS = 5_000;
const QUERY_CANCELED = '57014';

/** A value that did not fit, as JSON, and a type for all values. Null: none is left, or the search takes long. */
async function unfitValues(db: Db, registered: RegisteredField) {
  const { table: collection, column, field, type, documented, conflicts } = registered;
  const none = { example: null, suggestion: null };
  if (conflicts === 0 || column === null) return none;
  const table = tableOf(db.schema, collection);
  const values = (suffix: string) => sql`
    select t._raw -> ${field}::text as value, t.${sql.id(column)} is null as unfit from ${dataTable(table, suffix)} as t
    where coalesce(t._raw -> ${field}::text, 'null') <> 'null'`;
  try {
    const { rows } = await db.transaction(async (trx) => {
      await trx.sql`select set_config('statement_timeout', ${String(SEARCH_MS)}, true)`;
      return trx.sql<{ kind: string; count: number; example: string | null }>`
        select jsonb_typeof(v.value) as kind, count(*)::float8 as count,
          min(left(v.value::text, 200)) filter (where v.unfit) as example
        from (${values('')} union all ${values('_history')}) as v group by 1 order by 1`;
    });
    const example = rows.flatMap((row) => row.example ?? [])[0];
    if (example === undefined) return none;
    const better = typeFor(rows.map(({ kind }) => kind));
    const count = rows.reduce((sum, row) => sum + row.count, 0);
    return {
      example: shortened(example, SHOWN),
      suggestion: documented || better === type ? null : { type: better, values: count },
    };
  } catch (error) {
    if (sqlState(error) !== QUERY_CANCELED) throw error;
    return none;
  }
}

/** The simplest type that takes every JSON value of these kinds. */
function typeFor([kind = '', ...others]: readonly string[]): string {
  if (others.length > 0) return 'jsonb';
  return { string: 'text', number: 'numeric', boolean: 'boolean' }[kind] ?? 'jsonb';
}
