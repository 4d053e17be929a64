import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { listen } from '@research-mirror/runtime/testing/loopback-server';
import { systemClock } from '@research-mirror/runtime/clock';
import { answerWith, get, KEY, servers } from '../../test/support/network/servers.ts';
import { AnswerTooLarge, MalformedAnswer, TransportError } from '../model/errors.ts';

const { serve, transport, post } = servers();

describe('a request', () => {
  it('carries the key, asks for JSON, and goes below the base address', async () => {
    let seen: IncomingMessage | undefined;
    const { url } = await serve((request, response) => {
      seen = request;
      response.setHeader('X-RateLimit-Limit', '60').end('{"ok":true}');
    });
    const before = performance.now();
    const answer = await get(transport(`${url}/api/`), '/v1/research?limit=500&starting_after=a%2Fb');
    const headers = { 'x-ratelimit-limit': '60' };
    expect(answer).toMatchObject({ status: 200, headers, text: '{"ok":true}', bytes: 11 });
    expect(answer.receivedAt).toBeGreaterThan(before);
    expect(answer.receivedAt).toBeLessThanOrEqual(performance.now());
    expect(seen).toMatchObject({ method: 'GET', url: '/api/v1/research?limit=500&starting_after=a%2Fb' });
    expect(seen?.headers).toMatchObject({
      authorization: `Bearer ${KEY}`,
      accept: 'application/json',
      'user-agent': 'research-mirror/test',
      'cache-control': 'no-cache',
    });
  });

  it('is sent once, follows no redirect, and uses its connection again', async () => {
    let count = 0;
    const sockets = new Set<Socket>();
    const { url } = await serve((request, response) => {
      count += 1;
      sockets.add(request.socket);
      const status = Number(request.url?.slice(4));
      response.writeHead(status, { location: `${url}/v1/200`, 'retry-after': '0' }).end('no');
    });
    const made = transport(url);
    const statuses = [301, 302, 307, 308, 429, 500, 503];
    for (const status of statuses) expect(await get(made, `/v1/${status}`)).toMatchObject({ status, text: 'no' });
    expect(count).toBe(statuses.length);
    // undici's pool takes a second one while the first is still being tidied up.
    expect(sockets.size).toBeLessThanOrEqual(2);
  });

  it('ends when its headers, a pause in its body, or all of it take too long', async () => {
    const { url } = await serve((request, response) => {
      if (request.url === '/v1/silent') response.write('{');
      if (request.url === '/v1/drip') {
        const timer = setInterval(() => response.write(' '), 10);
        response.on('close', () => clearInterval(timer));
      }
    });
    const headers = transport(url, { limits: { headersMs: 100 } });
    await expect(get(headers)).rejects.toThrow(/did not answer in time/);
    const silence = await get(transport(url, { limits: { silenceMs: 100 } }), '/v1/silent');
    expect(silence.bodyError?.message).toMatch(/broke off after 1 bytes/);
    // All of it is over as soon as the headers have come, of which the clock hears.
    const came = Promise.withResolvers<void>();
    const monotonic = (): number => {
      came.resolve();
      return systemClock.monotonic();
    };
    const clock = { ...systemClock, sleep: () => came.promise, monotonic };
    const drip = await get(transport(url, { limits: { totalMs: 300 }, clock }), '/v1/drip');
    expect(drip.bodyError?.message).toMatch(/no complete answer within 0.3 s/);
    const total = transport(url, { limits: { totalMs: 200 } });
    await expect(get(total)).rejects.toThrow('no complete answer within 0.2 s');
  });

  it.each(['/v1/headers', '/v1/body'])('ends at once with its connection when aborted: %s', async (path) => {
    const begun = Promise.withResolvers<Socket>();
    const { url } = await serve((request, response) => {
      if (request.url === '/v1/body') response.write('{');
      begun.resolve(request.socket);
    });
    const controller = new AbortController();
    const answer = get(transport(url), path, controller.signal).catch((error: unknown) => error);
    const socket = await begun.promise;
    const closed = new Promise((resolve) => socket.once('close', resolve));
    const stop = new Error('stop');
    controller.abort(stop);
    expect(await answer).toBe(stop);
    await closed;
  });

  it('to a service that is not there fails in words', async () => {
    const gone = await listen(() => {});
    await gone.close();
    const refused = `127.0.0.1:${gone.port} refused the connection (ECONNREFUSED)`;
    await expect(get(transport(gone.url))).rejects.toEqual(
      new TransportError(refused, { sent: false, code: 'ECONNREFUSED' }),
    );
    const nowhere = get(transport('https://service.invalid'));
    await expect(nowhere).rejects.toThrow(/service\.invalid has no address/);
  });

  it('goes through the configured proxy unless its host is excepted', async () => {
    const target = await serve(answerWith('{"from":"service"}'));
    const asked: string[] = [];
    const proxy = await serve((request, response) => {
      asked.push(`${request.method} ${request.url}`);
      response.end('{"from":"proxy"}');
    });
    proxy.server.on('connect', (request: IncomingMessage, socket: Socket) => {
      asked.push(`CONNECT ${request.url} ${request.headers['proxy-authorization']}`);
      const onward = connect(target.port, '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        onward.pipe(socket).pipe(onward);
      });
      onward.on('error', () => socket.destroy());
    });
    const url = `http://user:pass@127.0.0.1:${proxy.port}`;
    const asking = (baseUrl: string, http?: string, https?: string, except?: string) =>
      get(transport(baseUrl, { proxy: { http, https, except } }));
    expect(await asking(target.url, url)).toMatchObject({ text: '{"from":"proxy"}' });
    expect(await asking(target.url, url, url, '127.0.0.1')).toMatchObject({ text: '{"from":"service"}' });
    expect(asked).toEqual([`GET ${target.url}/v1/ping`]);
    // TLS through the tunnel fails, since the target speaks plain HTTP; the tunnel itself was asked for.
    const tunnelled = asking(`https://127.0.0.1:${target.port}`, undefined, url);
    const error = await tunnelled.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(TransportError);
    expect(String(error)).not.toContain('pass');
    const basic = Buffer.from('user:pass').toString('base64');
    expect(asked[1]).toBe(`CONNECT 127.0.0.1:${target.port} Basic ${basic}`);
  });

  it('takes no proxy from the environment', async () => {
    const { url } = await serve(answerWith('{}'));
    process.env['HTTP_PROXY'] = 'http://127.0.0.1:9';
    try {
      const proxy = { http: undefined, https: 'http://127.0.0.1:9', except: undefined };
      for (const made of [transport(url, { proxy }), transport(url)])
        expect(await get(made)).toMatchObject({ status: 200 });
    } finally {
      delete process.env['HTTP_PROXY'];
    }
  });
});

