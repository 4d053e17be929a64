import { describe, expect, it } from 'vitest';
import {
  NO_FIGURES,
  NO_SUBMISSIONS,
  NO_WEBHOOK,
  sampleReport,
} from '../../../test/support/processes/status-report.ts';
import type {
  AccountStatus,
  CollectionStatus,
  ProcessStatus,
  StatusReport,
} from '../../model/status/status-report.ts';
import { problemLine } from '../../model/status/problem.ts';
import { clockNotes, isAllReadAgain, judge, unreadyDatabase } from './problems.ts';

const NOW = new Date('2026-01-01T12:00:00Z');
const DAEMON: ProcessStatus = {
  processId: 'p',
  command: 'start',
  version: '1.0.0',
  host: 'm',
  pid: 1,
  startedAt: '2026-01-01T00:00:00Z',
  alive: true,
};

function collection(changes: Partial<CollectionStatus> = {}): CollectionStatus {
  return {
    collection: 'lists',
    state: 'current',
    ...NO_FIGURES,
    liveRows: 1,
    polledAt: '2026-01-01T11:59:00Z',
    nextPollAt: '2026-01-01T12:00:00Z',
    dueLists: 0,
    unfinishedRows: 0,
    fieldsToFill: 0,
    ...changes,
  };
}

function account(changes: Partial<AccountStatus> = {}): AccountStatus {
  return {
    userId: '42',
    email: null,
    state: 'active',
    error: null,
    owner: 'p',
    collections: [collection()],
    walks: [],
    budgets: [],
    webhook: NO_WEBHOOK,
    submissions: NO_SUBMISSIONS,
    credits: null,
    ...changes,
  };
}

/** As people read it. */
function lines(
  accounts: readonly AccountStatus[],
  processes: readonly ProcessStatus[],
  more: Partial<StatusReport> = {},
  ...further: Parameters<typeof judge> extends [unknown, ...infer Rest] ? Rest : never
): { problems: string[]; notes: readonly string[] } {
  const report = sampleReport({ at: NOW.toISOString(), accounts, processes, ...more });
  const { problems, notes } = judge(report, ...further);
  return { problems: problems.map((each) => problemLine(each, NOW.getTime())), notes };
}

