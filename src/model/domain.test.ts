import fc from 'fast-check';
import { expect, it } from 'vitest';
import { domainOf } from './values.ts';

it.each([
  ['acme.example', 'acme.example'],
  [' ACME.example ', 'acme.example'],
  ['www.acme.example', 'acme.example'],
  ['https://www.Acme.example/about?x=1#y', 'acme.example'],
  ['http://acme.example:8080', 'acme.example'],
  ['acme.example:8080/x', 'acme.example'],
  ['//acme.example/x', 'acme.example'],
  ['acme.example.', 'acme.example'],
  ['info@acme.example', 'acme.example'],
  ['mailto:info@acme.example', 'acme.example'],
  ['shop.acme.co.example', 'shop.acme.co.example'],
  ['www.example', 'www.example'],
  ['www.www.acme.example', 'www.acme.example'],
  ['bücher.example', 'xn--bcher-kva.example'],
  ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
  ['1-2.example', '1-2.example'],
])('the domain of an address %s: %s', (address, domain) => {
  expect(domainOf(address)).toBe(domain);
});

const NO_NAMES = ['', 'Acme Inc.', 'acme', 'localhost', '127.0.0.1', '1.2.3', 'http://[::1]/', 'https://'];
const TOO_LONG = [`${'a'.repeat(64)}.example`, `${'a.'.repeat(130)}example`, `acme.example/${'a'.repeat(3000)}`];
it.each(['ftp://acme.example', 'a..example', ...NO_NAMES, ...TOO_LONG])(
  'the domain of an address is none: %s',
  (address) => {
    expect(domainOf(address)).toBeUndefined();
  },
);

it('a domain is the domain of itself', () => {
  const label = fc.stringMatching(/^[a-z0-9-]{1,8}$/);
  const host = fc.array(label, { minLength: 1, maxLength: 5 }).map((labels) => labels.join('.'));
  const address = fc.oneof(host, fc.webUrl(), fc.domain(), fc.string(), fc.emailAddress());
  fc.assert(
    fc.property(address, fc.constantFrom('', 'www.', 'https://', 'HTTP://www.'), (text, lead) => {
      const domain = domainOf(lead + text);
      if (domain === undefined) return;
      expect(domain).toBe(domain.toLowerCase());
      // Same as the domain of its URL: the fast path agrees with the parser.
      expect(URL.parse(`https://${domain}/`)?.hostname).toBe(domain);
      if (!domain.startsWith('www.')) expect(domainOf(domain)).toBe(domain);
    }),
    { numRuns: 2000 },
  );
});
