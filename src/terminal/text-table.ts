import { countOf, formatCount } from '@research-mirror/runtime/figures';
import measure from 'fast-string-truncated-width';
import { EXIT, type ExitCode, say, type Shell, widthOfTerminal } from './shell.ts';

/** Columns are not cut below this width. */
const LEAST_WIDTH = 8;
const GAP = '  ';
/** A figure with its unit. */
const FIGURE = /^(?:-?[\d,.]+(?: [a-z%]+)?|–)?$/i;

/** A table with figures aligned right. @param rows raw cells, escaped here @param width to which cells are cut */
export function formatTable(
  titles: readonly string[],
  rows: readonly (readonly string[])[],
  width = Number.POSITIVE_INFINITY,
): string {
  const lines = [titles, ...rows].map((row) => titles.map((_, at) => printable(row[at] ?? '')));
  const natural = titles.map((_, at) => widest(lines.map((cells) => cells[at] ?? '')));
  const sizes = fit(natural, width);
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

/** A table of rows with cells by title; '' without rows. */
export function formatList(rows: readonly Row[], width?: number): string {
  const [first] = rows;
  if (first === undefined) return '';
  const cells = rows.map((row) => Object.values(row).map((cell) => cell ?? ''));
  return formatTable(Object.keys(first), cells, width);
}

/** Width of the titles; `formatTable` cuts them on a narrower terminal. */
export function widthOfTitles(titles: readonly string[]): number {
  return displayWidth(titles.map(printable).join(GAP));
}

/** Records below each other, like psql's `\x`. @param width of the line above a record */
export function formatRecords(titles: readonly string[], rows: readonly (readonly string[])[], width = 80) {
  const names = titles.map(printable);
  const size = widest(names);
  const records = rows.map((row) =>
    names.map((name, at) => `${pad(name, size, false)}${GAP}${printable(row[at] ?? '')}`.trimEnd()),
  );
  const rule = Math.min(width, widest(records.flat()));
  return records.map((lines, index) => `${[`─[ ${index + 1} ]`.padEnd(rule, '─'), ...lines].join('\n')}\n`).join('');
}

/** Escapes control characters as in JSON: a value must not control the terminal. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, (character) => {
    const short = JSON.stringify(character).slice(1, -1);
    return short === character ? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}` : short;
  });
}

/** `2026-01-01 00:05`, in UTC. */
export function minute(moment: Date): string {
  return moment.toISOString().slice(0, 16).replace('T', ' ');
}

/** Columns that `text` takes on a terminal. It must contain no control characters. */
export function displayWidth(text: string): number {
  return measure(text).width;
}

/** Cuts `text` to `width` columns, with … at its end. */
export function cutToWidth(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let kept = text.slice(0, Math.max(0, width - 1));
  if (!/^[ -~]*$/.test(kept)) {
    kept = '';
    let used = 0;
    // Created only if needed, since that takes longer than most tables.
    for (const { segment } of new Intl.Segmenter().segment(text)) {
      used += displayWidth(segment);
      if (used >= width) break;
      kept += segment;
    }
  }
  return width < 1 ? '' : `${kept}…`;
}

/** Uses reduce, since a table may have more rows than a call may have arguments. */
function widest(texts: readonly string[]): number {
  return texts.reduce((most, text) => Math.max(most, displayWidth(text)), 0);
}

/** Shrinks the widest column until all fit, or none can shrink. */
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

/** Cells by title. */
type Row = Readonly<Record<string, string | null>>;

/** @param list `json` is the answer of `--json`, undefined for people; `below` is printed below the table */
export function printList(
  shell: Shell,
  list: Readonly<{ json: string | undefined; rows: readonly Row[]; none: string; below: string }>,
): ExitCode {
  const { json, rows, none, below } = list;
  const scrub = (text: string | null): string | null => text && shell.scrubber.scrub(text);
  // Secrets are hidden before cells are cut: the beginning of a secret can't be recognized.
  const shown = rows.map((row) => Object.fromEntries(Object.entries(row).map(([title, cell]) => [title, scrub(cell)])));
  const table = (): string => `${formatList(shown, widthOfTerminal(shell.out))}${below}`;
  say(shell, json ?? (rows.length === 0 ? none : table()));
  return EXIT.DONE;
}

/**
 * Prints at most `limit` of what was found, the newest first, and whether there is more.
 * @param newest `noun` of one (`event`); `none` is printed without any; `shows` is what `--show ID` prints; `toJson`
 * makes the list one JSON object
 */
export function printNewest<Each>(
  shell: Shell,
  found: readonly Each[],
  newest: Readonly<Record<'noun' | 'none' | 'shows', string>> & {
    readonly limit: number;
    readonly toRow: (each: Each) => Row;
    readonly toJson: ((each: Each) => string) | undefined;
  },
): ExitCode {
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
