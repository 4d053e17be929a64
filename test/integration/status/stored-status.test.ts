import { sql } from 'kysely';
import { beforeAll, expect, it } from 'vitest';
import { readStoredStatus } from '../../../src/status/stored-status.ts';
import { NO_SUBMISSIONS, NO_WEBHOOK } from '../../support/processes/status-report.ts';
import { testDatabase } from '../../support/databases/migrated-database.ts';

const database = testDatabase();
beforeAll(async () => {
  await database.db
    .sql`insert into mirror_sync.account (_user_id, created_at) select n, now() from generate_series(1, 3) as n`;
});

const run = (text: string): Promise<unknown> => sql.raw(text).execute(database.kysely);
async function account(userId: string) {
  const { accounts } = await readStoredStatus(database.db);
  const found = accounts.find((each) => each.userId === userId);
  if (found === undefined) throw new Error(`account ${userId} is not in the status`);
  return found;
}

it('the stored status says that an account has no webhook and no submissions', async () => {
  expect(await account('3')).toMatchObject({ webhook: NO_WEBHOOK, submissions: NO_SUBMISSIONS });
  expect((await readStoredStatus(database.db)).held).toBeNull();
});

it('the stored status has each key’s stored budget: blocks, and what was learnt', async () => {
  await run(`
    insert into mirror_sync.slot_block (_user_id, key_hash, rate_group, block_id, size, valid_until, freed)
    values (2, 'k', 'other', 1, 5, now(), array[now() + interval '1 minute']),
      (2, 'k', 'other', 2, 5, now() - interval '1 hour', '{}')`);
  await run(`
    insert into mirror_sync.rate_group (_user_id, key_hash, rate_group, learnt)
    values (2, 'k', 'other', '{"contacted": true}'), (2, 'k', 'all', '{"ceiling": {"limit": 12, "until": 1}}')`);
  const blocks = [{ group: 'other', blockId: 1, size: 5 }];
  const learnt = [{ group: 'all' }, { group: 'other', learnt: { contacted: true } }];
  expect((await readStoredStatus(database.db)).budgets).toMatchObject([{ userId: '2', keyHash: 'k', blocks, learnt }]);
});

it('the stored status has a webhook’s host without the rest of the URL, the last event, and waiting hints', async () => {
  await run(`
    insert into mirror_sync.registration (_user_id, state, url, secret)
    values (1, 'registered', 'https://mirror.example.com:8443/hidden/webhooks/1?token=hidden', 'hidden')`);
  await run(`
    insert into mirror.events (_user_id, id, received_at, _raw)
    values (1, 'a', '2026-01-01T00:00:00Z', '{}'), (1, 'b', '2026-01-02T00:00:00Z', '{}')`);
  await run(`
    insert into mirror_sync.hint (_user_id, collection, key, hinted_at, due_at)
    values (1, 'lists', '7', now(), now()), (1, 'lists', '8', now(), now() + interval '1 minute'),
      (1, 'lists', '9', now(), now() + interval '1 day')`);
  const { webhook } = await account('1');
  const told = { lastEventAt: '2026-01-02T00:00:00.000Z', hintsWaiting: 3, error: null, renewedSince: null };
  expect(webhook).toEqual({ state: 'registered', host: 'mirror.example.com:8443', ...told });
  const renewedAfter = async (registered: string, replaced: string) => {
    await run(`update mirror_sync.registration set registered_at = now() - interval '${registered}',
      replaced_at = array[now() - interval '${replaced}', now() - interval '3 days'] where _user_id = 1`);
    return (await account('1')).webhook.renewedSince;
  };
  expect(await renewedAfter('1 hour', '2 hours')).toMatch(/^2\d{3}-.*Z$/);
  expect(await renewedAfter('1 hour', '25 hours')).toBeNull();
  expect(await renewedAfter('2 hours', '1 hour')).toBeNull();
  expect(JSON.stringify(await readStoredStatus(database.db))).not.toContain('hidden');
});

