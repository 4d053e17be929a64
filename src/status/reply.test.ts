import { expect, it } from 'vitest';
import { html, isLoopbackHostHeader, isLoopbackName, raw, tokenCheck } from './reply.ts';

const basic = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`;
const hasToken = tokenCheck('tökén:1');

const RIGHT = ['Bearer tökén:1', 'bearer   tökén:1 ', basic('admin:tökén:1'), basic(':tökén:1')];
const NO_BEARER = ['Bearer', 'Bearer ', 'Bearer tökén', 'Bearer tökén:1 tökén:1'];
const NO_BASIC = ['Basic tökén:1', basic('tökén'), basic('tökén:1:')];
const NAMES = ['127.0.0.1', '127.9.9.9', 'localhost', 'LOCALHOST', 'a.localhost', '::1', '[::1]'];
const OTHERS = ['0.0.0.0', '::', '10.0.0.1', '127.0.0.1.evil.example', 'localhost.evil.example', ''];
const HOSTS = ['localhost', 'localhost:9000', '127.0.0.1:80', '[::1]:8080'];
const FOREIGN = [undefined, '', 'evil.example', 'evil.example:8080', '127.0.0.1@evil.example', 'a b'];

it.each<[string, (given: never) => boolean, boolean, readonly unknown[]]>([
  ['the token is', hasToken, true, RIGHT],
  ['the token is not', hasToken, false, [undefined, '', 'tökén:1', 'Digest tökén:1', ...NO_BEARER, ...NO_BASIC]],
  ['a name of loopback is', isLoopbackName, true, NAMES],
  ['a name of loopback is not', isLoopbackName, false, OTHERS],
  ['a Host header of loopback is', isLoopbackHostHeader, true, HOSTS],
  ['a Host header of loopback is not', isLoopbackHostHeader, false, FOREIGN],
])('%s in each of these', (_, judge, expected, all) => {
  for (const given of all) expect([given, judge(given as never)]).toEqual([given, expected]);
});

const evil = `<img src=x onerror='alert(1)'>"&amp;`;
const safe = '&lt;img src=x onerror=&#39;alert(1)&#39;&gt;&quot;&amp;amp;';

it.each([
  ['escapes a value in a text or an attribute', html`<p title="${evil}">${evil}</p>`, `<p title="${safe}">${safe}</p>`],
  ['escapes once, and keeps HTML', html`<p>${html`<b>${'<'}</b>`}${raw('<hr>')}</p>`, '<p><b>&lt;</b><hr></p>'],
  [
    'joins lists, shows numbers, and nothing for undefined',
    html`${['<', [html`<i></i>`, undefined]]}|${0}|${1.5}|${undefined}|`,
    '&lt;<i></i>|0|1.5||',
  ],
])('the tag html %s', (_, made, text) => {
  expect(String(made)).toBe(text);
});

it('the tag html refuses an object that only looks like HTML', () => {
  const lookalike = { toString: () => '<script>', isEscaped: true } as unknown as string;
  expect(() => html`${lookalike}`).toThrow(TypeError);
});
