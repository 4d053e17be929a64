import { describe, expect, it } from 'vitest';
import {
  before,
  sampleAccount,
  sampleCollection,
  sampleReport,
} from '../../../test/support/processes/status-report.ts';
import { PAGE_STATES } from '../../../test/browser/page-states.ts';
import { reportView } from './view.ts';

const viewOf = async (...accounts: ReturnType<typeof sampleAccount>[]): Promise<string> =>
  String(await reportView(sampleReport({ accounts })));

describe('many accounts', () => {
  it('are folded, but for one whose submissions are held', async () => {
    const quiet = { collections: [], walks: [], budgets: [] };
    const { submissions } = sampleAccount();
    const accounts = ['1', '2', '3', '4'].map((userId) => sampleAccount({ ...quiet, userId }));
    const held = sampleAccount({ ...quiet, userId: '5', submissions: { ...submissions, held: 1 } });
    const view = await viewOf(...accounts, held);
    expect(view.match(/<details open>\s*<summary>\s*<h2>Account \d+/g)).toEqual([
      expect.stringMatching(/Account 5$/),
    ]);
  });

  it('are all folded where one cause affects them all: their table says so', async () => {
    const collections = [sampleCollection({ state: 'failing' })];
    const all = ['1', '2', '3', '4'].map((userId) => sampleAccount({ userId, collections }));
    expect(await viewOf(...all)).not.toContain('<details open>');
  });
});

describe('the line of an account', () => {
  it('comes first where something is wrong with it, and says what', async () => {
    const quiet = { walks: [], budgets: [], credits: { left: '1234.5', burntLastDay: null } };
    const fine = ['1', '2', '3'].map((userId) => sampleAccount({ ...quiet, userId }));
    const collections = [sampleCollection({ state: 'failing' }), sampleCollection()];
    const view = await viewOf(...fine, sampleAccount({ ...quiet, userId: '9', collections }));
    const lines = [...view.matchAll(/href="#account-(\d+)"[\s\S]*?class="chip (\w+)">([^<]*)</g)];
    expect(lines.map(([, user, kind, text]) => `${user} ${kind} ${text?.trim()}`)).toEqual([
      '9 failing 1 failing',
      '1 current current',
      '2 current current',
      '3 current current',
    ]);
    expect(view).toMatch(/data-label="Credits"[^>]*>1,234\.5</);
    expect(view).toContain('id="account-9"');
  });

  it('says who reads it where several programs share accounts out, and their lines how many each', async () => {
    const { processes } = sampleReport();
    const [first] = processes;
    const other = { ...first, processId: 'p2', pid: 77, host: 'west' } as (typeof processes)[number];
    const accounts = ['1', '2', '3'].map((userId) =>
      sampleAccount({ userId, owner: userId === '3' ? 'p2' : 'p1' }),
    );
    const shared = String(await reportView(sampleReport({ processes: [...processes, other], accounts })));
    expect(shared.match(/data-label="Read by"[^>]*>west, process 77</g)).toHaveLength(1);
    expect(shared).toMatch(/process 77, running since[^<]*, reading 1 account\b/);
    const alone = String(await reportView(sampleReport({ accounts })));
    expect(alone).not.toContain('Read by');
    expect(alone).toMatch(/, reading 2 accounts/);
  });

  it('is none where there is one account only', async () => {
    expect(await viewOf(sampleAccount())).not.toContain('class="accounts"');
  });
});

describe('what comes next', () => {
  it('is due once its time is past', async () => {
    const collections = [sampleCollection({ nextPollAt: before(45), nextFullAt: before(-7200) })];
    const view = await viewOf(sampleAccount({ collections }));
    expect(view).toMatch(/data-label="Next poll">\s*<time[^>]*>due /);
    expect(view).toMatch(/data-label="Next full walk">\s*<time[^>]*>in 2 h /);
  });
});

describe('the latest changes', () => {
  it('lead to their rows, and count what came or went by the thousand', async () => {
    const view = String(await reportView((PAGE_STATES['healthy'] ?? sampleReport)()));
    expect(view).toContain('href="rows/42/research_jobs/48210"');
    expect(view).toContain('href="rows/42/watchlist/w%2F1%3F%23"');
    expect(view).toMatch(/12,345 new rows in <code>list_items<\/code>/);
    expect(view).toMatch(/more than 20,000 rows deleted in <code>list_items<\/code>/);
    expect(view).toMatch(/<code>&quot;running&quot;<\/code>[\s\S]*<code>&quot;done&quot;<\/code>/);
    expect(await viewOf(sampleAccount())).not.toContain('Latest changes');
  });
});

describe('deletions that wait', () => {
  it('say how many, why, what happens, and which rows', async () => {
    const view = String(await reportView((PAGE_STATES['deletions'] ?? sampleReport)()));
    expect(view).toMatch(
      /12,000 of 48,210[\s\S]*held by the brake[\s\S]*sync research_jobs --full --accept-deletions/,
    );
    expect(view).toMatch(/second proof[\s\S]*by itself: the next reading of them decides, in 40 s/);
    expect(view).toMatch(/next full walk[\s\S]*by itself: the next full walk decides, in 12 h/);
    expect(view).toContain('href="rows/42/research_jobs/48001"');
    expect(await viewOf(sampleAccount())).not.toContain('Deletions that wait');
  });
});
