import { countOf, formatCount } from '@research-mirror/runtime/figures';
import { EXIT, type ExitCode } from '../terminal/exit-code.ts';
import { say, type Shell, widthOfTerminal } from '../terminal/shell.ts';
import { formatList } from '../terminal/text-table.ts';

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
