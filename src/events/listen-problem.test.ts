import { expect, it } from 'vitest';
import { messageOf } from '@research-mirror/runtime/message';
import { Unusable } from '@research-mirror/runtime/errors';
import { listenProblem } from './webhook-server.ts';

const page = {
  host: '192.0.2.7',
  port: 80,
  what: 'the status page',
  hostVariable: 'MIRROR_HTTP_HOST',
  portVariable: 'MIRROR_HTTP_PORT',
};
const failed = (code: string): Error =>
  listenProblem(Object.assign(new Error(`listen ${code}`), { code }), page);

it.each([
  ['EADDRINUSE', /192\.0\.2\.7:80 for the status page is in use .*: set MIRROR_HTTP_PORT/],
  ['EACCES', /port 80 for the status page .*: set MIRROR_HTTP_PORT to one above 1023/],
  ['EADDRNOTAVAIL', /192\.0\.2\.7 for the status page is no address .*: set MIRROR_HTTP_HOST/],
  ['ENOTFOUND', /no address of this machine: set MIRROR_HTTP_HOST/],
  ['EAI_AGAIN', /no address of this machine: set MIRROR_HTTP_HOST/],
])('a listener that can’t be opened names the variable that helps after %s', (code, message) => {
  expect(failed(code)).toBeInstanceOf(Unusable);
  expect(failed(code).message).toMatch(message);
});

it('a listener that can’t be opened quotes the system if no variable helps', () => {
  expect(failed('EMFILE')).not.toBeInstanceOf(Unusable);
  expect(messageOf(failed('EMFILE'))).toBe(
    "192.0.2.7:80 can't be listened on for the status page: listen EMFILE",
  );
});
