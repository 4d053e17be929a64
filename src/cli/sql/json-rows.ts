import type { ResultColumn } from '../../db/roles/read-only-query.ts';
import { roomIn, type Terminal } from '../terminal/shell.ts';
import { UsageError } from '../terminal/usage-error.ts';
import type { RowPrinter } from './row-printer.ts';

/** One JSON object, `{"rows":[…]}`, a line for each row, written as the rows come: its length takes no memory. */
export class JsonRows implements RowPrinter {
  readonly #out: Terminal;
  readonly #signal: AbortSignal;
  #columns: readonly (ResultColumn & { readonly key: string })[] = [];
  #rows = 0;

  constructor(out: Terminal, signal: AbortSignal) {
    this.#out = out;
    this.#signal = signal;
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
    this.#out.write(`${this.#rows === 0 ? '{"rows":[\n' : ',\n'}{${fields.join(',')}}`);
    this.#rows += 1;
    return true;
  }

  copy(): never {
    throw new UsageError('"copy … to stdout" prints in a format of its own: leave out --json');
  }

  room(): Promise<void> | undefined {
    return roomIn(this.#out, this.#signal);
  }

  end(): void {
    this.#out.write(this.#rows === 0 ? '{"rows":[]}\n' : '\n]}\n');
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
