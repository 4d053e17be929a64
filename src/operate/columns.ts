import { countOf, formatCount } from '@research-mirror/runtime/figures';
import { sql } from 'kysely';
import { dataTable, tableOf } from '../mirror/table.ts';
import { COLLECTION_NAMES, type CollectionName } from '../model/collections.ts';
import { TypeRefused } from '../model/errors.ts';
import type { Db } from '../postgres/db.ts';
import { operatorOn } from '../postgres/operator-log.ts';
import { sqlState } from '../postgres/sql-state.ts';
import { shortened } from '../status/report-words.ts';
import { EXIT, type ExitCode, UsageError } from '../terminal/exit-code.ts';
import { chooseFrom } from '../terminal/given.ts';
import { onMirror } from '../terminal/open-mirror.ts';
import { askPerson, complain, type Options, say, type Shell } from '../terminal/shell.ts';
import { printable, printList } from '../terminal/text-table.ts';
import { acceptFields, setColumnType, type TriedType } from './set-column-type.ts';

type ColumnsOptions = Options<'dryRun' | 'yes' | 'json' | 'demo'>;

/** Characters of a value that are shown. */
const SHOWN = 60;

/** What would not fit a type, and how much would be lost by that. @param table its name */
function describeTried(table: string, column: string, type: string, tried: TriedType): string {
  const { values, lost } = tried;
  const unfit = [...tried.unfit.values()].reduce((sum, count) => sum + count, 0);
  const examples = tried.examples.map(
    ({ userId, key, value }) =>
      `  ${printable(`${table} ${key} of account ${userId}: ${shortened(value, SHOWN)}`)}\n`,
  );
  return (
    `${table}.${column} as ${type}: of ${countOf(values, 'value')}, history included, ${formatCount(unfit)} would ` +
    `not fit and be NULL (whole in _raw)\n${countOf(lost, 'value')} that the column has now would be lost from it` +
    `${lost === 0 ? '' : ', for example'}\n${examples.join('')}`
  );
}

interface NamedColumn {
  readonly table: CollectionName;
  readonly column: string;
  readonly type: string;
}

/** What `columns` does. */
export async function columnsAction(
  shell: Shell,
  action: string,
  name: string | undefined,
  type: string | undefined,
  options: ColumnsOptions,
): Promise<ExitCode> {
  const { demo } = options;
  if (action === 'list') {
    if (name !== undefined) throw new UsageError('columns list takes no name');
    return onMirror(shell, 'columns', { demo }, ({ db }) => list(shell, db, options));
  }
  if (action === 'accept') {
    const [given = '', ...field] = (name ?? '').split('.');
    if (given === '' || type !== undefined)
      throw new UsageError('columns accept: which table? As in research_jobs');
    const table = chooseFrom(COLLECTION_NAMES, given, 'columns accept: there is no table');
    const asked = field.length === 0 ? undefined : field.join('.');
    return onMirror(shell, 'columns', { demo }, ({ db }) => accept(shell, db, table, asked));
  }
  const named = readNamed(name, type);
  return onMirror(shell, 'columns', { demo }, ({ db }) => setType(shell, db, named, options));
}

/** @throws UsageError */
function readNamed(name = '', type: string | undefined): NamedColumn {
  const dot = name.indexOf('.');
  const column = name.slice(dot + 1);
  if (dot < 0 || column === '' || type === undefined) {
    throw new UsageError('columns set-type: which column, and which type? As in research_jobs.score numeric');
  }
  const begin = 'columns set-type: there is no table';
  return { table: chooseFrom(COLLECTION_NAMES, name.slice(0, dot), begin), column, type };
}

async function list(shell: Shell, db: Db, { json = false }: ColumnsOptions): Promise<ExitCode> {
  const columns = await reportColumns(db);
  const hints = columns.flatMap(({ table, column, suggestion: better }) =>
    better === null || column === null
      ? []
      : [`"columns set-type ${table}.${column} ${better.type} --dry-run" tries it`],
  );
  return printList(shell, {
    json: json ? JSON.stringify({ columns }) : undefined,
    rows: columns.map(
      ({ table, column, type, field, firstSeenAt, conflicts, example, suggestion: better }) => ({
        column: column === null ? `${table} (in _raw)` : `${table}.${column}`,
        type,
        field,
        since: firstSeenAt.toISOString().slice(0, 10),
        'did not fit': conflicts === 0 ? '' : formatCount(conflicts),
        'for example': example,
        instead: better && `${better.type} would take all ${formatCount(better.values)}`,
      }),
    ),
    none: 'no field that came later has a column yet',
    below: [countOf(columns.length, 'column'), ...hints].join('\n'),
  });
}

async function setType(
  shell: Shell,
  db: Db,
  named: NamedColumn,
  { dryRun = false, yes = false }: ColumnsOptions,
): Promise<ExitCode> {
  const what = `${named.table}.${named.column}`;
  const { clock, signal, scrubber } = shell;
  let fits = true;
  try {
    const done = await setColumnType(
      { db, clock, signal, by: await operatorOn(db), ...named },
      async (tried) => {
        fits = [...tried.unfit.values()].every((count) => count === 0);
        const said = describeTried(named.table, named.column, named.type, tried);
        (dryRun ? shell.out : shell.err).write(scrubber.scrub(said));
        return !dryRun && (yes || (await askPerson(shell, 'Give it this type?', named.type)));
      },
    );
    if (dryRun) return fits ? EXIT.DONE : EXIT.NO;
    say(shell, done ? `${what} is ${named.type} now` : `${what} stays as it is`);
    return done ? EXIT.DONE : EXIT.NO;
  } catch (error) {
    if (error instanceof TypeRefused) throw new UsageError(`columns set-type: ${error.message}`);
    throw error;
  }
}

async function accept(
  shell: Shell,
  db: Db,
  table: CollectionName,
  field: string | undefined,
): Promise<ExitCode> {
  const { clock, signal } = shell;
  const fields = await acceptFields({ db, clock, signal, by: await operatorOn(db), table, field });
  for (const { field: each, name, type } of fields) {
    const is = name === undefined ? 'stays in _raw: the table is full' : `is ${table}.${name} now, ${type}`;
    say(shell, printable(`${JSON.stringify(shortened(each, SHOWN))} ${is}`));
  }
  if (fields.length > 0) {
    shell.err.write(
      'rows and history are filled from _raw while a daemon runs ("status" says how far it is)\n',
    );
    return fields.some(({ name }) => name === undefined) ? EXIT.NO : EXIT.DONE;
  }
  if (field === undefined) say(shell, `no field of ${table} waits for a column`);
  else complain(shell, `${JSON.stringify(shortened(field, SHOWN))} of ${table} does not wait for a column`);
  return field === undefined ? EXIT.DONE : EXIT.NO;
}

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
