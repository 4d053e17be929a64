import { describe, expect, it } from 'vitest';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { AT, before } from '../../../test/support/processes/status-report.ts';
import { sampleFound, sampleLookups, sampleStory } from '../../../test/support/processes/sample-lookups.ts';
import type { Found, RowsAsked } from '../../model/lookup/lookup-answers.ts';
import type { RowAddress } from '../../model/lookup/row-address.ts';
import { type Lookups, lookupRoutes } from './lookup-routes.ts';

const EVIL = `<img src=x onerror=alert(1)>"'&`;
const ESCAPED = '&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;';

async function ask(path: string, changes: Partial<Lookups> = {}) {
  const { pathname, searchParams } = new URL(`http://localhost:8080/${path}`);
  const route = lookupRoutes(sampleLookups(changes))(pathname);
  const reply = await route?.({ path: pathname, query: searchParams, header: () => undefined });
  return { status: reply?.status, body: String(reply?.body), headers: new Headers(reply?.headers) };
}

const finds = (...results: readonly Found[]): Partial<Lookups> => ({
  search: async (query) => ({ query, at: AT, results, more: true }),
});

const item = (key: string): RowAddress => ({ userId: '42', collection: 'list_items', key });

describe('a search', () => {
  it('links each result to its row, and says that there are more', async () => {
    const deleted = sampleFound({ ...item('7:a/b?'), state: 'deleted' });
    const { status, body } = await ask('search?q=+17+', finds(sampleFound(), deleted));
    expect(status).toBe(200);
    expect(body).toContain('<a href="rows/42/research_jobs/17">research_jobs 17</a>');
    expect(body).toContain('<a href="rows/42/list_items/7/a%2Fb%3F">list_items a/b? of list 7</a>');
    expect(body).toMatch(/chip idle">deleted</);
    expect(body).toContain('refine the search');
    expect(body).toMatch(/name="q"[^>]*value=" 17 "/);
    expect(body).not.toContain('http-equiv="refresh"');
    expect(body).not.toContain('<script');
  });

  it('says what there is to be found where nothing is, and where nothing was asked for', async () => {
    const empty = await ask('search?q=nobody.example');
    expect(empty.body).toContain('Nothing has the ID or domain nobody.example');
    for (const path of ['search', 'search?q=+']) {
      expect((await ask(path)).body).toContain('What can be found');
    }
  });

  it('answers programs the same, with the paths of the rows', async () => {
    const event = sampleFound({ kind: 'event', id: 'evt', collection: null });
    const { status, body } = await ask('api/search?q=17', finds(sampleFound(), event));
    expect(status).toBe(200);
    expect(JSON.parse(body)).toEqual({
      query: '17',
      at: AT,
      results: [
        { ...sampleFound(), path: '/rows/42/research_jobs/17' },
        { ...event, path: null },
      ],
      more: true,
    });
  });

  it('refuses what no ID can be', async () => {
    const long = 'x'.repeat(1_025);
    expect(await ask(`search?q=${long}`)).toMatchObject({ status: 400 });
    expect(await ask(`api/search?q=${long}`)).toMatchObject({
      status: 400,
      body: expect.stringContaining('1024'),
    });
    expect(await ask('api/search')).toMatchObject({ status: 400 });
    expect(await ask(`search?q=${long.slice(1)}`)).toMatchObject({ status: 200 });
  });

  it('shows everything escaped', async () => {
    const results: Found[] = [
      sampleFound({ collection: 'watchlist', key: EVIL, name: EVIL, state: EVIL }),
      sampleFound({ kind: 'event', userId: EVIL, id: EVIL, name: EVIL, collection: null }),
    ];
    const { body } = await ask(`search?q=${encodeURIComponent(EVIL)}`, finds(...results));
    expect(body).not.toContain('<img');
    expect(body.split(ESCAPED)).toHaveLength(9);
    const { body: nothing } = await ask(`search?q=${encodeURIComponent(EVIL)}`);
    expect(nothing).not.toContain('<img');
  });
});

describe('the rows of a collection', () => {
  it('are asked for by account, collection and state, and lead to themselves, to their states, and on', async () => {
    const asked: RowsAsked[] = [];
    const rows: Lookups['rows'] = async (which) => {
      asked.push(which);
      return {
        ...which,
        at: AT,
        rows: [{ ...sampleFound({ state: `${EVIL}&state=x` }), changeId: '8' }],
        next: '7',
      };
    };
    const { status, body } = await ask('rows?user=042&collection=research_jobs', { rows });
    expect(status).toBe(200);
    expect(body).toContain('<a href="rows/42/research_jobs/17">research_jobs 17</a>');
    expect(body).not.toContain('<img');
    const links = [...body.matchAll(/href="(rows\?[^"]*)"/g)].map(([, href = '']) =>
      href.replaceAll('&amp;', '&'),
    );
    const older = links.find((href) => href.includes('before=')) ?? '';
    const ofState = links.find((href) => href.includes('state=')) ?? '';
    await ask(older, { rows });
    await ask(ofState, { rows });
    const all = { userId: '42', collection: 'research_jobs', state: undefined, before: undefined };
    await ask('rows?user=42&collection=research_jobs&state=%00', { rows });
    expect(asked).toEqual([all, { ...all, before: '7' }, { ...all, state: `${EVIL}&state=x` }, all]);
    const found = JSON.parse((await ask('api/rows?user=42&collection=lists', { rows })).body) as unknown;
    expect(found).toMatchObject({
      collection: 'lists',
      rows: [{ path: '/rows/42/research_jobs/17' }],
      next: '7',
    });
  });

  it('are refused where it is not clear which are meant, and none is said', async () => {
    for (const path of ['rows', 'rows?user=me&collection=lists', 'rows?user=42&collection=secrets']) {
      expect(await ask(path)).toMatchObject({ status: 400, body: expect.stringContaining('Which rows?') });
      expect(await ask(`api/${path}`)).toMatchObject({ status: 400 });
    }
    for (const before of ['abc', '', '1.5', '9223372036854775808']) {
      const path = `rows?user=42&collection=lists&before=${before}`;
      expect(await ask(path)).toMatchObject({ status: 400, body: expect.stringContaining('an integer') });
      expect(await ask(`api/${path}`)).toMatchObject({ status: 400 });
    }
    expect((await ask('rows?user=42&collection=lists')).body).toContain('No row here.');
  });

  it('are not found of an account that is not mirrored', async () => {
    for (const path of ['rows?user=77&collection=lists', 'api/rows?user=77&collection=lists']) {
      expect(await ask(path, { rows: async () => undefined })).toMatchObject({
        status: 404,
        body: expect.stringContaining('No account 77 is mirrored.'),
      });
    }
  });
});

