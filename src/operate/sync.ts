import { countOf, formatCount, formatSpan } from '@research-mirror/runtime/figures';
import type { CollectionProgress, RunOptions } from '../account/account-command.ts';
import { type CollectionPass, type PassProgress, runSync, type SyncReport } from '../account/pass.ts';
import type { ServiceConfig } from '../config/config.ts';
import type { CollectionName } from '../model/collections.ts';
import { problemLine } from '../status/problem.ts';
import { blockedDeletions, type Finding, groupProblems, staleRows } from '../status/problems.ts';
import { chooseCollections } from '../terminal/given.ts';
import { serviceConfig, workOptions } from '../terminal/open-mirror.ts';
import { Progress } from '../terminal/progress.ts';
import { complain, EXIT, type Options, SET_A_KEY, type Shell, UsageError, widthOfTerminal } from '../terminal/shell.ts';
import { formatList } from '../terminal/text-table.ts';

/** What a pass has read so far, in one line: sums over all accounts, by collection. */
export function readingLine(passes: Iterable<PassProgress>): string {
  const parts = Array.from(
    Map.groupBy(passes, ({ collection }) => collection),
    ([collection, all]) => {
      const sum = (of: 'items' | 'inserted' | 'updated' | 'deleted') => all.reduce((n, each) => n + each[of], 0);
      const changes = Object.entries({ '+': sum('inserted'), '~': sum('updated'), '-': sum('deleted') })
        .filter(([, count]) => count > 0)
        .map(([sign, count]) => `${sign}${formatCount(count)}`);
      const doubts = all.findLast((each) => each.doubts !== null)?.doubts ?? null;
      if (doubts !== null)
        changes.push(`${formatCount(doubts.rows)} missing, read again in ${formatSpan(doubts.milliseconds)}`);
      return `${collection} ${formatCount(sum('items'))}${changes.length > 0 ? ` (${changes.join(' ')})` : ''}`;
    },
  );
  return `reading: ${parts.length === 0 ? '…' : parts.join(' · ')}`;
}

export async function syncAction(
  shell: Shell,
  names: string[],
  options: Options<'full' | 'acceptDeletions' | 'json' | 'demo'>,
) {
  const { full = false, acceptDeletions = false } = options;
  if (acceptDeletions && !full)
    throw new UsageError('--accept-deletions needs --full: only a full walk proves deletions');
  const report = await showPass(
    shell,
    names,
    options,
    (config, run, collections) => runSync(config, run, { collections, full, acceptDeletions }),
    readingLine,
    (done, width) => {
      const table = passTable(done.collections, FIGURES, width);
      const refused = done.rateLimited > 0 ? `, ${formatCount(done.rateLimited)} of them answered with 429` : '';
      const stands = done.collections
        .filter(({ complete }) => full && complete === true)
        .map((each) => `${each.userId}/${each.collection}: ${asOf(each)}\n`);
      return `${table}${countOf(done.requests, 'request')}${refused}\n${stands.join('')}`;
    },
  );
  if (report.unknownKeys.length > 0 || report.collections.some(({ error }) => error !== null)) return EXIT.FAILED;
  if (!full) return EXIT.DONE;
  const open = report.collections.flatMap(whatIsOpen);
  for (const line of open) complain(shell, line);
  if (report.collections.some(({ held, refused, stale }) => held + refused + stale > 0)) return EXIT.NO;
  return open.length > 0 ? EXIT.FAILED : EXIT.DONE;
}

/** What `--full` could not ensure, with its remedy. */
function whatIsOpen(pass: CollectionPass): string[] {
  const { userId, collection, held, refused, stale, unproven, liveRows, complete } = pass;
  const where = `${userId}/${collection}`;
  const found: Finding[] = [];
  if (held > 0) found.push(blockedDeletions(userId, { collection, heldDeletions: held, liveRows }));
  if (stale > 0) found.push(staleRows(userId, { collection, staleRows: stale }));
  const lines = groupProblems(found).map((problem) => problemLine(problem, 0));
  if (refused > 0) {
    const rows = `${countOf(refused, 'row')} that ${refused === 1 ? 'is' : 'are'} gone`;
    lines.push(`${where}: Postgres refuses to delete ${rows}. "research-mirror status" shows which, and why`);
  }
  if (lines.length > 0) return lines;
  if (unproven > 0) {
    const rows = countOf(unproven, 'row');
    return [`${where}: ${rows} may be gone, but no two readings agreed; they wait for a second proof`];
  }
  if (complete !== false) return [];
  const why = 'it changed too much while it was read, or a collection that it depends on is incomplete';
  return [`${where}: not completed by this pass (${asOf(pass)}): ${why}. Run it again`];
}

function asOf({ completeAsOf }: CollectionPass): string {
  return completeAsOf === null ? 'never complete so far' : `complete as of ${completeAsOf}`;
}

const FIGURES = [
  ['read', 'items'],
  ['new', 'inserted'],
  ['changed', 'updated'],
  ['deleted', 'deleted'],
  ['unchanged', 'unchanged'],
  ['quarantined', 'quarantined'],
] as const;

/** Runs a pass and prints its report. @param line the progress, from the newest state of each account's collection */
export async function showPass<
  Each extends CollectionProgress,
  Report extends Pick<SyncReport, 'unknownKeys'> & {
    readonly collections: readonly { readonly error: string | null }[];
  },
>(
  shell: Shell,
  names: readonly string[],
  { json = false, demo = false }: Options<'json' | 'demo'>,
  run: (config: ServiceConfig, options: RunOptions<Each>, of: readonly CollectionName[]) => Promise<Report>,
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
  // Secrets are hidden before cells are cut: the beginning of a secret can't be recognized.
  const collections = report.collections.map((each) => ({ ...each, error: each.error && scrub(each.error) }));
  const text = json ? `${JSON.stringify(report)}\n` : describe({ ...report, collections }, widthOfTerminal(shell.out));
  shell.out.write(scrub(text));
  for (const { key, error } of report.unknownKeys) complain(shell, `API key ${key}…: ${error}. ${SET_A_KEY}`);
  return report;
}

/** A row for each collection of each account. @param figures titles and their fields */
export function passTable<Field extends string>(
  passes: readonly (CollectionProgress & {
    readonly milliseconds: number;
    readonly error: string | null;
  } & Readonly<Record<Field, number>>)[],
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
