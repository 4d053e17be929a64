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
const lists = (nextPollAt: string, nextFullAt: string | null): Partial<StatusReport> => ({
  accounts: [sampleAccount({ collections: [sampleCollection({ collection: 'lists', nextPollAt, nextFullAt })] })],
});

it.each<[string, Partial<StatusReport>, RegExp]>([
  ['when what comes next begins', lists(before(-45), before(-7200)), /^lists .* in 45 s +in 2 h/m],
  ['that it is due', lists(before(45), null), /^lists .* due +–/m],
  ['what else is known of an account below its table', {}, /^ {2}full walk: list_items, list 17: 6,000 rows/m],
  ['of a process what it reads', {}, /^ {2}running: start .*, started 25 h ago, reads 1 account$/m],
  [
    'of deletions that wait how many, why, which rows, and what to do',
    DELETIONS,
    /42\/research_jobs: 12,000 of 48,210 rows, first missed 2 h ago: the brake holds them, .*\. Examples: 48001, .*\. Fix: .*--accept-deletions/,
  ],
])('the text of the status says %s', (_, report, says) => {
  expect(text(report)).toMatch(says);
});

it('control characters in texts of others do not reach the terminal', () => {
  const evil = 'x\u001b[2J';
  const said = text({
    accounts: [sampleAccount({ email: evil, webhook: sampleWebhook({ host: evil }) })],
    processes: sampleReport().processes.map((each) => ({ ...each, host: evil })),
    deletions: (DELETIONS.deletions ?? []).slice(0, 1).map((each) => ({ ...each, examples: [evil] })),
    errors: [{ at: before(3), where: '42/lists', message: evil }],
    notes: [evil],
  });
  expect(said.match(/x\\u001b\[2J/g)).toHaveLength(6);
  expect(said).not.toContain('\u001b');
});
