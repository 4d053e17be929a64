import { expect, it } from 'vitest';
import {
  AT,
  before,
  NO_SUBMISSIONS,
  NO_WEBHOOK,
  sampleAccount,
  sampleReport,
  sampleWebhook,
} from '../../test/support/processes/status-report.ts';
import { accountFacts, type AccountStatus, processWords } from './status-report.ts';

/** An account's fact of this name. */
const said = (name: string, changes: Partial<AccountStatus> = {}): string | undefined =>
  new Map(accountFacts(sampleAccount(changes), AT)).get(name);

const [LIMIT] = sampleAccount().budgets.flatMap(({ groups }) => groups);
if (LIMIT === undefined) throw new Error('the sample has no budget');
const limit = (changes: Partial<typeof LIMIT>): Partial<AccountStatus> => ({
  budgets: [{ key: 'ab12', groups: [{ ...LIMIT, ...changes }] }],
});
const KEY = 'key ab12…, other';
const WHY = 'a 429 has shown a limit of 15 over all endpoints';
const other = sampleWebhook({ lastEventAt: null, hintsWaiting: 0, state: 'foreign', host: 'other.example' });

it.each<[string, string | undefined, Partial<AccountStatus>?]>([
  ['full walk', 'list_items, list 17: 6,000 rows in 12 pages, started 10 s ago'],
  ['full walk', undefined, { walks: [] }],
  ['webhook', 'mirror.example.com: registered; last event 45 s ago; 2 to read again'],
  ['webhook', 'none, polling only', { webhook: NO_WEBHOOK }],
  ['webhook', 'other.example: another program’s, polling only; last event never', { webhook: other }],
  ['submissions', '3 queued, 1 sending; in the last 24 h: 40 accepted, 2 rejected'],
  ['submissions', 'none waiting; in the last 24 h: 1 unknown', { submissions: { ...NO_SUBMISSIONS, unknown: 1 } }],
  ['submissions', undefined, { submissions: NO_SUBMISSIONS }],
  [KEY, '31 of 48 requests in 60 s (service limit: 60)', limit({ waiting: 0 })],
  [
    KEY,
    `31 of 12 requests in 60 s (service limit: 60): ${WHY}, for another 2 h`,
    limit({ why: WHY, until: before(-7_200), size: 12, waiting: 0 }),
  ],
  [
    KEY,
    '31 of 48 requests in 60 s (service limit: 60); 5 used by others; 2 waiting; 1,200 refused (429)',
    limit({ foreignUse: 5, refused: 1_200 }),
  ],
])('of an account %s: %s', (name, words, changes) => {
  expect(said(name, changes)).toBe(words);
});

it.each(['suspect', 'stopped'] as const)('of an account webhook: that it works no more, being %s', (state) => {
  expect(said('webhook', { webhook: sampleWebhook({ state }) })).toContain(state.toUpperCase());
});

it('a process says what it reads, and whether it is alive', () => {
  const report = sampleReport();
  const [first] = report.processes;
  if (first === undefined) throw new Error('the sample has no process');
  const words = 'start 1.2.3 on mirror-1, process 4242, started 25 h ago';
  expect(processWords(first, report)).toBe(`${words}, reads 1 account`);
  expect(processWords({ ...first, processId: 'p0', alive: false }, report)).toBe(
    `${words} (no heartbeat: dead or hung)`,
  );
});