describe('what is wrong', () => {
  it('says once why an account has stopped, that a good key ends it, and nothing of collections that are not read', () => {
    const collections = [
      collection({ state: 'failing', lastError: 'GET /v1/lists was answered 401' }),
      collection({ collection: 'watchlist', state: 'failing', lastError: 'every API key is refused' }),
      collection({
        collection: 'research_jobs',
        state: 'overdue',
        nextPollAt: '2026-01-01T01:00:00Z',
      }),
    ];
    const stopped = account({ state: 'stopped', error: 'GET /v1/ping was answered 401', collections });
    const what =
      'account has stopped: each of its keys is refused: GET /v1/ping was answered 401; affects 42';
    const remedy = 'do: set a good key in MIRROR_API_KEY, and start again';
    expect(lines([stopped], [DAEMON]).problems).toEqual([
      `${what}; by itself: its keys are asked again, at the latest after 15 minutes, and it goes on as soon as one is good; its data stay as they are; ${remedy}`,
    ]);
    expect(lines([stopped], []).problems).toEqual([
      `${what}; by itself: nothing: no daemon runs; its data stay as they are; ${remedy}`,
    ]);
  });

  it('says at once that a refused key leaves an account to nobody, and nothing more when that is late', () => {
    const late = (changes: Partial<AccountStatus>): AccountStatus =>
      account({
        collections: [collection({ state: 'overdue', nextPollAt: '2026-01-01T11:00:00Z' })],
        ...changes,
      });
    const key = { cause: 'key_refused', what: 'the 2nd of MIRROR_API_KEY is of no use: 401' } as const;
    const itself = 'by itself: it is asked again, later and later; the other keys go on';
    const remedy = 'do: put the right key in its place, and start again';
    const affecting = `${key.what}; affects 43; ${itself}; no daemon reads the affected accounts; ${remedy}`;
    const read = account();
    for (const other of [late({ owner: null }), late({ owner: 'gone' }), account({ owner: null })]) {
      const accounts = [read, { ...other, userId: '43' }];
      expect(lines(accounts, [DAEMON], {}, [key]).problems).toEqual([affecting]);
    }
    // Without such a key, without a daemon, and of an account that is read, late is late.
    const polls = expect.stringMatching(/^polls are late; affects 43\/lists; /) as string;
    const accounts = [read, { ...late({ owner: null }), userId: '43' }];
    expect(lines(accounts, [DAEMON]).problems).toEqual([polls]);
    const both = [`${key.what}; ${itself}; ${remedy}`, polls];
    for (const none of [[], [{ ...DAEMON, command: 'sync' }]])
      expect(lines(accounts, none, {}, [key]).problems).toEqual(both);
    const ours = { ...late({}), userId: '43' };
    expect(lines([ours], [DAEMON], {}, [key]).problems).toEqual(both);
  });

  it('says of an account that has moved that it stays as it is until a person decides', () => {
    const error = 'the key answers for account 43: "research-mirror accounts move 42" accepts it';
    expect(lines([account({ state: 'stopped', error })], [DAEMON]).problems).toEqual([
      `account has stopped: ${error}; affects 42; by itself: nothing: its data stay as they are`,
    ]);
  });

  it('says once what is wrong with all accounts, since when, and what goes on by itself', () => {
    const down = (userId: string, minutes: number): AccountStatus =>
      account({
        userId,
        collections: (['lists', 'watchlist', 'research_jobs'] as const).map((name) =>
          collection({
            collection: name,
            state: 'failing',
            lastError: `${name === 'lists' ? '5 lists could not be read, the last one: ' : ''}the service is down: no answer`,
            failingSince: new Date(NOW.getTime() - minutes * 60_000).toISOString(),
          }),
        ),
      });
    const accounts = Array.from({ length: 12 }, (_, index) => down(String(index), index + 5));
    const { problems } = lines(accounts, [DAEMON]);
    expect(problems).toEqual([
      expect.stringMatching(
        /^the service is down: .*; affects 36 collections of 12 accounts; since 16 min ago; by itself: one request at a time tries it/,
      ),
    ]);
  });

  it('finds nothing wrong with current collections under a running daemon', () => {
    expect(lines([account()], [DAEMON])).toEqual({ problems: [], notes: [] });
  });

  it('takes a mirror without daemon for healthy until its polls are late', () => {
    expect(lines([account()], []).problems).toEqual([]);
    const overdue = collection({ state: 'overdue', nextPollAt: '2026-01-01T11:54:00Z' });
    const late = account({ collections: [overdue] });
    expect(lines([late], [{ ...DAEMON, alive: false }]).problems).toEqual([
      'polls are late; affects 42/lists; since 6 min ago; by itself: nothing: no daemon runs; do: "research-mirror start"',
    ]);
  });

  it('takes nothing for healthy that was read last in the future: the clock went back, and nothing is late by it', () => {
    const ahead = { polledAt: '2026-01-01T12:58:00Z', nextPollAt: '2026-01-01T12:59:00Z' };
    const read = account({ collections: [collection({ ...ahead, state: 'overdue' })] });
    const dead = [{ ...DAEMON, alive: false }];
    expect(lines([read], [DAEMON]).problems).toEqual([
      'nothing was read since the database’s clock went back; affects 42/lists; by itself: the daemon opens the account again within seconds',
    ]);
    expect(lines([read], dead).problems).toEqual([
      'nothing was read since the database’s clock went back; affects 42/lists; by itself: nothing: no daemon runs; do: "research-mirror start"',
    ]);
    expect([clockNotes(50_000), clockNotes(3_540_000)]).toEqual([
      [],
      ['the database’s clock went back by 59 min: it is behind what it showed to a daemon before'],
    ]);
  });

  it('says which full walks are overdue, and by how much', () => {
    const overdue = { state: 'overdue', nextFullAt: '2026-01-01T04:00:00Z' } as const;
    const collections = [
      collection(overdue),
      collection({ ...overdue, collection: 'watchlist', nextFullAt: '2026-01-01T11:50:00Z' }),
      collection({ collection: 'research_jobs', nextFullAt: '2026-01-01T02:00:00Z' }),
    ];
    expect(lines([account({ collections })], [DAEMON]).problems).toEqual([
      'full walks, which find deletions, are late; affects 42/lists; since 8 h ago; by itself: they are made up as soon as the daemon comes to it',
    ]);
  });

  it('reports failing collections as problems, imperfect data as notes', () => {
    const collections = [
      collection({ state: 'failing', lastError: 'answers HTML', nextPollAt: '2026-01-01T01:00:00Z' }),
      collection({ collection: 'watchlist', quarantinedItems: 1, fieldConflicts: 2 }),
    ];
    const { problems, notes } = lines([account({ collections })], [DAEMON]);
    expect(problems).toEqual([
      'can’t be read: answers HTML; affects 42/lists; by itself: it is tried again, at the latest after 5 minutes; do: "research-mirror doctor" finds out why',
    ]);
    expect(notes).toHaveLength(2);
  });

  it('does not say that the service can’t be read where Postgres refuses to store it', () => {
    const failing = (lastError: string, name: CollectionStatus['collection'] = 'lists'): CollectionStatus =>
      collection({ collection: name, state: 'failing', lastError });
    const judged = (...collections: CollectionStatus[]): StatusReport['problems'] =>
      judge(sampleReport({ at: NOW.toISOString(), accounts: [account({ collections })] }), [
        unreadyDatabase("the database can't do it now (53100 full)"),
      ]).problems;
    // A full disk is one cause, whatever met it.
    expect(
      judged(
        failing("the database can't do it now (53100 could not extend file 1)"),
        failing(
          '3 lists could not be read, the last one: the database refuses (42P01 no relation)',
          'list_items',
        ),
      ),
    ).toMatchObject([
      {
        cause: 'database_unready',
        what: "the database can't do it now (53100 full)",
        affects: ['42/lists', '42/list_items'],
      },
    ]);
    // While nothing is written, nothing is late.
    const overdue = collection({ state: 'overdue', nextPollAt: '2026-01-01T01:00:00Z' });
    expect(judged(overdue)).toMatchObject([{ cause: 'database_unready', affects: [] }]);
    // A session that ended is no refusal of its collection.
    for (const said of [
      "the database can't do it now (57P01 terminating connection due to administrator command)",
      "the database can't be reached: Connection terminated unexpectedly",
    ]) {
      expect(judged(failing(said))).toMatchObject([{ cause: 'database_unready', affects: ['42/lists'] }]);
    }
    expect(judged(failing('the database refuses (P0001 not today)'))[1]).toMatchObject({
      cause: 'database_refuses',
      what: 'can’t be written: the database refuses (P0001 not today)',
    });
    // Words of the service are no words of Postgres.
    expect(
      judged(failing('GET /v1/lists was answered 500: the database refuses (53100 x)'))[1],
    ).toMatchObject({
      cause: 'collection_failing',
    });
  });

  it('takes what nobody is asked to mirror for paused, whatever it was before', () => {
    const paused = { state: 'paused', nextPollAt: null, lastError: 'no', heldDeletions: 3 } as const;
    const some = account({ collections: [collection(paused), collection({ collection: 'watchlist' })] });
    const whole = account({ userId: '43', state: 'stopped', error: 'no', collections: [collection(paused)] });
    const retired = account({ userId: '44', state: 'retired', collections: [collection(paused)] });
    const { problems, notes } = lines([some, whole, retired], [DAEMON]);
    expect(problems).toEqual([]);
    expect(notes).toEqual([
      '42: lists paused: no daemon is asked to mirror them',
      'account 43 is paused: no daemon has a key of it; "research-mirror accounts retire 43" takes it out',
    ]);
  });

  it('reports blocked deletions as a problem, with the command that accepts them', () => {
    const collections = [collection({ liveRows: 1_000, heldDeletions: 400 })];
    const { problems } = lines([account({ collections })], [DAEMON]);
    expect(problems).toEqual([
      'the brake blocks deletions of lists: so many at once look like a fault of the service; ' +
        'affects 42/lists (400 of 1,000 rows); ' +
        'by itself: they are deleted as soon as fewer are missing, or the share falls within a day; ' +
        'do: if they are gone on purpose: research-mirror sync lists --full --accept-deletions',
    ]);
  });
});

