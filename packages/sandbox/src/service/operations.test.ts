import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { httpSandbox } from '../../testing/http-sandbox.ts';

const { sandbox, ask, post, walk } = httpSandbox({ keys: 'one=7', jobs: 300 });
const under = (key: string): Record<string, string> => ({ 'Idempotency-Key': key });

it('accepts the POST operations, and what they create is at the top of its list', async () => {
  for (const [path, field] of [
    ['/v1/research', 'job_id'],
    ['/v1/research/bulk', 'bulk_job_id'],
    ['/v1/lists', 'list_id'],
  ] as const) {
    const made = await post(path, { url: 'https://made.example', name: 'Made', anything: [1, null] });
    expect(made.status).toBe(201);
    expect((await ask(`${path}?limit=1`)).body).toMatchObject({
      data: [{ [field]: made.body[field], name: 'Made' }],
    });
  }
  const before = (await ask('/v1/account')).body['credits'] as number;
  for (const path of ['/v1/enrich', '/v1/clay/enrich'])
    expect((await post(path, { any: 'thing' })).body['id']).toMatch(/^enr_/);
  expect((await ask('/v1/account')).body['credits']).toBeCloseTo(before - 0.75, 5);
});

it('accepts operations on a target, with or without a body, and refuses missing targets', async () => {
  const [list = ''] = await walk('/v1/lists');
  const [job = ''] = await walk('/v1/research');
  const analyzed = await post(`/v1/lists/${list}/analyze`, '');
  expect(analyzed.body).toMatchObject({ list_id: Number(list), status: 'analyzing' });
  const sequence = await post(`/v1/research/${job}/sequence`, {});
  expect(sequence.body).toMatchObject({ id: expect.stringMatching(/^seq_/), job_id: Number(job) });
  for (const path of ['/v1/lists/999/analyze', '/v1/research/999/sequence'])
    expect((await post(path, {})).status).toBe(404);
});

it('refuses a body that is not JSON, and an endpoint that it does not have', async () => {
  for (const path of ['/v1/research', '/v1/enrich', '/v1/clay/enrich', '/v1/research/bulk', '/v1/lists']) {
    for (const body of ['url=x', '']) expect((await post(path, body)).status).toBe(400);
  }
  expect((await ask('/v1/everything')).status).toBe(404);
  expect((await ask('/v1/research', { method: 'DELETE' })).status).toBe(404);
  expect((await ask('/v1/lists/%E0%A4%A')).status).toBe(404);
});

it('does a POST twice under one Idempotency-Key only where that is ignored', async () => {
  const made = async (): Promise<unknown> => (await post('/v1/research', {}, under('k1'))).body['job_id'];
  expect(await made()).not.toBe(await made());
  await sandbox.control.change({ idempotency: 'honoured' });
  expect(await made()).toBe(await made());
});

it('logs each operation that took effect, once, with its payload', async () => {
  const { control } = sandbox;
  const after = (await control.operations()).at(-1)?.number;
  const [job = ''] = await walk('/v1/research');
  const enrich = '{"marker": "é"}';
  await post('/v1/enrich', enrich, under('k7'));
  await post(`/v1/research/${job}/sequence`, '');
  await post('/v1/clay/enrich', { marker: 'x'.repeat(5000) });
  await post('/v1/research/999/sequence', {});
  await post('/v1/enrich', 'no JSON');
  await control.change({ idempotency: 'honoured' });
  for (const _ of [1, 2]) await post('/v1/lists', {}, under('k8'));
  await control.change({ idempotency: 'ignored', fault500: 1, faultEffect: 'done' });
  expect((await post('/v1/enrich', { marker: 2 })).status).toBe(500);
  await control.change({ faultEffect: 'undone' });
  expect((await post('/v1/enrich', { marker: 3 })).status).toBe(500);
  await control.change({ fault500: 0 });
  const log = await control.operations(after);
  expect(log.map((each) => [each.operation, each.target, each.idempotencyKey, each.payload])).toEqual([
    ['enrich', null, 'k7', enrich],
    ['sequence', job, null, ''],
    ['clay_enrich', null, null, null],
    ['list', null, 'k8', '{}'],
    ['enrich', null, null, '{"marker":2}'],
  ]);
  const payloadHash = createHash('sha256').update(enrich).digest('hex');
  expect(log[0]).toMatchObject({ userId: 7, payloadHash });
});
