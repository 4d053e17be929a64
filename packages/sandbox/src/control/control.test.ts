import { describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { httpSandbox } from '../../testing/http-sandbox.ts';
import { startTestSandbox, STILL } from '../../testing/sandbox.ts';

const { sandbox, ask } = httpSandbox({ lists: 3, itemsPerList: 5, jobs: 20 });

async function get(
  path: string,
  asking: { signal?: AbortSignal } = {},
): Promise<{ status: number; data: Record<string, unknown>[] }> {
  const { status, body } = await ask(path, asking);
  return { status, data: (body['data'] ?? []) as Record<string, unknown>[] };
}

describe('mutations', () => {
  it('change the data of the user that they name', async () => {
    const two = await startTestSandbox({ ...STILL, keys: 'one=1,two=2', jobs: 5 });
    const collection = 'research_jobs' as const;
    await two.control.mutate({ op: 'insert', user: 2, collection, id: '1', fields: { status: 'odd' } });
    expect(await two.control.count({ collection, user: 1 })).toBe(5);
    expect(await two.control.count({ collection, user: 2 })).toBe(6);
    await expect(two.control.mutate({ op: 'insert', user: 3, collection })).rejects.toThrow(
      'there is no user 3',
    );
    await two.stop();
  });

  it('insert with the next ID, with a given one between others, and verbatim', async () => {
    const ids = (await get('/v1/research')).data.map((job) => Number(job['job_id']));
    const between = (ids[4] ?? 0) + 1;
    expect(ids).not.toContain(between);
    const [next = '', given] = await sandbox.control.mutate(
      { op: 'insert', collection: 'research_jobs', fields: { status: 'odd' } },
      { op: 'insert', collection: 'research_jobs', id: String(between), fields: { status: 'late' } },
    );
    expect(given).toBe(String(between));
    const { data } = await get('/v1/research');
    expect(data[0]).toMatchObject({ job_id: Number(next), status: 'odd' });
    expect(data[5]).toEqual({ job_id: between, status: 'late' });
    const source = '{"job_id":1,"n":1e400,"d":12345678901234567890.123}';
    await sandbox.control.mutate({ op: 'insert', collection: 'research_jobs', id: '1', source });
    expect((await sandbox.control.truth({ collection: 'research_jobs' })).at(-1)).toBe(source);
  });

  it('update fields and move updated_at, unless they are silent', async () => {
    const [job] = (await get('/v1/research?limit=1&starting_after=1050')).data;
    const id = String(job?.['job_id']);
    await sandbox.control.clock({ advanceMs: 3_600_000 });
    const find = async () => (await get('/v1/research')).data.find((each) => String(each['job_id']) === id);
    const before = await find();
    await sandbox.control.mutate({
      op: 'update',
      collection: 'research_jobs',
      id,
      fields: { score: 1 },
      silent: true,
    });
    expect(await find()).toEqual({ ...before, score: 1 });
    await sandbox.control.mutate({
      op: 'update',
      collection: 'research_jobs',
      id,
      fields: { status: 'failed' },
    });
    const after = await find();
    expect(after).toMatchObject({ score: 1, status: 'failed' });
    expect(after?.['updated_at']).not.toBe(before?.['updated_at']);
  });

  it('delete and restore, and the list’s row follows its items', async () => {
    const [list] = (await get('/v1/lists?limit=1')).data;
    const listId = String(list?.['list_id']);
    const row = async () => (await get('/v1/lists?limit=1')).data[0];
    const before = await row();
    const [item] = (await get(`/v1/lists/${listId}`)).data;
    const which = { collection: 'list_items', list: listId } as const;
    await sandbox.control.clock({ advanceMs: 5000 });
    await sandbox.control.mutate({ op: 'delete', ...which, id: String(item?.['id']) });
    expect((await get(`/v1/lists/${listId}`)).data).toHaveLength(4);
    expect(await row()).toMatchObject({ item_count: 4 });
    expect((await row())?.['updated_at']).not.toBe(before?.['updated_at']);
    expect(await sandbox.control.count(which)).toBe(4);
    await sandbox.control.mutate({ op: 'restore', ...which, id: String(item?.['id']) });
    expect((await get(`/v1/lists/${listId}`)).data[0]).toEqual(item);
  });

  it('delete a list with its items', async () => {
    const [, list] = (await get('/v1/lists')).data;
    const id = String(list?.['list_id']);
    await sandbox.control.mutate({ op: 'delete', collection: 'lists', id });
    expect((await get('/v1/lists')).data).toHaveLength(2);
    expect((await get(`/v1/lists/${id}`)).status).toBe(404);
    expect(await sandbox.control.truth({ collection: 'list_items', list: id })).toEqual([]);
    await sandbox.control.change({ deletedList: 'empty' });
    expect(await get(`/v1/lists/${id}`)).toEqual({ status: 200, data: [] });
    await sandbox.control.mutate({ op: 'restore', collection: 'lists', id });
    expect((await get(`/v1/lists/${id}`)).data).toHaveLength(5);
  });

  it('that are invalid are refused, with the reason', async () => {
    const { control } = sandbox;
    await expect(control.mutate({ op: 'delete', collection: 'lists', id: '5' })).rejects.toThrow(
      'there is no item 5',
    );
    await expect(control.mutate({ op: 'insert', collection: 'research_jobs', id: '1' })).rejects.toThrow(
      'there is an item 1 already',
    );
    await expect(control.truth({ collection: 'list_items' })).rejects.toThrow('name one as list');
    await expect(control.count({ collection: 'lists', user: 99 })).rejects.toThrow('there is no user 99');
    await expect(control.change({ jobs: 7 })).rejects.toThrow(
      "jobs: can't be changed while the sandbox runs",
    );
    await expect(control.clock({ set: '2000-01-01T00:00:00Z' })).rejects.toThrow('to a later time only');
  });
});

describe('the data clock', () => {
  it('freezes, moves and resumes', async () => {
    const { control } = sandbox;
    const { now } = await control.clock({ freeze: true });
    expect(await control.clock()).toEqual({ now, frozen: true });
    const later = await control.clock({ advanceMs: 86_400_000 });
    expect(Date.parse(later.now) - Date.parse(now)).toBe(86_400_000);
    expect((await control.clock({ set: '2099-01-01T00:00:00.000Z' })).now).toBe('2099-01-01T00:00:00.000Z');
    expect((await control.clock({ resume: true })).frozen).toBe(false);
  });
});

describe('counters and log', () => {
  it('show each request, its time, and its answer', async () => {
    const { control } = sandbox;
    await control.resetCounters();
    const from = (await control.log()).length;
    expect(from).toBe(0);
    await Promise.all([get('/v1/research?limit=3'), get('/v1/lists'), get('/v1/nowhere')]);
    const log = await control.log();
    expect(log.map((record) => record.status).toSorted((a, b) => Number(a) - Number(b))).toEqual([
      200, 200, 404,
    ]);
    expect(log.find((record) => record.path === '/v1/research?limit=3')).toMatchObject({
      route: 'GET /v1/research',
      method: 'GET',
      key: 0,
      userId: 1001,
      items: 3,
      fault: null,
    });
    expect(await control.log(log.at(-1)?.number)).toEqual([]);
    expect(await control.counters()).toMatchObject({
      requests: 3,
      byRouteAndStatus: { 'GET /v1/research 200': 1, 'GET /v1/lists 200': 1, 'unknown 404': 1 },
      inFlight: 0,
    });
  });

  it('show the concurrent requests, overall and for one list', async () => {
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
});
