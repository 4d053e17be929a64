import { describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { httpSandbox } from '../../testing/http-sandbox.ts';
import { startTestSandbox, STILL } from '../../testing/sandbox.ts';

const { sandbox, ask } = httpSandbox({ lists: 3, itemsPerList: 5, jobs: 20 });
const collection = 'research_jobs';
const LIST = { collection: 'lists' } as const;

async function get(path: string, more: { signal?: AbortSignal } = {}): Promise<Record<string, unknown>[]> {
  return ((await ask(path, more)).body['data'] ?? []) as Record<string, unknown>[];
}

describe('mutations', () => {
  it('change the data of the user that they name', async () => {
    const two = await startTestSandbox({ ...STILL, keys: 'one=1,two=2', jobs: 5 });
    await two.control.mutate({ op: 'insert', user: 2, collection });
    const count = (user: number): Promise<number> => two.control.count({ collection, user });
    expect([await count(1), await count(2)]).toEqual([5, 6]);
    await expect(two.control.mutate({ op: 'insert', user: 3, collection })).rejects.toThrow('no user 3');
    await two.stop();
  });

  it('insert with the next ID, with a given one between others, and verbatim', async () => {
    const ids = (await get('/v1/research')).map((job) => Number(job['job_id']));
    const between = (ids[4] ?? 0) + 1;
    expect(ids).not.toContain(between);
    const [next = '', given] = await sandbox.control.mutate(
      { op: 'insert', collection, fields: { status: 'odd' } },
      { op: 'insert', collection, id: String(between), fields: { status: 'late' } },
    );
    expect(given).toBe(String(between));
    const data = await get('/v1/research');
    expect(data[0]).toMatchObject({ job_id: Number(next), status: 'odd' });
    expect(data[5]).toEqual({ job_id: between, status: 'late' });
    const source = '{"job_id":1,"n":1e400,"d":12345678901234567890.123}';
    await sandbox.control.mutate({ op: 'insert', collection, id: '1', source });
    expect((await sandbox.control.truth({ collection })).at(-1)).toBe(source);
  });

  it('update fields and move updated_at, unless they are silent', async () => {
    const find = async () => (await get('/v1/research')).find((each) => each['job_id'] === before?.['job_id']);
    await sandbox.control.clock({ advanceMs: 3_600_000 });
    const [before] = await get('/v1/research?limit=1&starting_after=1050');
    const update = { op: 'update', collection, id: String(before?.['job_id']) } as const;
    await sandbox.control.mutate({ ...update, fields: { score: 1 }, silent: true });
    expect(await find()).toEqual({ ...before, score: 1 });
    await sandbox.control.mutate({ ...update, fields: { status: 'failed' } });
    expect(await find()).toMatchObject({ score: 1, status: 'failed' });
    expect((await find())?.['updated_at']).not.toBe(before?.['updated_at']);
  });

  it('delete and restore, and the list’s row follows its items', async () => {
    const [before] = await get('/v1/lists?limit=1');
    const list = String(before?.['list_id']);
    const [item] = await get(`/v1/lists/${list}`);
    const which = { collection: 'list_items', list, id: String(item?.['id']) } as const;
    await sandbox.control.clock({ advanceMs: 5000 });
    await sandbox.control.mutate({ op: 'delete', ...which });
    const [after] = await get('/v1/lists?limit=1');
    expect([await sandbox.control.count(which), after?.['item_count']]).toEqual([4, 4]);
    expect(after?.['updated_at']).not.toBe(before?.['updated_at']);
    await sandbox.control.mutate({ op: 'restore', ...which });
    expect((await get(`/v1/lists/${list}`))[0]).toEqual(item);
  });

  it('delete a list with its items', async () => {
    const [, list] = await get('/v1/lists');
    const id = String(list?.['list_id']);
    await sandbox.control.mutate({ op: 'delete', ...LIST, id });
    expect(await get('/v1/lists')).toHaveLength(2);
    expect((await ask(`/v1/lists/${id}`)).status).toBe(404);
    expect(await sandbox.control.truth({ collection: 'list_items', list: id })).toEqual([]);
    await sandbox.control.change({ deletedList: 'empty' });
    expect(await ask(`/v1/lists/${id}`)).toMatchObject({ status: 200, body: { data: [] } });
    await sandbox.control.mutate({ op: 'restore', ...LIST, id });
    expect(await get(`/v1/lists/${id}`)).toHaveLength(5);
  });
});

it.each<[string, (control: typeof sandbox.control) => Promise<unknown>]>([
  ['there is no item 5', (control) => control.mutate({ op: 'delete', ...LIST, id: '5' })],
  ['item 1 exists already', (control) => control.mutate({ op: 'insert', collection, id: '1' })],
  ['list is required', (control) => control.truth({ collection: 'list_items' })],
  ['there is no user 99', (control) => control.count({ ...LIST, user: 99 })],
  ["jobs: can't be changed while the sandbox runs", (control) => control.change({ jobs: 7 })],
  ['can only move forward', (control) => control.clock({ set: '2000-01-01T00:00:00Z' })],
])('what is invalid is refused, with the reason: %s', async (reason, call) => {
  await expect(call(sandbox.control)).rejects.toThrow(reason);
});

it('the data clock freezes, moves and resumes', async () => {
  const { control } = sandbox;
  const { now } = await control.clock({ freeze: true });
  expect(await control.clock()).toEqual({ now, frozen: true });
  const later = await control.clock({ advanceMs: 86_400_000 });
  expect(Date.parse(later.now) - Date.parse(now)).toBe(86_400_000);
  expect((await control.clock({ set: '2099-01-01T00:00:00.000Z' })).now).toBe('2099-01-01T00:00:00.000Z');
  expect((await control.clock({ resume: true })).frozen).toBe(false);
});

it('counters and log show each request, its time, and its answer', async () => {
  const { control } = sandbox;
  await control.resetCounters();
  expect(await control.log()).toEqual([]);
  for (const path of ['/v1/nowhere', '/v1/lists', '/v1/research?limit=3']) await get(path);
  const log = await control.log();
  expect(log.map(({ status }) => status)).toEqual([404, 200, 200]);
  const path = '/v1/research?limit=3';
  const asked = { method: 'GET', path, route: 'GET /v1/research', key: 0, userId: 1001 };
  expect(log[2]).toMatchObject({ ...asked, items: 3, fault: null });
  expect(await control.log(log.at(-1)?.number)).toEqual([]);
  expect(await control.counters()).toMatchObject({
    requests: 3,
    byRouteAndStatus: { 'GET /v1/research 200': 1, 'GET /v1/lists 200': 1, 'unknown 404': 1 },
    inFlight: 0,
  });
});

it('counters show the concurrent requests, overall and for one list', async () => {
  const { control } = sandbox;
  await control.change({ latencyMin: 60_000, latencyMax: 60_000 });
  await control.resetCounters();
  const leave = new AbortController();
  const asked = ['/v1/research', '/v1/research?limit=1', '/v1/lists'].map((path) =>
    get(path, { signal: leave.signal }).catch(() => 'left'),
  );
  await eventually('three requests', async () => (await control.counters()).inFlight === 3);
  expect(await control.counters()).toMatchObject({ maxInFlight: 3, maxInFlightPerScope: 2 });
  leave.abort();
  expect(await Promise.all(asked)).toEqual(['left', 'left', 'left']);
  await control.change({ latencyMin: 0, latencyMax: 0 });
});
