import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  AT,
  before,
  sampleAccount,
  sampleCollection,
  sampleReport,
} from '../../test/support/processes/status-report.ts';
import type { AccountStatus, CollectionStatus, StatusReport } from './status-report.ts';
import { PROBLEM_CAUSES, type Problem, problemLine } from './problem.ts';
import { clockNotes, type Finding, groupProblems, isAllReadAgain, judge, unreadyDatabase } from './problems.ts';

const NOW = new Date(AT);
const HOUR = 3_600;
const DAEMON = sampleReport().processes;
const DEAD = DAEMON.map((each) => ({ ...each, alive: false }));

const jobs = sampleCollection;
const lists: typeof jobs = (changes) => jobs({ collection: 'lists', ...changes });
const watchlist: typeof jobs = (changes) => jobs({ collection: 'watchlist', ...changes });
const account = (collections = [lists()], changes: Partial<AccountStatus> = {}): AccountStatus =>
  sampleAccount({ collections, ...changes });

/** Problems and notes as people read them. */
function lines(
  accounts: readonly AccountStatus[],
  processes = DAEMON,
  more: Partial<StatusReport> = {},
  found: Parameters<typeof judge>[1] = [],
) {
  const { problems, notes } = judge(sampleReport({ accounts, processes, ...more }), found);
  return { problems: problems.map((each) => problemLine(each, NOW.getTime())), notes };
}

const unread = [
  lists({ state: 'failing', lastError: 'GET /v1/lists returned 401' }),
  watchlist({ state: 'failing', lastError: 'every API key is refused' }),
  jobs({ state: 'overdue', nextPollAt: before(11 * HOUR) }),
];
const refused = account(unread, { state: 'stopped', error: 'GET /v1/ping returned 401' });
const refusedSays =
  'the account has stopped: all of its keys are refused: GET /v1/ping returned 401. Affects 42. Meanwhile: ';
const refusedDo = 'its rows stay as they are. Fix: set a working key in MIRROR_API_KEY, then restart the daemon';
const moved = 'the key answers for account 43: "research-mirror accounts move 42" accepts it';
const late = account([lists({ state: 'overdue', nextPollAt: before(360) })]);
const ahead = account([lists({ state: 'overdue', polledAt: before(-3_480), nextPollAt: before(-3_540) })]);
const aheadSays = 'nothing has been read since the database’s clock went back. Affects 42/lists. Meanwhile: ';
const fullsLate = account([
  lists({ state: 'overdue', nextFullAt: before(8 * HOUR) }),
  watchlist({ state: 'overdue', nextFullAt: before(600) }),
  jobs({ nextFullAt: before(10 * HOUR) }),
]);
const blocked = account([lists({ liveRows: 1_000, heldDeletions: 400 })]);

it.each<[string, AccountStatus, typeof DAEMON, problem?: string]>([
  [
    'why an account has stopped, that a good key ends it, and nothing of collections that are not read',
    refused,
    DAEMON,
    `${refusedSays}its keys are retried within 15 minutes, and it continues as soon as one works; ${refusedDo}`,
  ],
  [
    'that nothing ends it where no daemon runs',
    refused,
    [],
    `${refusedSays}nothing, because no daemon is running; ${refusedDo}`,
  ],
  [
    'of an account that has moved that it stays as it is until a person decides',
    account([lists()], { state: 'stopped', error: moved }),
    DAEMON,
    `the account has stopped: ${moved}. Affects 42. Meanwhile: nothing happens; its rows stay as they are`,
  ],
  ['nothing of current collections under a running daemon', account(), DAEMON],
  ['nothing of a mirror without daemon until its polls are late', account(), []],
  [
    'then that they are',
    late,
    DEAD,
    'polls are late. Affects 42/lists. Began 6 min ago. Meanwhile: nothing, because no daemon is running. Fix: run "research-mirror start"',
  ],
  [
    'that nothing is late by what was read last in the future: the clock went back',
    ahead,
    DAEMON,
    `${aheadSays}the daemon reopens the account within seconds`,
  ],
  [
    'so, too, where no daemon runs',
    ahead,
    DEAD,
    `${aheadSays}nothing, because no daemon is running. Fix: run "research-mirror start"`,
  ],
  [
    'which full walks are overdue, and by how much',
    fullsLate,
    DAEMON,
    'full walks are late, so deletions are found late. Affects 42/lists. Began 8 h ago. Meanwhile: the daemon catches up as soon as it can',
  ],
  [
    'of blocked deletions the command that accepts them',
    blocked,
    DAEMON,
    'the brake blocks deletions of lists: this many at once look like a fault of the service. ' +
      'Affects 42/lists (400 of 1,000 rows). ' +
      'Meanwhile: they are deleted once fewer are missing, or once the deletion volume of a day falls. ' +
      'Fix: if they were deleted on purpose, run "research-mirror sync lists --full --accept-deletions"',
  ],
])('the judgement says %s', (_, one, processes, problem) => {
  const notes = processes === DAEMON ? [] : [expect.stringMatching(/^no daemon is running/)];
  expect(lines([one], processes)).toEqual({ problems: problem === undefined ? [] : [problem], notes });
});

