import { once } from 'node:events';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { connect, createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { listen, type LoopbackServer } from '../../test/support/loopback-server.ts';
import { AnswerTooLarge, MalformedAnswer, TransportError } from '../model/errors.ts';
import { systemClock } from '../runtime/clock.ts';
import { createTransport, type Transport, type TransportOptions } from './transport.ts';

const KEY = 'sk_test_0123456789';
const open: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close();
});

async function serve(listener: RequestListener): Promise<LoopbackServer> {
  const server = await listen(listener);
  open.push(server);
  return server;
}

function transport(baseUrl: string, options: Partial<TransportOptions> = {}): Transport {
  const made = createTransport({
    baseUrl,
    clock: systemClock,
    userAgent: 'research-mirror/test',
    ...options,
  });
  open.push(made);
  return made;
}

const never = new AbortController().signal;
const get = (made: Transport, path = '/v1/ping', signal = never) => made.get(path, KEY, signal, 'page');
const answerWith =
  (body: string | Buffer, headers: Record<string, string> = {}, status = 200) =>
  (_: IncomingMessage, response: ServerResponse) => {
    response.writeHead(status, headers).end(body);
  };

describe('a request', () => {
  it('carries the key, asks for JSON, and goes below the base address', async () => {
    const seen: IncomingMessage[] = [];
    const { url } = await serve((request, response) => {
      seen.push(request);
      response.setHeader('X-RateLimit-Limit', '60').end('{"ok":true}');
    });
    const before = performance.now();
    const answer = await get(transport(`${url}/api/`), '/v1/research?limit=500&starting_after=a%2Fb');
    expect(answer).toMatchObject({
      status: 200,
      headers: { 'x-ratelimit-limit': '60' },
      body: { text: '{"ok":true}', bytes: 11 },
    });
    expect(answer.receivedAt).toBeGreaterThan(before);
    expect(answer.receivedAt).toBeLessThanOrEqual(performance.now());
    expect(seen[0]?.method).toBe('GET');
    expect(seen[0]?.url).toBe('/api/v1/research?limit=500&starting_after=a%2Fb');
    expect(seen[0]?.headers).toMatchObject({
      authorization: `Bearer ${KEY}`,
      accept: 'application/json',
      'user-agent': 'research-mirror/test',
    });
  });

  it('uses its connection again', async () => {
    const sockets = new Set<Socket>();
    const { url } = await serve((request, response) => {
      sockets.add(request.socket);
      response.end('{}');
    });
    const made = transport(url);
    for (let count = 0; count < 10; count += 1) await get(made);
    // undici's pool takes a second one while the first is still being tidied up.
    expect(sockets.size).toBeLessThanOrEqual(2);
  });

  it('is sent once and follows nothing, whatever the answer', async () => {
    let count = 0;
    const { url } = await serve((request, response) => {
      count += 1;
      const status = Number(request.url?.slice(4));
      response.writeHead(status, { location: `${url}/v1/200`, 'retry-after': '0' }).end('no');
    });
    const made = transport(url);
    const statuses = [301, 302, 307, 308, 429, 500, 503];
    for (const status of statuses) {
      expect(await get(made, `/v1/${status}`)).toMatchObject({ status, body: { text: 'no' } });
    }
    expect(count).toBe(statuses.length);
  });

  it('is sent once when the connection breaks', async () => {
    let count = 0;
    const { url } = await serve((request) => {
      count += 1;
      request.socket.resetAndDestroy();
    });
    await expect(get(transport(url))).rejects.toThrow(/closed the connection before it answered/);
    expect(count).toBe(1);
  });
});

