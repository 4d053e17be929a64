import { beforeEach, describe, expect, it } from 'vitest';
import { forgetRows, rememberRows, type Forgetting } from '../../../../src/operate/forget.ts';
import { storeEvent } from '../../../../src/events/event-store.ts';
import { compareItems } from '../../../../src/operate/compare-rows.ts';
import { collection, type ListCollection } from '../../../../src/model/collections.ts';
import { LeaseLost } from '../../../../src/model/errors.ts';
import { testDatabase } from '../../../support/databases/migrated-database.ts';
import { itemsOf, MirroredAccount } from '../../../support/mirror/mirrored-account.ts';
import { rowsWith } from '../../../support/mirror/search-everything.ts';
import { eventOf } from '../../../support/webhooks/signing.ts';
import { OPERATOR } from '../../../support/mirror/operator.ts';

const database = testDatabase();
let user = 0;
let account: MirroredAccount;
beforeEach(async () => {
  user += 1;
  account = await MirroredAccount.make(database, String(user));
});

const SECRET = 'Ada Lovelace of Ockham';
type Name = 'research_jobs' | 'lists' | 'list_items';

const listOf = (name: Name): ListCollection => collection(name) as ListCollection;

async function forget(name: Name, keys: readonly string[], { parent = '', dryRun = false } = {}): Promise<Forgetting> {
  const rows = keys.map((key) => ({ parent, key }));
  const asked = { userId: String(user), list: listOf(name), rows, dryRun, monotonic: () => 0, by: OPERATOR };
  return (await forgetRows(database.db, asked)) ?? { rows: [], changeId: undefined };
}

/** The account under its next owner. */
async function owned(): Promise<void> {
  await account.query(`update mirror_sync.account set owner = 'tests', token = 1 where _user_id = ${user}`);
  account = await MirroredAccount.make(database, String(user));
}

const secrets = (): Promise<string[]> => rowsWith(database.db, SECRET);

async function store(body: object): Promise<string> {
  const event = eventOf(JSON.stringify(body));
  return storeEvent(database.db, String(user), event, event.rows);
}

/** Job 7 with all that may name it: a version, an event, an item in quarantine, submissions. */
async function fill(): Promise<void> {
  await account.page('research_jobs', `[{"job_id": 8, "status": "a"}, {"job_id": 7, "person": "${SECRET}"}]`);
  await account.page('research_jobs', `[{"job_id": 7, "person": "${SECRET}", "status": "b"}]`);
  await account.page('research_jobs', `[{"job_id": 7, "person": "${SECRET}", "score": 1e200000}]`);
  await store({ id: 'e1', type: 'research.completed', data: { job_id: 7, who: SECRET } });
  await store({ id: 'e2', type: 'other.thing', data: { deep: [{ job_id: '7' }], who: SECRET } });
  await store({ id: 'e3', type: 'research.completed', data: { job_id: 77 } });
  await account.query(`
    select mirror.submit('sequence', '{"who": "${SECRET}"}', '7', ${user}),
      mirror.submit('research', '{"who": "${SECRET}"}', user_id => ${user}),
      mirror.submit('research', '{"who": "somebody else"}', user_id => ${user})`);
  await account.query(`
    update mirror.submissions set state = 'accepted', response = '{"data": {"job_id": 7, "name": "${SECRET}"}}'
    where _user_id = ${user} and operation = 'research' and payload::text like '%Ada%'`);
  await account.query(`
    insert into mirror_sync.candidate (_user_id, collection, key, kind, obs, at) values (${user}, 'research_jobs', '7', 'gone', 1, now());
    insert into mirror_sync.unsettled (_user_id, collection, key, since, finished)
      values (${user}, 'research_jobs', '7', now(), false) on conflict do nothing;
    update mirror._collections set waiting_deletions = 1 where _user_id = ${user};
    update mirror_sync.scope set memory = '{"limit": {"a": 1}, "frontier": {"key": "7"}}', full_walk = '{"cursor": "7"}'
      where _user_id = ${user};
    insert into mirror_sync.command (command_id, kind, arguments, created_at, wanted_until, done_at, result)
      values (gen_random_uuid(), 'verify', '{}', now(), now(), now(), '{"key": "7", "mirror": "${SECRET}"}')`);
}

