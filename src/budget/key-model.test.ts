import { expect, it } from 'vitest';
import { KeyModel } from './key-model.ts';

it('a paced group heeds from its first answer on how long answers take', () => {
  const model = new KeyModel(1);
  const group = model.group('other');
  group.pace.learn(60, 0);
  group.sent(0, false);
  const headers = { limit: undefined, remaining: undefined, resetInMs: undefined, retryAfterMs: undefined };
  model.judge('other', 200, { route: 'GET /v1/lists', sentAt: 0, receivedAt: 5_000, headers });
  expect(group.pacedMs(5_000)).toBeCloseTo(65_250 / 59);
});
