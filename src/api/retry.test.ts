import { describe, expect, it } from 'vitest';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { type ClassifiedError } from '@research-mirror/runtime/errors';
import {
  KeyRefused,
  MalformedAnswer,
  RateLimited,
  RequestRefused,
  ServiceError,
  TransportError,
} from '../model/errors.ts';
import { withRetries, type Failure } from './api.ts';

const fail = (error: ClassifiedError, retryAfterMs?: number): Failure => ({ error, retryAfterMs });

/** Runs attempts that fail as given, then succeed; returns the outcome and when each attempt began. */
async function run(failures: readonly Failure[], random = () => 1) {
  const clock = new VirtualClock();
  const begun: number[] = [];
  let next = 0;
  const attempt = async () => {
    begun.push(clock.monotonic());
    return failures[next++] ?? { value: 'page' };
  };
  const outcome = withRetries(attempt, { clock, random }, new AbortController().signal).catch(
    (error: unknown) => error,
  );
  return { result: await clock.runUntil(outcome), begun };
}

describe('withRetries', () => {
  it('repeats what may pass by itself, four times, with waits that double', async () => {
    for (const error of [new TransportError('a'), new ServiceError('b', 500), new MalformedAnswer('c')]) {
      const failures = Array.from({ length: 4 }, () => fail(error));
      expect(await run(failures)).toEqual({ result: 'page', begun: [0, 500, 1500, 3500, 7500] });
      expect((await run([...failures, fail(error)])).result).toBe(error);
    }
  });

  it('spreads repetitions over the whole wait', async () => {
    expect((await run([fail(new TransportError('x'))], () => 0)).begun).toEqual([0, 0]);
    expect((await run([fail(new TransportError('x'))], () => 0.5)).begun).toEqual([0, 250]);
  });

  it('repeats nothing that would be refused again', async () => {
    for (const error of [new RequestRefused('a', 404), new KeyRefused('b', 401)]) {
      expect(await run([fail(error)])).toEqual({ result: error, begun: [0] });
    }
  });

  it('waits for as long as a 5xx asks, and leaves longer pauses to the caller', async () => {
    const error = new ServiceError('busy', 503);
    expect((await run([fail(error, 20_000)])).begun).toEqual([0, 20_000]);
    expect(await run([fail(error, 30_001)])).toEqual({ result: error, begun: [0] });
  });

  it('lets the budget wait out 429s, and gives up after half an hour of them', async () => {
    const clock = new VirtualClock();
    const limited = new RateLimited('429', 60);
    let attempts = 0;
    // The budget stops the group: the next slot comes a minute later.
    const attempt = async () => {
      if (attempts++ > 0) await clock.sleep(60_000);
      return fail(limited);
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
      return fail(new TransportError('x'));
    };
    const outcome = withRetries(attempt, { clock, random: () => 1 }, controller.signal);
    const stop = new Error('stop');
    clock.after(100, () => controller.abort(stop));
    await expect(clock.runUntil(outcome)).rejects.toBe(stop);
    expect([attempts, clock.monotonic()]).toEqual([1, 100]);
    await expect(withRetries(attempt, { clock, random: () => 1 }, controller.signal)).rejects.toBe(stop);
    expect(attempts).toBe(1);
  });
});
