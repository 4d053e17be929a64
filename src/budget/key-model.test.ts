import { expect, it } from 'vitest';
import { KeyModel, type AdmissionRequest } from './key-model.ts';

const OTHER: AdmissionRequest = { group: 'other', high: false, highWaits: false };
const NOTHING = { limit: undefined, remaining: undefined, resetInMs: undefined, retryAfterMs: undefined };
const SEQUENCE: AdmissionRequest = { ...OTHER, group: 'sequence' };

it('a used key of whose past nothing is known may send one ping, and nothing else before a window is over', () => {
  const model = new KeyModel(1);
  model.beQuiet(1_000);
  const over = { at: 61_250 };
  expect(model.admission(SEQUENCE, 1_000)).toEqual(over);
  expect(model.admission(OTHER, 1_000)).toBe('go');
  model.group('other').sent(1_000, false);
  expect(model.admission(OTHER, 1_001)).toEqual(over);
  model.judge('other', 200, { route: 'GET /v1/ping', sentAt: 1_000, receivedAt: 1_050, headers: NOTHING });
  expect(model.admission(OTHER, 1_051)).toEqual(over);
  expect(model.admission(OTHER, 61_250)).toBe('go');
  expect(model.admission(SEQUENCE, 61_250)).toBe('go');
});

it('a paced group heeds from its first answer on how long answers take', () => {
  const model = new KeyModel(1);
  const group = model.group('other');
  group.pace.learn(60, 0);
  group.sent(0, false);
  model.judge('other', 200, { route: 'GET /v1/lists', sentAt: 0, receivedAt: 5_000, headers: NOTHING });
  expect(group.pacedMs(5_000)).toBeCloseTo(65_250 / 59);
});
