import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { answerWith, get, transports } from '../../test/support/network/transports.ts';
import { TransportError } from '../model/errors.ts';

const { serve, transport } = transports();

it('a proxy is used where one is given, but not for hosts that are excepted', async () => {
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

it('no proxy is taken from the environment behind the configuration’s back', async () => {
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
