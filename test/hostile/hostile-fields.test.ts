import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MirroredAccount } from '../support/mirror/mirrored-account.ts';
import { createHostileMirror, type HostileMirror, startHostileService } from './hostile-service.ts';
import { hostileDifferences } from './hostile-truth.ts';

interface Column {
  readonly field: string;
  readonly name: string | null;
  readonly conflicts: string;
}

let mirror: HostileMirror;
beforeAll(async () => {
  mirror = await createHostileMirror();
});
afterAll(() => mirror.drop());

async function columnsOf(collection: string, database: HostileMirror = mirror): Promise<Column[]> {
  const { rows } = await sql<Column>`
    select field, column_name as name, conflicts from mirror.columns where collection = ${collection}
    order by field collate "C"`.execute(database.kysely);
  return rows;
}

describe('names of fields', () => {
  it('that are reserved, empty, overlong, or differ by case alone each get a column of their own', async () => {
    const service = await startHostileService(mirror, { hostileShare: 1, hostileKinds: 'names' });
    const account = await service.account();
    await account.readAll();
    expect(await hostileDifferences(service, account.userId)).toEqual([]);
    const columns = await columnsOf('research_jobs');
    const names = columns.map(({ name }) => name);
    expect(names).not.toContain(null);
    expect(new Set(names.map((name) => name?.toLowerCase())).size).toBe(columns.length);
    expect(names.filter((name) => !/^[\p{Ll}\p{Lo}][\p{Ll}\p{Lo}\d_]*$/u.test(name ?? ''))).toEqual([]);
    expect(names.filter((name) => Buffer.byteLength(name ?? '') > 63)).toEqual([]);
    const nameOf = (field: string): string | null | undefined =>
      columns.find((column) => column.field === field)?.name;
    expect(nameOf('title')).toBe('title');
    expect(nameOf('größe')).toBe('größe');
    expect([nameOf('ti-tle'), nameOf('ti:tle')]).toContain('ti_tle');
    for (const field of ['Title', 'TITLE', '', 'select', 'user', 'ctid', '_raw', 'x'.repeat(80)]) {
      expect(nameOf(field)).toMatch(/_[0-9a-f]{6}$/);
    }
    // Too long to be registered, or of characters that no text can hold: in _raw alone.
    expect(columns.some(({ field }) => /^n{2000}$|\0|half/.test(field))).toBe(false);
    // The suffix depends on the field alone: every table has the same name for it.
    const others = await columnsOf('watchlist');
    expect(others.find(({ field }) => field === 'select')?.name).toBe(nameOf('select'));
    await account.close();
    await service.close();
  });

  it('that jsonb can’t hold bring no value into the column of a field that is named like what takes their place', async () => {
    const account = await MirroredAccount.make(mirror, '9004');
    await account.page('watchlist', String.raw`[{"id":"1","half\ufffd":true}]`);
    const { outcomes } = (await account.page(
      'watchlist',
      String.raw`[{"id":"1","half\ufffd":false,"half\ud800":"text"},{"id":"2","half\u0000":true}]`,
    )) as { readonly outcomes: readonly string[] };
    expect(outcomes).toEqual(['updated', 'inserted']);
    expect((await columnsOf('watchlist')).filter(({ field }) => field.startsWith('half'))).toEqual([]);
  });

  it('are data wherever they come into SQL', async () => {
    const account = await MirroredAccount.make(mirror, '9001');
    const fields = [
      `"; drop table mirror.lists; --`,
      `'); drop table mirror.lists; --`,
      String.raw`back\slash`,
      '%I %s $1 ?',
      'line\nbreak',
      'JOB_ID',
      'list_ID',
      '_change_id',
      '_valid_from',
      '_op',
      '_is_current',
      'caf\u00e9',
      'cafe\u0301',
    ];
    const item = {
      list_id: 1,
      ...Object.fromEntries(fields.map((field, index) => [field, `value ${index}`])),
    };
    await account.page('lists', JSON.stringify([item]));
    await account.page('lists', JSON.stringify([{ ...item, again: 1 }]));
    const columns = await columnsOf('lists');
    for (const [index, field] of fields.entries()) {
      const name = columns.find((column) => column.field === field)?.name ?? '';
      const { rows } = await sql<{ value: string; live: string }>`
        select t.${sql.id(name)} as value, v.${sql.id(name)} as live
        from mirror.lists as t join mirror.lists_live as v using (_user_id, list_id)
        where _user_id = 9001`.execute(mirror.kysely);
      expect({ field, rows }).toEqual({ field, rows: [{ value: `value ${index}`, live: `value ${index}` }] });
    }
  });
});

