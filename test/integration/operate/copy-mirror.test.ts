import { sql } from 'kysely';
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { CopyRefused } from '../../../src/operate/copy.ts';
import { openInstallation } from '../../../src/postgres/installation.ts';
import { currentHold, releaseSubmissions } from '../../../src/postgres/hold.ts';
import { COPIED_TABLES, LEFT_BEHIND } from '../../../src/postgres/citus.ts';
import type { Database } from '../../../src/postgres/pool.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import {
  createMigratedDatabase,
  inOwnDatabase,
  openTestDatabase,
  type MigratedDatabase,
  testDatabase,
} from '../../support/databases/migrated-database.ts';
import { copyTo, rowsOf } from '../../support/mirror/copied-mirror.ts';
import { setType } from '../../support/mirror/setting-type.ts';
import { MirroredAccount } from '../../support/mirror/mirrored-account.ts';
import { createTestDatabase, type TestDatabase } from '../../support/postgres/postgres.ts';
import { rowsWith } from '../../support/mirror/search-everything.ts';
import { OPERATOR } from '../../support/mirror/operator.ts';

const source = testDatabase();
/** Of this version, with no column but those of the migrations. */
const newest = testDatabase(() => createMigratedDatabase('other'));
/** Computed: it does not come along. */
const OWN = /"my_sum": \d+, /g;
const SECRET = 'whsec_never_in_a_copy';

beforeAll(() => fill(source));

/** As a daemon opens it. */
const opened = ({ db }: Pick<Database, 'db'>) =>
  openInstallation({ db, host: undefined, clock: systemClock, submit: { enabled: true, maxQueued: 7 } });

/** Rows of every kind, with values that are easily lost: backslashes, tabs, line ends, `\.`, nulls, every digit. */
async function fill(database: MigratedDatabase): Promise<void> {
  const run = (text: string): Promise<unknown> => sql.raw(text).execute(database.kysely);
  for (const user of ['1', '2']) {
    const account = await MirroredAccount.make(database, user);
    await account.single('{"email": "a@example.com", "credits": 12.50}');
    await account.page(
      'research_jobs',
      String.raw`[{"job_id": 3, "status": "done", "score": 0.12345678901234567890123, "Größe": "x"},
        {"job_id": 2, "status": "\\.", "note": "tab\tline\n\\.\nback\\slash \\N", "made_at": "2026-01-01T00:00:00.123456Z"},
        {"job_id": 1, "status": "a", "deep": {"b": [1, null, "\\N"]}, "order": true}]`,
    );
    await account.page('research_jobs', '[{"job_id": 3, "status": "changed", "late_field": 7}]');
    await account.page('lists', '[{"list_id": 9, "name": ""}]');
    const items = '[{"id": "i1", "domain": "a.example"}, {"id": "i2", "v": "\\u0000"}, {"no": "key"}]';
    await account.page('list_items', items, { parent: '9' });
    await run(`
      insert into mirror.events (_user_id, id, type, created_at, data, received_at, _raw, _collection, _key)
        values (${user}, 'evt', 'research.completed', now(), '{"x": 1.10}', now(), '{}', 'research_jobs', '3');
      insert into mirror_sync.event_seen values (${user}, 'evt', now(), 'c');
      insert into mirror_sync.own_url values (${user}, 'https://here.example/webhooks/${user}', now());
      insert into mirror_sync.registration (_user_id, state, url, secret, previous_secret, replaced_at)
        values (${user}, 'registered', 'https://here.example', '${SECRET}', '${SECRET}2', array[now()]);
      select mirror.submit('research', '{"a": "\\\\."}', user_id => ${user});
      select mirror.submit('enrich', '{"b": 1}', user_id => ${user}, idempotency_key => 'k');
      insert into mirror_sync.api_key (key_hash, _user_id, pinged_at) values ('hash${user}', ${user}, now());
      insert into mirror_sync.process (process_id, command, version, host, machine, pid, started_ticks, started_at, alive_until)
        values (gen_random_uuid(), 'start', '0', 'host-of-the-original', 'm', 1, '1', now(), now());
      insert into mirror_sync.slot_block (_user_id, key_hash, rate_group, block_id, size, valid_until)
        values (${user}, 'hash${user}', 'read', 1, 1, now())`);
  }
  await run(`
    update mirror.submissions set state = 'accepted', response = '{"ok": true}', done_at = now() where operation = 'enrich';
    update mirror._collections set mirrored_from = '2020-01-01', history_from = '2020-01-01';
    alter table mirror.lists add column my_note varchar(20),
      add column my_sum bigint generated always as (_change_id + 1) stored;
    comment on column mirror.lists.my_note is 'By "hand".';
    update mirror.lists set my_note = 'noted'`);
  const account = await MirroredAccount.make(database, '2');
  await account.page('lists', '[{"list_id": 9, "name": "", "later": 1}]');
  await setType(database.db, 'lists.later', 'jsonb');
  await opened(database);
}