describe('a body', () => {
  const GZIP = { 'content-encoding': 'gzip' };
  const LONG = 'x'.repeat(2000);
  const ZEROS = gzipSync('x'.repeat(100_000));
  const text = JSON.stringify({ data: Array.from({ length: 1000 }, (_, id) => ({ id })) });

  it.each([
    ['be compressed', gzipSync(text), GZIP, text],
    ['begin with a byte order mark', '\uFEFF{"é":1}', {}, '{"é":1}'],
    ['be empty', '', GZIP, ''],
  ])('may %s', async (_, body, headers, read) => {
    const { url } = await serve(answerWith(body, headers, body === '' ? 204 : 200));
    const whole = { text: read, bytes: Buffer.byteLength(body), bodyError: undefined };
    expect(await get(transport(url))).toMatchObject(whole);
  });

  const NOT_ASKED_FOR = 'the body has an encoding that was not requested (br)';
  const TOO_LARGE = new AnswerTooLarge('the body is larger than 1000 bytes');
  it.each([
    ['is not UTF-8', Buffer.from([0x7b, 0xe9, 0x7d]), {}, new MalformedAnswer('the body is not UTF-8')],
    ['has another encoding', 'x', { 'content-encoding': 'br' }, new MalformedAnswer(NOT_ASKED_FOR)],
    ['is larger than allowed by what it says itself', LONG, { 'content-length': '2000' }, TOO_LARGE],
    ['is larger than allowed by what comes', LONG, { 'transfer-encoding': 'chunked' }, TOO_LARGE],
    ['is larger than allowed once decompressed', ZEROS, GZIP, TOO_LARGE],
  ])('is no text when it %s', async (_, body, headers, error) => {
    const { url } = await serve(answerWith(body, headers));
    const made = transport(url, { limits: { maxBodyBytes: 1000 } });
    const { bodyError } = await get(made);
    expect(bodyError).toEqual(error);
    expect(bodyError).toBeInstanceOf(error.constructor);
    // The next one is a request like any other.
    expect((await get(made)).status).toBe(200);
  });

  it.each(['/v1/gzip', '/v1/chunked', '/v1/length'])(
    'that breaks off is an error, but its headers count: %s',
    async (path) => {
      const { url } = await serve((request, response) => {
        response.setHeader('X-RateLimit-Remaining', '7');
        if (path === '/v1/gzip') {
          response.setHeader('content-encoding', 'gzip').end(ZEROS.subarray(0, 50));
          return;
        }
        if (path === '/v1/length') response.setHeader('content-length', '1000');
        response.write('{"data":', () => request.socket.destroy());
      });
      const answer = await get(transport(url), path);
      expect(answer).toMatchObject({ status: 200, headers: { 'x-ratelimit-remaining': '7' } });
      expect(answer.bodyError).toBeInstanceOf(TransportError);
    },
  );

  it('of an endless answer is not buffered', async () => {
    const closed = Promise.withResolvers<void>();
    const { url } = await serve((request, response) => {
      request.socket.once('close', () => closed.resolve());
      const pour = (): void => {
        while (!response.destroyed && response.write('x'.repeat(10_000)));
      };
      response.on('drain', pour);
      pour();
    });
    const answer = await get(transport(url, { limits: { maxBodyBytes: 50_000 } }));
    expect(answer.bodyError).toBeInstanceOf(AnswerTooLarge);
    expect(answer.bytes).toBeLessThan(500_000);
    await closed.promise;
  });

  it('that an abort breaks off leaves the status of what was sent once: it shows the effect', async () => {
    const { url } = await serve((_, response) => {
      response.writeHead(201, { 'content-type': 'application/json' }).write('{"job_id":');
    });
    const abort = new AbortController();
    // Asked once an exchange: when the headers have come.
    const monotonic = (): number => {
      abort.abort(new Error('stop'));
      return systemClock.monotonic();
    };
    expect(await post(url, { signal: abort.signal }, { clock: { ...systemClock, monotonic } })).toMatchObject({
      status: 201,
      bodyError: { name: 'TransportError', message: expect.stringContaining('the body broke off') },
    });
  });
});
