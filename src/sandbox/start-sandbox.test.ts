import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestSandbox, STILL, type TestSandbox } from '../../test/support/sandbox.ts';
import { Unusable } from '../model/errors.ts';
import { startSandbox } from './start-sandbox.ts';

let sandbox: TestSandbox;

beforeAll(async () => {
  sandbox = await startTestSandbox({ ...STILL, keys: 'one=7,two=7,three=8', jobs: 300, limits: 'off' });
});

afterAll(async () => {
  await sandbox.stop();
});

interface Got {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Record<string, unknown>;
}

interface Asking {
  readonly key?: string;
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Record<string, string>;
}

async function ask(path: string, { key = sandbox.key, headers: more, ...rest }: Asking = {}): Promise<Got> {
  const headers = { ...(key === '' ? {} : { authorization: `Bearer ${key}` }), ...more };
  const response = await fetch(`${sandbox.url}${path}`, { redirect: 'manual', ...rest, headers });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: parsed(text) };
}

function parsed(text: string): Record<string, unknown> {
  try {
    return (JSON.parse(text) ?? {}) as Record<string, unknown>;
  } catch {
    return {};
  }
}

function post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Got> {
  return ask(path, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body), headers });
}

async function walk(path: string): Promise<string[]> {
  const ids: string[] = [];
  const field =
    { '/v1/research': 'job_id', '/v1/research/bulk': 'bulk_job_id', '/v1/lists': 'list_id' }[path] ?? 'id';
  for (;;) {
    const after = ids.length === 0 ? '' : `&starting_after=${ids.at(-1) ?? ''}`;
    const { status, body } = await ask(`${path}?limit=50${after}`);
    expect(status).toBe(200);
    expect(body['object']).toBe('list');
    ids.push(...(body['data'] as Record<string, unknown>[]).map((item) => String(item[field])));
    if (body['has_more'] !== true) return ids;
  }
}

