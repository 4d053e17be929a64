import { describe, expect, it } from 'vitest';
import { seeded } from '../../test/support/random.ts';
import { type Alarms, isBelieved, learnAlarm, NO_ALARMS } from './alarms.ts';
import { learn, PRIOR_MS } from './change-rate.ts';
import { type LearntChanges, NOTHING_LEARNT } from './learnt-changes.ts';
import { compareNeeds, needOf, type Readable } from './next-reading.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

function after(known: Alarms, alarms: number, wasTrue: boolean | undefined, elapsedMs = 0): Alarms {
  let left = known;
  for (let alarm = 0; alarm < alarms; alarm += 1) left = learnAlarm(left, elapsedMs, wasTrue);
  return left;
}

/** How many such alarms in a row change whether the row is believed. */
function untilTurned(known: Alarms, wasTrue: boolean): number {
  let left = known;
  for (let alarms = 1; alarms < 1000; alarms += 1) {
    left = learnAlarm(left, 0, wasTrue);
    if (isBelieved(left) === wasTrue) return alarms;
  }
  return Number.POSITIVE_INFINITY;
}

describe('a list’s row that has changed', () => {
  it('is believed until it was wrong again and again', () => {
    expect(isBelieved(NO_ALARMS)).toBe(true);
    expect(isBelieved({ trueAlarms: 0, falseAlarms: 8 })).toBe(true);
    expect(isBelieved({ trueAlarms: 0, falseAlarms: 8.1 })).toBe(false);
    expect(untilTurned(NO_ALARMS, false)).toBe(10);
  });

  it('is believed where one alarm of four is true', () => {
    let known = NO_ALARMS;
    for (let alarm = 0; alarm < 1000; alarm += 1) {
      known = learnAlarm(known, MINUTE, alarm % 4 === 0);
      expect(isBelieved(known)).toBe(true);
    }
  });

  it('is believed again after three true alarms, however long it was wrong, and doubted soon, however long it was right', () => {
    expect(untilTurned(after(NO_ALARMS, 10_000, false), true)).toBe(3);
    expect(untilTurned(after(NO_ALARMS, 10_000, true), false)).toBeLessThanOrEqual(45);
  });

  it('is forgiven with time: half in two days, also where nothing more is known', () => {
    const wrong = after(NO_ALARMS, 100, false);
    expect(learnAlarm(wrong, 2 * DAY, undefined).falseAlarms).toBeCloseTo(wrong.falseAlarms / 2, 9);
    expect(isBelieved(learnAlarm(wrong, DAY, undefined))).toBe(false);
    expect(isBelieved(learnAlarm(wrong, 3 * DAY, undefined))).toBe(true);
    expect(learnAlarm(wrong, -DAY, undefined)).toEqual(wrong);
  });

  it('that cries wolf is read at once a few times a day at most', () => {
    // It always has changed, and is read where it is believed, or after six hours.
    let known = NO_ALARMS;
    let atOnce = 0;
    let readAt = 0;
    for (let now = 0; now < 10 * DAY; now += MINUTE) {
      if (!isBelieved(known) && now - readAt < 6 * HOUR) continue;
      if (isBelieved(known) && now > DAY) atOnce += 1;
      known = learnAlarm(known, now - readAt, false);
      readAt = now;
    }
    expect(atOnce / 9).toBeLessThan(5);
  });
});

interface Simulated {
  /** Mean time (ms) until a change is read, of lists whose row says so, and of the others. */
  readonly honest: number;
  readonly noisy: number;
  /** The longest time (ms) in which a list was not read. */
  readonly oldest: number;
}

/** Lists whose rows change with their items; those of `noisy` ones each five minutes in any case. */
function simulate(lists: number, noisy: number, { believes }: { readonly believes: boolean }): Simulated {
  const random = seeded(3);
  /** A request each half minute. */
  const step = MINUTE / 2;
  const learnt: LearntChanges[] = Array.from({ length: lists }, () => NOTHING_LEARNT);
  const alarms: Alarms[] = Array.from({ length: lists }, () => NO_ALARMS);
  const readAt = Array.from({ length: lists }, () => 0);
  const dueAt = Array.from({ length: lists }, (): number | undefined => undefined);
  const changed: number[][] = Array.from({ length: lists }, () => []);
  const waited = { honest: [0], noisy: [0] };
  let oldest = 0;
  for (let now = step; now < 5 * DAY; now += step) {
    for (let list = 0; list < lists; list += 1) {
      // Each changes four times a day.
      const changes = random() < (4 * step) / DAY;
      if (changes) changed[list]?.push(now);
      if (changes || (list < noisy && (now / step + list) % 10 === 0)) dueAt[list] ??= now;
    }
    const needs = readAt.map((at, list) => {
      const due = dueAt[list];
      const readable: Readable = {
        sinceMs: now - at,
        longestMs: DAY,
        learnt: learnt[list] ?? NOTHING_LEARNT,
        priorMs: PRIOR_MS.list,
        unannounced: 1,
        announced:
          due === undefined
            ? undefined
            : { sinceMs: now - due, alarms: (believes ? undefined : alarms[list]) ?? NO_ALARMS },
      };
      return needOf(readable);
    });
    const next = needs.reduce(
      (best, need, list) => (compareNeeds(need, needs[best] ?? need) < 0 ? list : best),
      0,
    );
    const elapsedMs = now - (readAt[next] ?? 0);
    const found = changed[next] ?? [];
    const isDue = dueAt[next] !== undefined;
    if (now > 2 * DAY) {
      oldest = Math.max(oldest, elapsedMs);
      for (const at of found) waited[next < noisy ? 'noisy' : 'honest'].push(now - at);
    }
    const announced = isDue ? found.length : 0;
    const seen = { elapsedMs, changes: found.length, announced, requests: 1 };
    learnt[next] = learn('list', learnt[next] ?? NOTHING_LEARNT, seen);
    alarms[next] = learnAlarm(alarms[next] ?? NO_ALARMS, elapsedMs, isDue ? found.length > 0 : undefined);
    changed[next] = [];
    dueAt[next] = undefined;
    readAt[next] = now;
  }
  const mean = (all: readonly number[]): number => all.reduce((sum, each) => sum + each, 0) / all.length;
  return { honest: mean(waited.honest), noisy: mean(waited.noisy), oldest };
}

describe('lists of which some are said to have changed all the time', () => {
  // 120 requests an hour, for 480 false alarms.
  const [proven, believed] = [false, true].map((believes) => simulate(100, 40, { believes }));

  it('keep those waiting that really change only as long as they are believed', () => {
    expect(proven?.honest).toBeLessThan(MINUTE);
    expect(believed?.honest).toBeGreaterThan(10 * MINUTE);
  });

  it('are read daily all the same, and their changes wait for their turn', () => {
    expect(proven?.oldest).toBeLessThan(DAY);
    expect(proven?.noisy).toBeLessThan(2 * HOUR);
  });
});
