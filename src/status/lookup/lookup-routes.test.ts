import { describe, expect, it } from 'vitest';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { AT, before } from '../../../test/support/processes/status-report.ts';
import { sampleFound, sampleLookups, sampleStory } from '../../../test/support/processes/sample-lookups.ts';
import type { RowAddress } from '../../model/lookup/row-address.ts';
import type { Found } from '../../model/lookup/search-answer.ts';
import { lookupRoutes } from './lookup-routes.ts';
import type { Lookups } from './lookups.ts';

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

describe('a search', () => {
  it('links each result to its row, and says that there are more', async () => {
    const item = sampleFound({ collection: 'list_items', key: ['7', 'a/b?'], deletedAt: before(3600) });
    const { status, body } = await ask('search?q=+17+', finds(sampleFound(), item));
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
    expect(empty.body).toContain('Nothing has the ID or domain <code>nobody.example</code>');
    for (const path of ['search', 'search?q=+']) {
      expect(await ask(path)).toMatchObject({
        status: 200,
        body: expect.stringContaining('What can be found'),
      });
    }
  });

  it('answers programs the same, with the paths of the rows', async () => {
    const event = { kind: 'event', userId: '42', id: 'evt', type: null, receivedAt: AT, row: null } as const;
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
      sampleFound({ key: [EVIL], name: EVIL, status: EVIL, domain: EVIL }),
      { kind: 'event', userId: EVIL, id: EVIL, type: EVIL, receivedAt: AT, row: null },
      { kind: 'account', userId: '1', email: EVIL, row: null },
    ];
    const { body } = await ask(`search?q=${encodeURIComponent(EVIL)}`, finds(...results));
    expect(body).not.toContain('<img');
    expect(body.split(ESCAPED)).toHaveLength(11);
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
    expect(asked).toEqual([[{ userId: '42', collection: 'list_items', key: ['7', 'a/b'] }, 100]]);
    expect(status).toBe(200);
    const kinds = [...body.matchAll(/<li data-what="(\w+)"/g)].map(([, what]) => what);
    expect(kinds).toEqual(['changed', 'event', 'mirrored', 'answered', 'sent', 'queued']);
    expect(body).toContain('<title>list_items a/b of list 7 – research-mirror</title>');
    expect(body).toContain('href="../../../../api/rows/42/list_items/7/a%2Fb"');
    expect(body).toContain('href="../../../../rows/42/lists/7"');
    expect(body).toContain('action="../../../../search"');
    expect(body).toContain('?entries=1000"');
    expect(body).toContain('and 10,344 characters more');
    expect(body).toMatch(/idempotency key\s*<code>order-5<\/code>/);
    expect(headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; script-src 'nonce-.*form-action 'self'/,
    );
    const most = await ask('rows/42/lists/7?entries=5000', { row });
    expect(asked.at(-1)?.[1]).toBe(1_000);
    expect(most.body).not.toContain('?entries=');
    expect(most.body).toContain('There are older entries');
    expect(JSON.parse((await ask('api/rows/42/lists/7', { row })).body)).toMatchObject({
      key: ['7'],
      state: 'live',
    });
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
    const cut = { text: EVIL, characters: EVIL.length };
    const row = async (address: RowAddress) =>
      sampleStory(address, {
        timeline: [
          { at: AT, what: 'changed', changeId: '1', fields: [{ field: EVIL, before: cut, after: cut }] },
          { at: AT, what: 'event', eventId: EVIL, type: EVIL, createdAt: null },
        ],
        columns: [{ name: EVIL, type: EVIL, value: { text: EVIL, characters: 9_999 } }],
        raw: cut,
      });
    const { body } = await ask(`rows/42/watchlist/${encodeURIComponent(EVIL)}`, { row });
    expect(body).not.toContain('<img');
    expect(body.split(ESCAPED)).toHaveLength(13);
  });
});

describe('what can’t be answered', () => {
  it('now is said in words, to people and programs', async () => {
    const away = async (): Promise<never> => {
      throw new DatabaseUnavailable('the database is away');
    };
    for (const path of ['search?q=1', 'api/search?q=1', 'rows/42/lists/7', 'api/rows/42/lists/7']) {
      const { status, body } = await ask(path, { search: away, row: away });
      expect([path, status]).toEqual([path, 503]);
      expect(body).toContain('the database is away');
    }
  });

  it('for a defect is left to the log', async () => {
    const search = async (): Promise<never> => {
      throw new TypeError('a defect');
    };
    await expect(ask('search?q=1', { search })).rejects.toThrow('a defect');
  });
});
