import { cutToWidth, displayWidth } from './width.ts';

export interface Column {
  readonly title: string;
  /** Numbers stand right. */
  readonly align: 'left' | 'right';
}

/** No column is cut below this to make a table fit. */
const LEAST_WIDTH = 8;
const GAP = '  ';

/**
 * A table for people, a line break at the end of each row.
 * @param rows cells as they are: what would move a terminal's cursor is escaped here
 * @param width of the terminal, to which cells are cut; undefined: nothing is cut
 */
export function formatTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width?: number,
): string {
  const cells = rows.map((row) => columns.map((_, index) => printable(row[index] ?? '')));
  const natural = columns.map(({ title }, index) => widest([title, ...cells.map((row) => row[index] ?? '')]));
  const fitted = width === undefined ? natural : fit(natural, width);
  const line = (texts: readonly string[]): string =>
    texts
      .map((text, index) =>
        pad(cutToWidth(text, fitted[index] ?? 0), fitted[index] ?? 0, columns[index]?.align),
      )
      .join(GAP)
      .trimEnd();
  const rule = fitted.map((size) => '─'.repeat(size)).join(GAP);
  return [line(columns.map(({ title }) => title)), rule, ...cells.map(line)]
    .map((text) => `${text}\n`)
    .join('');
}

/** Control characters in JSON's spelling: a value must not be able to write to the terminal by itself. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, (character) => {
    const short = JSON.stringify(character).slice(1, -1);
    return short === character ? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}` : short;
  });
}

/** By reduce: a table may have more rows than a call may have arguments. */
function widest(texts: readonly string[]): number {
  return texts.reduce((most, text) => Math.max(most, displayWidth(text)), 0);
}

/** Takes from the widest columns until all fit, or none can give more. */
function fit(natural: readonly number[], width: number): number[] {
  const sizes = [...natural];
  let excess = sizes.reduce((sum, size) => sum + size, GAP.length * (sizes.length - 1)) - width;
  while (excess > 0) {
    const widest = Math.max(...sizes);
    if (widest <= LEAST_WIDTH) break;
    const index = sizes.indexOf(widest);
    const next = Math.max(LEAST_WIDTH, ...sizes.filter((size) => size < widest));
    const give = Math.min(excess, Math.max(1, widest - next));
    sizes[index] = widest - give;
    excess -= give;
  }
  return sizes;
}

function pad(text: string, width: number, align: Column['align'] | undefined): string {
  const blanks = ' '.repeat(Math.max(0, width - displayWidth(text)));
  return align === 'right' ? blanks + text : text + blanks;
}