describe('a row', () => {
  it('is asked for by its address, and shows its timeline, its columns and the way back', async () => {
    const asked: [RowAddress, number][] = [];
    const row = async (address: RowAddress, entries: number) => {
      asked.push([address, entries]);
      return sampleStory(address, { more: true });
    };
    const { status, body, headers } = await ask('rows/42/list_items/7/a%2Fb', { row });
    expect(asked).toEqual([[item('7:a/b'), 100]]);
    expect(status).toBe(200);
    const kinds = [...body.matchAll(/<li data-what="(\w+)"/g)].map(([, what]) => what);
    expect(kinds).toEqual(['next_poll', 'changed', 'event', 'mirrored', 'answered', 'sent', 'queued']);
    expect(body).toContain('<title>list_items a/b of list 7 – research-mirror</title>');
    expect(body).toContain('href="../../../../api/rows/42/list_items/7/a%2Fb"');
    expect(body).toContain('href="../../../../rows/42/lists/7"');
    expect(body).toContain('href="../../../../rows?user=42&amp;collection=list_items"');
    expect(body).toMatch(
      />account 42<\/a\s*> · <a[^>]*>list 7<\/a\s*> · <a[^>]*>all list_items<\/a\s*> · <a[^>]*>JSON</,
    );
    expect(body).toContain('action="../../../../search"');
    expect(body).toContain('?entries=1000"');
    expect(body).toContain('12345 characters');
    expect(body).toMatch(/idempotency key\s*<code>order-5<\/code>/);
    expect(headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; script-src 'nonce-.*form-action 'self'/,
    );
    const most = await ask('rows/42/lists/7?entries=1000', { row });
    expect(asked.at(-1)?.[1]).toBe(1_000);
    expect(most.body).not.toContain('?entries=');
    expect(most.body).toContain('There are older entries');
    expect(JSON.parse((await ask('api/rows/42/lists/7', { row })).body)).toMatchObject({
      key: '7',
      state: 'live',
    });
  });

  it('is refused where no timeline can have so many entries', async () => {
    const row = async (address: RowAddress) => sampleStory(address);
    for (const entries of ['0', '1001', 'x', '', '-1', '1.5', '1e2']) {
      const path = `rows/42/lists/7?entries=${entries}`;
      for (const each of [path, `api/${path}`]) {
        expect(await ask(each, { row })).toMatchObject({
          status: 400,
          body: expect.stringContaining('entries is a number from 1 to 1000.'),
        });
      }
    }
  });

  it('that there is none of is a page with a way back, too', async () => {
    for (const path of [
      'rows/42/lists/7',
      'rows/42/lists/seven',
      'rows/42/lists/%E2%82',
      'rows/42/nothing',
      'rows/',
    ]) {
      const { status, body } = await ask(path);
      expect([path, status]).toEqual([path, 404]);
      expect(body).toContain('There is no such row');
      expect(body).toContain(`<a href="${'../'.repeat(path.split('/').length - 1)}./">back`);
      expect(await ask(`api/${path}`)).toMatchObject({
        status: 404,
        body: expect.stringContaining('"error"'),
      });
    }
  });

  it('shows everything escaped', async () => {
    const entry = { at: AT, by: EVIL, more: null, fields: [] };
    const row = async (address: RowAddress) =>
      sampleStory(address, {
        timeline: [
          { ...entry, what: 'changed', fields: [{ field: EVIL, before: EVIL, after: EVIL }] },
          { ...entry, what: 'event', more: { type: EVIL } },
          { ...entry, what: 'suspected', at: before(9), more: { refused: EVIL.repeat(9) } },
        ],
        columns: [{ name: EVIL, value: EVIL.repeat(9) }],
        raw: EVIL,
      });
    const { body } = await ask(`rows/42/watchlist/${encodeURIComponent(EVIL)}`, { row });
    expect(body).not.toContain('<img');
    // Twice its name, 3 of `by`, field, before, after, type, 9 refused, the column with its 3 and 9, the item.
    expect(body.split(ESCAPED)).toHaveLength(1 + 2 + 3 + 3 + 1 + 9 + 1 + 12 + 1);
  });
});

it.each(['', 'search/', 'rowses', 'constructor', '__proto__', 'api/toString'])(
  'no path but theirs: /%s',
  (path) => {
    expect(lookupRoutes(sampleLookups())(`/${path}`)).toBeUndefined();
  },
);

describe('what can’t be answered', () => {
  const paths = ['search?q=1', 'rows/42/lists/7', 'rows?user=42&collection=lists'];

  it('now is said in words, to people and programs', async () => {
    const away = async (): Promise<never> => {
      throw new DatabaseUnavailable('the database is away');
    };
    for (const path of paths.flatMap((each) => [each, `api/${each}`])) {
      const { status, body } = await ask(path, { search: away, row: away, rows: away });
      expect([path, status]).toEqual([path, 503]);
      expect(body).toContain('the database is away');
    }
  });

  it('for a defect is left to the log', async () => {
    const broken = async (): Promise<never> => {
      throw new TypeError('a defect');
    };
    for (const path of paths) {
      await expect(ask(path, { search: broken, row: broken, rows: broken })).rejects.toThrow('a defect');
    }
  });
});
