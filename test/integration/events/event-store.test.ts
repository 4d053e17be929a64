import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '@research-mirror/runtime/clock';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { createEventSink, listEvents, pruneEvents, replayEvents } from '../../../src/events/event-store.ts';
import { COLLECTION_NAMES } from '../../../src/model/collections.ts';
import { LeaseLost } from '../../../src/model/errors.ts';
import type { Database } from '../../../src/postgres/pool.ts';
import { createWakeups } from '../../../src/postgres/notifications.ts';
import { openTestDatabase } from '../../support/databases/migrated-database.ts';
import { earlier } from '../../support/postgres/earlier.ts';
import { EventAccount, eventAccounts } from '../../support/webhooks/event-account.ts';
import { envelope, eventOf } from '../../support/webhooks/signing.ts';

const scene = eventAccounts();
const { database } = scene;
/** As another process has it. */
let other: Database;
let account: EventAccount;

beforeAll(async () => {
  other = await openTestDatabase(database.url);
});
beforeEach(() => ({ account } = scene));
afterAll(() => other.close());

const run = (text: string) => database.db.sql`${sql.raw(text)}`;

describe('an event', () => {
  it('is stored whole, with every digit, and makes due what it names', async () => {
    const body =
      '{"id":"evt_1","type":"research.completed","created_at":"2026-01-02T03:04:05.123456","data":{"job_id":9007199254740993,"score":1.50}}';
    expect(await account.store(body)).toBe('stored');
    const data = '{"score": 1.50, "job_id": 9007199254740993}';
    expect(await account.events()).toEqual([
      {
        id: 'evt_1',
        type: 'research.completed',
        created_at: '2026-01-02 03:04:05.123456',
        data,
        raw: `{"id": "evt_1", "data": ${data}, "type": "research.completed", "created_at": "2026-01-02T03:04:05.123456"}`,
        verbatim: null,
        names: 'research_jobs/9007199254740993',
      },
    ]);
    expect(await account.hints()).toEqual(['research_jobs//9007199254740993/1']);
  });

  it('that reuses the ID of another one is an event of its own, and hints; its repetition is known', async () => {
    const first = envelope('evt_1');
    const other = envelope('evt_1', { data: { job_id: 9 } });
    expect(await account.store(first)).toBe('stored');
    expect(await account.store(other)).toBe('stored');
    for (const body of [first, other, first, other]) expect(await account.store(body)).toBe('known');
    expect(await account.events()).toMatchObject([
      { id: 'evt_1', names: 'research_jobs/7' },
      { id: expect.stringMatching(/^evt_1#[0-9a-f]{16}$/) as string, names: 'research_jobs/9' },
    ]);
    expect(await account.hints()).toEqual(['research_jobs//7/1', 'research_jobs//9/1']);
  });

  it('that reuses an ID is stored once, also if the first one’s row is gone', async () => {
    await account.store(envelope('evt_1'));
    await run(`delete from mirror.events where _user_id = ${account.userId}`);
    expect(await account.store(envelope('evt_1'))).toBe('known');
    const reused = envelope('evt_1', { type: 'research.failed' });
    // Two processes receive it, all at the same time.
    const stores = Array.from({ length: 10 }, () => [database.db, other.db]).flat();
    const answers = await Promise.all(stores.map((db) => account.store(reused, db)));
    expect(answers.filter((answer) => answer === 'stored')).toHaveLength(1);
    expect(await account.events()).toMatchObject([{ type: 'research.failed' }]);
  });

  it('that was seen before bodies had hashes is compared with its row if that still exists', async () => {
    await account.store(envelope('evt_1'));
    await account.store(envelope('evt_2'));
    await run(`update mirror_sync.event_seen set content = null where _user_id = ${account.userId}`);
    await run(`delete from mirror.events where _user_id = ${account.userId} and id = 'evt_2'`);
    expect(await account.store(envelope('evt_1'))).toBe('known');
    expect(await account.store(envelope('evt_1', { data: { job_id: 9 } }))).toBe('stored');
    expect(await account.store(envelope('evt_2', { data: { job_id: 9 } }))).toBe('known');
  });

  const of = (data: string): string => `{"id":"evt_1","data":${data}}`;
  it.each([
    ['white space and order', of('{"a":1,"b":[2]}'), '{ "data": {"b": [2], "a": 1}, "id": "evt_1" }', 1],
    ['an escape', of('"\\u00e9"'), of('"é"'), 1],
    ['a digit', of('{"a":9007199254740992}'), of('{"a":9007199254740993}'), 2],
    ['a character that jsonb can’t hold', of('"\\u0000"'), of('"\\ufffd"'), 2],
    ['a number that Postgres can’t hold', of('1e400000'), of('2e400000'), 2],
  ])('whose body differs from the one before by %s', async (_, one, again, events) => {
    await account.store(one);
    expect(await account.store(again)).toBe(events === 1 ? 'known' : 'stored');
    expect(await account.events()).toHaveLength(events);
  });

  it('of another account with the same ID is another event', async () => {
    await account.store(envelope('evt_1'));
    const another = await EventAccount.make(database);
    expect(await another.store(envelope('evt_1'))).toBe('stored');
  });

  const DEEP = '['.repeat(100_000) + ']'.repeat(100_000);
  it.each([
    ['holds a number that Postgres can’t', '{"a":1e400000}', { type: null, names: null }],
    [
      'is nested deeper than Postgres reads',
      `{"id":"evt_1","type":"research.failed","data":{"job_id":7,"deep":${DEEP}}}`,
      { id: 'evt_1', type: 'research.failed', names: 'research_jobs/7' },
    ],
  ])('whose body %s is stored whole', async (_, body, columns) => {
    expect([await account.store(body), await account.store(body)]).toEqual(['stored', 'known']);
    const whole = { data: null, raw: JSON.stringify(body), verbatim: null };
    expect(await account.events()).toMatchObject([{ ...columns, ...whole }]);
  });

  it('that could not be stored leaves no trace, and is new when it comes again', async () => {
    await run(`alter table mirror.events add constraint refuses check (id <> 'evt_refused')`);
    await expect(account.store(envelope('evt_refused'))).rejects.toThrow(/refuses/);
    expect(await account.hints()).toEqual([]);
    await run('alter table mirror.events drop constraint refuses');
    expect(await account.store(envelope('evt_refused'))).toBe('stored');
  });
});

describe('the sink', () => {
  it('hints only collections that are mirrored', async () => {
    const sink = createEventSink(database.db, ['lists'], new VirtualClock());
    const list = envelope('evt_1', { type: 'list.failed', data: { list_id: 2 } });
    for (const body of [list, envelope('evt_2')]) await sink.store(account.userId, eventOf(body));
    expect(await account.hints()).toEqual(['lists//2/1']);
    expect(await account.events()).toHaveLength(2);
  });

  it('wakes other processes after the commit, a burst of events by few wake-ups', async () => {
    let wakes = 0;
    const wakeups = createWakeups({
      connection: { url: database.url, program: 'research-mirror wake-ups' },
      schema: 'mirror',
      clock: systemClock,
      log: { info: () => {}, warn: () => {} },
      onWake: () => void (wakes += 1),
    });
    await wakeups.start();
    await eventually('its first look', () => wakes > 0);
    const clock = new VirtualClock();
    const sink = createEventSink(database.db, COLLECTION_NAMES, clock);
    const before = wakes;
    const bodies = Array.from({ length: 30 }, (_, index) => envelope(`evt_${index}`));
    await Promise.all(bodies.map((body) => sink.store(account.userId, eventOf(body))));
    await eventually('a wake-up', () => wakes > before);
    expect(wakes - before).toBe(1);
    await eventually('another for those that came meanwhile', async () => {
      await clock.advance(50);
      return wakes - before === 2;
    });
    await clock.advance(1_000);
    expect(wakes - before).toBe(2);
    await wakeups.stop();
  });
});

describe('events that were received', () => {
  it('are listed, the newest first, of all accounts or one, of all types or one', async () => {
    await account.store(envelope('evt_a', { data: { job_id: '9007199254740993', n: 1.0 } }));
    const another = await EventAccount.make(database);
    await another.store(envelope('evt_b', { type: 'list.failed', data: undefined }));
    await another.store(envelope('evt_c'));
    const ids = async (filter: Parameters<typeof listEvents>[1]): Promise<string[]> =>
      (await listEvents(database.db, filter)).map(({ id }) => id);
    expect(await ids({ limit: 3 })).toEqual(['evt_c', 'evt_b', 'evt_a']);
    expect(await ids({ limit: 1 })).toEqual(['evt_c']);
    expect(await ids({ limit: 9, userId: account.userId })).toEqual(['evt_a']);
    expect(await ids({ limit: 9, userId: another.userId, type: 'list.failed' })).toEqual(['evt_b']);
    expect((await listEvents(database.db, { limit: 9, userId: account.userId }))[0]).toEqual({
      userId: account.userId,
      id: 'evt_a',
      type: 'research.completed',
      createdAt: new Date('2026-01-02T03:04:05Z'),
      receivedAt: expect.any(Date) as Date,
      collection: 'research_jobs',
      key: '9007199254740993',
      data: '{"n": 1, "job_id": "9007199254740993"}',
    });
  });

  it('are replayed: their rows are due again; unknown events are left out', async () => {
    const { userId } = account;
    await account.store(envelope('evt_x', { data: { job_id: 1 } }));
    await account.store(envelope('evt_y', { type: 'list.failed', data: { list_id: 2 } }));
    await database.db.sql`delete from mirror_sync.hint where _user_id = ${userId}`;
    const list = { collection: 'lists', parent: '', key: '2' };
    const items = { collection: 'list_items', parent: '2', key: '' };
    expect(await replayEvents(database.db, ['evt_x', 'evt_y', 'evt_z'], COLLECTION_NAMES)).toEqual([
      { userId, id: 'evt_x', rows: [{ collection: 'research_jobs', parent: '', key: '1' }] },
      { userId, id: 'evt_y', rows: [list, items] },
    ]);
    expect(await account.hints()).toEqual(['list_items/2//1', 'lists//2/1', 'research_jobs//1/1']);
    await replayEvents(database.db, ['evt_x', 'evt_y'], ['lists']);
    expect(await account.hints()).toEqual(['list_items/2//1', 'lists//2/2', 'research_jobs//1/1']);
  });
});

describe('retention', () => {
  const DAY = 86_400_000;

  const prune = (keepMs: number, fence = account.fence): Promise<void> =>
    pruneEvents(database.db, fence, keepMs, new AbortController().signal);
  /** 12,000 events of ten days ago. */
  const old = () => database.db.sql`insert into mirror.events (_user_id, id, received_at, _raw)
    select ${account.userId}::bigint, n::text, now() - interval '10 days', '{}'
    from generate_series(1, 12000) as n`;
  async function age(days: number, { userId } = account): Promise<void> {
    const set = sql.raw(`received_at = ${earlier('received_at', `${days} days`)}`);
    for (const table of [sql.id('mirror', 'events'), sql.id('mirror_sync', 'event_seen')])
      await database.db.sql`update ${table} set ${set} where _user_id = ${userId}`;
  }

  it('removes rows that are old enough; their IDs stay known for 400 days, or four times the retention', async () => {
    await account.store(envelope('evt_old'));
    await age(91);
    await account.store(envelope('evt_new'));
    await prune(90 * DAY);
    expect((await account.events()).map(({ id }) => id)).toEqual(['evt_new']);
    expect(await account.store(envelope('evt_old'))).toBe('known');
    await age(310);
    await prune(200 * DAY);
    expect(await account.store(envelope('evt_old'))).toBe('known');
    await prune(100 * DAY);
    expect(await account.store(envelope('evt_old'))).toBe('stored');
  });

  it('removes any number, and nothing of other accounts', async () => {
    await old();
    const another = await EventAccount.make(database);
    await another.store(envelope('evt_1'));
    await age(10, another);
    // An old event of theirs has this ID, too.
    await another.store(envelope('7'));
    await prune(DAY, another.fence);
    expect((await another.events()).map(({ id }) => id)).toEqual(['7']);
    expect(await account.events()).toHaveLength(12_000);
    await prune(DAY);
    expect(await account.events()).toHaveLength(0);
    expect(await another.events()).toHaveLength(1);
  });

  it('ends after the present batch when it is stopped, and continues the next time', async () => {
    await old();
    const stop = new AbortController();
    const pruning = pruneEvents(database.db, account.fence, DAY, stop.signal);
    stop.abort();
    await pruning;
    expect(await account.events()).toHaveLength(7_000);
    await prune(DAY);
    expect(await account.events()).toHaveLength(0);
  });

  it('is done by the account’s owner alone', async () => {
    const stale = { ...account.fence, token: '2', ownership: undefined };
    await expect(prune(DAY, stale)).rejects.toBeInstanceOf(LeaseLost);
  });
});
