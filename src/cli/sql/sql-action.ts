import { loadConfig } from '../../config/load.ts';
import { type Shell, roomIn, type Terminal } from '../terminal/shell.ts';
import { UsageError } from '../terminal/usage-error.ts';
import { answerQuery, readTimeout, type RowPrinter } from './answer-query.ts';
import { TableRows } from './table-rows.ts';
import type { ExitCode } from '../terminal/exit-code.ts';
import type { ResultColumn } from '../../db/roles/read-only-query.ts';

/** Rows that are written as they come: their number takes no memory. */
class PrintedRows {
  protected readonly out: Terminal;
  readonly #signal: AbortSignal;

  constructor(out: Terminal, signal: AbortSignal) {
    this.out = out;
    this.#signal = signal;
  }

  room(): Promise<void> | undefined {
    return roomIn(this.out, this.#signal);
  }
}

/** One JSON object, `{"rows":[…]}`, a line for each row. */
export class JsonRows extends PrintedRows implements RowPrinter {
  #columns: readonly (ResultColumn & { readonly key: string })[] = [];
  #rows = 0;

  columns(columns: readonly ResultColumn[]): void {
    const seen = new Map<string, number>();
    this.#columns = columns.map((column) => {
      const times = (seen.get(column.name) ?? 0) + 1;
      seen.set(column.name, times);
      // Two columns of one name are legal in SQL; in an object one would hide the other.
      return { ...column, key: JSON.stringify(times === 1 ? column.name : `${column.name}_${times}`) };
    });
  }

  row(values: readonly (string | null)[]): boolean {
    const fields = this.#columns.map(
      ({ key, kind }, index) => `${key}:${jsonOf(values[index] ?? null, kind)}`,
    );
    this.out.write(`${this.#rows === 0 ? '{"rows":[\n' : ',\n'}{${fields.join(',')}}`);
    this.#rows += 1;
    return true;
  }

  end(): void {
    this.out.write(this.#rows === 0 ? '{"rows":[]}\n' : '\n]}\n');
  }
}

/** A value in JSON; numbers keep Postgres's digits, since parsing them here would lose some. */
function jsonOf(value: string | null, kind: ResultColumn['kind']): string {
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
class CsvRows extends PrintedRows implements RowPrinter {
  #text = '';

  columns(columns: readonly ResultColumn[]): void {
    // A statement that answers nothing has no line of titles either.
    if (columns.length > 0) this.row(columns.map(({ name }) => name));
  }

  row(values: readonly (string | null)[]): boolean {
    this.#text += `${values.map(csvField).join(',')}\r\n`;
    if (this.#text.length >= CHUNK) this.#flush();
    return true;
  }

  end(): void {
    this.#flush();
  }

  #flush(): void {
    if (this.#text !== '') this.out.write(this.#text);
    this.#text = '';
  }
}

function csvField(value: string | null): string {
  if (value === null) return '';
  return value === '' || /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}

interface SqlOptions {
  readonly csv?: boolean;
  readonly json?: boolean;
  readonly vertical?: boolean;
  readonly demo?: boolean;
  readonly timeout: string;
}

const FORMATS = ['csv', 'json', 'vertical'] as const;

/** What `sql` does. */
export async function sqlAction(shell: Shell, query: string, options: SqlOptions): Promise<ExitCode> {
  if (query.trim() === '') throw new UsageError('the query is empty');
  const printer = choosePrinter(shell, options);
  const asked = {
    command: 'sql',
    text: query,
    timeout: readTimeout(options.timeout),
    demo: options.demo ?? false,
  };
  return answerQuery(shell, loadConfig(shell.env, 'database'), asked, printer);
}

/** @throws UsageError */
function choosePrinter(shell: Shell, options: SqlOptions): RowPrinter {
  const { out, signal } = shell;
  const [format, other] = FORMATS.filter((each) => options[each] === true);
  if (other !== undefined) throw new UsageError(`--${format} and --${other} exclude each other`);
  if (format === 'json') return new JsonRows(out, signal);
  if (format === 'csv') return new CsvRows(out, signal);
  return new TableRows(shell, format === 'vertical');
}
