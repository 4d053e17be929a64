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
])('deliveryAccount reads the account of %s as %s', (target, userId) => {
  expect(deliveryAccount(pathOf(target))).toBe(userId);
});

it('pathOf removes the public URL’s path if a proxy left it', () => {
  expect(pathOf('/mirror/webhooks/42', '/mirror')).toBe('/webhooks/42');
  expect(pathOf('/mirror/webhooks/42', '/mirror/')).toBe('/webhooks/42');
  expect(pathOf('/webhooks/42', '/mirror')).toBe('/webhooks/42');
  expect(pathOf('/mirrored/webhooks/42', '/mirror')).toBe('/mirrored/webhooks/42');
});

it('pathOf finds a delivery’s path under a public URL that ends in /webhooks, cut by the proxy or not', () => {
  expect(pathOf('/webhooks/42', '/webhooks')).toBe('/webhooks/42');
  expect(pathOf('/webhooks/webhooks/42', '/webhooks')).toBe('/webhooks/42');
});
