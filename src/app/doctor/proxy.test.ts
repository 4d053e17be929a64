import { expect, it } from 'vitest';
import { proxyFor } from './proxy.ts';

const proxies = { http: 'http://plain.example.com:3128', https: 'http://user:word@secure.example.com:3128' };
const asked = (url: string, except?: string): string | undefined =>
  proxyFor(url, { ...proxies, except })?.host;

it('finds the proxy that requests take', () => {
  expect(asked('https://api.example.org')).toBe('secure.example.com:3128');
  expect(asked('http://127.0.0.1:4010')).toBe('plain.example.com:3128');
  expect(asked('https://api.example.org', 'localhost, .example.org')).toBeUndefined();
  expect(asked('https://api.example.org', 'example.org:443')).toBeUndefined();
  expect(asked('https://api.example.org', '*')).toBeUndefined();
  expect(asked('https://anexample.org', 'example.org')).toBe('secure.example.com:3128');
  expect(
    proxyFor('https://api.example.org', { http: proxies.http, https: undefined, except: undefined }),
  ).toBeUndefined();
});
