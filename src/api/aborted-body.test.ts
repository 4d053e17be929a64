import { afterEach, describe, expect, it } from 'vitest';
import { listen } from '@research-mirror/runtime/testing/loopback-server';
import { systemClock } from '@research-mirror/runtime/clock';
import { createTransport, type HttpRequest } from './transport.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close();
});

/** Asks a service that never ends its body, and aborts in the moment in which the headers have come. */
async function abortedInBody(asked: Pick<HttpRequest, 'method' | 'once'>, reason: Error) {
  const server = await listen((_, response) => {
    response.writeHead(201, { 'content-type': 'application/json' }).write('{"job_id":');
  });
  const abort = new AbortController();
  const transport = createTransport({
    baseUrl: server.url,
    userAgent: 'test',
    clock: {
      ...systemClock,
      // Asked once an exchange: when the headers have come.
      monotonic: () => {
        abort.abort(reason);
        return systemClock.monotonic();
      },
    },
  });
  open.push(server, transport);
  return transport.send({ ...asked, path: '/v1/research', key: 'k', signal: abort.signal, maxBytes: 1024 });
}

describe('an abort while the body comes', () => {
  it('keeps the status of what was sent once: it shows the effect', async () => {
    expect(await abortedInBody({ method: 'POST', once: true }, new Error('stop'))).toMatchObject({
      status: 201,
      bodyError: { name: 'TransportError', message: expect.stringContaining('the body broke off') },
    });
  });

  it('ends what only reads', async () => {
    const reason = new Error('stop');
    await expect(abortedInBody({ method: 'GET', once: false }, reason)).rejects.toBe(reason);
  });
});
