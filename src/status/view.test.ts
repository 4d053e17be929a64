import { expect, it } from 'vitest';
import {
  before,
  sampleAccount,
  sampleCollection,
  sampleLatestRows,
  sampleHit,
  sampleProblem,
  sampleReport,
} from '../../test/support/processes/status-report.ts';
import { COLLECTION_NAMES } from '../model/collections.ts';
import type { AccountStatus, StatusReport } from './status-report.ts';
import { PAGE_STATES } from '../../test/browser/page-states.ts';
import { reportView } from './status-page.ts';

const ofReport = (report: StatusReport, userId?: string, latestRows = sampleLatestRows()): string =>
  String(reportView({ report, userId, latestRows }));
const viewOf = (...accounts: AccountStatus[]): string => ofReport(sampleReport({ accounts }));

it('the page has notes right below the problems', () => {
  const view = ofReport(sampleReport({ notes: ['look at the quarantine'] }));
  expect(view).toMatch(/<\/section>\s*<ul class="notes" aria-label="Notes">\s*<li>look at the quarantine</);
});

it('many accounts have a line each, which links to their own page', () => {
  const accounts = ['1', '2'].map((userId) => sampleAccount({ userId }));
  const all = viewOf(...accounts);
  expect(all).toContain('href="accounts/2"');
  for (const part of ['Webhook', 'research_jobs', 'Latest changes']) expect(all).not.toContain(part);
  const own = ofReport(sampleReport({ accounts }), '2');
  expect(own).toContain('Account 2 is healthy');
  expect(own).toContain('href="../rows?user=2&amp;collection=lists"');
});

it('the page of an account has the problems and errors that concern it, and those of the whole mirror', () => {
  const accounts = ['4', '42'].map((userId) => sampleAccount({ userId }));
  const problems = [
    sampleProblem({ what: 'of its list', affects: ['42/lists'] }),
    sampleProblem({ what: 'of all', affects: [] }),
  ];
  const report = sampleReport({ accounts, problems, healthy: false });
  const [first, second] = [ofReport(report, '4'), ofReport(report, '42')];
  expect(first).toContain('Account 4 needs attention');
  const words = ['of its list', 'of all', 'returned 503: busy'];
  expect(words.map((each) => [first.includes(each), second.includes(each)])).toEqual([
    [false, true],
    [true, true],
    [false, true],
  ]);
});

it('the page of an account says a cause once if all collections have it', () => {
  const down = (name: string): string => `GET /v1/${name} returned 503: maintenance`;
  const collections = COLLECTION_NAMES.map((collection) =>
    sampleCollection({ collection, state: 'failing', lastError: down(collection) }),
  );
  const accounts = [sampleAccount({ collections })];
  const affects = COLLECTION_NAMES.map((collection) => `42/${collection}`);
  const errors = COLLECTION_NAMES.map((collection, n) => ({
    at: before(n),
    where: `42/${collection}`,
    message: down(collection),
  }));
  errors.push({ at: before(60), where: '42/lists', message: 'GET /v1/lists returned 404' });
  const problems = [sampleProblem({ cause: 'service_down', what: down('account'), affects })];
  const view = ofReport(sampleReport({ accounts, problems, errors, healthy: false }));
  expect(view.match(/503: maintenance/g)).toHaveLength(2);
  expect(view.match(/class="chip failing">failing</g)).toHaveLength(6);
  const words = view.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
  expect(words).toContain('0 s ago 42/account and 5 others GET /v1/account returned 503: maintenance');
  expect(words).toContain('60 s ago 42/lists GET /v1/lists returned 404');
  // Without a problem, each collection says it.
  const alone = ofReport(sampleReport({ accounts, errors: [] }));
  expect(alone.match(/503: maintenance/g)).toHaveLength(6);
});

it.each([
  ['1200.50', '75.25', 'Credits 1,200.5 75.25 used in the last 24 h: 15 d left '],
  ['10', '75', 'less than a day left'],
  ['10', '0', 'none used'],
  ['10', null, 'history is off'],
])('the page of an account says how long its credits last: %s, of which %s were burnt', (left, burntLastDay, says) => {
  const view = viewOf(sampleAccount({ credits: { left, burntLastDay } })).replaceAll(/<[^>]*>/g, '');
  expect(view.replaceAll(/\s+/g, ' ')).toContain(says);
  expect(viewOf(sampleAccount({ credits: null }))).not.toContain('Credits');
});

