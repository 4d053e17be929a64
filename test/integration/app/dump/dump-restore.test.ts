import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RestoreRefused } from '../../../../src/app/dump/dump-header.ts';
import { openInstallation } from '../../../../src/db/installation/installation.ts';
import { currentHold, releaseSubmissions } from '../../../../src/db/installation/hold.ts';
import { DUMPED_TABLES, LEFT_OUT } from '../../../../src/db/dump/dumped-tables.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import {
  createMigratedDatabase,
  inOwnDatabase,
  openTestDatabase,
  type MigratedDatabase,
} from '../../../support/databases/migrated-database.ts';
import { dumpTo, restoreFrom, rowsOf } from '../../../support/dump/dumped-mirror.ts';
import { retype } from '../../../support/mirror/retyping.ts';
import { MirroredAccount } from '../../../support/mirror/mirrored-account.ts';
import { createTestDatabase } from '../../../support/postgres/postgres.ts';
import { makeFolder } from '../../../support/processes/program.ts';

let source: MigratedDatabase;
const folder = makeFolder();
const file = join(folder.path, 'mirror.dump');
/** Of a type that is not PostgreSQL's, and computed: these two do not come along. */
const OWN = /"my_own": (?:"x"|null), |"my_sum": \d+, /g;
const OWN_NAMES = /^my_(?:own|sum)$/;
const SECRET = 'whsec_never_in_a_dump';

beforeAll(async () => {
  source = await createMigratedDatabase();
  await fill(source);
  await dumpTo(file, source);
});
afterAll(async () => {
  await source.drop();
  folder.remove();
});

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
    await account.page(
      'list_items',
      '[{"id": "i1", "domain": "a.example"}, {"id": "i2", "v": "\\u0000"}, {"no": "key"}]',
      {
        parent: '9',
      },
    );
    await run(`
      insert into mirror.events (_user_id, id, type, created_at, data, received_at, _raw, _collection, _key)
        values (${user}, 'evt', 'research.completed', now(), '{"x": 1.10}', now(), '{}', 'research_jobs', '3');
      insert into mirror_sync.event_seen values (${user}, 'evt', now(), 'c');
      insert into mirror_sync.own_url values (${user}, 'https://here.example/webhooks/${user}', now());
      insert into mirror_sync.registration (_user_id, state, url, secret, previous_secret, replaced_at)
        values (${user}, 'registered', 'https://here.example', '${SECRET}', '${SECRET}2', array[now()]);
      select mirror.submit('research', '{"a": "\\\\."}', user_id => ${user});
      select mirror.submit('enrich', '{"b": 1}', user_id => ${user}, idempotency_key => 'k');
      insert into mirror_sync.api_key (key_hash, _user_id, pinged_at) values ('hash${user}', ${user}, now())`);
  }
  await run(`
    update mirror.submissions set state = 'accepted', response = '{"ok": true}', done_at = now() where operation = 'enrich';
    update mirror._collections set mirrored_from = '2020-01-01', history_from = '2020-01-01';
    create domain mirror.own_type as text;
    alter table mirror.lists add column my_note varchar(20), add column my_own mirror.own_type,
      add column my_sum bigint generated always as (_change_id + 1) stored;
    comment on column mirror.lists.my_note is 'By "hand".';
    update mirror.lists set my_note = 'noted', my_own = 'x'`);
  const account = await MirroredAccount.make(database, '2');
  await account.page('lists', '[{"list_id": 9, "name": "", "later": 1}]');
  await retype(database.db, 'lists.later', 'jsonb');
  await openInstallation({
    db: database.db,
    host: undefined,
    clock: systemClock,
    submit: { enabled: true, maxQueued: 7 },
  });
}

/** A restored mirror, while `work` lasts. */
async function inRestored(
  work: (restored: Pick<MigratedDatabase, 'db' | 'kysely' | 'url'>) => Promise<void>,
  schema = 'mirror',
): Promise<void> {
  const place = await createTestDatabase();
  try {
    await restoreFrom(file, { url: place.url, schema });
    const database = await openTestDatabase(place.url, { schema });
    try {
      await work({ ...database, url: place.url });
    } finally {
      await database.close();
    }
  } finally {
    await place.drop();
  }
}

