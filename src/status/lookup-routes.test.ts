import { expect, it } from 'vitest';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { AT, before, sampleHit, sampleLookups, sampleStory } from '../../test/support/processes/status-report.ts';
import type { Hit, RowAddress } from './lookup-store.ts';
import { lookupRoute, type Lookups } from './lookup-routes.ts';

const EVIL = `<img src=x onerror=alert(1)>"'&`;
const ESCAPED = '&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;';

async function ask(path: string, changes: Partial<Lookups> = {}) {
  const { pathname, searchParams } = new URL(`http://localhost:8080/${path}`);
  const route = lookupRoute(pathname, sampleLookups(changes));
  const reply = await route?.(searchParams);
  return { status: reply?.status, body: String(reply?.body), headers: new Headers(reply?.headers) };
}

const finds = (...found: readonly Hit[]): Partial<Lookups> => ({
  search: async () => ({ at: AT, found, more: true }),
});

/** The page of an address that is refused. */
async function refusalOf(path: string): Promise<string> {
  const { status, body } = await ask(path);
  expect([path, status]).toEqual([path, 400]);
  return body;
}

const item = (key: string): RowAddress => ({ userId: '42', collection: 'list_items', key });

const JOB_17 = '<a class="key" href="rows?user=42&amp;collection=research_jobs&amp;key=17">research_jobs 17</a>';

it('a search links each result to its row, and says that there are more', async () => {
  const deleted = sampleHit({ row: item('7:a/b?'), state: 'deleted' });
  const event = sampleHit({ by: 'event evt_1', name: 'research.completed' });
  const other = sampleHit({ by: 'submission 5', row: undefined });
  const { status, body } = await ask('search?q=+17+', finds(sampleHit(), deleted, event, other));
  expect(status).toBe(200);
  expect(body).toContain(JOB_17);
  expect(body).toContain(
    '<a class="key" href="rows?user=42&amp;collection=list_items&amp;key=7%3Aa%2Fb%3F">list_items a/b? of list 7</a>',
  );
  expect(body).toMatch(
    /<a class="key" href="[^"]*key=17">event evt_1<\/a>\s*<small>research.completed about research_jobs 17</,
  );
  expect(body).toMatch(/>\s*submission 5\s*<small>/);
  expect(body).toMatch(/chip idle">deleted</);
  expect(body).toContain('Narrow the search');
  expect(body).toMatch(/name="q"[^>]*value=" 17 "/);
  expect(body).not.toContain('http-equiv="refresh"');
  expect(body).not.toContain('<script');
});

it('a search says what can be found if there are no results or no query', async () => {
  const empty = await ask('search?q=nobody.example');
  expect(empty.body).toContain('Nothing matches nobody.example');
  for (const path of ['search', 'search?q=+']) expect((await ask(path)).body).toContain('You can search for');
});

it('a search refuses a query that no ID can be', async () => {
  const long = 'x'.repeat(1_025);
  expect(await refusalOf(`search?q=${long}`)).toContain('1024');
  expect(await ask(`search?q=${long.slice(1)}`)).toMatchObject({ status: 200 });
});

it('a search shows everything escaped', async () => {
  const results: Hit[] = [
    sampleHit({ row: { userId: '42', collection: 'watchlist', key: EVIL }, name: EVIL, state: EVIL }),
    sampleHit({ userId: EVIL, by: `event ${EVIL}`, name: EVIL, row: undefined }),
  ];
  const { body } = await ask(`search?q=${encodeURIComponent(EVIL)}`, finds(...results));
  expect(body).not.toContain('<img');
  expect(body.split(ESCAPED)).toHaveLength(9);
  const { body: nothing } = await ask(`search?q=${encodeURIComponent(EVIL)}`);
  expect(nothing).not.toContain('<img');
});

it('the rows of a collection are read by account, collection and state, and link to rows, states and older rows', async () => {
  const asked: Parameters<Lookups['rows']>[0][] = [];
  const rows: Lookups['rows'] = async (filter) => {
    asked.push(filter);
    return { at: AT, found: [sampleHit({ state: `${EVIL}&state=x` })], next: '7' };
  };
  const { status, body } = await ask('rows?user=042&collection=research_jobs', { rows });
  expect(status).toBe(200);
  expect(body).toContain(JOB_17);
  expect(body).not.toContain('<img');
  const links = [...body.replaceAll('&amp;', '&').matchAll(/href="(rows\?[^"]*)"/g)].map(([, href = '']) => href);
  const older = links.find((href) => href.includes('before=')) ?? '';
  const ofState = links.find((href) => href.includes('state=')) ?? '';
  await ask(older, { rows });
  await ask(ofState, { rows });
  const all = { userId: '42', collection: 'research_jobs', state: undefined, before: undefined };
  await ask('rows?user=42&collection=research_jobs&state=%00', { rows });
  expect(asked).toEqual([all, { ...all, before: '7' }, { ...all, state: `${EVIL}&state=x` }, all]);
});

