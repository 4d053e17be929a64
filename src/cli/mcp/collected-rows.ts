import type { ResultColumn } from '../../db/roles/read-only-query.ts';
import { formatCount } from '@research-mirror/runtime/figures';
import { UsageError } from '../terminal/usage-error.ts';
import type { RowPrinter } from '../sql/row-printer.ts';

/** Characters of all values: what a model reads at once is bounded. */
const MOST_CHARACTERS = 200_000;

/** The first rows of an answer, in memory. */
export class CollectedRows implements RowPrinter {
  readonly #limit: number;
  #names: readonly string[] = [];
  readonly #rows: (readonly (string | null)[])[] = [];
  #characters = 0;
  #more = false;

  /** @param limit most rows */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Values are in Postgres's own text form, with every digit. `more`: some rows were left out. */
  answer(): { readonly rows: readonly Readonly<Record<string, string | null>>[]; readonly more: boolean } {
    const rows = this.#rows.map((values) =>
      Object.fromEntries(values.map((value, index) => [this.#names[index] ?? '', value])),
    );
    return { rows, more: this.#more };
  }

  columns(columns: readonly ResultColumn[]): void {
    this.#names = columns.map(({ name }) => name);
  }

  row(values: readonly (string | null)[]): boolean {
    this.#characters += values.reduce((sum, value) => sum + (value?.length ?? 0), 0);
    this.#more = this.#rows.length === this.#limit || this.#characters > MOST_CHARACTERS;
    if (this.#more && this.#rows.length === 0) {
      throw new UsageError(
        `the first row alone has ${formatCount(this.#characters)} characters, and an answer may have ` +
          `${formatCount(MOST_CHARACTERS)}: choose fewer columns, or a part of a value: left(column, 1000)`,
      );
    }
    if (!this.#more) this.#rows.push(values);
    return !this.#more;
  }

  copy(): void {
    throw new UsageError('copy … to stdout has no rows: ask by a SELECT');
  }

  room(): undefined {
    return undefined;
  }

  end(): void {}
}