describe('a field', () => {
  it('whose type differs from item to item is NULL where it does not fit, counted, and whole in _raw', async () => {
    const service = await startHostileService(mirror, { jobs: 60, hostileShare: 1, hostileKinds: 'types' });
    const account = await service.account();
    await account.readAll();
    expect(await hostileDifferences(service, account.userId)).toEqual([]);
    const { rows } = await sql<{ kept: number; lost: number }>`
      select count(measure)::int as kept, count(*) filter (
        where measure is null and _raw -> 'measure' <> 'null')::int as lost
      from mirror.research_jobs where _user_id = ${account.userId}`.execute(mirror.kysely);
    expect(rows[0]?.kept).toBeGreaterThan(5);
    expect(rows[0]?.lost).toBeGreaterThan(5);
    const measure = (await columnsOf('research_jobs')).find(({ field }) => field === 'measure');
    expect(measure?.conflicts).toBe(String(rows[0]?.lost));
    await account.close();
    await service.close();
  });

  it('that appears, changes its type, vanishes and comes back keeps its column and its type', async () => {
    const account = await MirroredAccount.make(mirror, '9002');
    const values = ['1', '"two"', '{"three":3}', undefined, 'null', '6'];
    for (const value of values) {
      const field = value === undefined ? '' : `,"moody":${value}`;
      expect(await account.page('watchlist', `[{"id":"a"${field}}]`)).toMatchObject({ state: 'applied' });
      const { rows } = await sql<{ moody: string | null; raw: string | null }>`
        select moody::text, (_raw -> 'moody')::text as raw from mirror.watchlist where _user_id = 9002`.execute(
        mirror.kysely,
      );
      const fits = value !== undefined && /^\d$/.test(value);
      expect(rows[0]?.moody).toBe(fits ? value : null);
      expect(rows[0]?.raw?.replaceAll(' ', '') ?? undefined).toBe(value);
    }
    const moody = (await columnsOf('watchlist')).filter(({ field }) => field === 'moody');
    expect(moody).toMatchObject([{ name: 'moody', conflicts: '2' }]);
  });
});

describe('fields that explode in number', () => {
  it('fill 300 columns and a bounded register; all of them stay in _raw, and pages stay quick', async () => {
    const database = await createHostileMirror();
    // 120 items with 100 fields of their own each.
    const service = await startHostileService(database, {
      jobs: 120,
      hostileShare: 1,
      hostileKinds: 'many-fields',
      maxLimit: 40,
    });
    const account = await service.account();
    const signal = new AbortController().signal;
    expect(await account.reader.read('research_jobs', { what: 'full', signal })).toMatchObject({
      error: undefined,
      totals: { inserted: 120 },
    });
    const { rows } = await sql<{ fields: number; columns: number; history: number }>`
      select (select count(distinct f)::int from mirror.research_jobs, jsonb_object_keys(_raw) as f) as fields,
        (select count(*)::int from pg_attribute
         where attrelid = 'mirror.research_jobs'::regclass and attnum > 0) as columns,
        (select count(*)::int from pg_attribute
         where attrelid = 'mirror.research_jobs_history'::regclass and attnum > 0) as history`.execute(
      database.kysely,
    );
    expect(rows[0]?.fields).toBeGreaterThan(12_000);
    expect(rows[0]?.columns).toBe(300);
    // The same, and what tells when a version was current.
    expect(rows[0]?.history).toBe(303);
    expect((await columnsOf('research_jobs', database)).length).toBeLessThanOrEqual(2_100);
    expect(await account.reader.read('research_jobs', { what: 'full', signal })).toMatchObject({
      totals: { inserted: 0, updated: 0 },
    });
    await account.close();
    await service.close();
    await database.drop();
  });
});
