import { countOf, formatCount } from '@research-mirror/runtime/figures';
import { EXIT, type ExitCode } from '../terminal/exit-code.ts';
import { type Shell, widthOfTerminal } from '../terminal/shell.ts';
import { formatList } from '../terminal/text-table.ts';

/** A row of a list for people: its cells by title. */
export type Row = Readonly<Record<string, string | null>>;

/** What a command lists. */
export interface List {
  /** The answer of `--json`; undefined: the list is for people. */
  readonly json: string | undefined;
  readonly rows: readonly Row[];
  /** Said of none. */
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
  const text = json ?? (rows.length === 0 ? none : table());
  shell.out.write(shell.scrubber.scrub(`${text}\n`));
  return EXIT.DONE;
}

/** What a command lists, the newest first. */
export interface Newest<Each> {
  /** How many are wanted. */
  readonly limit: number;
  /** Gives so many at most, the newest first. */
  readonly find: (limit: number) => Promise<readonly Each[]>;
  /** As one JSON object: what is listed under its plural noun, and whether there is `more`. */
  readonly json: boolean;
  readonly toJson: (each: Each) => string;
  readonly toRow: (each: Each) => Row;
  /** `event` */
  readonly noun: string;
  /** Said of none, in words of the filter that was given. */
  readonly none: string;
  /** What `--show ID` prints: `one`. */
  readonly shows: string;
}

/** Prints them, and whether there are more. */
export async function printNewest<Each>(shell: Shell, newest: Newest<Each>): Promise<ExitCode> {
  const { limit, find, json, toJson, toRow, noun, none, shows } = newest;
  const found = await find(limit + 1);
  const shown = found.slice(0, limit);
  const more = found.length > limit;
  const total = more
    ? `the newest ${formatCount(limit)} ${noun}s (--limit shows more)`
    : countOf(shown.length, noun);
  return printList(shell, {
    json: json ? `{"${noun}s":[${shown.map(toJson).join(',\n')}],"more":${more}}` : undefined,
    rows: shown.map(toRow),
    none,
    below: `${total}; --show ID prints ${shows}`,
  });
}
