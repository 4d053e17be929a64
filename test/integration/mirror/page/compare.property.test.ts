import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { compareItems, type StorageRules } from '../../../../src/operate/compare-rows.ts';
import type { CollectionName } from '../../../../src/model/collections.ts';
import { changeId, itemsOf, MirroredAccount, noFields } from '../../../support/mirror/mirrored-account.ts';
import { runs } from '../../../support/effort.ts';
import { testAccounts } from '../../../support/mirror/test-accounts.ts';

const makeAccount = testAccounts();

const NO_RULES: StorageRules = { ignore: new Set(), exclude: new Set() };

let account: MirroredAccount;
beforeEach(async () => {
  account = await makeAccount();
});

interface Compared {
  readonly of?: MirroredAccount;
  readonly name?: CollectionName;
  readonly rules?: StorageRules;
}
const unequal = (json: string, { of = account, name = 'research_jobs', rules = NO_RULES }: Compared = {}) =>
  compareItems(of.database.db, of.scope(name), itemsOf(name, json), rules);
/** A change by hand of the account's jobs. */
const change = (set: string, more = '', of = account): Promise<unknown> =>
  of.query(`update mirror.research_jobs set ${set} where _user_id = ${of.fence.userId} ${more}`);

const JOB =
  '{"job_id":1,"status":"done","ratio":1.10,"tags":["a",{"b":1.50}],"ok":true,"parts_count":7,"created_at":"2026-01-02T03:04:05Z"}';

describe('an item that was mirrored', () => {
  it('is equal in any spelling: order of fields, white space, escapes', async () => {
    await account.page('research_jobs', '[{"job_id":1,"a":"é \\u0000","b":[1, 2]}]');
    expect(await unequal('[ {"b":[1,2], "a":"\\u00e9 \\u0000","job_id":1} ]')).toEqual([]);
  });

  it.each<[string, string, string]>([
    ['text', `status = 'x'`, 'status'],
    ['text, to NULL', 'status = null', 'status'],
    ['a number, by its last zero', 'ratio = 1.1', 'ratio'],
    ['an integer', 'parts_count = 8', 'parts_count'],
    ['a truth value', 'ok = not ok', 'ok'],
    [
      'a moment, by a microsecond',
      `created_at = (created_at at time zone 'UTC' + interval '1 microsecond') at time zone 'UTC'`,
      'created_at',
    ],
    ['a structure, by a digit deep inside', `tags = '["a",{"b":1.5}]'`, 'tags'],
    ['_raw, by a digit', `_raw = jsonb_set(_raw, '{ratio}', '1.1')`, '_raw.ratio'],
    ['_raw, by a field more', `_raw = _raw || '{"more":null}'`, '_raw.more'],
    ['_raw, by a field less', `_raw = _raw - 'ok'`, '_raw.ok'],
    ['_raw, that is no object', `_raw = '[1]'`, '_raw,_raw.created_at,_raw.job_id,_raw.ok'],
    ['_hash', `_hash = '\\x00'`, '_hash'],
    ['_verbatim', `_verbatim = '{}'`, '_verbatim'],
  ])('is different after a change by hand of %s', async (_, set, names) => {
    await account.page('research_jobs', `[${JOB},{"job_id":2,"status":"done"}]`);
    await change(set, 'and job_id = 1');
    const found = await unequal(`[${JOB},{"job_id":2,"status":"done"}]`);
    expect(found).toMatchObject([{ key: '1', kind: 'different' }]);
    const told = (found[0]?.fields ?? []).map(({ name }) => name).toSorted();
    expect(`${told.join()},`.startsWith(`${names},`)).toBe(true);
  });

  it('reports both values, truncated if they are long', async () => {
    const long = 'long '.repeat(1000);
    await account.page('research_jobs', `[{"job_id":1,"status":"${long}"}]`);
    const [found] = await unequal('[{"job_id":1,"status":"short"}]');
    expect(found?.fields.find(({ name }) => name === 'status')).toEqual({
      name: 'status',
      source: 'short',
      mirror: `${long.slice(0, 120)}…`,
    });
  });

  it.each([
    ['delete from mirror.research_jobs', undefined],
    ['update mirror.research_jobs set _deleted_at = now()', changeId(1)],
    ['update mirror.research_jobs set job_id = 99', undefined],
  ])('is missing after %s', async (statement, row) => {
    await account.page('research_jobs', `[${JOB}]`);
    await account.query(`${statement} where _user_id = ${account.fence.userId}`);
    expect(await unequal(`[${JOB}]`)).toMatchObject([{ key: '1', kind: 'missing', row, fields: [] }]);
  });

  it('differs in the account’s credits, in any shape of them', async () => {
    const item = '{"user_id":1,"email":"a@b.example","credits":{"balance":1250,"unit":"cents"}}';
    await account.single(item);
    expect(await unequal(`[${item}]`, { name: 'account' })).toEqual([]);
    await account.query(`update mirror.account set credits = 12.51 where _user_id = ${account.fence.userId}`);
    expect(await unequal(`[${item}]`, { name: 'account' })).toMatchObject([
      { kind: 'different', fields: [{ name: 'credits', source: '12.50', mirror: '12.51' }] },
    ]);
  });

  it('is equal if columns have the names of statements’ aliases', async () => {
    const letters = Array.from('abcdefghijklmnopqrstuvwxyz', (letter) => `"${letter}":"1"`);
    const item = `[{"job_id":1,${letters.join()}}]`;
    await account.page('research_jobs', item);
    expect(await unequal(item)).toEqual([]);
    await change(`d = '2'`);
    expect(await unequal(item)).toMatchObject([
      { key: '1', kind: 'different', fields: [{ name: 'd', source: '1', mirror: '2' }] },
    ]);
  });

  it('is equal with any content', async () => {
    let key = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.object({ maxDepth: 2 }), { maxLength: 4 }), async (objects) => {
        const items = objects.map((fields) => {
          key += 1;
          return JSON.stringify({ ...fields, bulk_job_id: key });
        });
        // In a table of its own, which gets the maximum number of columns.
        await account.page('bulk_research_jobs', `[${items.join()}]`);
        const found = await unequal(`[${items.join()}]`, { name: 'bulk_research_jobs' });
        expect(found.filter(({ kind }) => kind !== 'quarantined')).toEqual([]);
      }),
      { numRuns: runs(8, 40) },
    );
  });
});