it('the judgement names the accounts that a refused key leaves unread, once', () => {
  const overdue = [lists({ state: 'overdue', nextPollAt: before(HOUR) })];
  const other = (owner: string | null, collections = overdue): AccountStatus =>
    account(collections, { userId: '43', owner });
  const key = { cause: 'key_refused', what: 'the 2nd key in MIRROR_API_KEY can’t be used: 401' } as const;
  const itself = 'Meanwhile: it is retried at growing intervals; the other keys continue';
  const remedy = 'Fix: replace the key in MIRROR_API_KEY, then restart the daemon';
  const affecting = `${key.what}. Affects 43. ${itself}; no daemon reads the affected accounts. ${remedy}`;
  for (const nobodys of [other(null), other('gone'), other(null, [lists()])])
    expect(lines([account(), nobodys], DAEMON, {}, [key]).problems).toEqual([affecting]);
  // Late readings count without such a key, without a daemon, and for accounts that are read.
  const polls = expect.stringMatching(/^polls are late\. Affects 43\/lists\. /) as string;
  const accounts = [account(), other(null)];
  expect(lines(accounts).problems).toEqual([polls]);
  const both = [`${key.what}. ${itself}. ${remedy}`, polls];
  for (const none of [[], DAEMON.map((each) => ({ ...each, command: 'sync' }))])
    expect(lines(accounts, none, {}, [key]).problems).toEqual(both);
  expect(lines([other('p1')], DAEMON, {}, [key]).problems).toEqual(both);
});

it('the judgement has one problem for one cause in all accounts, with its begin', () => {
  const down = (_: unknown, nth: number): AccountStatus => {
    const lastError = 'the service is down: no answer';
    const failing = { state: 'failing', failingSince: before((nth + 5) * 60), lastError } as const;
    // A failure of a list is that of its collection.
    const single = `5 lists could not be read, the last one: ${lastError}`;
    const all = [lists({ ...failing, lastError: single }), watchlist(failing), jobs(failing)];
    return account(all, { userId: String(nth) });
  };
  expect(lines(Array.from({ length: 12 }, down)).problems).toEqual([
    expect.stringMatching(
      /^the service is down: .*\. Affects 36 collections of 12 accounts\. Began 16 min ago\. Meanwhile: the daemon tries one request at a time/,
    ),
  ]);
});

it('the judgement reports failing collections as problems, imperfect data as notes', () => {
  const failing = lists({ state: 'failing', lastError: 'answers HTML', nextPollAt: before(11 * HOUR) });
  const imperfect = watchlist({ quarantinedItems: 1, fieldConflicts: 2 });
  const { problems, notes } = lines([account([failing, imperfect])]);
  expect(problems).toEqual([
    'can’t be read: answers HTML. Affects 42/lists. Meanwhile: it is retried within 5 minutes. Fix: run "research-mirror doctor" to find the reason',
  ]);
  expect(notes).toHaveLength(2);
});