describe('the service', () => {
  it('answers ping and account with the key’s owner', async () => {
    expect((await ask('/v1/ping')).body).toEqual({ object: 'ping', status: 'ok', user_id: 7 });
    expect((await ask('/v1/ping', { key: 'two' })).body['user_id']).toBe(7);
    expect((await ask('/v1/ping', { key: 'three' })).body['user_id']).toBe(8);
    expect((await ask('/v1/account')).body).toEqual({
      object: 'account',
      user_id: 7,
      email: expect.stringContaining('@'),
      credits: expect.any(Number),
      subscription: expect.any(String),
      org: expect.any(String),
    });
  });

  it('refuses a missing and a wrong key, with the status and the body that the switches name', async () => {
    expect((await ask('/v1/ping', { key: '' })).status).toBe(401);
    expect((await ask('/v1/ping', { key: 'four' })).body).toEqual({
      error: { code: 'invalid_key', message: expect.any(String) },
    });
    await sandbox.control.change({ badKey: '403', missingKey: '422', errorBody: 'details' });
    expect((await ask('/v1/ping', { key: '' })).status).toBe(422);
    const refused = await ask('/v1/ping', { key: 'four' });
    expect([refused.status, refused.body]).toEqual([
      403,
      { detail: [expect.objectContaining({ type: 'invalid_key' })] },
    ]);
    await sandbox.control.change({ badKey: '401', missingKey: '401', errorBody: 'html' });
    expect((await ask('/v1/ping', { key: 'four' })).text).toContain('<html>');
    await sandbox.control.change({ errorBody: 'code' });
  });

  it('carries the rate limit headers on every response', async () => {
    for (const got of [
      await ask('/v1/ping'),
      await ask('/v1/nothing'),
      await ask('/v1/ping', { key: 'x' }),
      await post('/v1/lists', '{'),
    ]) {
      for (const name of ['Limit', 'Remaining', 'Reset'])
        expect(got.headers.get(`X-RateLimit-${name}`)).toMatch(/^\d+$/);
    }
  });

  it.each(['/v1/research', '/v1/research/bulk', '/v1/lists', '/v1/watchlist'] as const)(
    'pages through %s',
    async (path) => {
      const collection = (
        {
          '/v1/research': 'research_jobs',
          '/v1/research/bulk': 'bulk_research_jobs',
          '/v1/lists': 'lists',
          '/v1/watchlist': 'watchlist',
        } as const
      )[path];
      const ids = await walk(path);
      const truth = await sandbox.control.truth({ collection });
      expect(truth.map((text) => String(Object.values(JSON.parse(text) as object)[0]))).toEqual(ids);
      expect(await sandbox.control.count({ collection })).toBe(ids.length);
      expect(ids.length).toBeGreaterThan(20);
    },
  );

  it('pages through the items of a list', async () => {
    const [list = ''] = await walk('/v1/lists');
    const ids = await walk(`/v1/lists/${list}`);
    expect(ids).toHaveLength(60);
    expect(await sandbox.control.truth({ collection: 'list_items', list })).toHaveLength(60);
    expect((await ask('/v1/lists/999')).status).toBe(404);
  });

  it('answers the very bytes that the control API calls the truth', async () => {
    await sandbox.control.clock({ freeze: true });
    const { text } = await ask('/v1/research?limit=500');
    const truth = await sandbox.control.truth({ collection: 'research_jobs' });
    expect(text).toBe(`{"object":"list","data":[${truth.join(',')}],"has_more":false}`);
    await sandbox.control.clock({ resume: true });
  });

  it('registers, shows and forgets a webhook, with a new secret each time', async () => {
    expect((await ask('/v1/webhooks')).text).toBe('null');
    const url = 'https://hooks.example/in';
    const first = await post('/v1/webhooks/register', { url });
    expect(first.body).toEqual({
      object: 'webhook',
      url,
      secret: expect.stringMatching(/^[0-9a-f]{64}$/),
      active: true,
      event_types: null,
    });
    const second = await post('/v1/webhooks/register', { url, event_types: ['research.completed'] });
    expect(second.body['secret']).not.toBe(first.body['secret']);
    expect((await ask('/v1/webhooks')).body).toEqual({
      object: 'webhook',
      url,
      active: true,
      event_types: ['research.completed'],
    });
    expect((await sandbox.control.webhook(7))?.secret).toBe(second.body['secret']);
    expect((await ask('/v1/webhooks', { key: 'three' })).text).toBe('null');
    expect((await post('/v1/webhooks/register', { url: 'nowhere' })).status).toBe(400);
    expect((await post('/v1/webhooks/register', { url, event_types: ['moon.full'] })).status).toBe(400);
    const gone = await ask('/v1/webhooks', { method: 'DELETE' });
    expect([gone.status, gone.text]).toEqual([204, '']);
    for (const [noWebhook, status, text] of [
      ['object', 200, '{}'],
      ['404', 404, expect.any(String)],
      ['204', 204, ''],
      ['empty-list', 200, expect.stringContaining('"data":[]')],
    ] as const) {
      await sandbox.control.change({ noWebhook });
      const got = await ask('/v1/webhooks');
      expect([got.status, got.text]).toEqual([status, text]);
    }
    await sandbox.control.change({ noWebhook: 'null' });
  });

  it('accepts the POST operations, and what they made appears at the top of its list', async () => {
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

  it('accepts operations on a target, with or without a body, and knows missing targets', async () => {
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

  it('tells of each operation that took effect, once, with what was sent', async () => {
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

  it.each([
    ['string', expect.stringMatching(/^\d+\.\d\d$/)],
    ['object', { balance: expect.any(Number), unit: 'credits' }],
    ['cents', expect.any(Number)],
    ['null', null],
  ] as const)('tells credits as %s', async (credits, shape) => {
    await sandbox.control.change({ credits });
    expect((await ask('/v1/account')).body['credits']).toEqual(shape);
  });
});

describe('the limits of the service', () => {
  it('refuse the 61st request of a key within 60 s, and say when to come again', async () => {
    await sandbox.control.change({ limits: 'on' });
    await sandbox.control.resetWindows();
    const statuses: number[] = [];
    for (let number = 0; number < 60; number += 1) statuses.push((await ask('/v1/ping')).status);
    expect(new Set(statuses)).toEqual(new Set([200]));
    const refused = await ask('/v1/watchlist');
    expect(refused.status).toBe(429);
    expect(refused.headers.get('X-RateLimit-Remaining')).toBe('0');
    expect(Number(refused.headers.get('Retry-After'))).toBeGreaterThan(50);
    expect((await ask('/v1/ping', { key: 'two' })).status).toBe(200);
    expect((await post('/v1/enrich', {})).status).toBe(201);
    expect((await sandbox.control.counters()).rateLimited).toBe(1);
    await sandbox.control.change({ limits: 'off' });
  });
});

describe('starting a sandbox', () => {
  it('fails with every problem of its options', async () => {
    await expect(startSandbox({ jobs: -1, latencyMin: 3.5 })).rejects.toThrow(/jobs: .*latency-min: /);
  });

  it('fails in one line when its port is taken, and leaves nothing open', async () => {
    const port = Number(new URL(sandbox.url).port);
    await expect(startSandbox({ port, controlPort: 0 })).rejects.toThrow(Unusable);
    await expect(startSandbox({ port: 0, controlPort: port })).rejects.toThrow(
      /can't listen on 127\.0\.0\.1/,
    );
  });
});
