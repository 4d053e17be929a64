import type { ResultColumn } from '../../db/roles/read-only-query.ts';
import { countOf } from '@research-mirror/runtime/figures';
import { roomIn, widthOfTerminal, type Shell, type Terminal } from '../terminal/shell.ts';
import { formatRecords, formatTable, widthOfTitles } from '../terminal/text-table.ts';
import type { RowPrinter } from './answer-query.ts';

/** A table needs all its rows before the first one is printed, and nobody reads more of them. */
const MOST_ROWS = 10_000;
/** Characters of all values, beyond the first row. */
const MOST_CHARACTERS = 16 * 1024 * 1024;

/**
 * A table for people: what is longer than the terminal is wide is cut. Where not even the titles fit the terminal, or
 * where it is asked for, records below each other instead, in which nothing is cut.
 */
export class TableRows implements RowPrinter {
  readonly #out: Terminal;
  readonly #err: Terminal;
  readonly #signal: AbortSignal;
  readonly #vertical: boolean;
  #columns: readonly ResultColumn[] = [];
  readonly #rows: string[][] = [];
  #characters = 0;
  #more = false;

  /** @param vertical records even where a table would fit */
  constructor({ out, err, signal }: Pick<Shell, 'out' | 'err' | 'signal'>, vertical: boolean) {
    this.#out = out;
    this.#err = err;
    this.#signal = signal;
    this.#vertical = vertical;
  }

  columns(columns: readonly ResultColumn[]): void {
    this.#columns = columns;
  }

  row(values: readonly (string | null)[]): boolean {
    this.#characters += values.reduce((sum, value) => sum + (value?.length ?? 0), 0);
    this.#more =
      this.#rows.length === MOST_ROWS || (this.#rows.length > 0 && this.#characters > MOST_CHARACTERS);
    if (!this.#more) this.#rows.push(values.map((value) => value ?? ''));
    return !this.#more;
  }

  room(): Promise<void> | undefined {
    return roomIn(this.#out, this.#signal);
  }

  end(): void {
    if (this.#columns.length === 0) return;
    const titles = this.#columns.map(({ name }) => name);
    const width = widthOfTerminal(this.#out);
    const vertical = this.#vertical || (width !== undefined && widthOfTitles(titles) > width);
    const print = vertical ? formatRecords : formatTable;
    this.#out.write(print(titles, this.#rows, width));
    this.#out.write(`(${countOf(this.#rows.length, 'row')})\n`);
    if (this.#more) {
      this.#err.write(
        `only the first ${countOf(this.#rows.length, 'row')}: --csv and --json print all, "limit" chooses\n`,
      );
    }
  }
}
