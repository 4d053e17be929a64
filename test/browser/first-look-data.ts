import { judge } from '../../src/status/problems.ts';
import { COLLECTION_NAMES } from '../../src/model/collections.ts';
import type { Hit, RowAddress } from '../../src/status/lookup-store.ts';
import type { StatusReport } from '../../src/status/status-report.ts';
import {
  before,
  NO_SUBMISSIONS,
  NO_WEBHOOK,
  sampleAccount,
  sampleCollection,
  sampleHit,
  sampleReport,
} from '../support/processes/status-report.ts';

/** What the README's picture shows of `psql`; test/readme.test.ts asks the same of the README's account. */
export const ASKED: readonly { readonly query: string; readonly answer: string }[] = [
  {
    query: `-- jobs now
select status, count(*) from mirror.research_jobs_live
  group by status order by 2 desc;`,
    answer: `  status   | count
-----------+-------
 completed |  1069
 failed    |    74
 queued    |     2
(3 rows)
`,
  },
  {
    query: `-- and as they were a day ago
select status, count(*)
  from mirror.research_jobs_as_of(now() - interval '1 day')
  group by status order by 2 desc;`,
    answer: `   status   | count
------------+-------
 completed  |   930
 failed     |    68
 processing |     2
(3 rows)
`,
  },
  {
    query: `-- what has changed
select field, before, after from mirror.changes
  where collection = 'watchlist' and key = '1042'
  and op = 'update' and field like '%score' order by 1;`,
    answer: `     field      | before | after
----------------+--------+-------
 previous_score | 91.78  | 96.02
 score          | 96.02  | 22.02
(2 rows)
`,
  },
  {
    query: `-- what the service has deleted, of which it says nothing
select list_id, name, _deleted_at from mirror.lists
  where _deleted_at is not null;`,
    answer: ` list_id |     name     |      _deleted_at
---------+--------------+------------------------
    1097 | Neukunden 25 | 2026-03-01 11:58:46+00
(1 row)
`,
  },
];

/** Rows of the README's account, by collection. */
export const LIVE_ROWS = {
  account: 1,
  research_jobs: 1145,
  bulk_research_jobs: 54,
  lists: 24,
  list_items: 1576,
  watchlist: 134,
} as const;

/** Rows that changed last: table, key, name, state. */
const CHANGES: readonly (readonly [RowAddress['collection'], string, string | null, string | null])[] = [
  ['research_jobs', '4986', 'Acme, acme.example', 'completed'],
  ['list_items', '1097:Z-60', 'Umbrella, umbrella.example', 'deleted'],
  ['lists', '1097', 'Neukunden 25', 'deleted'],
  ['watchlist', '1042', 'Globex, globex.example', null],
  ['account', '1001', 'ada@example.com', null],
];

/** Latest changes on the page of that account. */
export function firstLatestRows(): readonly Hit[] {
  return CHANGES.map(([collection, key, name, state], index) =>
    sampleHit({ row: { userId: '1001', collection, key }, name, state, at: before(40 + 17 * index) }),
  );
}

/** The status page of that account. */
export function firstLook(): StatusReport {
  const report = sampleReport({
    version: '0.2.0',
    errors: [],
    notes: [],
    service: 'https://api.example.com',
    accounts: [
      sampleAccount({
        userId: '1001',
        walks: [],
        collections: COLLECTION_NAMES.map((name) => sampleCollection({ collection: name, liveRows: LIVE_ROWS[name] })),
        credits: { left: '36466.71', burntLastDay: '145.00' },
        webhook: NO_WEBHOOK,
        submissions: NO_SUBMISSIONS,
      }),
    ],
  });
  return { ...report, ...judge(report) };
}
