import type { FileHandle } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { createZstdDecompress } from 'node:zlib';
import { messageOf } from '@research-mirror/runtime/message';
import { RestoreRefused } from './dump-header.ts';

const NEWLINE = Buffer.from('\n');
/** Behind a table's rows: no row in COPY's text format reads so. */
const END_OF_ROWS = Buffer.from('\n\\.\n');
/** The longest line that is no row: a header with every column of every table is far below it. */
const LONGEST_LINE = 64 * 1024 * 1024;

/** Reads a dump from its beginning to its end, a piece at a time. */
export class DumpReader {
  readonly #pieces: AsyncIterator<Buffer>;
  readonly #source: { readonly bytesRead: number };
  #rest: Buffer = Buffer.alloc(0);

  constructor(file: FileHandle) {
    const source = file.createReadStream({ autoClose: false, highWaterMark: 256 * 1024 });
    const pieces = createZstdDecompress();
    // What fails shows in the last one.
    pipeline(source, pieces, () => {});
    this.#source = source;
    this.#pieces = pieces[Symbol.asyncIterator]();
  }

  /** Bytes of the file that were read so far. */
  get bytesRead(): number {
    return this.#source.bytesRead;
  }

  /** One line, without its end. @throws RestoreRefused where there is none */
  async line(): Promise<string> {
    for (;;) {
      const end = this.#rest.indexOf(NEWLINE);
      if (end >= 0) {
        const line = this.#rest.subarray(0, end).toString();
        this.#rest = this.#rest.subarray(end + 1);
        return line;
      }
      if (this.#rest.length > LONGEST_LINE) throw new RestoreRefused('it is no dump of research-mirror');
      this.#rest = Buffer.concat([this.#rest, await this.#next()]);
    }
  }

  /** One line of JSON. @throws RestoreRefused */
  async json<T>(): Promise<T> {
    const line = await this.line();
    try {
      return JSON.parse(line) as T;
    } catch {
      throw new RestoreRefused('it is damaged: a line of it is no JSON');
    }
  }

  /** A table's rows, up to the line behind them, in pieces of any size. @throws RestoreRefused */
  async *rows(): AsyncGenerator<Buffer> {
    // As if a line ended before them, so that no rows end as some do.
    let open = Buffer.concat([NEWLINE, this.#rest]);
    let begin = NEWLINE.length;
    for (;;) {
      const end = open.indexOf(END_OF_ROWS);
      if (end >= 0) {
        this.#rest = open.subarray(end + END_OF_ROWS.length);
        const last = open.subarray(begin, end + NEWLINE.length);
        if (last.length > 0) yield last;
        return;
      }
      // The end may be divided between two pieces.
      const safe = open.length - END_OF_ROWS.length + 1;
      if (safe > begin) {
        yield open.subarray(begin, safe);
        open = open.subarray(safe);
        begin = 0;
      }
      open = Buffer.concat([open, await this.#next()]);
    }
  }

  async #next(): Promise<Buffer> {
    try {
      const next = await this.#pieces.next();
      if (next.done !== true) return next.value;
    } catch (error) {
      if (isFileProblem(error)) throw error;
      throw new RestoreRefused(`it is no dump of research-mirror, or it is damaged (${messageOf(error)})`, {
        cause: error,
      });
    }
    throw new RestoreRefused('it is damaged: it ends too early');
  }
}

/** Whether the file could not be read, in contrast to not decompressed. */
function isFileProblem(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error;
}
