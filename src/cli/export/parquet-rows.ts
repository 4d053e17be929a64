import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import type { ResultColumn } from '../../db/roles/read-only-query.ts';
import { UsageError } from '../terminal/usage-error.ts';
import type { ExportTarget } from './export-target.ts';
import { fitColumn, type ColumnFit, type ParquetColumn } from './parquet-types.ts';
import type { RowPrinter } from '../sql/row-printer.ts';
import type { RowSpool, TextRow } from './row-spool.ts';

/**
 * A Parquet file. Which type a column has is known when its last value has come: until then the rows lie on disk. Then
 * they are written, a row group at a time.
 */
export class ParquetRows implements RowPrinter {
  readonly #target: ExportTarget;
  readonly #spool: RowSpool;
  readonly #signal: AbortSignal;
  readonly #createdBy: string;
  #fits: readonly ColumnFit[] = [];
  /** Of the file, once it is written. */
  written: readonly ParquetColumn[] = [];

  /** @param createdBy the program, for the file's own record: `research-mirror version 0.2.0` */
  constructor(target: ExportTarget, spool: RowSpool, signal: AbortSignal, createdBy: string) {
    this.#target = target;
    this.#spool = spool;
    this.#signal = signal;
    this.#createdBy = createdBy;
  }

  columns(columns: readonly ResultColumn[]): void {
    this.#fits = columns.map(fitColumn);
  }

  row(values: TextRow): boolean {
    for (const [index, value] of values.entries()) {
      if (value !== null) this.#fits[index]?.see(value);
    }
    this.#spool.append(values);
    return true;
  }

  copy(): never {
    throw new UsageError('"copy … to stdout" has a format of its own');
  }

  /** Rows wait on disk. */
  room(): undefined {
    return undefined;
  }

  async end(): Promise<void> {
    const columns = this.#fits.map((fit) => fit.column());
    const root = { name: 'root', num_children: columns.length };
    const out = new TargetWriter(this.#target);
    const writer = new ParquetWriter({
      writer: out,
      schema: [root, ...columns.map(({ element }) => element)],
      createdBy: this.#createdBy,
    });
    for await (const rows of this.#spool.batches()) {
      this.#signal.throwIfAborted();
      const columnData = columns.map(({ element, encode }, index) => ({
        name: element.name,
        data: rows.map((row) => {
          const value = row[index] ?? null;
          return value === null ? null : encode(value);
        }),
        // A dictionary takes 0 and -0 for the same.
        ...(element.type === 'FLOAT' || element.type === 'DOUBLE' ? { encoding: 'PLAIN' as const } : {}),
      }));
      await writer.write({ columnData, rowGroupSize: rows.length });
    }
    await writer.finish();
    await out.flush();
    this.written = columns;
  }
}

/** Passes on what the Parquet writer has made, a row group at a time. */
class TargetWriter extends ByteWriter {
  readonly #target: ExportTarget;

  constructor(target: ExportTarget) {
    super();
    this.#target = target;
  }

  flush(): Promise<void> | undefined {
    // A copy: a stream may take it later, and the buffer is used again.
    this.#target.write(this.getBytes().slice());
    this.index = 0;
    return this.#target.room();
  }
}
