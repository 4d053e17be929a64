import { type SuspectedRows, waitingDeletions } from '../../src/status/waiting.ts';
import { judge } from '../../src/status/problems.ts';
import { COLLECTION_NAMES } from '../../src/model/collections.ts';
import { SERVICE_DOWN } from '../../src/model/errors.ts';
import type { Hit } from '../../src/status/lookup-store.ts';
import type { AccountStatus, CollectionStatus, StatusReport } from '../../src/status/status-report.ts';
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
/** @param failing what differs in an account's collections */
const twenty = (failing: (name: string, index: number) => Partial<CollectionStatus>): AccountStatus[] =>
  Array.from({ length: 20 }, (_, index) => {
    const email = `accounts+${index}@a-long-name.example.com`;
    const collections = sampleAccount().collections.map((each) => ({
      ...each,
      ...failing(each.collection, index),
    }));
    return sampleAccount({ ...quiet, userId: String(1_001 + index), email, collections });
  });

const down: Partial<CollectionStatus> = {
  state: 'failing',
  lastError: `${SERVICE_DOWN}GET /v1/lists returned 503: maintenance`,
  failingSince: before(900),
  lastErrorAt: before(10),
};

/** Suspected deletions of each kind. */
function waiting(): StatusReport {
  const examples = ['48001', '48002', '48003', '48004', '48005'];
  const why =
    'update or delete on table "bulk_research_jobs" violates foreign key constraint "note_bulk_job_id_fkey" on table "note" (23503)';
  const of = (ago: number, missed: Pick<SuspectedRows, 'collection' | 'cause' | 'rows'>): SuspectedRows => {
    const at = new Date(before(ago));
    return { userId: '42', since: at, latest: at, why: null, examples, ...missed };
  };
  const missed = [
    of(7_300, { collection: 'research_jobs', cause: 'brake', rows: 12_000 }),
    { ...of(5_000, { collection: 'bulk_research_jobs', cause: 'refused', rows: 2 }), why },
    of(4_000, { collection: 'watchlist', cause: 'item_without_id', rows: 2 }),
    of(20, { collection: 'lists', cause: 'second_proof', rows: 1 }),
    {
      ...of(3_000, { collection: 'list_items', cause: 'full_walk', rows: 37 }),
      examples: [`17:${LONG}`, '17:b'],
    },
  ];
  const collections = COLLECTION_NAMES.map((collection) => {
    const { cause, rows = 0 } = missed.find((each) => each.collection === collection) ?? {};
    const counts = cause === 'brake' ? { heldDeletions: rows } : { waitingDeletions: rows };
    return sampleCollection({ collection, liveRows: 48_210, ...counts });
  });
  const accounts = [sampleAccount({ ...quiet, collections })];
  return judged(accounts, { deletions: waitingDeletions(accounts, missed, true, 60_000) });
}

function twentyWithOneFailing(): StatusReport {
  const lastError = 'GET /v1/lists returned 500: no';
  const failing = { state: 'failing', lastError, failingSince: before(300) } as const;
  return judged(twenty((name, index) => (index === 13 && name === 'lists' ? failing : {})));
}

/** What the page may have to show, by name; a state that throws is one in which no report can be made. */
export const PAGE_STATES: Readonly<Record<string, () => StatusReport>> = {
  healthy: () => judged([sampleAccount()]),
  'twenty-accounts': twentyWithOneFailing,
  // On that account's own page.
  'one-of-twenty': twentyWithOneFailing,
  outage: () =>
    judged(twenty(() => down).slice(0, 6), {
      errors: [{ at: before(10), where: '1001/lists', message: String(down.lastError) }],
    }),
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
