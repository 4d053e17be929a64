import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { MirroredAccount } from '../support/mirror/mirrored-account.ts';
import { createMigratedDatabase, testDatabase } from '../support/databases/migrated-database.ts';
import { startHostileService } from './hostile-service.ts';

const mirror = testDatabase();

describe('names of fields', () => {
  it('are data wherever they come into SQL', async () => {
    const account = await MirroredAccount.make(mirror, '9001');
    const fields = [
      `"; drop table mirror.lists; --`,
      `'); drop table mirror.lists; --`,
      String.raw`back\slash`,
      '%I %s $1 ?',
      'line\nbreak',
    ].concat(['JOB_ID', 'list_ID', '_change_id', '_valid_from', '_op', '_is_current', 'caf\u00e9', 'cafe\u0301']);
    const values = fields.map((field, index) => [field, `value ${index}`] as const);
    const item = { list_id: 1, ...Object.fromEntries(values) };
    await account.page('lists', JSON.stringify([item]));
    await account.page('lists', JSON.stringify([{ ...item, again: 1 }]));
    const { rows: columns } = await sql<{ field: string; name: string }>`
      select field, column_name as name from mirror.columns where collection = 'lists'`.execute(mirror.kysely);
    for (const [field, value] of values) {
      const name = columns.find((column) => column.field === field)?.name ?? '';
      const { rows } = await sql<{ value: string; live: string }>`
        select t.${sql.id(name)} as value, v.${sql.id(name)} as live
        from mirror.lists as t join mirror.lists_live as v using (_user_id, list_id)
        where _user_id = 9001`.execute(mirror.kysely);
      expect({ field, rows }).toEqual({ field, rows: [{ value, live: value }] });
    }
  });
});

describe('a value that could not be stored as it was spelled', () => {
  it('is kept verbatim until it is another, and differs by a digit beyond double precision', async () => {
    const account = await MirroredAccount.make(mirror, '9002');
    const stored = () =>
      account.query('select title, exact, _verbatim from mirror.research_jobs where _user_id = 9002');
    const odd = String.raw`{"job_id":1,"title":"a\u0000b","exact":9007199254740993}`;
    await account.page('research_jobs', `[${odd}]`);
    expect(await stored()).toEqual([{ title: 'a\ufffdb', exact: '9007199254740993', _verbatim: odd }]);
    const plain = '[{"job_id":1,"title":"a","exact":9007199254740993}]';
    expect(await account.page('research_jobs', plain)).toMatchObject({ outcomes: ['updated'] });
    expect(await stored()).toEqual([{ title: 'a', exact: '9007199254740993', _verbatim: null }]);
    const other = plain.replace('993', '992');
    expect(await account.page('research_jobs', other)).toMatchObject({ outcomes: ['updated'] });
  });

  it('is counted where it is credits: of another shape, they are NULL', async () => {
    const account = await MirroredAccount.make(mirror, '9003');
    for (const [credits, conflicts] of Object.entries({ '{"balance":7}': '0', null: '0', '"plenty"': '1' })) {
      await account.single(`{"credits":${credits}}`);
      const counted = await account.query(
        `select field_conflicts from mirror.data_quality where _user_id = 9003 and collection = 'account'`,
      );
      expect(counted).toEqual([{ field_conflicts: conflicts }]);
    }
  });
});

describe('fields that explode in number', () => {
  it('fill 300 columns and a bounded register; all of them stay in _raw, and pages stay quick', async () => {
    const database = await createMigratedDatabase();
    // 120 items with 100 fields of their own each.
    const many = { jobs: 120, hostileShare: 1, hostileKinds: 'many-fields', maxLimit: 40 };
    const service = await startHostileService(database, many);
    const account = await service.account();
    const read = { what: 'full', signal: new AbortController().signal } as const;
    const first = await account.reader.read('research_jobs', read);
    expect(first).toMatchObject({ error: undefined, totals: { inserted: 120 } });
    const { rows } = await sql<{ fields: number; registered: number; columns: number; history: number }>`
      select (select count(distinct f)::int from mirror.research_jobs, jsonb_object_keys(_raw) as f) as fields,
        (select count(*)::int from mirror.columns where collection = 'research_jobs') as registered,
        (select count(*)::int from pg_attribute
         where attrelid = 'mirror.research_jobs'::regclass and attnum > 0) as columns,
        (select count(*)::int from pg_attribute
         where attrelid = 'mirror.research_jobs_history'::regclass and attnum > 0) as history`.execute(database.kysely);
    // The history has the same, and what tells when a version was current.
    expect(rows).toMatchObject([{ columns: 300, history: 303 }]);
    expect(rows[0]?.fields).toBeGreaterThan(12_000);
    expect(rows[0]?.registered).toBeLessThanOrEqual(2_100);
    const again = await account.reader.read('research_jobs', read);
    expect(again).toMatchObject({ totals: { inserted: 0, updated: 0 } });
    await account.close();
    await service.close();
    await database.drop();
  });
});