let place: TestDatabase;
beforeEach(async () => {
  place = await createTestDatabase();
});
afterEach(() => place.drop());

/** A copy of the mirror, while `work` lasts. */
async function inCopy(work: (copy: Database) => Promise<void>): Promise<void> {
  await copyTo(source, place);
  const database = await openTestDatabase(place.url);
  try {
    await work(database);
  } finally {
    await database.close();
  }
}

it('a copy knows of every table of the mirror, and of every column that it leaves behind', async () => {
  const { rows } = await sql<{ name: string; columns: string[] }>`
      select case n.nspname when 'other' then 'mirror' else 'state' end || '.' || c.relname as name,
        array(select attname::text from pg_attribute a where attrelid = c.oid and attnum > 0 and not attisdropped) as columns
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind in ('r', 'p') and n.nspname in ('other', 'other_sync')`.execute(newest.kysely);
  const known = [...COPIED_TABLES, ...LEFT_BEHIND].map(({ schema, name }) => `${schema}.${name}`);
  expect(known.toSorted(), 'say in src/postgres/citus.ts what becomes of each table').toEqual(
    rows.map(({ name }) => name).toSorted(),
  );
  for (const { schema, name, without = [] } of COPIED_TABLES) {
    const { columns = [] } = rows.find((row) => row.name === `${schema}.${name}`) ?? {};
    expect(columns).toEqual(expect.arrayContaining([...without]));
  }
});

it('a copy has no secret, no hash of a key, no slot, no process and no owner', async () => {
  const needles = [SECRET, 'hash1', 'host-of-the-original'];
  for (const needle of needles) expect(await rowsWith(source.db, needle)).not.toEqual([]);
  await inCopy(async ({ db }) => {
    for (const needle of needles) expect(await rowsWith(db, needle)).toEqual([]);
    const names = LEFT_BEHIND.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['api_key', 'process', 'slot_block']));
    for (const name of names.filter((each) => !['migration', 'granted'].includes(each)))
      expect((await db.sql`select ${name} as name from ${db.stateTable(name)}`).rows).toEqual([]);
  });
});

it('a copy has a column of your own of a type that the target has, and names one that it lacks', async () => {
  await inOwnDatabase(async ({ url, kysely }) => {
    const type = 'create domain other.own_type as text';
    await sql`${sql.raw(type)}; alter table other.lists add column mine other.own_type`.execute(kysely);
    await expect(copyTo({ url }, place, { schema: 'other' })).rejects.toThrow(
      /your column "other"\."lists"\.mine to the target\. Create its type there first/,
    );
    await untouched(place.url);
    const database = await openTestDatabase(place.url, { schema: 'other' });
    await database.db.raw(`create schema other; ${type}`);
    await copyTo({ url }, place, { schema: 'other' });
    expect((await database.db.sql`select mine from other.lists`).rows).toEqual([]);
    await database.close();
  });
});

it('a copy has every row, column by column, digit by digit', async () => {
  const all = await rowsOf(source.db);
  for (const name of ['research_jobs_history', 'quarantine']) expect(all.get(`mirror.${name}`)).toHaveLength(2);
  const expected = [...all].map(([name, rows]) => [name, rows.map((row) => row.replace(OWN, ''))] as const);
  await inCopy(async ({ db }) => expect(await rowsOf(db)).toEqual(new Map(expected)));
});

