import { countOf, formatCount, formatSpan } from '@research-mirror/runtime/figures';
import type { CollectionProgress, RunOptions } from '../account/account-command.ts';
import type { UnknownKey } from '../account/account-keys.ts';
import { type CollectionPass, type PassProgress, runSync, type SyncReport } from '../account/pass.ts';
import type { ServiceConfig } from '../config/config.ts';
import type { CollectionName } from '../model/collections.ts';
import { problemLine } from '../status/problem.ts';
import { blockedDeletions, type Finding, groupProblems, staleRows } from '../status/problems.ts';
import { serviceConfig } from '../terminal/demo-folder.ts';
import { EXIT, type ExitCode, SET_A_KEY, UsageError } from '../terminal/exit-code.ts';
import { chooseCollections } from '../terminal/given.ts';
import { workOptions } from '../terminal/open-mirror.ts';
import { Progress } from '../terminal/progress.ts';
import { complain, type Options, type Shell, widthOfTerminal } from '../terminal/shell.ts';
import { formatList } from '../terminal/text-table.ts';

/** What a pass has read so far, in one line: sums over all accounts by collection, in the order in which they began. */
export function readingLine(passes: Iterable<PassProgress>): string {
  const sums = new Map<string, PassProgress>();
  for (const pass of passes) {
    const before = sums.get(pass.collection) ?? { ...pass, items: 0, inserted: 0, updated: 0, deleted: 0 };
    sums.set(pass.collection, {
      ...pass,
      items: before.items + pass.items,
      inserted: before.inserted + pass.inserted,
      updated: before.updated + pass.updated,
      deleted: before.deleted + pass.deleted,
      doubts: pass.doubts ?? before.doubts,
    });
  }
  const parts = Array.from(sums.values(), ({ collection, items, inserted, updated, deleted, doubts }) => {
    const changes = Object.entries({ '+': inserted, '~': updated, '-': deleted })
      .filter(([, count]) => count > 0)
      .map(([sign, count]) => `${sign}${formatCount(count)}`);
    if (doubts !== null)
      changes.push(`${formatCount(doubts.rows)} missing, read again in ${formatSpan(doubts.milliseconds)}`);
    return `${collection} ${formatCount(items)}${changes.length > 0 ? ` (${changes.join(' ')})` : ''}`;
  });
  return `reading: ${parts.length === 0 ? '…' : parts.join(' · ')}`;
}

export async function syncAction(
  shell: Shell,
  names: string[],
  options: Options<'full' | 'acceptDeletions' | 'json' | 'demo'>,
): Promise<ExitCode> {
  const { full = false, acceptDeletions = false } = options;
  if (acceptDeletions && !full) {
    throw new UsageError('--accept-deletions goes with --full: only a full walk proves deletions');
  }
  const report = await showPass(
    shell,
    names,
    options,
    (config, run, collections) => runSync(config, run, { collections, full, acceptDeletions }),
    readingLine,
    (done, width) => describe(done, width, full),
  );
  if (report.unknownKeys.length > 0 || report.collections.some(({ error }) => error !== null)) {
    return EXIT.FAILED;
  }
  if (!full) return EXIT.DONE;
  const open = report.collections.flatMap(whatIsOpen);
  for (const line of open) complain(shell, line);
  if (report.collections.some(({ held, refused, stale }) => held + refused + stale > 0)) return EXIT.NO;
  return open.length > 0 ? EXIT.FAILED : EXIT.DONE;
}

/** What `--full` could not make true, with its remedy. */
function whatIsOpen(pass: CollectionPass): string[] {
  const { userId, collection, held, refused, stale, unproven, liveRows, complete } = pass;
  const where = `${userId}/${collection}`;
  const found: Finding[] = [];
  if (held > 0) found.push(blockedDeletions(userId, { collection, heldDeletions: held, liveRows }));
  if (stale > 0) found.push(staleRows(userId, { collection, staleRows: stale }));
  const lines = groupProblems(found).map((problem) => problemLine(problem, 0));
  if (refused > 0) {
    const rows = `${countOf(refused, 'row')} that ${refused === 1 ? 'is' : 'are'} gone`;
    lines.push(`${where}: Postgres refuses to delete ${rows}: "research-mirror status" says which, and why`);
  }
  if (lines.length > 0) return lines;
  if (unproven > 0) {
    const rows = countOf(unproven, 'row');
    return [`${where}: ${rows} may be gone, but no two readings said the same; they wait for a second proof`];
  }
  if (complete !== false) return [];
  const why = 'it changed too much while it was read, or what it hangs on is not complete';
  return [`${where}: ${asOf(pass)}, which is before this pass began: ${why}; run it again`];
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

function describe(report: SyncReport, width: number | undefined, full: boolean): string {
  const table = passTable(report.collections, FIGURES, width);
  const refused =
    report.rateLimited > 0 ? `, ${formatCount(report.rateLimited)} of them answered with 429` : '';
  const stands = report.collections
    .filter(({ complete }) => full && complete === true)
    .map((each) => `${each.userId}/${each.collection}: ${asOf(each)}\n`);
  return `${table}${countOf(report.requests, 'request')}${refused}\n${stands.join('')}`;
}

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