it('the stored status names the host of another program’s webhook', async () => {
  await run(`
    insert into mirror_sync.registration (_user_id, state, url, error)
    values (2, 'foreign', 'https://ours.example/webhooks/2', null)`);
  await run(`
    insert into mirror.webhook (_user_id, url, _first_seen_at, _changed_at, _change_id, _raw)
    values (2, 'https://theirs.example/x', now(), now(), 1, '{}')`);
  expect((await account('2')).webhook).toMatchObject({ state: 'foreign', host: 'theirs.example' });
});

it('the stored status counts submissions that wait, and those that ended within a day', async () => {
  await run(`
    insert into mirror.submissions (_user_id, operation, payload, state, created_at, done_at)
    values (1, 'enrich', '{}', 'queued', now(), null), (1, 'enrich', '{}', 'queued', now(), null),
      (1, 'enrich', '{}', 'sending', now(), null), (1, 'enrich', '{}', 'accepted', now(), now()),
      (1, 'enrich', '{}', 'unknown', now(), now() - interval '23 hours'),
      (1, 'enrich', '{}', 'rejected', now(), now() - interval '25 hours'),
      (2, 'enrich', '{}', 'held', now(), null)`);
  const open = { ...NO_SUBMISSIONS, queued: 2, sending: 1 };
  expect((await account('1')).submissions).toEqual({ ...open, accepted: 1, unknown: 1 });
  expect((await account('2')).submissions).toEqual({ ...NO_SUBMISSIONS, held: 1 });
});

it('the stored status says since when and why submissions are on hold', async () => {
  await run(`
    insert into mirror_sync.installation (created_at, held_at, held_why) values (now(), '2026-01-01T00:00:00Z', 'a copy')`);
  const { held } = await readStoredStatus(database.db);
  expect(held).toEqual({ since: '2026-01-01T00:00:00.000Z', why: 'a copy' });
});

it('the stored status has everything due and no webhook in a copy, until a daemon has looked', async () => {
  await run(`
    insert into mirror_sync.account (_user_id, created_at, recheck) values (4, now(), true);
    insert into mirror._collections (_user_id, collection, next_full_at, paused_at)
    values (4, 'lists', now() + interval '17 hours', null), (4, 'watchlist', now() - interval '1 hour', now());
    insert into mirror.webhook (_user_id, url, _first_seen_at, _changed_at, _change_id, _raw)
    values (4, 'https://original.example/x', now(), now(), 1, '{}')`);
  const { webhook, collections } = await account('4');
  expect(webhook).toEqual(NO_WEBHOOK);
  const { now } = await readStoredStatus(database.db);
  expect(Date.parse(collections[0]?.nextFullAt ?? '')).toBeLessThanOrEqual(now.getTime());
  // Paused collections are not read.
  expect(collections[1]).toMatchObject({ state: 'paused', nextFullAt: null });
  await run('update mirror_sync.account set recheck = false where _user_id = 4');
  const looked = await account('4');
  expect(looked.webhook.host).toBe('original.example');
  expect(Date.parse(looked.collections[0]?.nextFullAt ?? '')).toBeGreaterThan(now.getTime());
});

it('the stored status has times in UTC, counts as numbers, and the running walks', async () => {
  await run(`
    insert into mirror_sync.scope (_user_id, collection, parent, full_walk)
    values (3, 'list_items', '7', '{"began": 1772366400123, "pages": 3, "items": 12}'), (3, 'lists', '', '{}')`);
  await run(`
    insert into mirror._collections (_user_id, collection, live_rows, polled_at)
    values (3, 'lists', 5000000000, '2026-01-01T00:00:00.25Z')`);
  const { collections, walks } = await account('3');
  expect(collections).toMatchObject([
    { collection: 'lists', liveRows: 5e9, polledAt: '2026-01-01T00:00:00.250Z', completeAsOf: null },
  ]);
  expect(collections[0]).not.toHaveProperty('userId');
  const begun = { collection: 'list_items', listId: '7', startedAt: '2026-03-01T12:00:00.123Z' };
  const unknown = { collection: 'lists', listId: null, startedAt: '1970-01-01T00:00:00.000Z' };
  expect(walks).toEqual([
    { ...begun, pages: 3, items: 12 },
    { ...unknown, pages: 0, items: 0 },
  ]);
});
