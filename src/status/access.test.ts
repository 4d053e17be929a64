import { describe, expect, it } from 'vitest';
import { isLoopbackName, isLoopbackHostHeader, tokenCheck } from './access.ts';

const basic = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`;

describe('the token check', () => {
  const permitted = tokenCheck('tökén:1');

  it.each(['Bearer tökén:1', 'bearer   tökén:1 ', basic('admin:tökén:1'), basic(':tökén:1')])(
    'lets %s in',
    (header) => {
      expect(permitted(header)).toBe(true);
    },
  );

  it.each([
    undefined,
    '',
    'tökén:1',
    'Bearer',
    'Bearer ',
    'Bearer tökén',
    'Bearer tökén:1 tökén:1',
    'Basic tökén:1',
    basic('tökén'),
    basic('tökén:1:'),
    'Digest tökén:1',
  ])('keeps %s out', (header) => {
    expect(permitted(header)).toBe(false);
  });
});

describe('loopback', () => {
  it.each(['127.0.0.1', '127.9.9.9', 'localhost', 'LOCALHOST', 'a.localhost', '::1', '[::1]'])(
    'is %s',
    (host) => {
      expect(isLoopbackName(host)).toBe(true);
    },
  );

  it.each(['0.0.0.0', '::', '10.0.0.1', '127.0.0.1.evil.example', 'localhost.evil.example', ''])(
    'is not %j',
    (host) => {
      expect(isLoopbackName(host)).toBe(false);
    },
  );

  it('is recognised in a Host header with any port', () => {
    expect(['localhost', 'localhost:9000', '127.0.0.1:80', '[::1]:8080'].map(isLoopbackHostHeader)).toEqual([
      true,
      true,
      true,
      true,
    ]);
    const strange = [undefined, '', 'evil.example', 'evil.example:8080', '127.0.0.1@evil.example', 'a b'];
    expect(strange.map(isLoopbackHostHeader)).toEqual(strange.map(() => false));
  });
});
