import { countOf, formatCount } from '@research-mirror/runtime/figures';
import measure from 'fast-string-truncated-width';
import { EXIT, type ExitCode, say, type Shell, widthOfTerminal } from './shell.ts';

/** No column is cut below this to make a table fit. */
const LEAST_WIDTH = 8;
const GAP = '  ';
/** A figure, with its unit. */
const FIGURE = /^(?:-?[\d,.]+(?: [a-z%]+)?|–)?$/i;

/**
 * A table for people, a line break at the end of each row. Columns of figures stand right.
 * @param rows cells as they are: what would move a terminal's cursor is escaped here
 * @param width of the terminal, to which cells are cut; undefined: nothing is cut
 */
export function formatTable(
  titles: readonly string[],
  rows: readonly (readonly string[])[],
  width = Number.POSITIVE_INFINITY,
): string {
  const lines = [titles, ...rows].map((row) => titles.map((_, at) => printable(row[at] ?? '')));
  const sizes = fit(
    titles.map((_, at) => widest(lines.map((cells) => cells[at] ?? ''))),
    width,
  );
  const columns = sizes.map((size, at) => ({ size, right: rows.every((row) => FIGURE.test(row[at] ?? '')) }));
  const [head = '', ...body] = lines.map((cells) =>
    columns
      .map(({ size, right }, at) => pad(cutToWidth(cells[at] ?? '', size), size, right))
      .join(GAP)
      .trimEnd(),
  );
  const rule = sizes.map((size) => '─'.repeat(size)).join(GAP);
  return [head, rule, ...body].map((line) => `${line}\n`).join('');
}

/** A table of rows that have their cells by title; nothing where there is none. */
export function formatList(rows: readonly Readonly<Record<string, string | null>>[], width?: number): string {
  const [first] = rows;
  if (first === undefined) return '';
  const cells = rows.map((row) => Object.values(row).map((cell) => cell ?? ''));
  return formatTable(Object.keys(first), cells, width);
}

/** Columns of a terminal that the titles of a table take: below that, `formatTable` cuts them. */
export function widthOfTitles(titles: readonly string[]): number {
  return displayWidth(titles.map(printable).join(GAP));
}

/**
 * Rows below each other, each a record with a line for each column, as psql's `\x` prints them. No value is cut.
 * @param rows cells as they are: what would move a terminal's cursor is escaped here
 * @param width of the terminal: the line above a record is no longer
 */
export function formatRecords(
  titles: readonly string[],
  rows: readonly (readonly string[])[],
  width = 80,
): string {
  const names = titles.map(printable);
  const size = widest(names);
  const records = rows.map((row) =>
    names.map((name, at) => `${pad(name, size, false)}${GAP}${printable(row[at] ?? '')}`.trimEnd()),
  );
  const rule = Math.min(width, widest(records.flat()));
  return records
    .map((lines, index) => `${[`─[ ${index + 1} ]`.padEnd(rule, '─'), ...lines].join('\n')}\n`)
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

/** Columns of a terminal that `text` takes. It must hold no control characters. */
export function displayWidth(text: string): number {
  return measure(text).width;
}

/** `text` in at most `width` columns, its end replaced by … where it is longer. */
export function cutToWidth(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let kept = text.slice(0, Math.max(0, width - 1));
  if (!/^[ -~]*$/.test(kept)) {
    kept = '';
    let used = 0;
    // Made where it is needed: that takes longer than most commands' whole tables.
    for (const { segment } of new Intl.Segmenter().segment(text)) {
      used += displayWidth(segment);
      if (used >= width) break;
      kept += segment;
    }
  }
  return width < 1 ? '' : `${kept}…`;
}

/** By reduce: a table may have more rows than a call may have arguments. */
function widest(texts: readonly string[]): number {
  return texts.reduce((most, text) => Math.max(most, displayWidth(text)), 0);
}

/** Takes from the widest column until all fit, or none can give more. */
function fit(natural: readonly number[], width: number): readonly number[] {
  const sizes = natural.map((size) => Math.min(size, width));
  const gaps = GAP.length * (sizes.length - 1);
  while (sizes.reduce((sum, size) => sum + size, gaps) > width) {
    const most = Math.max(...sizes);
    if (most <= LEAST_WIDTH) break;
    sizes[sizes.indexOf(most)] = most - 1;
  }
  return sizes;
}

function pad(text: string, width: number, right: boolean): string {
  const blanks = ' '.repeat(Math.max(0, width - displayWidth(text)));
  return right ? blanks + text : text + blanks;
}

/** A row of a list for people: its cells by title. */
export type Row = Readonly<Record<string, string | null>>;

interface List {
  /** The answer of `--json`; undefined: the list is for people. */
  readonly json: string | undefined;
  readonly rows: readonly Row[];
  readonly none: string;
  /** Stands below the table. */
  readonly below: string;
}

export function printList(shell: Shell, { json, rows, none, below }: List): ExitCode {
  const scrub = (text: string | null): string | null => text && shell.scrubber.scrub(text);
  // Before cells are cut: of a secret's beginning nobody can tell that it is one.
  const shown = rows.map((row) =>
    Object.fromEntries(Object.entries(row).map(([title, cell]) => [title, scrub(cell)])),
  );
  const table = (): string => `${formatList(shown, widthOfTerminal(shell.out))}${below}`;
  say(shell, json ?? (rows.length === 0 ? none : table()));
  return EXIT.DONE;
}

/** What a command lists, the newest first. */
interface Newest<Each> {
  readonly limit: number;
  /** `event` */
  readonly noun: string;
  /** Said of none, in words of the filter that was given. */
  readonly none: string;
  /** What `--show ID` prints: `one`. */
  readonly shows: string;
  readonly toRow: (each: Each) => Row;
  /** Asks for one JSON object: what is listed under its plural noun, and whether there is `more`. */
  readonly toJson: ((each: Each) => string) | undefined;
}

/** Prints what was `found`, one more than are wanted at most, and whether there are more. */
export function printNewest<Each>(shell: Shell, found: readonly Each[], newest: Newest<Each>): ExitCode {
  const { limit, noun, none, shows, toRow, toJson } = newest;
  const shown = found.slice(0, limit);
  const more = found.length > limit;
  const newestOf = `the newest ${formatCount(limit)} ${noun}s (--limit shows more)`;
  return printList(shell, {
    json: toJson && `{"${noun}s":[${shown.map(toJson).join(',\n')}],"more":${more}}`,
    rows: shown.map(toRow),
    none,
    below: `${more ? newestOf : countOf(shown.length, noun)}; --show ID prints ${shows}`,
  });
}
