import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { createEventSink, listEvents, pruneEvents, replayEvents } from '../../../src/events/event-store.ts';
import { createWakeups } from '../../../src/postgres/notifications.ts';
import { COLLECTION_NAMES } from '../../../src/model/collections.ts';
import { LeaseLost } from '../../../src/model/errors.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { EventAccount, eventAccounts } from '../../support/webhooks/event-account.ts';
import { envelope, eventOf } from '../../support/webhooks/signing.ts';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { earlier } from '../../support/postgres/earlier.ts';

const scene = eventAccounts();
const { database } = scene;

describe('the sink', () => {
  it('hints only collections that are mirrored', async () => {
    const sink = createEventSink(database.db, ['lists'], new VirtualClock());
    const list = envelope('evt_1', { type: 'list.failed', data: { list_id: 2 } });
    for (const body of [list, envelope('evt_2')]) await sink.store(scene.account.userId, eventOf(body));
    expect(await scene.account.hints()).toEqual(['lists//2/1']);
    expect(await scene.account.events()).toHaveLength(2);
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
    await Promise.all(bodies.map((body) => sink.store(scene.account.userId, eventOf(body))));
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
    await scene.account.store(envelope('evt_a', { data: { job_id: '9007199254740993', n: 1.0 } }));
    const another = await EventAccount.make(database);
    await another.store(envelope('evt_b', { type: 'list.failed', data: undefined }));
    await another.store(envelope('evt_c'));
    const ids = async (filter: Parameters<typeof listEvents>[1]): Promise<string[]> =>
      (await listEvents(database.db, filter)).map(({ id }) => id);
    expect(await ids({ limit: 3 })).toEqual(['evt_c', 'evt_b', 'evt_a']);
    expect(await ids({ limit: 1 })).toEqual(['evt_c']);
    expect(await ids({ limit: 9, userId: scene.account.userId })).toEqual(['evt_a']);
    expect(await ids({ limit: 9, userId: another.userId, type: 'list.failed' })).toEqual(['evt_b']);
    expect((await listEvents(database.db, { limit: 9, userId: scene.account.userId }))[0]).toEqual({
      userId: scene.account.userId,
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
    const { userId } = scene.account;
    await scene.account.store(envelope('evt_x', { data: { job_id: 1 } }));
    await scene.account.store(envelope('evt_y', { type: 'list.failed', data: { list_id: 2 } }));
    await database.db.sql`delete from mirror_sync.hint where _user_id = ${userId}`;
    const list = { collection: 'lists', parent: '', key: '2' };
    const items = { collection: 'list_items', parent: '2', key: '' };
    expect(await replayEvents(database.db, ['evt_x', 'evt_y', 'evt_z'], COLLECTION_NAMES)).toEqual([
      { userId, id: 'evt_x', rows: [{ collection: 'research_jobs', parent: '', key: '1' }] },
      { userId, id: 'evt_y', rows: [list, items] },
    ]);
    expect(await scene.account.hints()).toEqual(['list_items/2//1', 'lists//2/1', 'research_jobs//1/1']);
    await replayEvents(database.db, ['evt_x', 'evt_y'], ['lists']);
    expect(await scene.account.hints()).toEqual(['list_items/2//1', 'lists//2/2', 'research_jobs//1/1']);
  });
});

describe('retention', () => {
  const DAY = 86_400_000;

  const prune = (keepMs: number, fence = scene.account.fence): Promise<void> =>
    pruneEvents(database.db, fence, keepMs, new AbortController().signal);
  /** 12,000 events of ten days ago. */
  const old = () => database.db.sql`insert into mirror.events (_user_id, id, received_at, _raw)
    select ${scene.account.userId}::bigint, n::text, now() - interval '10 days', '{}'
    from generate_series(1, 12000) as n`;
  async function age(days: number, { userId } = scene.account): Promise<void> {
    const set = sql.raw(`received_at = ${earlier('received_at', `${days} days`)}`);
    for (const table of [sql.id('mirror', 'events'), sql.id('mirror_sync', 'event_seen')])
      await database.db.sql`update ${table} set ${set} where _user_id = ${userId}`;
  }

  it('removes rows that are old enough; their IDs stay known for 400 days, or four times the retention', async () => {
    const { account } = scene;
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
    expect(await scene.account.events()).toHaveLength(12_000);
    await prune(DAY);
    expect(await scene.account.events()).toHaveLength(0);
    expect(await another.events()).toHaveLength(1);
  });

  it('ends after the present batch when it is stopped, and continues the next time', async () => {
    await old();
    const stop = new AbortController();
    const pruning = pruneEvents(database.db, scene.account.fence, DAY, stop.signal);
    stop.abort();
    await pruning;
    expect(await scene.account.events()).toHaveLength(7_000);
    await prune(DAY);
    expect(await scene.account.events()).toHaveLength(0);
  });

  it('is done by the account’s owner alone', async () => {
    const stale = { ...scene.account.fence, token: '2', ownership: undefined };
    await expect(prune(DAY, stale)).rejects.toBeInstanceOf(LeaseLost);
  });
});
