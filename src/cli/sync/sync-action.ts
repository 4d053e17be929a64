import type { CollectionPass } from '../../app/sync/pass.ts';
import { runSync, type SyncReport } from '../../app/sync/run-sync.ts';
import { problemLine } from '../../model/status/problem.ts';
import { blockedDeletions, groupProblems, staleRows } from '../../app/status/problems.ts';
import { countOf, formatCount, formatSpan } from '@research-mirror/runtime/figures';
import { chooseCollections } from '../steps/choose-collections.ts';
import { EXIT, type ExitCode } from '../terminal/exit-code.ts';
import { serviceConfig } from '../steps/service-config.ts';
import { passTable, showPass } from './show-pass.ts';
import { UsageError } from '../terminal/usage-error.ts';
import type { Shell } from '../terminal/shell.ts';
import type { PassProgress } from '../../app/sync/pass-progress.ts';

/** What a pass has read so far, in one line: sums over all accounts by collection, in the order in which they began. */
export function readingLine(passes: Iterable<PassProgress>): string {
  const sums = new Map<string, Pick<PassProgress, 'items' | 'inserted' | 'updated' | 'deleted' | 'doubts'>>();
  for (const { collection, items, inserted, updated, deleted, doubts } of passes) {
    const before = sums.get(collection) ?? NOTHING;
    sums.set(collection, {
      items: before.items + items,
      inserted: before.inserted + inserted,
      updated: before.updated + updated,
      deleted: before.deleted + deleted,
      doubts: doubts ?? before.doubts,
    });
  }
  if (sums.size === 0) return 'reading: …';
  const parts = [...sums].map(([collection, { items, inserted, updated, deleted, doubts }]) => {
    const changes = [
      ...(inserted > 0 ? [`+${formatCount(inserted)}`] : []),
      ...(updated > 0 ? [`~${formatCount(updated)}`] : []),
      ...(deleted > 0 ? [`-${formatCount(deleted)}`] : []),
      ...(doubts === null
        ? []
        : [`${formatCount(doubts.rows)} missing, read again in ${formatSpan(doubts.milliseconds)}`]),
    ];
    return `${collection} ${formatCount(items)}${changes.length > 0 ? ` (${changes.join(' ')})` : ''}`;
  });
  return `reading: ${parts.join(' · ')}`;
}

const NOTHING = { items: 0, inserted: 0, updated: 0, deleted: 0, doubts: null } as const;

interface Options {
  readonly full?: boolean;
  readonly acceptDeletions?: boolean;
  readonly json?: boolean;
  readonly demo?: boolean;
}

/** What `sync` does. */
export async function syncAction(shell: Shell, names: string[], options: Options): Promise<ExitCode> {
  if (options.acceptDeletions === true && options.full !== true) {
    throw new UsageError('--accept-deletions goes with --full: only a full walk proves deletions');
  }
  const chosen = chooseCollections(names);
  const config = await serviceConfig(shell, options.demo ?? false);
  const report = await showPass(shell, config, {
    run: (parts) =>
      runSync(config, parts, {
        collections: chosen ?? config.collections,
        full: options.full ?? false,
        acceptDeletions: options.acceptDeletions ?? false,
      }),
    line: readingLine,
    json: options.json ?? false,
    describe: (done, width) => describe(done, width, options.full ?? false),
  });
  if (report.unknownKeys.length > 0 || report.collections.some(({ error }) => error !== null)) {
    return EXIT.FAILED;
  }
  if (options.full !== true) return EXIT.DONE;
  const open = report.collections.flatMap(whatIsOpen);
  for (const line of open) shell.err.write(shell.scrubber.scrub(`research-mirror: ${line}\n`));
  if (report.collections.some(({ held, refused, stale }) => held + refused + stale > 0)) return EXIT.NO;
  return open.length > 0 ? EXIT.FAILED : EXIT.DONE;
}

/** What `--full` could not make true, with its remedy. */
function whatIsOpen(pass: CollectionPass): string[] {
  const { userId, collection, held, refused, stale, unproven, liveRows, complete } = pass;
  const where = `${userId}/${collection}`;
  if (held > 0) {
    const blocked = blockedDeletions(userId, { collection, heldDeletions: held, liveRows });
    return groupProblems([blocked]).map((problem) => problemLine(problem, 0));
  }
  if (refused > 0) {
    const rows = `${countOf(refused, 'row')} that ${refused === 1 ? 'is' : 'are'} gone`;
    return [`${where}: Postgres refuses to delete ${rows}: "research-mirror status" says which, and why`];
  }
  if (stale > 0) {
    const refusedRows = staleRows(userId, { collection, staleRows: stale });
    return groupProblems([refusedRows]).map((problem) => problemLine(problem, 0));
  }
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