describe('a dump', () => {
  it('knows of every table of the mirror, and of every column that it leaves out', async () => {
    const { rows } = await sql<{ name: string; columns: string[] }>`
      select case n.nspname when 'other' then 'mirror' else 'state' end || '.' || c.relname as name,
        array(select attname::text from pg_attribute a where attrelid = c.oid and attnum > 0 and not attisdropped) as columns
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind in ('r', 'p') and n.nspname in ('other', 'other_sync')`.execute(
      (await newest()).kysely,
    );
    const known = [
      ...DUMPED_TABLES.map(({ schema, name }) => `${schema}.${name}`),
      ...Object.keys(LEFT_OUT).map((name) => `state.${name}`),
    ];
    expect(known.toSorted(), 'say in src/db/dump/dumped-tables.ts what becomes of each table').toEqual(
      rows.map(({ name }) => name).toSorted(),
    );
    for (const { schema, name, without = {} } of DUMPED_TABLES) {
      const { columns = [] } = rows.find((row) => row.name === `${schema}.${name}`) ?? {};
      expect(columns).toEqual(expect.arrayContaining(Object.keys(without)));
    }
  });

  it('has no secret, is for its owner only, and is whole when it has its name', async () => {
    const content = zstdDecompressSync(await readFile(file)).toString();
    expect(content).toMatch(/^research-mirror dump 1\n\{"program":/);
    expect(content).not.toContain(SECRET);
    expect(content).not.toContain('hash1');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const other = join(folder.path, 'other.dump');
    await expect(dumpTo(other, { ...source, signal: AbortSignal.abort() })).rejects.toThrow(/abort/i);
    for (const name of [other, `${other}.partial`]) await expect(stat(name)).rejects.toThrow(/ENOENT/);
  });

  it('says which columns of your own it has not', async () => {
    const { leftOut } = await dumpTo(join(folder.path, 'again.dump'), source);
    expect(leftOut).toEqual(['mirror.lists.my_own']);
  });
});

describe('a restored mirror', () => {
  it('has every row, column by column, digit by digit', async () => {
    const expected = await rowsOf(source.db);
    expect(expected.get('mirror.research_jobs_history')).toHaveLength(2);
    expect(expected.get('mirror.quarantine')).toHaveLength(2);
    await inRestored(async ({ db }) => {
      expect(await rowsOf(db)).toEqual(
        new Map([...expected].map(([name, rows]) => [name, rows.map((row) => row.replace(OWN, ''))])),
      );
    });
  });

  it('has the views and comments of its columns, its indexes, and goes on counting', async () => {
    const shown = (schema: string) => sql<{ attname: string }>`
      select c.relname, a.attname, format_type(a.atttypid, a.atttypmod) as type, col_description(c.oid, a.attnum) as comment
      from pg_class c join pg_attribute a on a.attrelid = c.oid
      where c.relnamespace = ${schema}::regnamespace and c.relkind in ('r', 'v', 'i') and a.attnum > 0 and not attisdropped
      order by 1, 2`;
    const before = (await shown('mirror').execute(source.kysely)).rows.filter(
      ({ attname }) => !OWN_NAMES.test(attname),
    );
    await inRestored(async ({ kysely }) => {
      expect((await shown('copy').execute(kysely)).rows).toEqual(before);
      const { rows } = await sql<{ id: string }>`
        select copy.submit('research', '{}', user_id => 1) as id`.execute(kysely);
      expect(Number(rows[0]?.id)).toBeGreaterThan(4);
      const found = await sql`
        select late_field from copy.research_jobs_as_of(now()) where late_field is not null`.execute(kysely);
      expect(found.rows).toEqual([{ late_field: '7' }, { late_field: '7' }]);
    }, 'copy');
  });

  it('sends nothing that was queued before a person releases it', async () => {
    await inRestored(async ({ db }) => {
      const states = async () =>
        (await db.mirror.selectFrom('submissions').select('state').orderBy('submission_id').execute()).map(
          ({ state }) => state,
        );
      expect(await states()).toEqual(['held', 'accepted', 'held', 'accepted']);
      expect((await currentHold(db))?.why).toContain('restored from a dump');
      const accounts = await db.state.selectFrom('account').select(['owner', 'token', 'recheck']).execute();
      expect(accounts).toEqual(accounts.map(() => ({ owner: null, token: '2', recheck: true })));
      expect(await releaseSubmissions(db)).toBe(2);
      // Known from then on: the first daemon finds nothing more to hold.
      const judged = await openInstallation({
        db,
        host: undefined,
        clock: systemClock,
        submit: { enabled: true, maxQueued: 7 },
      });
      expect(judged.hold).toBeUndefined();
      const marks = await db.mirror.selectFrom('recoveries').selectAll().execute();
      expect(marks).toHaveLength(1);
    });
  });

  it('is refused where there is one already, and where a stranger has the names', async () => {
    await inOwnDatabase(async ({ url, kysely }) => {
      await expect(restoreFrom(file, { url, schema: 'other' })).rejects.toThrow(RestoreRefused);
      await sql`create schema taken`.execute(kysely);
      await sql`create table taken.account (x int)`.execute(kysely);
      await expect(restoreFrom(file, { url, schema: 'taken' })).rejects.toThrow(/table taken.account/);
    });
  });

  it('is not there at all where the restore ends early', async () => {
    const place = await createTestDatabase();
    const stop = new AbortController();
    const gone = restoreFrom(file, { url: place.url, signal: stop.signal }, (table) => {
      if (table === 'mirror.submissions') stop.abort(new Error('stopped'));
    });
    await expect(gone).rejects.toThrow('stopped');
    const database = await openTestDatabase(place.url);
    const { rows } = await database.db.sql`select 1 from pg_namespace where nspname like 'mirror%'`;
    expect(rows).toEqual([]);
    await database.close();
    await restoreFrom(file, { url: place.url });
    await place.drop();
  });
});

let made: MigratedDatabase | undefined;

/** Of this version, with no column but those of the migrations. */
async function newest(): Promise<MigratedDatabase> {
  made ??= await createMigratedDatabase('other');
  return made;
}
afterAll(() => made?.drop());