describe('fields that settings name', () => {
  it('may be older in the mirror if they are ignored', async () => {
    const ignoreFields = { ...noFields(), research_jobs: ['score'] };
    const of = await makeAccount({ ignoreFields });
    const how = { of, rules: { ...NO_RULES, ignore: new Set(['score']) } };
    await of.page('research_jobs', '[{"job_id":1,"status":"done","score":1}]');
    expect(await unequal('[{"job_id":1,"status":"done","score":2}]', how)).toEqual([]);
    expect(await unequal('[{"job_id":1,"status":"done","score":"\\u0000"}]', how)).toEqual([]);
    await change(`status = 'x'`, '', of);
    expect(await unequal('[{"job_id":1,"status":"done"}]', how)).toMatchObject([
      { kind: 'different', fields: [{ name: 'status' }] },
    ]);
  });

  it('must not be in the mirror if they are excluded', async () => {
    await account.page('research_jobs', '[{"job_id":1,"secret":"s"}]');
    const rules = { ...NO_RULES, exclude: new Set(['secret']) };
    const [found] = await unequal('[{"job_id":1,"secret":"s"}]', { rules });
    expect(found?.fields.map(({ name }) => name).toSorted()).toEqual(['_hash', '_raw.secret', 'secret']);
    const excludeFields = { ...noFields(), research_jobs: ['secret'] };
    const of = await makeAccount({ excludeFields });
    await of.page('research_jobs', '[{"job_id":1,"secret":"s"}]');
    expect(await unequal('[{"job_id":1,"secret":"s"}]', { of, rules })).toEqual([]);
  });
});

describe('columns', () => {
  it('are compared only in the rows that came since, while they are not filled', async () => {
    const of = await makeAccount({ schemaDrift: 'raw' });
    const userId = of.fence.userId;
    await of.page('research_jobs', '[{"job_id":1,"late_word":"a"}]');
    const later = await MirroredAccount.make(of.database, userId);
    await later.page('research_jobs', '[{"job_id":2,"late_word":"b"}]');
    /** Keys of rows that differ, which they do by that word alone. */
    const differ = async () => {
      const found = await unequal('[{"job_id":1,"late_word":"a"},{"job_id":2,"late_word":"b"}]', { of });
      for (const { fields } of found) expect(fields).toMatchObject([{ name: 'late_word' }]);
      return found.map(({ key = '' }) => key).toSorted();
    };
    expect(await of.rowsOf('late_word', 'mirror.research_jobs', 'and job_id = 1')).toEqual(['-']);
    expect(await differ()).toEqual([]);
    await change(`late_word = 'x'`, '', of);
    expect(await differ()).toEqual(['2']);
    // As if only the batch with the first row were filled.
    const fill = (doneThrough: string): Promise<unknown> =>
      of.query(`update mirror_sync.backfill set done_through = ${doneThrough} where _user_id = ${userId}`);
    await fill('until');
    expect(await differ()).toEqual(['1', '2']);
    await fill('0');
    await change(`late_word = _raw ->> 'late_word'`, '', of);
    while (await later.mirror.backfill(later.fence));
    expect(await differ()).toEqual([]);
    await change('late_word = null', 'and job_id = 1', of);
    expect(await differ()).toEqual(['1']);
  });

  it('are not compared if they were dropped or changed by hand', async () => {
    await account.page('research_jobs', '[{"job_id":1,"gone_word":"a","odd_word":"b"}]');
    await account.query(`alter table mirror.research_jobs drop column gone_word cascade,
      drop column odd_word cascade, add column odd_word integer`);
    expect(await unequal('[{"job_id":1,"gone_word":"a","odd_word":"b"}]')).toEqual([]);
  });
});

describe('items that can’t be mirrored', () => {
  it('are reported apart while they are in quarantine, and as missing otherwise', async () => {
    const page = '[{"job_id":1,"ratio":1e400000},{"status":"no ID"},{"job_id":3},{"job_id":4}]';
    await account.page('research_jobs', page);
    expect(await unequal(page)).toMatchObject([
      { key: '1', kind: 'quarantined' },
      { key: undefined, kind: 'quarantined' },
    ]);
    await account.query(`delete from mirror.quarantine where _user_id = ${account.fence.userId}`);
    expect(await unequal(page)).toMatchObject([
      { key: '1', kind: 'missing' },
      { key: undefined, kind: 'missing' },
    ]);
  });

  it('are different if an older version is mirrored', async () => {
    await account.page('research_jobs', '[{"job_id":1,"ratio":1}]');
    await account.page('research_jobs', '[{"job_id":1,"ratio":1e400000}]');
    expect(await unequal('[{"job_id":1,"ratio":1e400000}]')).toMatchObject([
      { key: '1', kind: 'different', stale: true },
    ]);
    expect(await unequal('[{"job_id":1,"ratio":2}]')).toMatchObject([{ key: '1', kind: 'different' }]);
  });
});
