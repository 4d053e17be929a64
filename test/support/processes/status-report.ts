import { COLLECTION_COLUMNS, type CollectionFigures } from '../../../src/model/collection-columns.ts';
import type { Problem } from '../../../src/status/problem.ts';
import { COLLECTION_NAMES } from '../../../src/model/collections.ts';
import type { Hit, RowStory } from '../../../src/status/lookup-store.ts';
import type { Lookups } from '../../../src/status/lookup-routes.ts';
import type { AccountStatus, CollectionStatus, StatusReport } from '../../../src/status/status-report.ts';

/** Moment at which sample reports are made. */
export const AT = '2026-03-01T12:00:00.000Z';

/** A moment `seconds` before (negative: after) `AT`. */
export function before(seconds: number): string {
  return new Date(Date.parse(AT) - seconds * 1000).toISOString();
}

/** A healthy mirror of one account that is in the middle of a full walk; tests change what they are about. */
export function sampleReport(changes: Partial<StatusReport> = {}): StatusReport {
  return {
    version: '1.2.3',
    at: AT,
    healthy: true,
    problems: [],
    notes: ['no daemon is running: the mirror stays as it is'],
    service: 'https://service.example',
    database: 'embedded Postgres, port 54329',
    databaseBytes: 123_456_789,
    schema: 'mirror',
    keys: { good: 1, refused: 0, moved: 0, unasked: 0 },
    processes: [
      {
        processId: 'p1',
        command: 'start',
        version: '1.2.3',
        host: 'mirror-1',
        pid: 4242,
        startedAt: before(90_000),
        alive: true,
      },
    ],
    accounts: [sampleAccount()],
    errors: [{ at: before(300), where: '42/watchlist', message: 'GET /v1/watchlist returned 503: busy' }],
    deletions: [],
    held: null,
    recovery: null,
    ...changes,
  };
}

export function sampleProblem(changes: Partial<Problem> = {}): Problem {
  return {
    cause: 'polls_late',
    what: 'polls are late',
    since: before(600),
    affects: ['42/lists'],
    byItself: 'nothing, because no daemon is running',
    remedy: 'run "research-mirror start"',
    ...changes,
  };
}

export function sampleAccount(changes: Partial<AccountStatus> = {}): AccountStatus {
  return {
    userId: '42',
    email: 'ada@example.com',
    state: 'active',
    error: null,
    owner: 'p1',
    collections: COLLECTION_NAMES.map((name, index) =>
      sampleCollection({ collection: name, liveRows: [1, 48_210, 312, 60, 6_000, 25][index] ?? 0 }),
    ),
    walks: [{ collection: 'list_items', listId: '17', startedAt: before(10), pages: 12, items: 6_000 }],
    budgets: [
      {
        key: '9f86d081',
        groups: [
          {
            group: 'other',
            limit: 60,
            size: 48,
            why: null,
            until: null,
            used: 31,
            waiting: 2,
            foreignUse: 0,
            refused: 0,
          },
        ],
      },
    ],
    webhook: sampleWebhook(),
    submissions: { queued: 3, sending: 1, held: 0, accepted: 40, rejected: 2, unknown: 0, cancelled: 0 },
    credits: { left: '1200.50', burntLastDay: '75.25' },
    ...changes,
  };
}

/** Two rows of an account that changed last. */
export function sampleLatestRows(): readonly Hit[] {
  return [
    sampleHit({ row: { userId: '42', collection: 'research_jobs', key: '48210' } }),
    sampleHit({ row: { userId: '42', collection: 'research_jobs', key: '48211' }, at: before(95) }),
  ];
}

export function sampleWebhook(changes: Partial<AccountStatus['webhook']> = {}): AccountStatus['webhook'] {
  return {
    state: 'registered',
    host: 'mirror.example.com',
    error: null,
    renewedSince: null,
    lastEventAt: before(45),
    hintsWaiting: 2,
    ...changes,
  };
}

export function sampleCollection(changes: Partial<CollectionStatus> = {}): CollectionStatus {
  return {
    collection: 'research_jobs',
    state: 'current',
    ...NO_FIGURES,
    liveRows: 100,
    polledAt: before(20),
    completeAsOf: before(7_200),
    nextPollAt: before(-40),
    nextFullAt: before(-43_200),
    dueLists: 0,
    unfinishedRows: 0,
    fieldsToFill: 0,
    ...changes,
  };
}

/** Of an account that has sent nothing, and hears of nothing. */
export const NO_SUBMISSIONS: AccountStatus['submissions'] = {
  queued: 0,
  sending: 0,
  held: 0,
  accepted: 0,
  rejected: 0,
  unknown: 0,
  cancelled: 0,
};
export const NO_WEBHOOK: AccountStatus['webhook'] = {
  state: 'none',
  host: null,
  error: null,
  renewedSince: null,
  lastEventAt: null,
  hintsWaiting: 0,
};

/** Of a collection that was never read. */
export const NO_FIGURES = Object.fromEntries(
  COLLECTION_COLUMNS.map(({ field, kind }) => [field, kind === 'count' ? 0 : null]),
) as CollectionFigures;

/** A row as a search, a list or the latest changes have it; tests change what they are about. */
export function sampleHit(changes: Partial<Hit> = {}): Hit {
  return {
    userId: '42',
    by: null,
    row: { userId: '42', collection: 'research_jobs', key: '17' },
    name: 'Acme, acme.example',
    state: 'completed',
    at: before(60),
    ...changes,
  };
}

/** Lookups that find nothing; tests change what they are about. */
export function sampleLookups(changes: Partial<Lookups> = {}): Lookups {
  return {
    search: async () => ({ at: AT, found: [], more: false }),
    row: async () => undefined,
    rows: async () => ({ at: AT, found: [], next: undefined }),
    ...changes,
  };
}

/** A job's story from its submission on. */
export function sampleStory(changes: Partial<RowStory> = {}): RowStory {
  const entry = { by: null, more: null, fields: [] };
  const submission = {
    ...entry,
    by: 'submission 5',
    more: { operation: 'research', state: 'accepted', response_status: 202, idempotency_key: 'order-5' },
  };
  return {
    at: AT,
    state: 'live',
    timeline: [
      { ...entry, at: before(-60), what: 'next_poll', by: 'daemon' },
      {
        ...entry,
        at: before(60),
        what: 'changed',
        by: 'poll 4',
        fields: [
          { field: 'status', before: '"queued"', after: '"completed"' },
          { field: 'summary', before: null, after: `"${'long '.repeat(400)}… (12345 characters)` },
        ],
      },
      { ...entry, at: before(61), what: 'event', by: 'event evt_1', more: { type: 'research.completed' } },
      { ...entry, at: before(110), what: 'mirrored', by: 'poll 3' },
      { ...submission, at: before(118), what: 'answered' },
      { ...submission, at: before(119), what: 'sent' },
      { ...submission, at: before(120), what: 'queued' },
    ],
    more: false,
    columns: [
      { name: 'job_id', value: '17' },
      { name: 'status', value: 'completed' },
      { name: '_user_id', value: '42' },
    ],
    raw: '{\n    "job_id": 17\n}',
    ...changes,
  };
}
