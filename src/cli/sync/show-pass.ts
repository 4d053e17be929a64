import type { UnknownKey } from '../../app/accounts/find-owners.ts';
import type { WorkOptions } from '../../app/process/process.ts';
import type { Config } from '../../config/config.ts';
import type { CollectionName } from '../../model/collections.ts';
import { formatCount } from '@research-mirror/runtime/figures';
import { makeLog } from '../steps/log.ts';
import { Progress } from '../terminal/progress.ts';
import { type Shell, widthOfTerminal } from '../terminal/shell.ts';
import { formatList } from '../terminal/text-table.ts';

/** How far an account's collection is. */
interface State {
  readonly userId: string;
  readonly collection: CollectionName;
}

/** How its pass ended. */
interface Outcome {
  readonly milliseconds: number;
  readonly error: string | null;
}

/** A pass over the accounts of the configured keys, and how it is shown. */
export interface ShownPass<Each extends State, Report> {
  readonly run: (parts: WorkOptions & { readonly onProgress: (each: Each) => void }) => Promise<Report>;
  /** How far it is, in one line: of the newest state of each account's collection. */
  readonly line: (states: Iterable<Each>) => string;
  /** The line before the first state. */
  readonly begins: string;
  /** The report on stdout is JSON; else it is what `describe` says. */
  readonly json: boolean;
  readonly describe: (report: Report, width: number | undefined) => string;
  /** What helps where a key's account is not known. */
  readonly remedy: string;
}

/** Runs the pass and shows how far it is, then prints its report, and on stderr the keys whose account is not known. */
export async function showPass<
  Each extends State,
  Report extends { readonly unknownKeys: readonly UnknownKey[] },
>(
  shell: Shell,
  config: Config,
  { run, line, begins, json, describe, remedy }: ShownPass<Each, Report>,
): Promise<Report> {
  const progress = new Progress(shell);
  const states = new Map<string, Each>();
  let report: Report;
  progress.show(begins);
  try {
    report = await run({
      signal: shell.signal,
      log: makeLog(config, shell, shell.err, 'warn'),
      hide: (secret) => shell.scrubber.hide(secret),
      scrub: (text) => shell.scrubber.scrub(text),
      onProgress: (each) => {
        states.set(`${each.userId}/${each.collection}`, each);
        progress.show(line(states.values()));
      },
    });
  } finally {
    progress.end();
  }
  const text = json ? `${JSON.stringify(report)}\n` : describe(report, widthOfTerminal(shell.out));
  shell.out.write(shell.scrubber.scrub(text));
  for (const { key, error } of report.unknownKeys) {
    shell.err.write(shell.scrubber.scrub(`research-mirror: API key ${key}…: ${error}; ${remedy}\n`));
  }
  return report;
}

/**
 * A row for each collection of each account: figures, how long it took, and why it could not be read.
 * @param figures titles, and the fields that they are of
 */
export function passTable<Field extends string>(
  passes: readonly (State & Outcome & Readonly<Record<Field, number>>)[],
  figures: readonly (readonly [title: string, of: Field])[],
  width: number | undefined,
): string {
  const rows = passes.map((pass) => ({
    account: pass.userId,
    collection: pass.collection,
    ...Object.fromEntries(figures.map(([title, of]) => [title, formatCount(pass[of])])),
    took: `${(pass.milliseconds / 1000).toFixed(1)} s`,
    '': pass.error,
  }));
  return formatList(rows, width);
}
