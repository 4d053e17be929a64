import type { UnknownKey } from '../../app/accounts/find-owners.ts';
import type { CollectionProgress, RunOptions } from '../../app/process/account-command.ts';
import type { Config } from '../../config/config.ts';
import { formatCount } from '@research-mirror/runtime/figures';
import { workOptions } from '../steps/work-options.ts';
import { SET_A_KEY } from '../terminal/exit-code.ts';
import { Progress } from '../terminal/progress.ts';
import { complain, type Shell, widthOfTerminal } from '../terminal/shell.ts';
import { formatList } from '../terminal/text-table.ts';

/** A pass over the accounts of the configured keys, and how it is shown. */
export interface ShownPass<Each, Report> {
  readonly run: (options: RunOptions<Each>) => Promise<Report>;
  /** How far it is, in one line: of the newest state of each account's collection. */
  readonly line: (states: Iterable<Each>) => string;
  /** The report on stdout is JSON; else it is what `describe` says. */
  readonly json: boolean;
  readonly describe: (report: Report, width: number | undefined) => string;
}

/** Runs the pass and shows how far it is, then prints its report, and on stderr the keys whose account is not known. */
export async function showPass<
  Each extends CollectionProgress,
  Report extends {
    readonly collections: readonly { readonly error: string | null }[];
    readonly unknownKeys: readonly UnknownKey[];
  },
>(shell: Shell, config: Config, { run, line, json, describe }: ShownPass<Each, Report>): Promise<Report> {
  const progress = new Progress(shell);
  const states = new Map<string, Each>();
  let report: Report;
  progress.show(line([]));
  try {
    report = await run({
      ...workOptions(shell, config),
      onProgress: (each) => {
        states.set(`${each.userId}/${each.collection}`, each);
        progress.show(line(states.values()));
      },
    });
  } finally {
    progress.end();
  }
  const { scrub } = shell.scrubber;
  // Before cells are cut: of a secret's beginning nobody can tell that it is one.
  const collections = report.collections.map((each) => ({ ...each, error: each.error && scrub(each.error) }));
  const text = json
    ? `${JSON.stringify(report)}\n`
    : describe({ ...report, collections }, widthOfTerminal(shell.out));
  shell.out.write(scrub(text));
  for (const { key, error } of report.unknownKeys) {
    complain(shell, `API key ${key}…: ${error}; ${SET_A_KEY}`);
  }
  return report;
}

type Pass = CollectionProgress & { readonly milliseconds: number; readonly error: string | null };

/**
 * A row for each collection of each account: figures, how long it took, and why it could not be read.
 * @param figures titles, and the fields that they are of
 */
export function passTable<Field extends string>(
  passes: readonly (Pass & Readonly<Record<Field, number>>)[],
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