describe('a body', () => {
  it('may be compressed', async () => {
    const text = JSON.stringify({ data: Array.from({ length: 1000 }, (_, id) => ({ id })) });
    const packed = gzipSync(text);
    const { url } = await serve(answerWith(packed, { 'content-encoding': 'gzip' }));
    expect((await get(transport(url))).body).toEqual({ text, bytes: packed.length });
  });

  it('may begin with a byte order mark, and may be empty', async () => {
    const { url } = await serve((request, response) => {
      if (request.url === '/v1/empty') response.writeHead(204, { 'content-encoding': 'gzip' }).end();
      else response.end('\uFEFF{"é":1}');
    });
    const made = transport(url);
    expect((await get(made)).body).toMatchObject({ text: '{"é":1}' });
    expect((await get(made, '/v1/empty')).body).toEqual({ text: '', bytes: 0 });
  });

  it.each([
    ['is not UTF-8', Buffer.from([0x7b, 0xe9, 0x7d]), {}, 'the body is not UTF-8'],
    [
      'has another encoding',
      'x',
      { 'content-encoding': 'br' },
      'the body has an encoding that was not asked for (br)',
    ],
  ])('is no text when it %s', async (_, body, headers, message) => {
    const { url } = await serve(answerWith(body, headers));
    const answer = await get(transport(url, { limits: { maxBodyBytes: 1000 } }));
    expect(answer.body).toMatchObject({ error: new MalformedAnswer(message) });
  });

  it.each([
    ['by what it says itself', 'x'.repeat(2000), { 'content-length': '2000' }],
    ['by what comes', 'x'.repeat(2000), { 'transfer-encoding': 'chunked' }],
    ['once decompressed', gzipSync('x'.repeat(100_000)), { 'content-encoding': 'gzip' }],
  ])('is told apart when it is larger than allowed, %s', async (_, body, headers) => {
    const { url } = await serve(answerWith(body, headers));
    const made = transport(url, { limits: { maxBodyBytes: 1000 } });
    const answer = await get(made);
    expect(answer.body).toMatchObject({ error: new AnswerTooLarge('the body is larger than 1000 bytes') });
    expect('error' in answer.body && answer.body.error).toBeInstanceOf(AnswerTooLarge);
    // The next one is a request like any other.
    expect((await get(made)).status).toBe(200);
  });

  it('that breaks off is an error, but its headers count', async () => {
    const whole = gzipSync('x'.repeat(100_000));
    const { url } = await serve((request, response) => {
      response.setHeader('X-RateLimit-Remaining', '7');
      if (request.url === '/v1/gzip') {
        response.setHeader('content-encoding', 'gzip').end(whole.subarray(0, 50));
      } else if (request.url === '/v1/chunked') {
        response.write('{"data":', () => request.socket.destroy());
      } else {
        response.setHeader('content-length', '1000');
        response.write('{"data":', () => request.socket.destroy());
      }
    });
    const made = transport(url);
    for (const path of ['/v1/gzip', '/v1/chunked', '/v1/length']) {
      const answer = await get(made, path);
      expect(answer).toMatchObject({ status: 200, headers: { 'x-ratelimit-remaining': '7' } });
      expect('error' in answer.body && answer.body.error).toBeInstanceOf(TransportError);
    }
  });

  it('of an endless answer is not held in memory', async () => {
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
    expect('error' in answer.body && answer.body.error).toBeInstanceOf(AnswerTooLarge);
    expect(answer.body.bytes).toBeLessThan(500_000);
    await closed.promise;
  });
});

