import { describe, expect, it } from 'vitest';
import {
  AT,
  before,
  NO_SUBMISSIONS,
  NO_WEBHOOK,
  sampleAccount,
  sampleReport,
  sampleWebhook,
} from '../../../test/support/processes/status-report.ts';
import { accountFacts, processWords } from './report-words.ts';
import type { AccountStatus } from './status-report.ts';

/** What is said of an account under a name. */
const said = (name: string, changes: Partial<AccountStatus> = {}): string | undefined =>
  new Map(accountFacts(sampleAccount(changes), AT)).get(name);

describe('a full walk', () => {
  it('says what is read, how much was, and since when', () => {
    expect(said('full walk')).toBe('list_items, list 17: 6,000 rows in 12 pages, begun 10 s ago');
    expect(said('full walk', { walks: [] })).toBeUndefined();
  });
});

describe('a webhook', () => {
  it('says where it is registered, what came last, and what waits', () => {
    expect(said('webhook')).toBe('mirror.example.com: registered; last event 45 s ago; 2 to be read again');
  });

  it('says that there is none, that it is another’s, or that it works no more', () => {
    expect(said('webhook', { webhook: NO_WEBHOOK })).toBe('none, polling only');
    const bare = { lastEventAt: null, hintsWaiting: 0 };
    const other = sampleWebhook({ ...bare, state: 'foreign', host: 'other.example' });
    expect(said('webhook', { webhook: other })).toBe(
      'other.example: another’s, polling only; last event never',
    );
    expect(said('webhook', { webhook: sampleWebhook({ state: 'suspect' }) })).toContain('SUSPECT');
    expect(said('webhook', { webhook: sampleWebhook({ state: 'stopped' }) })).toContain('STOPPED');
  });
});

describe('submissions', () => {
  it('are those that wait and those of the last day, and are left out where there are none', () => {
    expect(said('submissions')).toBe('3 queued, 1 sending; in the last 24 h 40 accepted, 2 rejected');
    expect(said('submissions', { submissions: { ...NO_SUBMISSIONS, unknown: 1 } })).toBe(
      'none waits; in the last 24 h 1 unknown',
    );
    expect(said('submissions', { submissions: NO_SUBMISSIONS })).toBeUndefined();
  });
});

describe('a rate limit', () => {
  const [plain] = sampleAccount().budgets.flatMap(({ groups }) => groups);
  if (plain === undefined) throw new Error('the sample has no budget');
  const words = (changes: Partial<typeof plain>): string | undefined =>
    said('key ab12…, other', { budgets: [{ key: 'ab12', groups: [{ ...plain, ...changes }] }] });

  it('is the one that counts, with its reason and its end', () => {
    expect(words({ waiting: 0 })).toBe('31 of 48 requests in 60 s, of the service’s 60');
    const held = { why: 'a 429 has shown a limit of 15 over all endpoints', until: before(-7_200), size: 12 };
    expect(words({ ...held, waiting: 0 })).toBe(
      '31 of 12 requests in 60 s, of the service’s 60: a 429 has shown a limit of 15 over all endpoints, for another 2 h',
    );
  });

  it('says what others use, what waits and what was refused, where anything was', () => {
    expect(words({ foreignUse: 5, refused: 1_200 })).toBe(
      '31 of 48 requests in 60 s, of the service’s 60; 5 used by others; 2 waiting; 1,200 refused (429)',
    );
  });
});

describe('a program', () => {
  it('says what it reads, and whether it lives', () => {
    const report = sampleReport();
    const [first] = report.processes;
    if (first === undefined) throw new Error('the sample has no process');
    const words = 'start 1.2.3 on mirror-1, process 4242, begun 25 h ago';
    expect(processWords(first, report)).toBe(`${words}, reads 1 account`);
    expect(processWords({ ...first, processId: 'p0', alive: false }, report)).toBe(
      `${words} (no heartbeat: gone or hanging)`,
    );
  });
});