describe('a row that is forgotten', () => {
  it('is removed with everything that names it; all other rows stay', async () => {
    await fill();
    expect((await secrets()).length).toBeGreaterThan(6);
    const would = await forget('research_jobs', ['7'], { dryRun: true });
    expect((await secrets()).length).toBeGreaterThan(6);
    const done = await forget('research_jobs', ['7']);
    const counts = { rows: 1, versions: 1, events: 2, quarantined: 1, submissions: 2 };
    expect(done.rows).toEqual([{ parent: '', key: '7', ...counts, already: false, unknown: false }]);
    expect(would.rows).toEqual(done.rows);
    expect(await secrets()).toEqual([]);

    expect(await account.rowsOf('job_id', 'mirror.research_jobs')).toEqual(['8']);
    expect(await account.rowsOf('id', 'mirror.events')).toEqual(['e3']);
    const left = await account.rowsOf('operation, state, payload::text', 'mirror.submissions', 'order by 1, 2');
    const others = ['research accepted {}', 'research queued {"who": "somebody else"}', 'sequence cancelled {}'];
    expect(left).toEqual(others);
    const jobs = `and collection = 'research_jobs'`;
    const counters = 'live_rows, waiting_deletions, next_full_at is not null';
    expect(await account.rowsOf(counters, 'mirror._collections', jobs)).toEqual(['1 0 true']);
    const scope = 'live_rows, memory::text, full_walk is null';
    expect(await account.rowsOf(scope, 'mirror_sync.scope', jobs)).toEqual(['1 {"limit": {"a": 1}} true']);
  });

  it('is taken from a daemon that has it in memory, and its hash is in the watermark’s order', async () => {
    await fill();
    const [before = ''] = await account.rowsOf('change_id', 'mirror_sync.account');
    const { changeId } = await forget('research_jobs', ['7', '8']);
    await expect(account.page('research_jobs', '[{"job_id": 9}]')).rejects.toThrow(LeaseLost);
    const hash = (id: number) => `sha256(convert_to('research_jobs:' || ${user} || ':' || ${id}, 'UTF8'))`;
    const hashes = `and key_hash in (${hash(7)}, ${hash(8)}) order by 1`;
    const recorded = await account.rowsOf('_change_id', 'mirror.forgotten', hashes);
    expect(recorded).toEqual([expect.any(String), changeId]);
    expect(BigInt(recorded[0] ?? 0)).toBeGreaterThan(BigInt(before));
    await owned();
    await account.page('research_jobs', '[{"job_id": 9}]');
    const [id = ''] = await account.rowsOf('_change_id', 'mirror.research_jobs');
    expect(BigInt(id)).toBeGreaterThan(BigInt(changeId ?? 0));
  });

  it('is not brought back by a page, an event or a second attempt, and is counted', async () => {
    await fill();
    await forget('research_jobs', ['7']);
    await owned();
    const secret = `{"job_id": 7, "person": "${SECRET}"}`;
    const page = `[{"job_id": 9}, ${secret}, ${secret}, {"job_id": 8, "status": "a"}]`;
    expect(await account.page('research_jobs', page)).toMatchObject({
      outcomes: ['inserted', 'forgotten', 'forgotten', 'unchanged'],
      counts: { inserted: 1, forgotten: 2, unchanged: 1, quarantined: 0 },
    });
    // One that can't be mirrored.
    const bad = `[{"job_id": 7, "person": "${SECRET}", "score": 1e200000}]`;
    expect(await account.page('research_jobs', bad)).toMatchObject({ outcomes: ['forgotten'] });
    const event = { id: 'e4', type: 'research.completed', data: { job_id: 7, who: SECRET } };
    expect([await store(event), await store(event)]).toEqual(['stored', 'known']);
    expect(await account.rowsOf('key', 'mirror_sync.hint', `and key = '7'`)).toEqual([]);
    expect(await secrets()).toEqual([]);
    const quality = 'collection, forgotten_rows';
    const counted = await account.rowsOf(quality, 'mirror.data_quality', 'and forgotten_rows > 0');
    expect(counted).toEqual(['research_jobs 1']);
  });

  it('is no difference to verify', async () => {
    await fill();
    await forget('research_jobs', ['7']);
    const items = itemsOf('research_jobs', '[{"job_id": 7}, {"job_id": 99}]');
    const rules = { ignore: new Set<string>(), exclude: new Set<string>() };
    const unequal = await compareItems(database.db, account.scope('research_jobs'), items, rules);
    expect(unequal.map(({ key, kind }) => `${key} ${kind}`)).toEqual(['7 forgotten', '99 missing']);
  });

  it('is mirrored again once the erasure is taken back', async () => {
    await fill();
    await forget('research_jobs', ['7']);
    const rows = ['7', '5'].map((key) => ({ parent: '', key }));
    const taken = { userId: String(user), list: listOf('research_jobs'), rows };
    expect(await rememberRows(database.db, taken, OPERATOR)).toEqual([true, false]);
    await owned();
    expect(await account.page('research_jobs', '[{"job_id": 7}]')).toMatchObject({ outcomes: ['inserted'] });
  });

  it('is not recorded if nothing of it is here; a forgotten one stays forgotten', async () => {
    await fill();
    const again = async (key: string) => (await forget('research_jobs', [key])).rows;
    expect(await again('12345')).toMatchObject([{ unknown: true, already: false }]);
    await again('7');
    expect(await again('7')).toMatchObject([{ unknown: false, already: true }]);
    expect(await account.rowsOf('1', 'mirror.forgotten')).toHaveLength(1);
    const options = { list: listOf('lists'), rows: [], dryRun: false, monotonic: () => 0, by: OPERATOR };
    expect(await forgetRows(database.db, { ...options, userId: '999' })).toBeUndefined();
  });
});