it('the page of an account says which parts can’t be read now', () => {
  const view = String(reportView({ report: sampleReport(), userId: '42', latestRows: undefined }));
  expect(view).toContain('This can’t be read right now');
});

it('the line of an account has no known state while the report is old', () => {
  const accounts = ['1', '2'].map((userId) => sampleAccount({ userId }));
  const old = { report: sampleReport({ accounts }), userId: undefined, latestRows: undefined };
  const view = String(reportView({ ...old, why: 'the database is away' }));
  expect(view.match(/class="chip idle">not known</g)).toHaveLength(2);
  expect(view).not.toContain('chip current');
});

it('the line of an account comes first if the account has a problem, and names it', () => {
  const quiet = { walks: [], budgets: [], credits: { left: '1234.5', burntLastDay: null } };
  const fine = ['1', '2', '3'].map((userId) => sampleAccount({ ...quiet, userId }));
  const collections = [sampleCollection({ state: 'failing' }), sampleCollection()];
  const late = sampleProblem({ affects: ['2/lists (of all)'] });
  const accounts = [...fine, sampleAccount({ ...quiet, userId: '9', collections })];
  const problems = [sampleProblem({ affects: ['9/research_jobs'] }), late];
  const view = ofReport(sampleReport({ accounts, problems, healthy: false }));
  const lines = [...view.matchAll(/href="accounts\/(\d+)"[\s\S]*?class="chip (\w+)">([^<]*)</g)];
  expect(lines.map(([, user, kind, text]) => `${user} ${kind} ${text?.trim()}`)).toEqual([
    '2 overdue needs attention',
    '9 failing 1 failing',
    '1 current current',
    '3 current current',
  ]);
  expect(view).toMatch(/data-label="Credits"[^>]*>\s*1,234\.5\s*</);
});

it('the page has a line for each program, which says how many accounts it reads', () => {
  const accounts = ['p1', 'p1', 'p2'].map((owner, nth) => sampleAccount({ userId: String(nth), owner }));
  const processes = ['p1', 'p2'].flatMap((processId) =>
    sampleReport().processes.map((each) => ({ ...each, processId, host: processId })),
  );
  const view = ofReport(sampleReport({ processes, accounts }));
  expect(view).toMatch(/on p1, .*, reads 2 accounts\b[\s\S]*on p2, .*, reads 1 account\b/);
});

it('the next run is due once its time is past', () => {
  const collections = [sampleCollection({ nextPollAt: before(45), nextFullAt: before(-7200) })];
  const view = viewOf(sampleAccount({ collections }));
  expect(view).toMatch(/data-label="Next poll"\s*>\s*<time[^>]*>due /);
  expect(view).toMatch(/data-label="Next full walk"\s*>\s*<time[^>]*>in 2 h /);
});

it('the latest changes link to their rows', () => {
  const key = 'w/1?#';
  const latestRows = [sampleHit(), sampleHit({ row: { userId: '42', collection: 'watchlist', key } })];
  const view = ofReport(sampleReport(), undefined, latestRows);
  expect(view).toContain('href="rows?user=42&amp;collection=research_jobs&amp;key=17"');
  expect(view).toContain('href="rows?user=42&amp;collection=watchlist&amp;key=w%2F1%3F%23"');
  expect(ofReport(sampleReport(), undefined, [])).not.toContain('Latest changes');
});

it('deletions that wait say how many, why, what happens, and which rows', () => {
  const view = ofReport((PAGE_STATES['deletions'] ?? sampleReport)()).replaceAll(/\s+/g, ' ');
  expect(view).toMatch(
    /<code>research_jobs<\/code>: 12,000 of 48,210 rows, first missed 2 h ago: the brake holds them.*sync research_jobs --full --accept-deletions/,
  );
  expect(view).toMatch(/Meanwhile: the next reading decides \(in 40 s\)/);
  expect(view).toMatch(/Meanwhile: the next full walk decides \(in 12 h\)/);
  expect(view).toContain('href="rows?user=42&amp;collection=research_jobs&amp;key=48001"');
  expect(viewOf(sampleAccount())).not.toContain('Pending deletions');
});
