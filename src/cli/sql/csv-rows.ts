import type { ResultColumn } from '../../db/roles/read-only-query.ts';
import { roomIn, type Terminal } from '../terminal/shell.ts';
import { UsageError } from '../terminal/usage-error.ts';
import type { RowPrinter } from './row-printer.ts';

/** Characters that are gathered before they are written: a system call a row would take most of the time. */
const CHUNK = 64 * 1024;

/**
 * CSV as RFC 4180 has it: a line of titles, CRLF behind each line. Values are Postgres's own text, with every digit;
 * NULL is empty, and an empty text is `""`. Written as the rows come: its length takes no memory.
 */
export class CsvRows implements RowPrinter {
  readonly #out: Terminal;
  readonly #signal: AbortSignal;
  #text = '';

  constructor(out: Terminal, signal: AbortSignal) {
    this.#out = out;
    this.#signal = signal;
  }

  columns(columns: readonly ResultColumn[]): void {
    // A statement that answers nothing has no line of titles either.
    if (columns.length > 0) this.row(columns.map(({ name }) => name));
  }

  row(values: readonly (string | null)[]): boolean {
    this.#text += `${values.map(csvField).join(',')}\r\n`;
    if (this.#text.length >= CHUNK) this.#flush();
    return true;
  }

  copy(): never {
    throw new UsageError('"copy … to stdout" prints in a format of its own: leave out --csv');
  }

  room(): Promise<void> | undefined {
    return roomIn(this.#out, this.#signal);
  }

  end(): void {
    this.#flush();
  }

  #flush(): void {
    if (this.#text !== '') this.#out.write(this.#text);
    this.#text = '';
  }
}

function csvField(value: string | null): string {
  if (value === null) return '';
  return value === '' || /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}