describe('a list that is forgotten', () => {
  const items = (word: string) =>
    `[{"id": "i1", "name": "${word} one"}, {"id": "i2", "name": "${word} two"}, {"name": "${word} three"}]`;
  beforeEach(async () => {
    await account.page('lists', `[{"list_id": 5, "name": "${SECRET}"}, {"list_id": 6}]`);
    await account.page('list_items', items(SECRET), { parent: '5' });
    await account.page('list_items', items('other'), { parent: '6' });
  });

  it('is removed with its items, which no reading of the list brings back', async () => {
    await account.query(`insert into mirror.sync_log select _user_id, 1, 'list_items', 5, 'full', now(), now(), 'completed', 0,0,0,0,0,0,0,0,0,
      'list_items/5: ${SECRET}' from mirror_sync.account where _user_id = ${user}`);
    const { rows } = await forget('lists', ['5']);
    expect(rows).toMatchObject([{ rows: 3, versions: 0, quarantined: 1 }]);
    expect(await secrets()).toEqual([]);
    await owned();
    const late = await account.page('list_items', items(SECRET), { parent: '5' });
    expect(late).toEqual({ state: 'parent_deleted' });
    const list = await account.page('lists', `[{"list_id": 5, "name": "${SECRET}"}]`);
    expect(list).toMatchObject({ outcomes: ['forgotten'] });
    expect(await secrets()).toEqual([]);
    const live = await account.rowsOf('collection, live_rows', 'mirror._collections');
    expect(live).toEqual(['list_items 2', 'lists 1']);
  });

  it('is not one of its items', async () => {
    const item = { id: 'i1', name: `${SECRET} one` };
    await store({ id: 'l5', type: 'list.updated', data: { list_id: 5, item } });
    const { rows } = await forget('list_items', ['i1'], { parent: '5' });
    expect(rows).toMatchObject([{ rows: 1, events: 1 }]);
    expect(await rowsWith(database.db, `${SECRET} one`)).toEqual([]);
    await owned();
    expect(await account.page('list_items', items(SECRET), { parent: '5' })).toMatchObject({
      outcomes: ['forgotten', 'unchanged', 'quarantined'],
    });
    expect(await account.rowsOf('list_id, id', 'mirror.list_items', 'order by 1, 2')).toEqual(['5 i2', '6 i1', '6 i2']);
  });
});
