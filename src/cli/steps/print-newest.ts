import { countOf, formatCount } from '@research-mirror/runtime/figures';
import { EXIT, type ExitCode } from '../terminal/exit-code.ts';
import { type Shell, widthOfTerminal } from '../terminal/shell.ts';

/** What a command lists, the newest first. */
export interface Newest<Each> {
  /** How many are wanted. */
  readonly limit: number;
  /** Gives so many at most, the newest first. */
  readonly find: (limit: number) => Promise<readonly Each[]>;
  /** As one JSON object: what is listed under its plural noun, and whether there is `more`. */
  readonly json: boolean;
  readonly toJson: (each: Each) => string;
  /** For people. */
  readonly toTable: (shown: readonly Each[], width: number | undefined) => string;
  /** `event` */
  readonly noun: string;
  /** Said of none, in words of the filter that was given. */
  readonly none: string;
  /** What `--show ID` prints: `one`. */
  readonly shows: string;
}

/** Prints them, and whether there are more. */
export async function printNewest<Each>(shell: Shell, newest: Newest<Each>): Promise<ExitCode> {
  const { limit, find, json, toJson, toTable, noun, none, shows } = newest;
  const found = await find(limit + 1);
  const shown = found.slice(0, limit);
  let text: string;
  if (json) {
    const more = found.length > shown.length;
    text = `{"${noun}s":[${shown.map(toJson).join(',\n')}],"more":${more}}\n`;
  } else if (shown.length === 0) text = `${none}\n`;
  else {
    const total =
      found.length > shown.length
        ? `the newest ${formatCount(shown.length)} ${noun}s (--limit shows more)`
        : countOf(shown.length, noun);
    text = `${toTable(shown, widthOfTerminal(shell.out))}${total}; --show ID prints ${shows}\n`;
  }
  shell.out.write(shell.scrubber.scrub(text));
  return EXIT.DONE;
}
