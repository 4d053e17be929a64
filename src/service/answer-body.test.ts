import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { systemClock } from '@research-mirror/runtime/clock';
import { answerWith, get, KEY, transports } from '../../test/support/network/transports.ts';
import { AnswerTooLarge, MalformedAnswer, TransportError } from '../model/errors.ts';

const { serve, transport } = transports();
const GZIP = { 'content-encoding': 'gzip' };
const LONG = 'x'.repeat(2000);
const ZEROS = gzipSync('x'.repeat(100_000));

describe('a body', () => {
  const text = JSON.stringify({ data: Array.from({ length: 1000 }, (_, id) => ({ id })) });
  it.each([
    ['be compressed', gzipSync(text), GZIP, text],
    ['begin with a byte order mark', '\uFEFF{"é":1}', {}, '{"é":1}'],
    ['be empty', '', GZIP, ''],
  ])('may %s', async (_, body, headers, read) => {
    const { url } = await serve(answerWith(body, headers, body === '' ? 204 : 200));
    expect(await get(transport(url))).toMatchObject({
      text: read,
      bytes: Buffer.byteLength(body),
      bodyError: undefined,
    });
  });

  const NOT_ASKED_FOR = 'the body has an encoding that was not asked for (br)';
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

  it('that breaks off is an error, but its headers count', async () => {
    const { url } = await serve((request, response) => {
      response.setHeader('X-RateLimit-Remaining', '7');
      if (request.url === '/v1/gzip') {
        response.setHeader('content-encoding', 'gzip').end(ZEROS.subarray(0, 50));
        return;
      }
      if (request.url === '/v1/length') response.setHeader('content-length', '1000');
      response.write('{"data":', () => request.socket.destroy());
    });
    const made = transport(url);
    for (const path of ['/v1/gzip', '/v1/chunked', '/v1/length']) {
      const answer = await get(made, path);
      expect(answer).toMatchObject({ status: 200, headers: { 'x-ratelimit-remaining': '7' } });
      expect(answer.bodyError).toBeInstanceOf(TransportError);
    }
  });

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
    const clock = {
      ...systemClock,
      // Asked once an exchange: when the headers have come.
      monotonic: () => {
        abort.abort(new Error('stop'));
        return systemClock.monotonic();
      },
    };
    const request = { method: 'POST', path: '/v1/research', key: KEY, once: true, maxBytes: 1024 } as const;
    expect(await transport(url, { clock }).send({ ...request, signal: abort.signal })).toMatchObject({
      status: 201,
      bodyError: { name: 'TransportError', message: expect.stringContaining('the body broke off') },
    });
  });
});
