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

/** Columns of a terminal that the titles of a table take: below that, `formatTable` cuts them. */
export function widthOfTitles(columns: readonly Column[]): number {
  return columns.reduce(
    (sum, { title }) => sum + displayWidth(printable(title)),
    GAP.length * (columns.length - 1),
  );
}

/** How long the line above a record is at most, where no terminal says how wide it is. */
const USUAL_WIDTH = 80;

/**
 * Rows below each other, each a record with a line for each column, as psql's `\x` prints them. No value is cut.
 * @param rows cells as they are: what would move a terminal's cursor is escaped here
 * @param width of the terminal: the line above a record is no longer
 */
export function formatRecords(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width = USUAL_WIDTH,
): string {
  const titles = columns.map(({ title }) => printable(title));
  const widestTitle = widest(titles);
  const records = rows.map((row) =>
    titles.map((title, column) =>
      `${pad(title, widestTitle, 'left')}${GAP}${printable(row[column] ?? '')}`.trimEnd(),
    ),
  );
  const rule = Math.min(width, widest(records.flat()));
  return records
    .map((lines, index) => {
      const head = `─[ ${index + 1} ]`;
      const dashes = '─'.repeat(Math.max(0, rule - displayWidth(head)));
      return [`${head}${dashes}`, ...lines].map((text) => `${text}\n`).join('');
    })
    .join('');
}

/** Control characters in JSON's spelling: a value must not be able to write to the terminal by itself. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, (character) => {
    const short = JSON.stringify(character).slice(1, -1);
    return short === character ? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}` : short;
  });
}

/** A moment as tables show it: UTC, to the minute. */
export function minute(moment: Date): string {
  return moment.toISOString().slice(0, 16).replace('T', ' ');
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
