import { countOf } from '@research-mirror/runtime/figures';
import type { Config } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';
import { InvalidValue, parseDuration } from '../config/parse-values.ts';
import { resolveConnection } from '../postgres/pool.ts';
import { reachMirror } from '../terminal/open-mirror.ts';
import { EXIT, OutputClosed, roomIn, UsageError, widthOfTerminal } from '../terminal/shell.ts';
import type { Options, Shell, Terminal } from '../terminal/shell.ts';
import { formatRecords, formatTable, widthOfTitles } from '../terminal/text-table.ts';
import { readerUrl, readOnlyQuery, sqlLogin, sqlLoginByHand, StatementRefused } from './read-only-query.ts';
import type { ResultColumn, RowReceiver } from './read-only-query.ts';

const FORMATS = ['csv', 'json', 'vertical'] as const;

export async function sqlAction(
  shell: Shell,
  text: string,
  options: Options<'csv' | 'json' | 'vertical' | 'demo', 'timeout'>,
) {
  if (text.trim() === '') throw new UsageError('the query is empty');
  const { out, signal } = shell;
  const [format, other] = FORMATS.filter((each) => options[each] === true);
  if (other !== undefined) throw new UsageError(`--${format} and --${other} can't be used together`);
  let printer = tableRows(shell, format === 'vertical');
  if (format === 'csv') printer = csvRows(out);
  if (format === 'json') printer = jsonRows(out);
  const { timeout: given = '60s', demo = false } = options;
  const asked = { command: 'sql', text, timeout: readTimeout(given), demo };
  const room = (): Promise<void> | undefined => roomIn(out, signal);
  try {
    await askMirror(shell, loadConfig(shell.env, 'database'), asked, { ...printer, room });
    printer.end();
    return EXIT.DONE;
  } catch (error) {
    // The reader has what it wanted.
    if (error instanceof OutputClosed) return EXIT.DONE;
    if (!(error instanceof StatementRefused)) throw error;
    shell.err.write(shell.scrubber.scrub(explainRefusal(error, text)));
    return EXIT.NO;
  }
}

/** `--timeout` in milliseconds. @throws UsageError */
function readTimeout(text: string): number {
  try {
    return parseDuration('1ms')(text);
  } catch (error) {
    if (error instanceof InvalidValue) throw new UsageError(`--timeout: ${error.message}`);
    throw error;
  }
}

interface RowPrinter extends RowReceiver {
  /** The answer is complete, or has enough rows. */
  end(): void;
}

/** One JSON object, `{"rows":[…]}`, written row by row: it takes no memory. */
export function jsonRows(out: Terminal): RowPrinter {
  let keys: readonly string[] = [];
  let kinds: readonly ResultColumn['kind'][] = [];
  let rows = 0;
  return {
    columns: (columns) => {
      const seen = new Map<string, number>();
      kinds = columns.map(({ kind }) => kind);
      keys = columns.map(({ name }) => {
        const times = (seen.get(name) ?? 0) + 1;
        seen.set(name, times);
        // SQL allows two columns of one name; in an object one would hide the other.
        return JSON.stringify(times === 1 ? name : `${name}_${times}`);
      });
    },
    row: (values) => {
      const fields = keys.map((key, at) => `${key}:${jsonOf(values[at] ?? null, kinds[at])}`);
      out.write(`${rows === 0 ? '{"rows":[\n' : ',\n'}{${fields.join(',')}}`);
      rows += 1;
      return true;
    },
    end: () => void out.write(rows === 0 ? '{"rows":[]}\n' : '\n]}\n'),
  };
}

/** Numbers keep Postgres's digits: parsing them would lose some. */
function jsonOf(value: string | null, kind: ResultColumn['kind'] | undefined): string {
  if (value === null) return 'null';
  // NaN and Infinity are no JSON numbers.
  if (kind === 'number') return /^-?\d/.test(value) ? value : JSON.stringify(value);
  if (kind === 'boolean') return value === 't' ? 'true' : 'false';
  // json keeps its line breaks; a row must stay one line.
  if (kind === 'json') return value.replaceAll(/[\r\n]/g, ' ');
  const text = kind === 'moment' ? value.replace(/^(\d{4,}-\d\d-\d\d) (.*)\+00$/, '$1T$2Z') : value;
  return JSON.stringify(text);
}

/** Characters collected for a write: a system call for each row would take most of the time. */
const CHUNK = 64 * 1024;