describe('a database that went back', () => {
  const RECOVERY = { at: '2026-01-01T00:00:00.000Z', reason: 'the database went back: a standby took over' };

  it('is a problem until what it may have lost is read again, then a note', () => {
    expect(lines([account()], [DAEMON], { recovery: { ...RECOVERY, open: true } })).toEqual({
      problems: [
        expect.stringMatching(
          /a standby took over; since .*full walks, which are due; do: .*sync --full/,
        ) as string,
      ],
      notes: [],
    });
    expect(lines([account()], [DAEMON], { recovery: { ...RECOVERY, open: false } })).toEqual({
      problems: [],
      notes: [expect.stringMatching(/it was read again since/) as string],
    });
  });
});

describe('what a database that went back may have lost', () => {
  const AT = '2026-01-01T06:00:00.000Z';
  const again = (of: Partial<CollectionStatus>, state: AccountStatus['state'] = 'active'): boolean =>
    isAllReadAgain([account({ state, collections: [collection(of)] })], AT, NOW, 60_000);
  const due = { nextFullAt: '2026-01-01T07:00:00Z' };

  it('is read again once the full walk that is due for it has ended', () => {
    expect(again({ ...due, completeAsOf: '2026-01-01T05:00:00Z' })).toBe(false);
    expect(again({ ...due, completeAsOf: null })).toBe(false);
    expect(again({ nextFullAt: '2026-01-02T07:00:00Z', completeAsOf: '2026-01-01T05:59:30Z' })).toBe(true);
  });

  it('stays read again when the next full walk is due', () => {
    expect(again({ ...due, completeAsOf: '2026-01-01T05:59:30Z' })).toBe(true);
  });

  it('is not waited for where nobody mirrors the account any more', () => {
    expect(again(due, 'retired')).toBe(true);
    expect(again({ ...due, state: 'paused' })).toBe(true);
    expect(again(due, 'stopped')).toBe(false);
  });
});

describe('a mirror without accounts', () => {
  it('is one problem: that nothing is mirrored, or why nothing can be', () => {
    expect(lines([], [DAEMON]).problems).toEqual([
      'no account has been mirrored yet; by itself: mirroring begins as soon as it is known whose the keys are',
    ]);
    const behind = { cause: 'database_behind', what: 'it is behind', byItself: 'nothing' } as const;
    expect(lines([], [], {}, [behind]).problems).toEqual([
      'it is behind; by itself: nothing; do: "research-mirror migrate"',
    ]);
  });
});
