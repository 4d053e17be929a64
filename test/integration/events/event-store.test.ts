import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../../src/postgres/pool.ts';
import { openTestDatabase } from '../../support/databases/migrated-database.ts';
import { EventAccount, eventAccounts } from '../../support/webhooks/event-account.ts';
import { envelope } from '../../support/webhooks/signing.ts';

const scene = eventAccounts();
/** As another process has it. */
let other: Database;
let account: EventAccount;

beforeAll(async () => {
  other = await openTestDatabase(scene.database.url);
});
beforeEach(() => {
  ({ account } = scene);
});
afterAll(() => other.close());

/** What two processes receive, all at the same time. */
const atOnce = (bodies: readonly string[]): Promise<string[]> =>
  Promise.all(bodies.map((body, at) => account.store(body, at % 2 === 0 ? scene.database.db : other.db)));

describe('an event', () => {
  it('is stored whole, with every digit, and makes due what it names', async () => {
    const body =
      '{"id":"evt_1","type":"research.completed","created_at":"2026-01-02T03:04:05.123456","data":{"job_id":9007199254740993,"score":1.50}}';
    expect(await account.store(body)).toBe('stored');
    expect(await account.events()).toEqual([
      {
        id: 'evt_1',
        type: 'research.completed',
        created_at: '2026-01-02 03:04:05.123456',
        data: '{"score": 1.50, "job_id": 9007199254740993}',
        raw: '{"id": "evt_1", "data": {"score": 1.50, "job_id": 9007199254740993}, "type": "research.completed", "created_at": "2026-01-02T03:04:05.123456"}',
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
    await scene.database.db.sql`delete from mirror.events where _user_id = ${account.userId}`;
    expect(await account.store(envelope('evt_1'))).toBe('known');
    const reused = envelope('evt_1', { type: 'research.failed' });
    const answers = await atOnce(Array.from({ length: 20 }, () => reused));
    expect(answers.filter((answer) => answer === 'stored')).toHaveLength(1);
    expect(await account.events()).toMatchObject([{ type: 'research.failed' }]);
  });

  it('that was seen before bodies had hashes is compared with its row if that still exists', async () => {
    await account.store(envelope('evt_1'));
    await account.store(envelope('evt_2'));
    await scene.database.db
      .sql`update mirror_sync.event_seen set content = null where _user_id = ${account.userId}`;
    await scene.database.db
      .sql`delete from mirror.events where _user_id = ${account.userId} and id = 'evt_2'`;
    expect(await account.store(envelope('evt_1'))).toBe('known');
    expect(await account.store(envelope('evt_1', { data: { job_id: 9 } }))).toBe('stored');
    expect(await account.store(envelope('evt_2', { data: { job_id: 9 } }))).toBe('known');
  });

  const of = (data: string): string => `{"id":"evt_1","data":${data}}`;
  it.each([
    [
      'white space and order of fields',
      of('{"a":1,"b":[2]}'),
      '{ "data": {"b": [2], "a": 1}, "id": "evt_1" }',
      1,
    ],
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
    const another = await EventAccount.make(scene.database);
    expect(await another.store(envelope('evt_1'))).toBe('stored');
  });

  it('is stored beside many others about the same rows, from several processes', async () => {
    const bodies = Array.from({ length: 200 }, (_, index) =>
      envelope(`evt_${index}`, { type: 'list.analyzed', data: { list_id: index % 3 } }),
    );
    const answers = await atOnce(bodies);
    expect(new Set(answers)).toEqual(new Set(['stored']));
    expect(await account.events()).toHaveLength(200);
    expect(await account.hints()).toHaveLength(6);
  });

  it('whose body holds a number that Postgres can’t is stored whole', async () => {
    const body = '{"a":1e400000}';
    expect(await account.store(body)).toBe('stored');
    expect(await account.events()).toMatchObject([
      { type: null, data: null, raw: JSON.stringify(body), verbatim: null, names: null },
    ]);
    expect(await account.store(body)).toBe('known');
  });

  it('nested deeper than Postgres reads is stored whole', async () => {
    const body = `{"id":"evt_1","type":"research.failed","data":{"job_id":7,"deep":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`;
    expect(await account.store(body)).toBe('stored');
    const [event] = await account.events();
    expect(event).toMatchObject({
      id: 'evt_1',
      type: 'research.failed',
      data: null,
      names: 'research_jobs/7',
    });
    expect(JSON.parse(event?.raw ?? '')).toBe(body);
  });

  it('that could not be stored leaves no trace, and is new when it comes again', async () => {
    await scene.database.db.sql`alter table mirror.events add constraint refuses check (id <> 'evt_refused')`;
    await expect(account.store(envelope('evt_refused'))).rejects.toThrow(/refuses/);
    expect(await account.hints()).toEqual([]);
    await scene.database.db.sql`alter table mirror.events drop constraint refuses`;
    expect(await account.store(envelope('evt_refused'))).toBe('stored');
  });
});
