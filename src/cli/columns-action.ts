import { reportColumns } from '../app/columns/column-report.ts';
import { acceptFields } from '../app/columns/new-fields.ts';
import { setColumnType, type TriedType } from '../app/columns/set-column-type.ts';
import { operatorOn } from '../app/process/operator.ts';
import type { Db } from '../db/connection/db.ts';
import { COLLECTION_NAMES, type CollectionName } from '../model/collections.ts';
import { TypeRefused } from '../model/errors.ts';
import type { Options } from './definitions/definition.ts';
import { chooseFrom } from './steps/given.ts';
import { onMirror } from './steps/mirror.ts';
import { printList } from './steps/print-list.ts';
import { askPerson } from './terminal/ask-person.ts';
import { EXIT, UsageError, type ExitCode } from './terminal/exit-code.ts';
import { complain, say, type Shell } from './terminal/shell.ts';
import { countOf, formatCount } from '@research-mirror/runtime/figures';
import { shortened } from '../model/status/report-words.ts';
import { printable } from './terminal/text-table.ts';

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
