import type { ResultColumn } from '../../db/roles/read-only-query.ts';
import { countOf, formatCount } from '@research-mirror/runtime/figures';
import { widthOfTerminal, type Terminal } from '../terminal/shell.ts';
import { formatTable } from '../terminal/text-table.ts';
import { UsageError } from '../terminal/usage-error.ts';

/** Prints a query's answer as it comes. */
export interface RowPrinter {
  columns(columns: readonly ResultColumn[]): void;
  /** `false`: no more rows are wanted. */
  row(values: readonly (string | null)[]): boolean;
  /** A piece of what `copy … to stdout` gives instead of rows. @throws UsageError where that can't be printed */
  copy(piece: Buffer): void;
  /** The answer is complete, or as long as it was wanted. */
  end(): void;
}

/** A table needs all its rows before the first one is printed, and nobody reads more of them. */
const MOST_ROWS = 10_000;

/** A table for people: what is longer than the terminal is wide is cut. */
export class TableRows implements RowPrinter {
  readonly #out: Terminal;
  readonly #err: Terminal;
  #columns: readonly ResultColumn[] = [];
  readonly #rows: string[][] = [];
  readonly #text = new TextDecoder('utf-8', { fatal: true });
  #more = false;

  constructor(out: Terminal, err: Terminal) {
    this.#out = out;
    this.#err = err;
  }

  columns(columns: readonly ResultColumn[]): void {
    this.#columns = columns;
  }

  row(values: readonly (string | null)[]): boolean {
    this.#more = this.#rows.length === MOST_ROWS;
    if (!this.#more) this.#rows.push(values.map((value) => value ?? ''));
    return !this.#more;
  }

  copy(piece: Buffer): void {
    let text: string;
    try {
      text = this.#text.decode(piece, { stream: true });
    } catch {
      throw new UsageError('what "copy" gives is no text: leave out "format binary"');
    }
    this.#out.write(text);
  }

  end(): void {
    if (this.#columns.length === 0) return;
    const columns = this.#columns.map(
      ({ name, kind }) => ({ title: name, align: kind === 'number' ? 'right' : 'left' }) as const,
    );
    this.#out.write(formatTable(columns, this.#rows, widthOfTerminal(this.#out)));
    this.#out.write(`(${countOf(this.#rows.length, 'row')})\n`);
    if (this.#more) {
      this.#err.write(`only the first ${formatCount(MOST_ROWS)} rows: --json prints all, "limit" chooses\n`);
    }
  }
}

/** A JSON array with a line for each row, written as the rows come: its length takes no memory. */
export class JsonRows implements RowPrinter {
  readonly #out: Terminal;
  #columns: readonly (ResultColumn & { readonly key: string })[] = [];
  #rows = 0;

  constructor(out: Terminal) {
    this.#out = out;
  }

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
    this.#out.write(`${this.#rows === 0 ? '[' : ','}{${fields.join(',')}}\n`);
    this.#rows += 1;
    return true;
  }

  copy(): never {
    throw new UsageError('"copy … to stdout" prints in a format of its own: leave out --json');
  }

  end(): void {
    this.#out.write(this.#rows === 0 ? '[]\n' : ']\n');
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
