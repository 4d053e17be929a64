import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { webhookStore } from '../../../src/events/webhook-store.ts';
import { LeaseLost } from '../../../src/model/errors.ts';
import { testDatabase } from '../../support/databases/migrated-database.ts';
import { UNREGISTERED } from '../../support/webhooks/registration-world.ts';

// What the registrar stores, in real Postgres. That it registers with it: test/system/beside/webhooks.test.ts.

const database = testDatabase();
const OURS = { url: 'https://mirror.example.com/webhooks/1', active: true, source: '{"event_types":null}' };
const THEIRS = { url: 'https://other.example.com/T0', active: true, source: '{"url":"theirs"}' };

let userId = 0;
/** Tables and change IDs that were announced. */
let changed: string[];
let store: ReturnType<typeof webhookStore>;

async function newAccount(): Promise<ReturnType<typeof webhookStore>> {
  userId += 1;
  await rowOf(`insert into mirror_sync.account (_user_id, owner, token, created_at)
    values (${userId}, 'tests', 1, now())`);
  const fence = { userId: String(userId), owner: 'tests', token: '1' };
  return webhookStore(database.db, fence, ({ table, changeId }) => changed.push(`${table} ${changeId}`));
}

/** The first row of a statement. */
const rowOf = async (text: string): Promise<Record<string, unknown> | undefined> =>
  (await sql<Record<string, unknown>>`${sql.raw(text)}`.execute(database.kysely)).rows[0];
const registration = () => rowOf(`select * from mirror_sync.registration where _user_id = ${userId}`);
const webhook = () =>
  rowOf(`select *, _raw::text as raw, xmin::text as version from mirror.webhook where _user_id = ${userId}`);
const noChange = () => ({});

beforeEach(async () => {
  changed = [];
  store = await newAccount();
});

describe('the row of the webhook', () => {
  it('follows what the service shows: replaced, gone, there again, each under a change ID of its own', async () => {
    await store.save(noChange, OURS);
    const ours = await webhook();
    const { url, active } = OURS;
    expect(ours).toMatchObject({ url, active, event_types: null, _deleted_at: null });
    await store.save(noChange, THEIRS);
    expect(await webhook()).toMatchObject({ url: THEIRS.url, _deleted_at: null });
    await store.save(noChange, 'none');
    expect(await webhook()).toMatchObject({ url: THEIRS.url, _deleted_at: expect.any(Date) as Date });
    // The same object as before its deletion.
    await store.save(noChange, THEIRS);
    const again = await webhook();
    expect(again).toMatchObject({ _deleted_at: null, _first_seen_at: ours?.['_first_seen_at'] });
    const ids = changed.map((each) => Number(each.replace('webhook ', '')));
    expect(ids).toHaveLength(4);
    expect(new Set(ids).size).toBe(4);
    expect(ids).toEqual(ids.toSorted((a, b) => a - b));
    expect(changed.at(-1)).toBe(`webhook ${String(again?.['_change_id'])}`);
  });

  it('stores text that no column can hold as closely as possible, and is not written again if nothing changes', async () => {
    const source = String.raw`{"url":"https://a\u0000\ud800","event_types":["a\u0000"],"n":9007199254740993}`;
    const seen = { url: 'https://a\u0000\ud800', active: null, source };
    await store.save(noChange, seen);
    const row = await webhook();
    expect(row).toMatchObject({ url: 'https://a\uFFFD\uFFFD', active: null, event_types: ['a\uFFFD'] });
    expect(row?.['raw']).toContain('9007199254740993');
    await store.save(noChange, seen);
    expect((await webhook())?.['version']).toBe(row?.['version']);
  });
});

describe('a registration', () => {
  it('is loaded as it was saved, field by field', async () => {
    expect(await store.load()).toEqual({ ...UNREGISTERED, now: expect.any(Date) as Date });
    const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second));
    const moments = {
      registeringAt: at(1),
      registeredAt: at(2),
      checkedAt: at(3),
      replacedAt: [at(4), at(5)],
    };
    const texts = { state: 'suspect', url: OURS.url, secret: 'one', error: 'x' } as const;
    await store.save(() => ({ ...moments, ...texts, mismatches: 2, ownUrls: [OURS.url] }));
    await store.save(() => ({ error: null }));
    const saved = { ...UNREGISTERED, ...moments, ...texts, mismatches: 2, ownUrls: [OURS.url], error: null };
    expect(await store.load()).toEqual({ ...saved, now: expect.any(Date) as Date });
  });

  it('belongs to the account’s owner: a former owner stores nothing', async () => {
    await store.save(() => ({ secret: 'one' }), OURS);
    const before = [await registration(), await webhook()];
    await rowOf(`update mirror_sync.account set owner = 'another', token = 2 where _user_id = ${userId}`);
    await expect(store.save(() => ({ secret: 'two' }), THEIRS)).rejects.toBeInstanceOf(LeaseLost);
    expect([await registration(), await webhook()]).toEqual(before);
  });

  it('is on hold while the installation is', async () => {
    expect((await store.load()).onHold).toBe(false);
    await rowOf('insert into mirror_sync.installation (created_at, held_at) values (now(), now())');
    expect((await store.load()).onHold).toBe(true);
    await rowOf('delete from mirror_sync.installation');
  });

  it('that is answered with the same secret has no previous one; with another it has one for a day', async () => {
    await store.save(() => ({ secret: 'one' }));
    const first = await registration();
    await store.save(() => ({ secret: 'one' }));
    expect(await registration()).toEqual(first);
    expect(first).toMatchObject({ secret: 'one', previous_secret: null });
    await store.save(() => ({ secret: 'two' }));
    const second = await registration();
    expect(second).toMatchObject({ secret: 'two', previous_secret: 'one' });
    expect(Number(second?.['previous_until']) - Number(second?.['secret_at'])).toBe(24 * 3_600_000);
  });

  it('has the URLs of its last acceptance, and those of no other account', async () => {
    const another = await newAccount();
    const urlsOf = async (one: typeof store) => (await one.load()).ownUrls.toSorted();
    const accept = (one: typeof store, ...ownUrls: string[]) => one.save((now) => ({ registeredAt: now, ownUrls }));
    await accept(another, 'https://a', 'https://b', 'https://b');
    await rowOf(`insert into mirror_sync.own_url values (${userId}, 'https://older', now() - interval '1 day')`);
    expect(await urlsOf(another)).toEqual(['https://a', 'https://b']);
    await accept(store, 'https://a');
    await accept(store, 'https://b', 'https://c');
    expect(await urlsOf(store)).toEqual(['https://b', 'https://c']);
    await store.save(() => ({ ownUrls: [] }));
    expect(await urlsOf(store)).toEqual([]);
    expect(await urlsOf(another)).toEqual(['https://a', 'https://b']);
  });
});