/** CSV of RFC 4180 with a line of titles. Values are Postgres's text; NULL is empty, and an empty text is `""`. */
function csvRows(out: Terminal): RowPrinter {
  let text = '';
  const flush = (): void => {
    if (text !== '') out.write(text);
    text = '';
  };
  const field = (value: string | null): string => {
    if (value === null) return '';
    return value === '' || /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
  };
  const row = (values: readonly (string | null)[]): boolean => {
    text += `${values.map(field).join(',')}\r\n`;
    if (text.length >= CHUNK) flush();
    return true;
  };
  return {
    // A statement without rows has no line of titles.
    columns: (columns) => void (columns.length > 0 && row(columns.map(({ name }) => name))),
    row,
    end: flush,
  };
}

/** A table needs all its rows before it is printed. */
const MOST_ROWS = 10_000;
/** Of all values, except those of the first row. */
const MOST_CHARACTERS = 16 * 1024 * 1024;

/** A table cut to the terminal's width; records if `vertical`, or if even the titles do not fit. */
export function tableRows({ out, err }: Pick<Shell, 'out' | 'err'>, vertical: boolean): RowPrinter {
  let titles: readonly string[] = [];
  const rows: string[][] = [];
  let characters = 0;
  let more = false;
  return {
    columns: (columns) => {
      titles = columns.map(({ name }) => name);
    },
    row: (values) => {
      characters += values.reduce((sum, value) => sum + (value?.length ?? 0), 0);
      more = rows.length === MOST_ROWS || (rows.length > 0 && characters > MOST_CHARACTERS);
      if (!more) rows.push(values.map((value) => value ?? ''));
      return !more;
    },
    end: () => {
      if (titles.length === 0) return;
      const width = widthOfTerminal(out);
      const isNarrow = width !== undefined && widthOfTitles(titles) > width;
      const print = vertical || isNarrow ? formatRecords : formatTable;
      const count = countOf(rows.length, 'row');
      out.write(`${print(titles, rows, width)}(${count})\n`);
      if (more)
        err.write(`only the first ${count} are shown. --csv and --json print all; "limit" in the query chooses\n`);
    },
  };
}

/**
 * Runs a query in the mirror, by a login that can only read.
 * @throws UsageError if there is none; StatementRefused; DatabaseUnavailable; the signal's reason; the receiver's
 * errors
 */
export async function askMirror(
  shell: Shell,
  config: Config,
  query: Readonly<Record<'command' | 'text', string>> & { readonly timeout: number; readonly demo: boolean },
  receiver: RowReceiver,
): Promise<void> {
  const { command, text, timeout, demo } = query;
  const { schema } = config;
  const database = await reachMirror(shell, config, command, demo ? 'demo' : 'likely');
  try {
    const { connection, server } = database;
    // With DATABASE_URL: its own login, and one that a DBA may have made. For the embedded server the program makes it.
    let logins = [connection, { ...connection, as: sqlLogin(schema) }];
    if (server !== undefined) {
      const url = await readerUrl(server.url, await server.readerPassword(), schema, connection.program);
      shell.scrubber.hide(new URL(url).password);
      logins = [{ ...connection, url }];
    }
    let refused: string | undefined;
    for (const login of logins) {
      // The next login is tried if it exists, and needs no password.
      if (refused !== undefined && !(await resolveConnection(login).catch(() => false))) break;
      const asked = { text, schema, timeout, signal: shell.signal, receiver };
      const why = await readOnlyQuery(login, asked);
      if (why === undefined) return;
      refused ??= why;
    }
    shell.signal.throwIfAborted();
    throw new UsageError(
      `nothing was run: ${command} needs a login that can only read, but ` +
        `${refused ?? 'there is none'}. As a DBA, run once: ${sqlLoginByHand(schema)} Then give ${command} that ` +
        `login: DATABASE_URL=postgres://${sqlLogin(schema)}:…@host/database`,
    );
  } finally {
    await database.leave();
  }
}

/** In psql's form: the message, the line with a mark below it, and the hint. */
export function explainRefusal(error: StatementRefused, query: string): string {
  // A syntax error has a position; the error for several statements has none. Messages are in the server's language.
  const several = error.state === '42601' && error.position === undefined;
  const what = several ? 'more than one statement; run one at a time' : error.message;
  const lines = [`research-mirror: ${what} (${error.state})`];
  if (error.position !== undefined) {
    // Positions count characters, not UTF-16 units.
    const before = Array.from(query)
      .slice(0, error.position - 1)
      .join('');
    const lineStart = before.lastIndexOf('\n') + 1;
    const line = query.slice(lineStart).split('\n')[0] ?? '';
    const label = `line ${before.split('\n').length}: `;
    const indent = ' '.repeat(label.length) + before.slice(lineStart).replaceAll(/[^\t]/g, ' ');
    lines.push(`${label}${line}`, `${indent}^`);
  }
  if (error.hint !== undefined) lines.push(`hint: ${error.hint}`);
  return `${lines.join('\n')}\n`;
}
