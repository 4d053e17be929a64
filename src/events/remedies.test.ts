import { expect, it } from 'vitest';
import { hostOf, sameUrl } from './decisions.ts';

it.each([
  'https://mirror.example.com/webhooks/1001',
  'https://mirror.example.com/webhooks/1001/',
  'https://Mirror.Example.COM/webhooks/1001',
  'HTTPS://mirror.example.com:443/webhooks/1001//',
  ' https://mirror.example.com/webhooks/1001 ',
])('the same address is known in whatever spelling: %s', (spelled) => {
  expect(sameUrl(spelled, 'https://mirror.example.com/webhooks/1001')).toBe(true);
});

it('the same address is known by percent-encodings, and by a name in another script', () => {
  expect(sameUrl('https://a.example/%C3%BC', 'https://a.example/ü')).toBe(true);
  expect(sameUrl('https://müller.example', 'https://xn--mller-kva.example/')).toBe(true);
});

it.each([
  'http://mirror.example.com/webhooks/1001',
  'https://mirror.example.com:8443/webhooks/1001',
  'https://mirror.example.com/webhooks/10010',
  'https://mirror.example.com/Webhooks/1001',
  'https://mirror.example.com/webhooks/1001?a=1',
  'no URL',
])('the same address is no other one: %s', (other) => {
  expect(sameUrl(other, 'https://mirror.example.com/webhooks/1001')).toBe(false);
});

it('what is no URL is the same only as itself', () => {
  expect(sameUrl('no URL', 'no URL')).toBe(true);
  expect(sameUrl('no URL', 'none either')).toBe(false);
});

it('shows nothing of a URL but its host', () => {
  expect(hostOf('https://u:p@hooks.example.com:8443/T0/secret?token=1')).toBe('hooks.example.com:8443');
  expect(hostOf('secret')).toBe('an address that is no URL');
});
