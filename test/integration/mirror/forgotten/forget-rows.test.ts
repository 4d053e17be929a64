import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { forgetRows, rememberRows, type Forgetting } from '../../../../src/app/forget/forget-rows.ts';
import { storeEvent } from '../../../../src/db/events/event-store.ts';
import { compareItems } from '../../../../src/mirror/page/compare-rows.ts';
import { collection, type CollectionName, type ListCollection } from '../../../../src/model/collections.ts';
import { LeaseLost } from '../../../../src/model/errors.ts';
import { testDatabase } from '../../../support/databases/migrated-database.ts';
import { itemsOf, MirroredAccount } from '../../../support/mirror/mirrored-account.ts';
import { rowsWith } from '../../../support/mirror/search-everything.ts';
import { eventOf } from '../../../support/webhooks/signing.ts';

const database = testDatabase();
let user = 0;
let account: MirroredAccount;
beforeEach(async () => {
  user += 1;
  account = await MirroredAccount.make(database, String(user));
});

const SECRET = 'Ada Lovelace of Ockham';

function listOf(name: CollectionName): ListCollection {
  const found = collection(name);
  if (found.kind === 'single') throw new RangeError(name);
  return found;
}

async function forget(
  name: CollectionName,
  keys: readonly string[],
  { parent = '', dryRun = false } = {},
): Promise<Forgetting> {
  const done = await forgetRows(database.db, {
    userId: account.fence.userId,
    list: listOf(name),
    rows: keys.map((key) => ({ parent, key })),
    dryRun,
    monotonic: () => 0,
  });
  if (done === undefined) throw new Error('no account');
  return done;
}

/** The account with its next owner. */
async function owned(): Promise<void> {
  await run(`update mirror_sync.account set owner = 'tests', token = 1 where _user_id = ${user}`);
  account = await MirroredAccount.make(database, String(user));
}

async function run<T>(text: string): Promise<T[]> {
  return (await sql<T>`${sql.raw(text)}`.execute(database.kysely)).rows;
}

async function store(body: object): Promise<string> {
  const event = eventOf(JSON.stringify(body));
  return storeEvent(database.db, account.fence.userId, event, event.rows);
}