it('the judgement blames Postgres, not the service, for what Postgres refuses to store', () => {
  const failing = (lastError: string): CollectionStatus => lists({ state: 'failing', lastError });
  const full = unreadyDatabase("the database can't do it now (53100 full)");
  const judged = (...collections: CollectionStatus[]) =>
    judge(sampleReport({ accounts: [account(collections)] }), [full]).problems;
  const unready = (...affects: string[]) => [{ cause: 'database_unready', what: full.what, affects }];
  // A full disk is one cause, whatever write met it.
  const items = '3 lists could not be read, the last one: the database refuses (42P01 no relation)';
  const both = [
    failing("the database can't do it now (53100 could not extend file 1)"),
    { ...failing(items), collection: 'list_items' as const },
  ];
  expect(judged(...both)).toMatchObject(unready('42/lists', '42/list_items'));
  // While nothing is written, nothing is late.
  expect(judged(lists({ state: 'overdue', nextPollAt: before(11 * HOUR) }))).toMatchObject(unready());
  // The end of a session is no refusal of a collection.
  for (const said of [
    "the database can't do it now (57P01 terminating connection due to administrator command)",
    "the database can't be reached: Connection terminated unexpectedly",
  ])
    expect(judged(failing(said))).toMatchObject(unready('42/lists'));
  const refuses = 'the database refuses (P0001 not today)';
  const refused = { cause: 'database_refuses', what: `can’t be written: ${refuses}` };
  expect(judged(failing(refuses))[1]).toMatchObject(refused);
  // The service's message may look like one of Postgres.
  const words = 'GET /v1/lists returned 500: the database refuses (53100 x)';
  expect(judged(failing(words))[1]).toMatchObject({ cause: 'collection_failing' });
});

it('the judgement takes collections that no daemon mirrors as paused', () => {
  const paused = [lists({ state: 'paused', nextPollAt: null, lastError: 'no', heldDeletions: 3 })];
  const some = account([...paused, watchlist()]);
  const whole = account(paused, { userId: '43', state: 'stopped', error: 'no' });
  const retired = account(paused, { userId: '44', state: 'retired' });
  expect(lines([some, whole, retired])).toEqual({
    problems: [],
    notes: [
      '42: lists paused: no daemon is configured to mirror them',
      'account 43 is paused: no daemon has a key for it. To retire it, run "research-mirror accounts retire 43"',
    ],
  });
});

it('the judgement has a note if the database’s clock went back', () => {
  expect([clockNotes(50_000), clockNotes(3_540_000)]).toEqual([
    [],
    ['the database’s clock went back by 59 min: it is behind the last heartbeat of a daemon'],
  ]);
});

it('the judgement says that nothing is mirrored without accounts, or why nothing can be', () => {
  expect(lines([]).problems).toEqual([
    'no account has been mirrored yet. Meanwhile: mirroring begins as soon as the service says which accounts the keys belong to',
  ]);
  const behind = { cause: 'database_behind', what: 'it is behind', byItself: 'nothing' } as const;
  expect(lines([], [], {}, [behind]).problems).toEqual([
    'it is behind. Meanwhile: nothing. Fix: run "research-mirror migrate"',
  ]);
});

const lost = { at: before(12 * HOUR), reason: 'the database went back: a standby took over' };

it('a database that went back is a problem until what it lost is read again, then a note', () => {
  const told = (open: boolean) => lines([account()], DAEMON, { recovery: { ...lost, open } });
  const full = /a standby took over\. Began .*full walks are due; .* Fix: .*sync --full/;
  expect(told(true)).toEqual({ problems: [expect.stringMatching(full)], notes: [] });
  expect(told(false)).toEqual({ problems: [], notes: [expect.stringMatching(/Everything has been read again since/)] });
});

