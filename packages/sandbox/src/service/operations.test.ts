import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { httpSandbox } from '../../testing/http-sandbox.ts';

const { sandbox, ask, post, walk } = httpSandbox({ keys: 'one=7', jobs: 300 });
const credits = async (): Promise<number> => Number((await ask('/v1/account')).body['credits']);

it.each([
  ['/v1/research', 'job_id', { url: 'https://www.acme.example/about' }, { domain: 'acme.example' }],
  ['/v1/research/bulk', 'bulk_job_id', { name: 'Made', anything: [1, null] }, { name: 'Made' }],
  ['/v1/lists', 'list_id', { name: 'Made' }, { name: 'Made' }],
])('a POST to %s is accepted, and what it creates is at the top of its list', async (path, id, sent, shown) => {
  const { status, body } = await post(path, sent);
  expect(status).toBe(201);
  expect((await ask(`${path}?limit=1`)).body).toMatchObject({ data: [{ [id]: body[id], ...shown }] });
});

it('POST operations take credits', async () => {
  const before = await credits();
  for (const path of ['/v1/enrich', '/v1/clay/enrich'])
    expect((await post(path, { any: 'thing' })).body['id']).toMatch(/^enr_/);
  await post('/v1/research', { company_url: 'acme.example' });
  expect(before - (await credits())).toBeCloseTo(1.75, 5);
});

it('operations on a target are accepted with or without a body, and refused where it is missing', async () => {
  const [list = ''] = await walk('/v1/lists');
  const [job = ''] = await walk('/v1/research');
  const analyzed = await post(`/v1/lists/${list}/analyze`, '');
  expect(analyzed.body).toMatchObject({ list_id: Number(list), status: 'analyzing' });
  const sequence = await post(`/v1/research/${job}/sequence`, {});
  expect(sequence.body).toMatchObject({ id: expect.stringMatching(/^seq_/), job_id: Number(job) });
  for (const path of ['/v1/lists/999/analyze', '/v1/research/999/sequence'])
    expect((await post(path, {})).status).toBe(404);
});

it('a body that is not JSON is refused, and an endpoint that there is not', async () => {
  for (const path of ['/v1/research', '/v1/enrich', '/v1/clay/enrich', '/v1/research/bulk', '/v1/lists']) {
    for (const body of ['url=x', '']) expect((await post(path, body)).status).toBe(400);
  }
  for (const path of ['/v1/everything', '/v1/lists/999', '/v1/lists/%E0%A4%A'])
    expect((await ask(path)).status).toBe(404);
  expect((await ask('/v1/research', { method: 'DELETE' })).status).toBe(404);
});

it('the log of operations has each that took effect, once, with its payload', async () => {
  const { control } = sandbox;
  const under = (key: string): Record<string, string> => ({ 'Idempotency-Key': key });
  const after = (await control.operations()).at(-1)?.number;
  const [job = ''] = await walk('/v1/research');
  const enrich = '{"marker": "é"}';
  await post('/v1/enrich', enrich, under('k7'));
  await post(`/v1/research/${job}/sequence`, '');
  await post('/v1/clay/enrich', { marker: 'x'.repeat(5000) });
  await post('/v1/research/999/sequence', {});
  await post('/v1/enrich', 'no JSON');
  const again = async (): Promise<unknown> => (await post('/v1/lists', {}, under('k8'))).body['list_id'];
  expect(await again()).not.toBe(await again());
  await control.change({ idempotency: 'honoured' });
  expect(await again()).toBe(await again());
  await control.change({ idempotency: 'ignored', fault500: 1, faultEffect: 'done' });
  expect((await post('/v1/enrich', { marker: 2 })).status).toBe(500);
  await control.change({ faultEffect: 'undone' });
  expect((await post('/v1/enrich', { marker: 3 })).status).toBe(500);
  await control.change({ fault500: 0 });
  const log = await control.operations(after);
  const list = ['list', null, 'k8', '{}'];
  expect(log.map((each) => [each.operation, each.target, each.idempotencyKey, each.payload])).toEqual([
    ['enrich', null, 'k7', enrich],
    ['sequence', job, null, ''],
    ['clay_enrich', null, null, null],
    list,
    list,
    list,
    ['enrich', null, null, '{"marker":2}'],
  ]);
  const payloadHash = createHash('sha256').update(enrich).digest('hex');
  expect(log[0]).toMatchObject({ userId: 7, payloadHash });
});