/** Job 7 with all that may name it: a version, an event, an item in quarantine, submissions. */
async function fill(): Promise<void> {
  await account.page('research_jobs', `[{"job_id": 8, "status": "a"}, {"job_id": 7, "person": "${SECRET}"}]`);
  await account.page('research_jobs', `[{"job_id": 7, "person": "${SECRET}", "status": "b"}]`);
  await account.page('research_jobs', `[{"job_id": 7, "person": "${SECRET}", "score": 1e200000}]`);
  await store({ id: 'e1', type: 'research.completed', data: { job_id: 7, who: SECRET } });
  await store({ id: 'e2', type: 'other.thing', data: { deep: [{ job_id: '7' }], who: SECRET } });
  await store({ id: 'e3', type: 'research.completed', data: { job_id: 77 } });
  await run(`
    select mirror.submit('sequence', '{"who": "${SECRET}"}', '7', ${user}),
      mirror.submit('research', '{"who": "${SECRET}"}', user_id => ${user}),
      mirror.submit('research', '{"who": "somebody else"}', user_id => ${user})`);
  await run(`
    update mirror.submissions set state = 'accepted', response = '{"data": {"job_id": 7, "name": "${SECRET}"}}'
    where _user_id = ${user} and operation = 'research' and payload::text like '%Ada%'`);
  await run(`
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
  it('is nowhere any more, nor is anything that names it; all others stay', async () => {
    await fill();
    expect((await rowsWith(database.db, SECRET)).length).toBeGreaterThan(6);
    const would = await forget('research_jobs', ['7'], { dryRun: true });
    expect((await rowsWith(database.db, SECRET)).length).toBeGreaterThan(6);
    const done = await forget('research_jobs', ['7']);
    expect(done.rows).toEqual([
      {
        parent: '',
        key: '7',
        rows: 1,
        versions: 1,
        events: 2,
        quarantined: 1,
        submissions: 2,
        already: false,
        unknown: false,
      },
    ]);
    expect(would.rows).toEqual(done.rows);
    expect(await rowsWith(database.db, SECRET)).toEqual([]);

    expect(await run(`select job_id from mirror.research_jobs where _user_id = ${user}`)).toEqual([
      { job_id: '8' },
    ]);
    expect(await run(`select id from mirror.events where _user_id = ${user}`)).toEqual([{ id: 'e3' }]);
    expect(
      await run(
        `select operation, state, payload from mirror.submissions where _user_id = ${user} order by submission_id`,
      ),
    ).toEqual([
      { operation: 'sequence', state: 'cancelled', payload: {} },
      { operation: 'research', state: 'accepted', payload: {} },
      { operation: 'research', state: 'queued', payload: { who: 'somebody else' } },
    ]);
    expect(
      await run(`select live_rows, waiting_deletions, next_full_at is not null as due from mirror._collections
        where _user_id = ${user} and collection = 'research_jobs'`),
    ).toEqual([{ live_rows: '1', waiting_deletions: '0', due: true }]);
    expect(
      await run(`select live_rows, memory, full_walk from mirror_sync.scope where _user_id = ${user}
        and collection = 'research_jobs'`),
    ).toEqual([{ live_rows: '1', memory: { limit: { a: 1 } }, full_walk: null }]);
  });

  it('is taken from a daemon that has it in memory, and its hash stands in the watermark’s order', async () => {
    await fill();
    const [before] = await run<{ id: string }>(
      `select change_id as id from mirror_sync.account where _user_id = ${user}`,
    );
    const { changeId } = await forget('research_jobs', ['7', '8']);
    await expect(account.page('research_jobs', '[{"job_id": 9}]')).rejects.toThrow(LeaseLost);
    const hash = (id: number) => `sha256(convert_to('research_jobs:' || ${user} || ':' || ${id}, 'UTF8'))`;
    const recorded = await run<{ id: string }>(
      `select _change_id as id from mirror.forgotten where _user_id = ${user} and key_hash in (${hash(7)}, ${hash(8)}) order by 1`,
    );
    expect(recorded).toHaveLength(2);
    expect(BigInt(recorded[0]?.id ?? 0)).toBeGreaterThan(BigInt(before?.id ?? 0));
    expect(recorded[1]?.id).toBe(changeId);
    await owned();
    await account.page('research_jobs', '[{"job_id": 9}]');
    const [row] = await run<{ id: string }>(
      `select _change_id as id from mirror.research_jobs where _user_id = ${user}`,
    );
    expect(BigInt(row?.id ?? 0)).toBeGreaterThan(BigInt(changeId ?? 0));
  });

  it('is brought back by no page, event or second try, and is counted', async () => {
    await fill();
    await forget('research_jobs', ['7']);
    await owned();
    const page = await account.page(
      'research_jobs',
      `[{"job_id": 9}, {"job_id": 7, "person": "${SECRET}"}, {"job_id": 7, "person": "${SECRET}"}, {"job_id": 8, "status": "a"}]`,
    );
    expect(page).toMatchObject({
      outcomes: ['inserted', 'forgotten', 'forgotten', 'unchanged'],
      counts: { inserted: 1, forgotten: 2, unchanged: 1, quarantined: 0 },
    });
    // One that can't be mirrored, as a full walk would try it again.
    expect(
      await account.page('research_jobs', `[{"job_id": 7, "person": "${SECRET}", "score": 1e200000}]`, {
        again: true,
      }),
    ).toMatchObject({ outcomes: ['forgotten'] });
    expect(await store({ id: 'e4', type: 'research.completed', data: { job_id: 7, who: SECRET } })).toBe(
      'stored',
    );
    expect(await store({ id: 'e4', type: 'research.completed', data: { job_id: 7, who: SECRET } })).toBe(
      'known',
    );
    expect(await run(`select * from mirror_sync.hint where _user_id = ${user} and key = '7'`)).toEqual([]);
    expect(await rowsWith(database.db, SECRET)).toEqual([]);
    expect(
      await run(
        `select collection, forgotten_rows from mirror.data_quality where _user_id = ${user} and forgotten_rows > 0`,
      ),
    ).toEqual([{ collection: 'research_jobs', forgotten_rows: '1' }]);
  });

  it('is no difference to verify', async () => {
    await fill();
    await forget('research_jobs', ['7']);
    const unequal = await compareItems(
      database.db,
      account.scope('research_jobs'),
      itemsOf('research_jobs', '[{"job_id": 7}, {"job_id": 99}]'),
      { ignore: new Set(), exclude: new Set() },
    );
    expect(unequal.map(({ key, kind }) => [key, kind])).toEqual([
      ['7', 'forgotten'],
      ['99', 'missing'],
    ]);
  });

  it('comes again once it is taken back', async () => {
    await fill();
    await forget('research_jobs', ['7']);
    const named = { userId: account.fence.userId, list: listOf('research_jobs') };
    expect(
      await rememberRows(database.db, {
        ...named,
        rows: [
          { parent: '', key: '7' },
          { parent: '', key: '5' },
        ],
      }),
    ).toEqual([true, false]);
    await owned();
    expect(await account.page('research_jobs', '[{"job_id": 7}]')).toMatchObject({ outcomes: ['inserted'] });
  });

  it('of which nothing is here is not recorded; one that was forgotten stays so', async () => {
    await fill();
    expect((await forget('research_jobs', ['12345'])).rows).toMatchObject([
      { unknown: true, already: false },
    ]);
    await forget('research_jobs', ['7']);
    expect((await forget('research_jobs', ['7'])).rows).toMatchObject([{ unknown: false, already: true }]);
    expect(await run(`select count(*)::int as n from mirror.forgotten where _user_id = ${user}`)).toEqual([
      { n: 1 },
    ]);
    const options = { list: listOf('lists'), rows: [], dryRun: false, monotonic: () => 0 };
    expect(await forgetRows(database.db, { ...options, userId: '999' })).toBeUndefined();
  });
});

describe('a list that is forgotten', () => {
  const items = (word: string) =>
    `[{"id": "i1", "name": "${word} one"}, {"id": "i2", "name": "${word} two"}, {"name": "${word} three"}]`;

  it('takes its items with it, which no reading of the list brings back', async () => {
    await account.page('lists', `[{"list_id": 5, "name": "${SECRET}"}, {"list_id": 6}]`);
    await account.page('list_items', items(SECRET), { parent: '5' });
    await account.page('list_items', items('other'), { parent: '6' });
    await run(`insert into mirror.sync_log select _user_id, 1, 'list_items', 5, 'full', now(), now(), 'completed', 0,0,0,0,0,0,0,0,0,
      'list_items/5: ${SECRET}' from mirror_sync.account where _user_id = ${user}`);
    const { rows } = await forget('lists', ['5']);
    expect(rows).toMatchObject([{ rows: 3, versions: 0, quarantined: 1 }]);
    expect(await rowsWith(database.db, SECRET)).toEqual([]);
    await owned();
    expect(await account.page('list_items', items(SECRET), { parent: '5' })).toEqual({
      state: 'parent_deleted',
    });
    expect(await account.page('lists', `[{"list_id": 5, "name": "${SECRET}"}]`)).toMatchObject({
      outcomes: ['forgotten'],
    });
    expect(await rowsWith(database.db, SECRET)).toEqual([]);
    expect(
      await run(`select live_rows from mirror._collections where _user_id = ${user} order by collection`),
    ).toEqual([{ live_rows: '2' }, { live_rows: '1' }]);
  });

  it('is another thing than one of its items', async () => {
    await account.page('lists', '[{"list_id": 5}, {"list_id": 6}]');
    await account.page('list_items', items(SECRET), { parent: '5' });
    await account.page('list_items', items('other'), { parent: '6' });
    await store({
      id: 'l5',
      type: 'list.updated',
      data: { list_id: 5, item: { id: 'i1', name: `${SECRET} one` } },
    });
    expect((await forget('list_items', ['i1'], { parent: '5' })).rows).toMatchObject([
      { rows: 1, events: 1 },
    ]);
    expect(await rowsWith(database.db, `${SECRET} one`)).toEqual([]);
    await owned();
    expect(await account.page('list_items', items(SECRET), { parent: '5' })).toMatchObject({
      outcomes: ['forgotten', 'unchanged', 'quarantined'],
    });
    expect(
      await run(`select list_id, id from mirror.list_items where _user_id = ${user} order by 1, 2`),
    ).toEqual([
      { list_id: '5', id: 'i2' },
      { list_id: '6', id: 'i1' },
      { list_id: '6', id: 'i2' },
    ]);
  });
});
