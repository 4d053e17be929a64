import { expect, it } from 'vitest';
import {
  before,
  sampleAccount,
  sampleCollection,
  sampleReport,
  sampleWebhook,
} from '../../../test/support/processes/status-report.ts';
import { PAGE_STATES } from '../../../test/browser/page-states.ts';
import { describeStatus } from './status-action.ts';

it('the table of an account says when what comes next begins, and of what should have begun that it is due', () => {
  const row = (nextPollAt: string | null, nextFullAt: string | null): string | undefined => {
    const collections = [sampleCollection({ collection: 'lists', nextPollAt, nextFullAt })];
    const text = describeStatus(sampleReport({ accounts: [sampleAccount({ collections })] }), undefined);
    return text.split('\n').find((line) => line.startsWith('lists'));
  };
  expect(row(before(-45), before(-7200))).toMatch(/ in 45 s +in 2 h/);
  expect(row(before(45), null)).toMatch(/ due +–/);
});

it('what else is said of an account stands below its table', () => {
  const text = describeStatus(sampleReport(), undefined);
  expect(text).toContain('  full walk: list_items, list 17: 6,000 rows in 12 pages, begun 10 s ago\n');
  expect(text).toContain(
    '  key 9f86d081…, other: 31 of 48 requests in 60 s, of the service’s 60; 2 waiting\n',
  );
  expect(text).toContain(
    '  running: start 1.2.3 on mirror-1, process 4242, begun 25 h ago, reads 1 account\n',
  );
});

it('deletions that wait are a line each, in words of the page', () => {
  const text = describeStatus(sampleReport(PAGE_STATES['deletions']?.()), undefined);
  expect(text).toMatch(
    /42\/research_jobs: 12,000 of 48,210, missed since 2 h ago: the brake holds them: .*; do: .*--accept-deletions; among them 48001, /,
  );
});

it('nothing that others wrote writes to the terminal', () => {
  const evil = 'x\u001b[2J';
  const [deletion] = PAGE_STATES['deletions']?.().deletions ?? [];
  if (deletion === undefined) throw new Error('the sample has no deletions');
  const { processes } = sampleReport();
  const report = sampleReport({
    accounts: [sampleAccount({ email: evil, webhook: sampleWebhook({ host: evil }) })],
    processes: processes.map((each) => ({ ...each, host: evil })),
    deletions: [{ ...deletion, examples: [evil] }],
    errors: [{ at: before(3), where: '42/lists', message: evil }],
    notes: [evil],
  });
  const text = describeStatus(report, undefined);
  expect(text.match(/x\\u001b\[2J/g)).toHaveLength(6);
  expect(text).not.toContain('\u001b');
});