it('a copy has the views and comments of its columns, its indexes, and goes on counting', async () => {
  const shown = (schema: string) => sql<{ attname: string }>`
      select c.relname, a.attname, format_type(a.atttypid, a.atttypmod) as type, col_description(c.oid, a.attnum) as comment
      from pg_class c join pg_attribute a on a.attrelid = c.oid
      where c.relnamespace = ${schema}::regnamespace and c.relkind in ('r', 'v', 'i') and a.attnum > 0 and not attisdropped
      order by 1, 2`;
  const before = (await shown('mirror').execute(source.kysely)).rows.filter(({ attname }) => attname !== 'my_sum');
  await inCopy(async ({ kysely }) => {
    expect((await shown('mirror').execute(kysely)).rows).toEqual(before);
    const submitted = sql<{ id: string }>`select mirror.submit('research', '{}', user_id => 1) as id`;
    expect(Number((await submitted.execute(kysely)).rows[0]?.id)).toBeGreaterThan(4);
    const late = sql`select late_field from mirror.research_jobs_as_of(now()) where late_field is not null`;
    expect((await late.execute(kysely)).rows).toEqual([{ late_field: '7' }, { late_field: '7' }]);
  });
});

it('a copy sends nothing that was queued before a person releases it', async () => {
  await inCopy(async ({ db }) => {
    const { rows: queued } = await db.sql<{ state: string }>`
        select state from ${db.table('submissions')} order by submission_id`;
    expect(queued.map(({ state }) => state)).toEqual(['held', 'accepted', 'held', 'accepted']);
    expect((await currentHold(db))?.why).toContain('is a copy');
    const { rows: accounts } = await db.sql`select owner, token, recheck from ${db.stateTable('account')}`;
    expect(accounts).toEqual(accounts.map(() => ({ owner: null, token: '2', recheck: true })));
    expect(await releaseSubmissions(db, OPERATOR)).toBe(2);
    // Known from then on: the first daemon finds nothing more to hold.
    expect((await opened({ db })).hold).toBeUndefined();
    expect((await db.sql`select from ${db.table('recoveries')}`).rows).toHaveLength(1);
  });
});

it('a copy is refused if the target has a mirror, or other tables of its names', async () => {
  await inOwnDatabase(async ({ url, kysely }) => {
    const refused = copyTo({ url }, { url }, { schema: 'other' });
    await expect(refused).rejects.toThrow(CopyRefused);
    await expect(refused).rejects.toThrow(/already has a mirror in schema "other"/);
    await sql`create schema mirror; create table mirror.account (x int)`.execute(kysely);
    await expect(copyTo(source, { url })).rejects.toThrow(/table mirror\.account/);
  });
});

it('a copy is refused if a newer program has changed the mirror', async () => {
  await inOwnDatabase(async ({ url, kysely }) => {
    const later = sql`insert into other_sync.migration (name, checksum, applied_at) values ('9999_later', 'x', now())`;
    await later.execute(kysely);
    await expect(copyTo({ url }, place, { schema: 'other' })).rejects.toThrow(/newer than this program \(9999_later\)/);
    await untouched(place.url);
  });
});

it('a copy says which of the two databases can’t be reached', async () => {
  const nowhere = new URL(source.url);
  nowhere.port = '1';
  await expect(copyTo(source, { url: nowhere.href })).rejects.toThrow(/^the target: the database can't be reached/);
  await expect(copyTo({ url: nowhere.href }, place)).rejects.toThrow(/^the database can't be reached/);
  await untouched(place.url);
});

it('a copy leaves nothing if it ends early, and can be repeated', async () => {
  const stop = new AbortController();
  const onBytes = (table: string): void => {
    if (table === 'mirror.submissions') stop.abort(new Error('stopped'));
  };
  await expect(copyTo(source, place, { signal: stop.signal, onBytes })).rejects.toThrow('stopped');
  await untouched(place.url);
  await copyTo(source, place);
});

/** Nothing of a mirror is there. */
async function untouched(url: string): Promise<void> {
  const database = await openTestDatabase(url);
  const { rows } = await database.db
    .sql`select nspname from pg_namespace where nspname like 'mirror%' or nspname like 'other%'`;
  await database.close();
  expect(rows).toEqual([]);
}
