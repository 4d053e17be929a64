import { type SuspectedRows, waitingDeletions } from '../../src/status/waiting.ts';
import { judge } from '../../src/status/problems.ts';
import { COLLECTION_NAMES, type CollectionName } from '../../src/model/collections.ts';
import { SERVICE_DOWN } from '../../src/model/errors.ts';
import type { Hit } from '../../src/status/lookup-store.ts';
import type { AccountStatus, StatusReport } from '../../src/status/status-report.ts';
import {
  before,
  sampleAccount,
  sampleCollection,
  sampleHit,
  sampleReport,
} from '../support/processes/status-report.ts';

const LONG = 'x7Qp'.repeat(60);

/** Latest changes of an account's page, with keys that are hard to show. */
export const LATEST_ROWS: readonly Hit[] = [
  sampleHit({ row: { userId: '42', collection: 'research_jobs', key: '48210' } }),
  sampleHit({ row: { userId: '42', collection: 'list_items', key: `17:${LONG}` }, state: null }),
  sampleHit({ row: { userId: '42', collection: 'watchlist', key: 'w/1?#' }, state: 'deleted' }),
  sampleHit({ row: { userId: '42', collection: 'account', key: '42' }, name: LONG, state: null }),
];

/** Judged as a daemon does. */
function judged(accounts: readonly AccountStatus[], changes: Partial<StatusReport> = {}): StatusReport {
  const report = sampleReport({ accounts, errors: [], ...changes });
  return { ...report, ...judge(report) };
}

const quiet = { walks: [], email: 'ada@example.com' } as const;
const twenty = (change: (account: AccountStatus, index: number) => AccountStatus): AccountStatus[] =>
  Array.from({ length: 20 }, (_, index) =>
    change(
      sampleAccount({
        ...quiet,
        userId: String(1_001 + index),
        email: `accounts+${index}@a-long-name.example.com`,
      }),
      index,
    ),
  );

const down: Partial<Parameters<typeof sampleCollection>[0]> = {
  state: 'failing',
  lastError: `${SERVICE_DOWN}GET /v1/lists was answered 503: maintenance`,
  failingSince: before(900),
  lastErrorAt: before(10),
};

/** Suspected deletions of each kind. */
function waiting(): StatusReport {
  const of = (
    collection: CollectionName,
    cause: SuspectedRows['cause'],
    rows: number,
    ago: number,
  ): SuspectedRows => ({
    userId: '42',
    collection,
    cause,
    rows,
    since: new Date(before(ago)),
    latest: new Date(before(ago)),
    why:
      cause === 'refused'
        ? 'update or delete on table "bulk_research_jobs" violates foreign key constraint "note_bulk_job_id_fkey" on table "note" (23503)'
        : null,
    examples:
      collection === 'list_items' ? [`17:${LONG}`, '17:b'] : ['48001', '48002', '48003', '48004', '48005'],
  });
  const missed = [
    of('research_jobs', 'brake', 12_000, 7_300),
    of('bulk_research_jobs', 'refused', 2, 5_000),
    of('watchlist', 'item_without_id', 2, 4_000),
    of('lists', 'second_proof', 1, 20),
    of('list_items', 'full_walk', 37, 3_000),
  ];
  const collections = COLLECTION_NAMES.map((collection) =>
    sampleCollection({
      collection,
      liveRows: 48_210,
      heldDeletions: collection === 'research_jobs' ? 12_000 : 0,
      waitingDeletions:
        missed.find((each) => each.collection === collection && each.cause !== 'brake')?.rows ?? 0,
    }),
  );
  const accounts = [sampleAccount({ ...quiet, collections })];
  return judged(accounts, { deletions: waitingDeletions(accounts, missed, true, 60_000) });
}

function twentyWithOneFailing(): StatusReport {
  const failing = {
    state: 'failing',
    lastError: 'GET /v1/lists was answered 500: no',
    failingSince: before(300),
  } as const;
  return judged(
    twenty((account, index) => ({
      ...account,
      collections: account.collections.map((each) =>
        index === 13 && each.collection === 'lists' ? { ...each, ...failing } : each,
      ),
    })),
  );
}

/** What the page may have to show, by name; a state that throws is one in which no report can be made. */
export const PAGE_STATES: Readonly<Record<string, () => StatusReport>> = {
  healthy: () => judged([sampleAccount()]),
  'twenty-accounts': twentyWithOneFailing,
  // On that account's own page.
  'one-of-twenty': twentyWithOneFailing,
  outage: () =>
    judged(
      twenty((account) => ({
        ...account,
        collections: account.collections.map((each) => ({ ...each, ...down })),
      })).slice(0, 6),
      { errors: [{ at: before(10), where: '1001/lists', message: String(down.lastError) }] },
    ),
  fresh: () => judged([], { keys: { good: 0, refused: 0, moved: 0, unasked: 1 } }),
  unreachable: () => {
    throw new Error('the database did not answer within 4 s');
  },
  // Answered once, and never again.
  old: () => judged([sampleAccount()]),
  deletions: waiting,
};

/** The page that shows a state, where it is not the first one. */
export const PATHS: Readonly<Record<string, string>> = { 'one-of-twenty': 'accounts/1014' };
