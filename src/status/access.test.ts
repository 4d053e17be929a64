import { expect, it } from 'vitest';
import { isLoopbackName, isLoopbackHostHeader, tokenCheck } from './reply.ts';

const basic = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`;

const RIGHT = ['Bearer tökén:1', 'bearer   tökén:1 ', basic('admin:tökén:1'), basic(':tökén:1')];
const NO_BEARER = ['Bearer', 'Bearer ', 'Bearer tökén', 'Bearer tökén:1 tökén:1'];
const NO_BASIC = ['Basic tökén:1', basic('tökén'), basic('tökén:1:')];

it.each([
  [true, RIGHT],
  [false, [undefined, '', 'tökén:1', 'Digest tökén:1', ...NO_BEARER, ...NO_BASIC]],
])('the token check lets in (%s) who sends %j', (isLetIn, headers) => {
  expect(headers.map(tokenCheck('tökén:1'))).toEqual(headers.map(() => isLetIn));
});

it.each([
  [true, ['127.0.0.1', '127.9.9.9', 'localhost', 'LOCALHOST', 'a.localhost', '::1', '[::1]']],
  [false, ['0.0.0.0', '::', '10.0.0.1', '127.0.0.1.evil.example', 'localhost.evil.example', '']],
])('loopback are (%s) %j', (isLoopback, hosts) => {
  expect(hosts.map(isLoopbackName)).toEqual(hosts.map(() => isLoopback));
});

it.each([
  [true, ['localhost', 'localhost:9000', '127.0.0.1:80', '[::1]:8080']],
  [false, [undefined, '', 'evil.example', 'evil.example:8080', '127.0.0.1@evil.example', 'a b']],
])('loopback’s, with any port, are (%s) the Host headers %j', (isLoopback, headers) => {
  expect(headers.map(isLoopbackHostHeader)).toEqual(headers.map(() => isLoopback));
});
