import type { UnknownKey } from '../../app/accounts/account-keys.ts';
import type { CollectionProgress, RunOptions } from '../../app/process/account-command.ts';
import type { ServiceConfig } from '../../config/config.ts';
import type { CollectionName } from '../../model/collections.ts';
import { formatCount } from '@research-mirror/runtime/figures';
import type { Options } from '../definitions/definition.ts';
import { serviceConfig } from '../steps/demo-folder.ts';
import { chooseCollections } from '../steps/given.ts';
import { workOptions } from '../steps/work-options.ts';
import { SET_A_KEY } from '../terminal/exit-code.ts';
import { Progress } from '../terminal/progress.ts';
import { complain, type Shell, widthOfTerminal } from '../terminal/shell.ts';
import { formatList } from '../terminal/text-table.ts';

/**
 * Runs a pass over the accounts of the configured keys, or of a demo, and shows how far it is, then prints its report,
 * and on stderr the keys whose account is not known.
 * @param line how far it is: of the newest state of each account's collection
 */
export async function showPass<
  Each extends CollectionProgress,
  Report extends {
    readonly collections: readonly { readonly error: string | null }[];
    readonly unknownKeys: readonly UnknownKey[];
  },
>(
  shell: Shell,
  names: readonly string[],
  { json = false, demo = false }: Options<'json' | 'demo'>,
  run: (
    config: ServiceConfig,
    options: RunOptions<Each>,
    collections: readonly CollectionName[],
  ) => Promise<Report>,
  line: (states: Iterable<Each>) => string,
  describe: (report: Report, width: number | undefined) => string,
): Promise<Report> {
  const chosen = chooseCollections(names);
  const config = await serviceConfig(shell, demo);
  const progress = new Progress(shell);
  const states = new Map<string, Each>();
  let report: Report;
  progress.show(line([]));
  try {
    const onProgress = (each: Each): void => {
      states.set(`${each.userId}/${each.collection}`, each);
      progress.show(line(states.values()));
    };
    const options = { ...workOptions(shell, config), onProgress };
    report = await run(config, options, chosen ?? config.collections);
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