it('the rows of a collection are refused without account or collection, and may be none', async () => {
  for (const path of ['rows', 'rows?user=me&collection=lists', 'rows?user=42&collection=secrets'])
    expect(await refusalOf(path)).toContain('Which rows?');
  for (const given of ['abc', '', '1.5', '9223372036854775808'])
    expect(await refusalOf(`rows?user=42&collection=lists&before=${given}`)).toContain('an integer');
  expect((await ask('rows?user=42&collection=lists')).body).toContain('<p>No rows.</p>');
});

it('a row is read by its address, and shows its timeline, its columns and the way back', async () => {
  const asked: RowAddress[] = [];
  const row = async (address: RowAddress) => {
    asked.push(address);
    return sampleStory();
  };
  const { status, body, headers } = await ask('rows?user=42&collection=list_items&key=7:a%2Fb', { row });
  expect(asked).toEqual([item('7:a/b')]);
  expect(status).toBe(200);
  const kinds = [...body.matchAll(/<li data-what="(\w+)"/g)].map(([, what]) => what);
  expect(kinds).toEqual(['next_poll', 'changed', 'event', 'mirrored', 'answered', 'sent', 'queued']);
  expect(body).toContain('<title>list_items a/b of list 7 – research-mirror</title>');
  expect(body).toContain('href="rows?user=42&amp;collection=lists&amp;key=7"');
  expect(body).toContain('href="rows?user=42&amp;collection=list_items"');
  expect(body).toMatch(/>account 42<\/a\s*>\s*· <a[^>]*>list 7<\/a\s*>\s*· <a[^>]*>all list_items<\/a/);
  expect(body).toContain('action="search"');
  expect(body).toContain('12345 characters');
  expect(body).toMatch(/idempotency key\s*<code>order-5<\/code>/);
  expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'nonce-.*form-action 'self'/);
  expect(body).not.toContain('older entries');
  const longer = await ask('rows?user=42&collection=lists&key=7', {
    row: async () => sampleStory({ more: true }),
  });
  expect(longer.body).toMatch(/There are older entries\. .*row_story/);
});

it('a row that does not exist has a page with a way back', async () => {
  for (const path of ['lists&key=7', 'lists&key=seven', 'lists&key=', 'list_items&key=7', 'watchlist&key=%00']) {
    const { status, body } = await ask(`rows?user=42&collection=${path}`);
    expect([path, status]).toEqual([path, 404]);
    expect(body).toContain('There is no row at this address');
    expect(body).toContain('<a href="./">Back');
  }
});

it('a row shows everything escaped', async () => {
  const entry = { at: AT, by: EVIL, more: null, fields: [] };
  const row = async () =>
    sampleStory({
      timeline: [
        { ...entry, what: 'changed', fields: [{ field: EVIL, before: EVIL, after: EVIL }] },
        { ...entry, what: 'event', more: { type: EVIL } },
        { ...entry, what: 'suspected', at: before(9), more: { refused: EVIL.repeat(9) } },
      ],
      columns: [{ name: EVIL, value: EVIL.repeat(9) }],
      raw: EVIL,
    });
  const { body } = await ask(`rows?user=42&collection=watchlist&key=${encodeURIComponent(EVIL)}`, { row });
  expect(body).not.toContain('<img');
  // Twice its name, 3 of `by`, field, before, after, type, 9 refused, the column with its 3 and 9, the item.
  expect(body.split(ESCAPED)).toHaveLength(1 + 2 + 3 + 3 + 1 + 9 + 1 + 12 + 1);
});

it('other paths are not answered', () => {
  const others = ['', 'search/', 'rowses', 'constructor', '__proto__', 'api/search', 'api/rows', 'rows/42/lists/7'];
  for (const path of others) expect(lookupRoute(`/${path}`, sampleLookups())).toBeUndefined();
});

it.each(['search?q=1', 'rows?user=42&collection=lists&key=7', 'rows?user=42&collection=lists'])(
  'a lookup that can’t be answered now says so: %s',
  async (path) => {
    const away = (): Promise<never> => Promise.reject(new DatabaseUnavailable('the database is away'));
    const { status, body } = await ask(path, { search: away, row: away, rows: away });
    expect(status).toBe(503);
    expect(body).toContain('the database is away');
  },
);
