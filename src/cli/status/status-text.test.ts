import { describe, expect, it } from 'vitest';
import {
  before,
  NO_SUBMISSIONS,
  NO_WEBHOOK,
  sampleAccount,
  sampleCollection,
  sampleReport,
  sampleWebhook,
} from '../../../test/support/processes/status-report.ts';
import { PAGE_STATES } from '../../../test/browser/page-states.ts';
import { describeStatus, submissionsLine, webhookLine } from './status-text.ts';

describe('the table of an account', () => {
  it('says when what comes next begins, and of what should have begun that it is due', () => {
    const row = (nextPollAt: string | null, nextFullAt: string | null): string | undefined => {
      const collections = [sampleCollection({ collection: 'lists', nextPollAt, nextFullAt })];
      const text = describeStatus(sampleReport({ accounts: [sampleAccount({ collections })] }), undefined);
      return text.split('\n').find((line) => line.startsWith('lists'));
    };
    expect(row(before(-45), before(-7200))).toMatch(/ in 45 s +in 2 h/);
    expect(row(before(45), null)).toMatch(/ due +–/);
  });
});

it('the rate limit is the one that counts, with its reason and its end', () => {
  const [plain] = sampleAccount().budgets.flatMap(({ groups }) => groups);
  if (plain === undefined) throw new Error('the sample has no budget');
  const held = { why: 'a 429 has shown a limit of 15 over all endpoints', until: before(-7_200), size: 12 };
  const budgets = [{ key: 'ab12', groups: [plain, { ...plain, ...held }] }];
  const text = describeStatus(sampleReport({ accounts: [sampleAccount({ budgets })] }), undefined);
  expect(text).toContain("key ab12…: 31 of 48 requests a minute in use (other, of the service's 60)\n");
  expect(text).toContain(
    "31 of 12 requests a minute in use (other, of the service's 60): a 429 has shown a limit of 15 over all endpoints, for another 2 h\n",
  );
});

describe('what waits', () => {
  it('is a line for each, in words of the page, with nothing that writes to the terminal', () => {
    const [first, ...others] = PAGE_STATES['deletions']?.().deletions ?? [];
    if (first === undefined) throw new Error('the sample has no deletions');
    const examples = [...first.examples, 'x\u001b[2J'];
    const text = describeStatus(sampleReport({ deletions: [{ ...first, examples }, ...others] }), undefined);
    expect(text).toMatch(
      /42\/research_jobs: 12,000 of 48,210, missed since 2 h ago: the brake holds them: .*; do: .*--accept-deletions; among them 48001, /,
    );
    expect(text).toContain(String.raw`, x\u001b[2J` + '\n');
  });
});

const age = (at: string | null): string => (at === null ? 'never' : '45 s ago');

describe('the line of a webhook', () => {
  it('says where it is registered, what came last, and what waits', () => {
    expect(webhookLine(sampleWebhook(), age)).toBe(
      'webhook: registered at mirror.example.com; last event 45 s ago; 2 to be read again',
    );
  });

  it('says that there is none, that it is another’s, or that it works no more', () => {
    expect(webhookLine(NO_WEBHOOK, age)).toBe('webhook: none, polling only');
    const bare = { lastEventAt: null, hintsWaiting: 0 };
    expect(webhookLine(sampleWebhook({ ...bare, state: 'foreign', host: 'other.example' }), age)).toBe(
      "webhook: another's at other.example, polling only; last event never",
    );
    expect(webhookLine(sampleWebhook({ ...bare, state: 'suspect' }), age)).toContain('SUSPECT');
    expect(webhookLine(sampleWebhook({ ...bare, state: 'stopped' }), age)).toContain('STOPPED');
  });

  it('lets no host name write to the terminal', () => {
    expect(webhookLine(sampleWebhook({ host: 'x\u001b[2J' }), age)).toContain(String.raw`x\u001b[2J`);
  });
});

describe('the line of submissions', () => {
  it('counts those that wait and those of the last day, and is left out where there are none', () => {
    expect(submissionsLine(sampleAccount().submissions)).toBe(
      'submissions: 3 queued, 1 sending; in the last 24 h 40 accepted, 2 rejected',
    );
    expect(submissionsLine({ ...NO_SUBMISSIONS, unknown: 1 })).toBe(
      'submissions: none waits; in the last 24 h 1 unknown',
    );
    expect(submissionsLine(NO_SUBMISSIONS)).toBeUndefined();
  });
});
