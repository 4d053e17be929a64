import { createSecureServer } from 'node:http2';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { SELF_SIGNED } from '../../support/network/self-signed.ts';
import { socketServers, through } from '../../support/network/socket-servers.ts';

// What is sent once goes on a connection that nothing was sent on before, and nothing is afterwards.

const { serve, service, tunnelTo, transport, post } = socketServers();

describe('a request on a connection of its own', () => {
  it('never meets one that is kept, and says that it keeps none', async () => {
    const { port, received } = await service();
    const wire = transport({ baseUrl: `http://127.0.0.1:${port}` });
    const signal = new AbortController().signal;
    const common = { path: '/v1/lists', key: 'k', signal, maxBytes: 100 } as const;
    await wire.send({ ...common, method: 'GET', once: false });
    for (let count = 0; count < 3; count += 1) {
      const answer = await wire.send({
        ...common,
        method: 'POST',
        once: true,
        body: '{"é":1}',
        headers: { 'idempotency-key': 'u-1' },
      });
      expect(answer).toMatchObject({ status: 200, text: '{}' });
    }
    expect(new Set(received.map((request) => request.socket)).size).toBe(4);
    expect(received.at(-1)).toMatchObject({
      method: 'POST',
      headers: {
        connection: 'close',
        'content-type': 'application/json',
        'content-length': '8',
        'idempotency-key': 'u-1',
        authorization: 'Bearer k',
      },
    });
  });

  it('speaks HTTP/1.1 through a tunnel, too, even with a server that offers more', async () => {
    const versions: string[] = [];
    const server = createSecureServer({ ...SELF_SIGNED, allowHTTP1: true }, (request, response) => {
      versions.push(request.httpVersion);
      request.resume().on('end', () => response.end('{}'));
    });
    const target = await serve(server);
    const proxy = await tunnelTo(target);
    const trusted = getCACertificates('default');
    setDefaultCACertificates([...trusted, SELF_SIGNED.cert]);
    try {
      const answer = await post(`https://localhost:${target}`, {}, { proxy: through(proxy) });
      expect(answer.status).toBe(200);
    } finally {
      setDefaultCACertificates(trusted);
    }
    expect(versions).toEqual(['1.1']);
  });
});