describe('time', () => {
  it('is bounded for headers, for silence within a body, and for all of it', async () => {
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
    expect('error' in silence.body && silence.body.error.message).toMatch(/broke off after 1 bytes/);
    const drip = await get(transport(url, { limits: { totalMs: 300 } }), '/v1/drip');
    expect('error' in drip.body && drip.body.error.message).toMatch(/no complete answer within 0.3 s/);
    const total = transport(url, { limits: { totalMs: 200 } });
    await expect(get(total)).rejects.toThrow('no complete answer within 0.2 s');
  });

  it('ends at once for whoever aborts, and the request goes with its connection', async () => {
    for (const path of ['/v1/headers', '/v1/body']) {
      const begun = Promise.withResolvers<Socket>();
      const { url } = await serve((request, response) => {
        if (request.url === '/v1/body') response.write('{');
        begun.resolve(request.socket);
      });
      const controller = new AbortController();
      const answer = get(transport(url), path, controller.signal).catch((error: unknown) => error);
      const socket = await begun.promise;
      const closed = new Promise((resolve) => {
        socket.once('close', resolve);
      });
      const stop = new Error('stop');
      controller.abort(stop);
      expect(await answer).toBe(stop);
      await closed;
    }
  });

  it('ends at once for whoever aborts while no connection comes about, and nothing is sent later', async () => {
    // A proxy that accepts connections and says nothing keeps undici connecting.
    const hanging = createTcpServer();
    const connected = once(hanging, 'connection');
    hanging.listen(0, '127.0.0.1');
    await once(hanging, 'listening');
    const { port } = hanging.address() as AddressInfo;
    const https = `http://127.0.0.1:${port}`;
    const made = transport('https://service.invalid', {
      proxy: { http: undefined, https, except: undefined },
    });
    const controller = new AbortController();
    const answer = get(made, '/v1/ping', controller.signal).catch((error: unknown) => error);
    const [socket] = (await connected) as [Socket];
    const stop = new Error('stop');
    controller.abort(stop);
    // The slot of a request that was never written is free again.
    expect(await answer).toMatchObject({ name: 'NotSent', cause: stop });
    await expect(get(made, '/v1/ping', controller.signal)).rejects.toMatchObject({ cause: stop });
    socket.destroy();
    hanging.close();
  });
});

describe('a service that is not there', () => {
  it('is told in words', async () => {
    const gone = await listen(() => {});
    await gone.close();
    await expect(get(transport(gone.url))).rejects.toEqual(
      new TransportError(`127.0.0.1:${gone.port} refused the connection (ECONNREFUSED)`, { sent: false }),
    );
    await expect(get(transport('https://service.invalid'))).rejects.toThrow(
      /service\.invalid has no address/,
    );
  });
});

describe('a proxy', () => {
  it('is used where one is given, but not for hosts that are excepted', async () => {
    const target = await serve(answerWith('{"from":"service"}'));
    const asked: string[] = [];
    const proxy = await serve((request, response) => {
      asked.push(`${request.method} ${request.url}`);
      response.end('{"from":"proxy"}');
    });
    proxy.server.on('connect', (request: IncomingMessage, socket: Socket) => {
      asked.push(`CONNECT ${request.url} ${request.headers['proxy-authorization']}`);
      const { hostname, port } = new URL(`http://${request.url}`);
      const onward = connect(Number(port), hostname, () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        onward.pipe(socket).pipe(onward);
      });
      onward.on('error', () => socket.destroy());
      socket.on('error', () => onward.destroy());
    });
    const url = `http://user:pass@127.0.0.1:${proxy.port}`;
    const through = transport(target.url, { proxy: { http: url, https: undefined, except: undefined } });
    expect(await get(through)).toMatchObject({ body: { text: '{"from":"proxy"}' } });
    const except = transport(target.url, { proxy: { http: url, https: url, except: '127.0.0.1' } });
    expect(await get(except)).toMatchObject({ body: { text: '{"from":"service"}' } });
    expect(asked).toEqual([`GET ${target.url}/v1/ping`]);
    // TLS through the tunnel fails, since the target speaks plain HTTP; the tunnel itself was asked for.
    const tunnelled = transport(`https://127.0.0.1:${target.port}`, {
      proxy: { http: undefined, https: url, except: undefined },
    });
    const error = await get(tunnelled).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(TransportError);
    expect(String(error)).not.toContain('pass');
    expect(asked[1]).toBe(
      `CONNECT 127.0.0.1:${target.port} Basic ${Buffer.from('user:pass').toString('base64')}`,
    );
  });

  it('is not taken from the environment behind the configuration’s back', async () => {
    const { url } = await serve(answerWith('{}'));
    process.env['HTTP_PROXY'] = 'http://127.0.0.1:9';
    try {
      const proxy = { http: undefined, https: 'http://127.0.0.1:9', except: undefined };
      expect(await get(transport(url, { proxy }))).toMatchObject({ status: 200 });
      expect(await get(transport(url))).toMatchObject({ status: 200 });
    } finally {
      delete process.env['HTTP_PROXY'];
    }
  });
});
