import type { ResultColumn } from '../../db/roles/read-only-query.ts';
import { UsageError } from '../terminal/usage-error.ts';
import type { RowPrinter } from './row-printer.ts';

/** Where text goes that may be longer than memory: a stream, a file. */
export interface TextSink {
  write(text: string): unknown;
  /** A promise where what was written waits for its reader. */
  room(): Promise<void> | undefined;
}

/** Characters that are gathered before they are written: a system call a row would take most of the time. */
const CHUNK = 64 * 1024;

/**
 * CSV as RFC 4180 has it: a line of titles, CRLF behind each line. Values are Postgres's own text, with every digit;
 * NULL is empty, and an empty text is `""`. Written as the rows come: its length takes no memory.
 */
export class CsvRows implements RowPrinter {
  readonly #sink: TextSink;
  #text = '';

  constructor(sink: TextSink) {
    this.#sink = sink;
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
    return this.#sink.room();
  }

  end(): void {
    this.#flush();
  }

  #flush(): void {
    if (this.#text !== '') this.#sink.write(this.#text);
    this.#text = '';
  }
}

function csvField(value: string | null): string {
  if (value === null) return '';
  return value === '' || /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}
