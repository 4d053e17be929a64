import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { httpSandbox } from '../testing/http-sandbox.ts';
import { Unusable } from '@research-mirror/runtime/errors';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { startSandbox } from './start-sandbox.ts';
import type { SandboxOptions } from './switches/sandbox-switches.ts';

const { sandbox, ask, post } = httpSandbox({ keys: 'one=7,two=7,three=8', jobs: 300 });

describe('the service', () => {
  it('answers ping and account with the key’s owner', async () => {
    const owner = async (key: string): Promise<unknown> => (await ask('/v1/ping', { key })).body['user_id'];
    expect([await owner('one'), await owner('two'), await owner('three')]).toEqual([7, 7, 8]);
    expect((await ask('/v1/ping')).body).toEqual({ object: 'ping', status: 'ok', user_id: 7 });
    expect((await ask('/v1/account')).body).toEqual({
      object: 'account',
      user_id: 7,
      email: expect.stringContaining('@'),
      credits: expect.any(Number),
      subscription: expect.any(String),
      org: expect.any(String),
    });
  });

  it.each<[string, string, Partial<SandboxOptions>, number, RegExp]>([
    ['ping', 'four', {}, 401, /^\{"error":\{"code":"invalid_key","message":/],
    ['ping', '', { missingKey: '422', errorBody: 'details' }, 422, /^\{"detail":\[\{/],
    ['ping', 'four', { badKey: '403', errorBody: 'details' }, 403, /^\{"detail":\[\{.*"type":"invalid_key"/],
    ['ping', 'four', { errorBody: 'html' }, 401, /<html>/],
    ['webhooks', 'one', { noWebhook: 'object' }, 200, /^\{\}$/],
    ['webhooks', 'one', { noWebhook: '404' }, 404, /./],
    ['webhooks', 'one', { noWebhook: '204' }, 204, /^$/],
    ['webhooks', 'one', { noWebhook: 'empty-list' }, 200, /"data":\[\]/],
    ['webhooks', 'one', { noWebhook: 'null' }, 200, /^null$/],
    ['account', 'one', { credits: 'string' }, 200, /"credits":"\d+\.\d\d"/],
    ['account', 'one', { credits: 'object' }, 200, /"credits":\{"balance":[\d.]+,"unit":"credits"\}/],
    ['account', 'one', { credits: 'cents' }, 200, /"credits":\d+[,}]/],
    ['account', 'one', { credits: 'null' }, 200, /"credits":null/],
  ])('answers %s with the key "%s" as the switches say: %o', async (path, key, switches, status, text) => {
    await sandbox.control.change(switches);
    const answer = await ask(`/v1/${path}`, { key });
    expect(answer).toMatchObject({ status, text: expect.stringMatching(text) as string });
    await sandbox.control.change({ errorBody: 'code', badKey: '401', missingKey: '401', noWebhook: 'null' });
  });

  it('carries the rate limit headers on every response', async () => {
    const all = [ask('/v1/ping'), ask('/v1/nothing'), ask('/v1/ping', { key: 'x' }), post('/v1/lists', '{')];
    for (const { headers } of await Promise.all(all)) {
      for (const name of ['Limit', 'Remaining', 'Reset']) expect(headers.get(`X-RateLimit-${name}`)).toMatch(/^\d+$/);
    }
  });

  it('registers, shows and removes a webhook, with a new secret each time', async () => {
    expect((await ask('/v1/webhooks')).text).toBe('null');
    const url = 'https://hooks.example/in';
    const first = await post('/v1/webhooks/register', { url });
    const shown = { object: 'webhook', url, active: true };
    const secret = expect.stringMatching(/^[0-9a-f]{64}$/) as string;
    expect(first.body).toEqual({ ...shown, secret, event_types: null });
    const types = { event_types: ['research.completed'] };
    const second = await post('/v1/webhooks/register', { url, ...types });
    expect(second.body['secret']).not.toBe(first.body['secret']);
    expect((await ask('/v1/webhooks')).body).toEqual({ ...shown, ...types });
    expect((await sandbox.control.webhook(7))?.secret).toBe(second.body['secret']);
    expect((await ask('/v1/webhooks', { key: 'three' })).text).toBe('null');
    for (const wrong of [{ url: 'nowhere' }, { url, event_types: ['moon.full'] }])
      expect((await post('/v1/webhooks/register', wrong)).status).toBe(400);
    expect(await ask('/v1/webhooks', { method: 'DELETE' })).toMatchObject({ status: 204, text: '' });
  });

  it('refuses the 61st request of a key within 60 s, and counts it', async () => {
    await sandbox.control.change({ limits: 'on' });
    await sandbox.control.resetWindows();
    for (let number = 0; number < 60; number += 1) expect((await ask('/v1/ping')).status).toBe(200);
    expect((await ask('/v1/watchlist')).status).toBe(429);
    expect((await ask('/v1/ping', { key: 'two' })).status).toBe(200);
    expect((await sandbox.control.counters()).rateLimited).toBe(1);
    await sandbox.control.change({ limits: 'off' });
  });
});

describe('what strangers send', () => {
  const KEY = 'Authorization: Bearer one';
  /** First line of the answer to `GET <target>`; '' where there is none. */
  const answerTo = (url: string, target: string, header = 'Accept: */*'): Promise<string> =>
    new Promise((resolve) => {
      let text = '';
      const socket = connect(Number(new URL(url).port), '127.0.0.1', () =>
        socket.write(`GET ${target} HTTP/1.1\r\nHost: x\r\n${header}\r\nConnection: close\r\n\r\n`),
      );
      socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
      socket.on('error', () => {});
      socket.on('close', () => resolve(text.split('\r\n', 1)[0] ?? ''));
    });

  const SLASHES = ['/', '//', '///', '//v1/ping', '/\\', '*'];
  const PERCENTS = ['/%', '/v1/lists/%', '/%00', '/?starting_after=%'];
  it.each([...SLASHES, ...PERCENTS, 'http://', 'http://[', 'https://other.example/'])(
    'is answered, and ends nothing: %s',
    async (target) => {
      const { url, controlUrl } = sandbox;
      expect(await answerTo(url, target)).toBe('HTTP/1.1 401 Unauthorized');
      expect(await answerTo(url, target, KEY)).toBe('HTTP/1.1 404 Not Found');
      expect(await answerTo(controlUrl, target)).toBe('HTTP/1.1 404 Not Found');
      expect((await ask('/v1/ping')).status).toBe(200);
    },
  );

  it('is answered as the address that it is, where a proxy sends the whole of it', async () => {
    expect(await answerTo(sandbox.url, 'http://service.example/v1/ping', KEY)).toBe('HTTP/1.1 200 OK');
  });

  it('is refused, where headers have no end', async () => {
    const header = `X-Long: ${'x'.repeat(100_000)}`;
    for (const url of [sandbox.url, sandbox.controlUrl])
      expect(await answerTo(url, '/', header)).toMatch(/^(HTTP\/1.1 431 .*)?$/);
    expect((await ask('/v1/ping')).status).toBe(200);
  });

  it('may be a webhook’s URL that can’t be sent to: its deliveries fail, and nothing else does', async () => {
    const { control } = sandbox;
    expect((await post('/v1/webhooks/register', { url: 'http://%ff@127.0.0.1:1/' })).status).toBe(200);
    await control.change({ deliveryRetries: 0 });
    await control.emit({ type: 'research.completed' });
    await eventually('the delivery to fail', async () => (await control.counters()).deliveries.failed > 0);
    await ask('/v1/webhooks', { method: 'DELETE' });
  });
});

it('starting a sandbox fails in one line when its port is taken, and leaves nothing open', async () => {
  const port = Number(new URL(sandbox.url).port);
  await expect(startSandbox({ port, controlPort: 0 })).rejects.toThrow(Unusable);
  await expect(startSandbox({ port: 0, controlPort: port })).rejects.toThrow(/can't listen on 127\.0\.0\.1/);
});
