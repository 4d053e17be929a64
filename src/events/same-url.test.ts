import { expect, it } from 'vitest';
import { hostOf, sameUrl } from './decisions.ts';

const OURS = 'https://mirror.example.com/webhooks/1001';

it.each([
  [OURS, OURS, true],
  [`${OURS}/`, OURS, true],
  ['https://Mirror.Example.COM/webhooks/1001', OURS, true],
  ['HTTPS://mirror.example.com:443/webhooks/1001//', OURS, true],
  [` ${OURS} `, OURS, true],
  ['https://a.example/%C3%BC', 'https://a.example/ü', true],
  ['https://müller.example', 'https://xn--mller-kva.example/', true],
  ['no URL', 'no URL', true],
  ['http://mirror.example.com/webhooks/1001', OURS, false],
  ['https://mirror.example.com:8443/webhooks/1001', OURS, false],
  [`${OURS}0`, OURS, false],
  ['https://mirror.example.com/Webhooks/1001', OURS, false],
  [`${OURS}?a=1`, OURS, false],
  ['no URL', OURS, false],
  ['no URL', 'none either', false],
])('sameUrl compares %j with %j: %s', (one, other, same) => {
  expect(sameUrl(one, other)).toBe(same);
});

it('hostOf shows only the host of a URL', () => {
  expect(hostOf('https://u:p@hooks.example.com:8443/T0/secret?token=1')).toBe('hooks.example.com:8443');
  expect(hostOf('secret')).toBe('an address that is no URL');
});
