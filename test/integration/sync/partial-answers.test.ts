import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import type { HttpAnswer } from '../../../src/service/transport.ts';
import { createTestAccount, type TestAccount } from '../../support/sync/read-account.ts';

// Answers that say themselves that they are a part, an error, or two things at once: they bring no row under
// suspicion, and "complete as of" stays.

let account: TestAccount;
let before: unknown;
beforeAll(async () => {
  account = await createTestAccount({ jobs: 9, watchlist: 0 }, undefined, { MIRROR_SETTLE: '1s' });
  await account.read('research_jobs', 'full');
  before = await mirrored();
  expect(before).toMatchObject([{ live: 9, suspected: 0, completeAsOf: expect.any(Date) as unknown }]);
});
afterEach(() => {
  account.onAnswer = (_, answer) => answer;
});
afterAll(() => account.close());

const mirrored = (): Promise<unknown> =>
  account.query(`
    select live_rows::int as live, complete_as_of as "completeAsOf",
      (select count(*)::int from mirror_sync.candidate) as suspected
    from mirror.freshness where collection = 'research_jobs'`);

const EMPTY = '"object":"list","data":[],"has_more":false';
const NINE = `"data":[${Array.from({ length: 9 }, (_, id) => `{"job_id":${id + 1}}`).join()}],"has_more":true`;

it.each<[string, string, Partial<HttpAnswer>?]>([
  ['a 206', `{${EMPTY}}`, { status: 206 }],
  ['a 203', `{${EMPTY}}`, { status: 203 }],
  ['a 202', `{${EMPTY}}`, { status: 202 }],
  ['a name that occurs twice', `{"object":"list",${NINE},"data":[],"has_more":false}`],
  ['the same in another spelling', String.raw`{"object":"list",${NINE},"d\u0061ta":[],"has_more":false}`],
  ['the same a level deeper', `{"object":"list","result":{${NINE},"data":[],"has_more":false}}`],
  ['another object', '{"object":"account","data":[],"has_more":false}'],
  ['a part', `{${EMPTY},"partial":true}`],
  ['an error a level deeper', '{"object":"list","result":{"data":[],"has_more":false,"error":"down"}}'],
  ['a total above 0 beside an empty page', `{${EMPTY},"total":9}`],
  ['that total in a header', `{${EMPTY}}`, { headers: { 'x-total-count': '9' } }],
])('%s proves nothing, however often it is read', async (_, text, answer = {}) => {
  account.onAnswer = (path, came) => (path.startsWith('/v1/research') ? { ...came, text, ...answer } : came);
  for (const what of ['current', 'full'] as const) {
    const { error } = await account.read('research_jobs', what);
    expect(error?.message).toMatch(/^GET \/v1\/research was answered 20\d, but /);
  }
  expect(await mirrored()).toEqual(before);
});

it('the same list without any of that is believed', async () => {
  account.onAnswer = (path, came) =>
    path.startsWith('/v1/research') ? { ...came, text: `{${EMPTY},"total":0,"partial":false}` } : came;
  await account.read('research_jobs', 'full');
  expect(await mirrored()).toMatchObject([{ live: 0 }]);
});
