import type { ResultColumn } from '../../db/roles/read-only-query.ts';

/** Prints a query's answer as it comes. */
export interface RowPrinter {
  columns(columns: readonly ResultColumn[]): void;
  /** `false`: no more rows are wanted. */
  row(values: readonly (string | null)[]): boolean;
  /** A promise where what was printed waits for its reader; no more rows come until it resolves. */
  room(): Promise<void> | undefined;
  /** The answer is complete, or as long as it was wanted. */
  end(): void | Promise<void>;
}