const due = { nextFullAt: before(5 * HOUR) };
const readBefore = { completeAsOf: before(7 * HOUR) };
const readAfter = { completeAsOf: before(6 * HOUR + 30) };
it.each<[string, Partial<CollectionStatus>, AccountStatus['state'], boolean]>([
  ['not before the full walk that is due for it has ended', { ...due, ...readBefore }, 'active', false],
  ['not before any full walk', { ...due, completeAsOf: null }, 'active', false],
  ['once it has ended', { nextFullAt: before(-19 * HOUR), ...readAfter }, 'active', true],
  ['also when the next full walk is due', { ...due, ...readAfter }, 'active', true],
  ['where nobody mirrors the account any more', due, 'retired', true],
  ['where nobody mirrors the collection any more', { ...due, state: 'paused' }, 'active', true],
  ['not where the account has stopped', due, 'stopped', false],
])('a database that went back is read again %s', (_, of, state, isRead) => {
  const collections = [lists({ completeAsOf: null, ...of })];
  expect(isAllReadAgain([account(collections, { state })], before(6 * HOUR), NOW, 60_000)).toBe(isRead);
});

const problem: Problem = {
  cause: 'polls_late',
  what: 'polls are late',
  since: '2026-01-01T00:00:00.000Z',
  affects: ['1/lists'],
  byItself: 'nothing',
  remedy: 'research-mirror start',
};
const LATER = Date.parse('2026-01-01T00:10:00.000Z');

it('a problem’s line says what, where, since when, what happens by itself, and the remedy', () => {
  expect(problemLine(problem, LATER)).toBe(
    'polls are late. Affects 1/lists. Began 10 min ago. Meanwhile: nothing. Fix: research-mirror start',
  );
  expect(problemLine({ ...problem, since: null, affects: [], remedy: null }, LATER)).toBe(
    'polls are late. Meanwhile: nothing',
  );
});

it.each([
  [['1', '2', '3', '4'], '1, 2, 3, 4'],
  [['1', '2', '3', '4', '5'], '5 accounts'],
  [['1/a', '1/b', '1/c', '1/d', '1/e'], '5 collections of account 1'],
  [['1/a', '1/b', '2/a', '2/b', '3/a'], '5 collections of 3 accounts'],
])('a problem as one line counts what is too many to be named: %j', (affects, words) => {
  expect(problemLine({ ...problem, affects }, LATER)).toContain(`. Affects ${words}. `);
});

const finding: fc.Arbitrary<Finding> = fc.record(
  {
    cause: fc.constantFrom(...PROBLEM_CAUSES.slice(0, 3)),
    what: fc.constantFrom('a', 'b'),
    since: fc.constantFrom(null, '2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z'),
    byItself: fc.constant('it passes'),
    remedy: fc.constantFrom(null, 'do'),
    where: fc.constantFrom('1/lists', '1', '2'),
    origin: fc.constantFrom('x', 'y'),
  },
  { requiredKeys: ['cause', 'what', 'byItself'] },
);

it('each finding is in one problem, each origin has one problem, and the worst comes first', () => {
  fc.assert(
    fc.property(fc.array(finding), (findings) => {
      const problems = groupProblems(findings);
      const origins = findings.map(({ cause, origin, what, remedy }) =>
        JSON.stringify([cause, origin ?? [what, remedy]]),
      );
      expect(problems).toHaveLength(new Set(origins).size);
      // Those of one cause stay in the order in which they were found.
      const place = (origin: string): number => PROBLEM_CAUSES.indexOf((JSON.parse(origin) as [Finding['cause']])[0]);
      const worstFirst = [...new Set(origins)].toSorted((one, other) => place(one) - place(other));
      for (const [index, { cause, where, since }] of findings.entries()) {
        const problem = problems[worstFirst.indexOf(origins[index] ?? '')];
        expect(problem?.cause).toBe(cause);
        if (where !== undefined) expect(problem?.affects).toContain(where);
        if (typeof since === 'string') expect((problem?.since ?? '') <= since).toBe(true);
      }
      const affected = problems.reduce((sum, { affects }) => sum + affects.length, 0);
      expect(affected).toBeLessThanOrEqual(findings.length);
    }),
  );
});
