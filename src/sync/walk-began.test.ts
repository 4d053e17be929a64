import { expect, it } from 'vitest';
import { surelyBegan, walkBegan } from '../mirror/page-decision.ts';

const STARTED = new Date('2026-11-22T12:00:00Z');
const MINUTE = 60_000;

function after(ms: number): Date {
  return new Date(STARTED.getTime() + ms);
}

it('a walk began when its first request was sent, and a resumed one when the earlier run began', () => {
  const fresh = { began: STARTED.getTime(), agedMs: 0 };
  expect(walkBegan(fresh, STARTED, after(900))).toEqual(after(900));
  expect(walkBegan(fresh, STARTED, after(-20))).toEqual(STARTED);
  const resumed = { began: after(-MINUTE).getTime(), agedMs: 0 };
  expect(walkBegan(resumed, STARTED, after(900))).toEqual(after(-MINUTE));
});

it('a walk with a cached answer began earlier by the answer’s age', () => {
  const fresh = { began: STARTED.getTime(), agedMs: 5_000 };
  expect(walkBegan(fresh, STARTED, after(900 - 5_000))).toEqual(after(900 - 5_000));
  const resumed = { began: after(-MINUTE).getTime(), agedMs: 5_000 };
  expect(walkBegan(resumed, STARTED, after(900))).toEqual(after(-MINUTE - 5_000));
  expect(surelyBegan(resumed, STARTED, after(-2 * MINUTE))).toEqual(after(-2 * MINUTE));
});
