import { expect, it } from 'vitest';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import type { ClassifiedError } from '@research-mirror/runtime/errors';
import {
  KeyRefused,
  MalformedAnswer,
  RateLimited,
  RequestRefused,
  ServiceError,
  TransportError,
} from '../model/errors.ts';
import { withRetries } from './api.ts';

const LOST = new TransportError('lost');
const BUSY = new ServiceError('busy', 503);
const BROKEN = new MalformedAnswer('broken');
const REFUSED = new RequestRefused('refused', 404);
const BAD_KEY = new KeyRefused('bad key', 401);
const DOUBLING = [0, 500, 1500, 3500, 7500];

const times = (count: number, error: ClassifiedError): ClassifiedError[] => Array.from({ length: count }, () => error);

it.each<[string, ClassifiedError[], unknown, number[], { random?: number; after?: number }?]>([
  ['four times what may pass: no answer', times(4, LOST), 'page', DOUBLING],
  ['four times what may pass: an error of the service', times(4, BUSY), 'page', DOUBLING],
  ['four times what may pass: no page', times(4, BROKEN), 'page', DOUBLING],
  ['it no fifth time', times(5, LOST), LOST, DOUBLING],
  ['it at once, where the wait is spread so', [LOST], 'page', [0, 0], { random: 0 }],
  ['it earlier, where the wait is spread so', [LOST], 'page', [0, 250], { random: 0.5 }],
  ['nothing that would be refused again', [REFUSED], REFUSED, [0]],
  ['nothing with a key that is refused', [BAD_KEY], BAD_KEY, [0]],
  ['it after as long as a 5xx asks', [BUSY], 'page', [0, 20_000], { after: 20_000 }],
  ['nothing after longer pauses, which are the caller’s', [BUSY], BUSY, [0], { after: 30_001 }],
])('repeats %s', async (_, failures, result, begun, { random = 1, after } = {}) => {
  const clock = new VirtualClock();
  const seen: number[] = [];
  const attempt = async () => {
    const error = failures[seen.length];
    seen.push(clock.monotonic());
    return error === undefined ? { value: 'page' } : { error, retryAfterMs: after };
  };
  const never = new AbortController().signal;
  const outcome = withRetries(attempt, { clock, random: () => random }, never);
  expect(await clock.runUntil(outcome.catch((error: unknown) => error))).toBe(result);
  expect(seen).toEqual(begun);
});

it('lets the budget wait out 429s, and gives up after half an hour of them', async () => {
  const clock = new VirtualClock();
  const limited = new RateLimited('429', 60);
  let attempts = 0;
  // The budget stops the group: the next slot comes a minute later.
  const attempt = async () => {
    if (attempts++ > 0) await clock.sleep(60_000);
    return { error: limited, retryAfterMs: undefined };
  };
  const outcome = withRetries(attempt, { clock, random: () => 1 }, new AbortController().signal);
  await expect(clock.runUntil(outcome)).rejects.toBe(limited);
  expect([attempts, clock.monotonic()]).toEqual([31, 1_800_000]);
});

it('ends at once when it is aborted, in a wait and before an attempt', async () => {
  const clock = new VirtualClock();
  const controller = new AbortController();
  let attempts = 0;
  const attempt = async () => {
    attempts += 1;
    return { error: LOST, retryAfterMs: undefined };
  };
  const outcome = withRetries(attempt, { clock, random: () => 1 }, controller.signal);
  const stop = new Error('stop');
  clock.after(100, () => controller.abort(stop));
  await expect(clock.runUntil(outcome)).rejects.toBe(stop);
  expect([attempts, clock.monotonic()]).toEqual([1, 100]);
  await expect(withRetries(attempt, { clock, random: () => 1 }, controller.signal)).rejects.toBe(stop);
  expect(attempts).toBe(1);
});
