import { InvalidValue } from '../../config/invalid.ts';
import { loadConfig } from '../../config/load.ts';
import { parseDuration } from '../../config/values/parse-values.ts';
import { countOf } from '@research-mirror/runtime/figures';
import { type ResultColumn, type RowReceiver, StatementRefused } from '../../db/roles/read-only-query.ts';
import type { Options } from '../definitions/definition.ts';
import { EXIT, OutputClosed, UsageError, type ExitCode } from '../terminal/exit-code.ts';
import { roomIn, widthOfTerminal, type Shell, type Terminal } from '../terminal/shell.ts';
import { formatRecords, formatTable, widthOfTitles } from '../terminal/text-table.ts';
import { askMirror, explainRefusal } from './answer-query.ts';

const FORMATS = ['csv', 'json', 'vertical'] as const;

export async function sqlAction(
  shell: Shell,
  text: string,
  options: Options<'csv' | 'json' | 'vertical' | 'demo', 'timeout'>,
): Promise<ExitCode> {
  if (text.trim() === '') throw new UsageError('the query is empty');
  const { out, signal } = shell;
  const [format, other] = FORMATS.filter((each) => options[each] === true);
  if (other !== undefined) throw new UsageError(`--${format} and --${other} exclude each other`);
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

export interface RowPrinter extends RowReceiver {
  /** The answer is complete, or as long as it was wanted. */
  end(): void;
}

/** One JSON object, `{"rows":[…]}`, a line for each row as it comes: their number takes no memory. */
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
        // Two columns of one name are legal in SQL; in an object one would hide the other.
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

/** A value in JSON; numbers keep Postgres's digits, since parsing them here would lose some. */
function jsonOf(value: string | null, kind: ResultColumn['kind'] | undefined): string {
  if (value === null) return 'null';
  // NaN and Infinity are no JSON numbers.
  if (kind === 'number') return /^-?\d/.test(value) ? value : JSON.stringify(value);
  if (kind === 'boolean') return value === 't' ? 'true' : 'false';
  // json keeps the line breaks that it was given; one row stays one line.
  if (kind === 'json') return value.replaceAll(/[\r\n]/g, ' ');
  const text = kind === 'moment' ? value.replace(/^(\d{4,}-\d\d-\d\d) (.*)\+00$/, '$1T$2Z') : value;
  return JSON.stringify(text);
}

/** Characters that are gathered before they are written: a system call a row would take most of the time. */
const CHUNK = 64 * 1024;

/**
 * CSV as RFC 4180 has it: a line of titles, CRLF behind each line. Values are Postgres's own text, with every digit;
 * NULL is empty, and an empty text is `""`.
 */
function csvRows(out: Terminal): RowPrinter {
  let text = '';
  const flush = (): void => {
    if (text !== '') out.write(text);
    text = '';
  };
  const row = (values: readonly (string | null)[]): boolean => {
    text += `${values.map(csvField).join(',')}\r\n`;
    if (text.length >= CHUNK) flush();
    return true;
  };
  return {
    // A statement that answers nothing has no line of titles either.
    columns: (columns) => void (columns.length > 0 && row(columns.map(({ name }) => name))),
    row,
    end: flush,
  };
}

function csvField(value: string | null): string {
  if (value === null) return '';
  return value === '' || /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}

/** A table needs all its rows before the first one is printed, and nobody reads more of them. */
const MOST_ROWS = 10_000;
/** Characters of all values, beyond the first row. */
const MOST_CHARACTERS = 16 * 1024 * 1024;

/**
 * A table for people: what is longer than the terminal is wide is cut. Where not even the titles fit the terminal, or
 * where it is asked for, records below each other instead, in which nothing is cut.
 * @param vertical records even where a table would fit
 */
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
      if (more) err.write(`only the first ${count}: --csv and --json print all, "limit" chooses\n`);
    },
  };
}
