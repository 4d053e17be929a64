import { expect, it } from 'vitest';
import { deliveryAccount, pathOf } from './webhook-server.ts';

it.each([
  ['/webhooks/42', '42'],
  ['/webhooks/42/', '42'],
  ['/webhooks/42?x=1', '42'],
  ['/webhooks/9223372036854775807', '9223372036854775807'],
  ['/webhooks/9223372036854775808', undefined],
  ['/webhooks/12345678901234567890', undefined],
  ['/webhooks/007', undefined],
  ['/webhooks/-1', undefined],
  ['/webhooks/', undefined],
  ['/webhooks/42/x', undefined],
  ['//webhooks/42', undefined],
  ['/webhooks/%34%32', undefined],
  ['/hooks/webhooks/42', undefined],
  ['http://host/webhooks/42', undefined],
])('reads the account of %s as %s', (target, userId) => {
  expect(deliveryAccount(pathOf(target))).toBe(userId);
});

it('takes the public URL’s path away where a proxy left it there', () => {
  expect(pathOf('/mirror/webhooks/42', '/mirror')).toBe('/webhooks/42');
  expect(pathOf('/mirror/webhooks/42', '/mirror/')).toBe('/webhooks/42');
  expect(pathOf('/webhooks/42', '/mirror')).toBe('/webhooks/42');
  expect(pathOf('/mirrored/webhooks/42', '/mirror')).toBe('/mirrored/webhooks/42');
});

it('knows its own address under a public URL that ends in /webhooks, whatever the proxy does', () => {
  expect(pathOf('/webhooks/42', '/webhooks')).toBe('/webhooks/42');
  expect(pathOf('/webhooks/webhooks/42', '/webhooks')).toBe('/webhooks/42');
});
