import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { httpSandbox } from '../../testing/http-sandbox.ts';

const { sandbox, ask, post, walk } = httpSandbox({ keys: 'one=7', jobs: 300 });

describe('the service', () => {
  it('accepts the POST operations, and what they create is at the top of its list', async () => {
    for (const [path, listed, field] of [
      ['/v1/research', '/v1/research', 'job_id'],
      ['/v1/research/bulk', '/v1/research/bulk', 'bulk_job_id'],
      ['/v1/lists', '/v1/lists', 'list_id'],
    ] as const) {
      const made = await post(path, { url: 'https://made.example', name: 'Made', anything: [1, null] });
      expect(made.status).toBe(201);
      const { body } = await ask(`${listed}?limit=1`);
      const [top] = body['data'] as Record<string, unknown>[];
      expect(top).toMatchObject({ [field]: made.body[field], name: 'Made' });
    }
    const before = (await ask('/v1/account')).body['credits'] as number;
    for (const path of ['/v1/enrich', '/v1/clay/enrich'])
      expect((await post(path, { any: 'thing' })).body['id']).toMatch(/^enr_/);
    expect((await ask('/v1/account')).body['credits']).toBeCloseTo(before - 0.75, 5);
  });

  it('accepts operations on a target, with or without a body, and refuses missing targets', async () => {
    const [list = ''] = await walk('/v1/lists');
    expect((await post(`/v1/lists/${list}/analyze`, '')).body).toMatchObject({
      list_id: Number(list),
      status: 'analyzing',
    });
    const [job = ''] = await walk('/v1/research');
    expect((await post(`/v1/research/${job}/sequence`, {})).body).toMatchObject({
      id: expect.stringMatching(/^seq_/),
      job_id: Number(job),
    });
    expect((await post('/v1/lists/999/analyze', {})).status).toBe(404);
    expect((await post('/v1/research/999/sequence', {})).status).toBe(404);
  });

  it('refuses a body that is not JSON, and an endpoint that it does not have', async () => {
    for (const path of ['/v1/research', '/v1/enrich', '/v1/clay/enrich', '/v1/research/bulk', '/v1/lists']) {
      expect((await post(path, 'url=x')).status).toBe(400);
      expect((await post(path, '')).status).toBe(400);
    }
    expect((await ask('/v1/everything')).status).toBe(404);
    expect((await ask('/v1/research', { method: 'DELETE' })).status).toBe(404);
    expect((await ask('/v1/lists/%E0%A4%A')).status).toBe(404);
  });

  it('does a POST twice under one Idempotency-Key only where that is ignored', async () => {
    const twice = async (): Promise<unknown[]> => [
      (await post('/v1/research', {}, { 'Idempotency-Key': 'k1' })).body['job_id'],
      (await post('/v1/research', {}, { 'Idempotency-Key': 'k1' })).body['job_id'],
    ];
    const [first, second] = await twice();
    expect(second).not.toBe(first);
    await sandbox.control.change({ idempotency: 'honoured' });
    const [third, fourth] = await twice();
    expect(fourth).toBe(third);
  });

  it('logs each operation that took effect, once, with its payload', async () => {
    const after = (await sandbox.control.operations()).at(-1)?.number;
    const [job = ''] = await walk('/v1/research');
    await post('/v1/enrich', '{"marker": "é"}', { 'Idempotency-Key': 'k7' });
    await post(`/v1/research/${job}/sequence`, '');
    await post('/v1/clay/enrich', { marker: 'x'.repeat(5000) });
    await post('/v1/research/999/sequence', {});
    await post('/v1/enrich', 'no JSON');
    await sandbox.control.change({ idempotency: 'honoured' });
    for (const _ of [1, 2]) await post('/v1/lists', {}, { 'Idempotency-Key': 'k8' });
    await sandbox.control.change({ idempotency: 'ignored', fault500: 1, faultEffect: 'done' });
    expect((await post('/v1/enrich', { marker: 2 })).status).toBe(500);
    await sandbox.control.change({ faultEffect: 'undone' });
    expect((await post('/v1/enrich', { marker: 3 })).status).toBe(500);
    await sandbox.control.change({ fault500: 0 });
    const log = await sandbox.control.operations(after);
    expect(
      log.map(({ operation, target, idempotencyKey, payload }) => [
        operation,
        target,
        idempotencyKey,
        payload,
      ]),
    ).toEqual([
      ['enrich', null, 'k7', '{"marker": "é"}'],
      ['sequence', job, null, ''],
      ['clay_enrich', null, null, null],
      ['list', null, 'k8', '{}'],
      ['enrich', null, null, '{"marker":2}'],
    ]);
    expect(log[0]).toMatchObject({
      userId: 7,
      payloadHash: createHash('sha256').update('{"marker": "é"}').digest('hex'),
    });
  });
});
