import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { open, unlink, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { fileTrouble } from './export-target.ts';

/** A row in Postgres's own text form. */
export type TextRow = readonly (string | null)[];

/** How much a batch has before the next one begins: it is in memory as a whole, in several forms, when it is read. */
export interface BatchSize {
  readonly bytes: number;
  readonly rows: number;
}

const USUAL_BATCH: BatchSize = { bytes: 8 * 1024 * 1024, rows: 100_000 };
/** Bytes that are gathered before they are written. */
const CHUNK = 1024 * 1024;

/**
 * Rows on disk that are written once and read once, in their order. The file has no name any more when it is used, so
 * that nothing stays of it, whatever ends the program.
 */
export class RowSpool {
  readonly #handle: FileHandle;
  readonly #folder: string;
  readonly #batch: BatchSize;
  /** Where each batch begins and ends. */
  readonly #batches: { readonly start: number; end: number; rows: number }[] = [];
  #lines: string[] = [];
  #unwritten = 0;
  #size = 0;

  private constructor(handle: FileHandle, folder: string, batch: BatchSize) {
    this.#handle = handle;
    this.#folder = folder;
    this.#batch = batch;
  }

  /** @throws UsageError where `folder` takes no file */
  static async open(folder: string, batch: BatchSize = USUAL_BATCH): Promise<RowSpool> {
    const path = join(folder, `.research-mirror-${randomBytes(6).toString('hex')}`);
    try {
      const handle = await open(path, 'wx+', 0o600);
      await unlink(path);
      return new RowSpool(handle, folder, batch);
    } catch (error) {
      throw fileTrouble('make a temporary file in', folder, error);
    }
  }

  /** @throws Unusable where the disk is full */
  append(row: TextRow): void {
    // JSON has no line break in it, so that each row is a line.
    const line = `${JSON.stringify(row)}\n`;
    const bytes = Buffer.byteLength(line);
    const most = this.#batch;
    let batch = this.#batches.at(-1);
    if (batch === undefined || batch.end - batch.start >= most.bytes || batch.rows >= most.rows) {
      batch = { start: this.#size, end: this.#size, rows: 0 };
      this.#batches.push(batch);
    }
    batch.end += bytes;
    batch.rows += 1;
    this.#size += bytes;
    this.#lines.push(line);
    this.#unwritten += bytes;
    if (this.#unwritten >= CHUNK) this.#write();
  }

  /** The rows that were appended, in batches that fit into memory. @throws Unusable */
  async *batches(): AsyncGenerator<readonly TextRow[]> {
    this.#write();
    for (const { start, end } of this.#batches) {
      const text = await this.#read(start, end - start);
      yield text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as TextRow);
    }
  }

  close(): Promise<void> {
    return this.#handle.close();
  }

  #write(): void {
    try {
      // At once, and not in the background: what waits to be written would take memory.
      writeFileSync(this.#handle.fd, this.#lines.join(''));
    } catch (error) {
      throw fileTrouble('write a temporary file in', this.#folder, error);
    }
    this.#lines = [];
    this.#unwritten = 0;
  }

  async #read(start: number, length: number): Promise<string> {
    const bytes = Buffer.allocUnsafe(length);
    for (let at = 0; at < length;) {
      const { bytesRead } = await this.#handle.read(bytes, at, length - at, start + at);
      if (bytesRead === 0) throw new RangeError('a temporary file is shorter than what was written to it');
      at += bytesRead;
    }
    return bytes.toString('utf8');
  }
}
