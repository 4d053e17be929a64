import { expect, it } from 'vitest';
import {
  before,
  sampleAccount,
  sampleCollection,
  sampleReport,
  sampleWebhook,
} from '../../test/support/processes/status-report.ts';
import { PAGE_STATES } from '../../test/browser/page-states.ts';
import type { StatusReport } from './status-report.ts';
import { describeStatus } from './status.ts';

const text = (report: Partial<StatusReport> = {}): string => describeStatus(sampleReport(report), undefined);
const DELETIONS: Partial<StatusReport> = PAGE_STATES['deletions']?.() ?? {};

it.each([
  [before(-45), before(-7200), / in 45 s +in 2 h/],
  [before(45), null, / due +–/],
])(
  'the table of an account says when what comes next begins, or that it is due: %s, %s',
  (nextPollAt, nextFullAt, says) => {
    const collections = [sampleCollection({ collection: 'lists', nextPollAt, nextFullAt })];
    const lines = text({ accounts: [sampleAccount({ collections })] }).split('\n');
    expect(lines.find((line) => line.startsWith('lists'))).toMatch(says);
  },
);

it.each([
  '  full walk: list_items, list 17: 6,000 rows in 12 pages, begun 10 s ago\n',
  '  key 9f86d081…, other: 31 of 48 requests in 60 s, of the service’s 60; 2 waiting\n',
  '  running: start 1.2.3 on mirror-1, process 4242, begun 25 h ago, reads 1 account\n',
])('what else is said of an account stands below its table: %s', (line) => {
  expect(text()).toContain(line);
});

it('deletions that wait have a line each, in the page’s words', () => {
  expect(text(DELETIONS)).toMatch(
    /42\/research_jobs: 12,000 of 48,210, missed since 2 h ago: the brake holds them: .*; do: .*--accept-deletions; among them 48001, /,
  );
});

it('control characters in texts of others do not reach the terminal', () => {
  const evil = 'x\u001b[2J';
  const deletions = (DELETIONS.deletions ?? []).slice(0, 1).map((each) => ({ ...each, examples: [evil] }));
  const said = text({
    accounts: [sampleAccount({ email: evil, webhook: sampleWebhook({ host: evil }) })],
    processes: sampleReport().processes.map((each) => ({ ...each, host: evil })),
    deletions,
    errors: [{ at: before(3), where: '42/lists', message: evil }],
    notes: [evil],
  });
  expect(said.match(/x\\u001b\[2J/g)).toHaveLength(6);
  expect(said).not.toContain('\u001b');
});
