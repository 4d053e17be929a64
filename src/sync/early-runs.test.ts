import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CollectionChange } from '../model/sync-events.ts';
import type { CollectionName } from '../model/collections.ts';
import type { RunsAfter } from './schedule.ts';
import { earlyPollAfter, EarlyRuns } from './early-runs.ts';

const MINUTE = 60_000;
const NOON = Date.UTC(2026, 0, 1, 12);

/** A line of each so many minutes, on the clock. */
const eachMinutes =
  (minutes: number): RunsAfter =>
  (_, after) => ({
    nextPollAt: new Date((Math.floor(after.getTime() / MINUTE / minutes) + 1) * minutes * MINUTE),
    nextFullAt: null,
  });
const never: RunsAfter = () => ({ nextPollAt: null, nextFullAt: null });

const NOTHING = { pages: 1, inserted: 0, updated: 0 };
const CHANGED = { ...NOTHING, updated: 1 };

/** Polls of an account, each as the daemon begins it: when the one before said. */
class Polls {
  now = NOON;
  readonly runs: EarlyRuns;
  readonly next = new Map<CollectionName, number>();
  /** How often a poll's end was corrected. */
  corrected = 0;

  constructor(line = eachMinutes(1), perMinute = 48) {
    this.runs = new EarlyRuns({ now: () => this.now }, { sizeOf: () => perMinute }, line);
  }

  /** @returns when the next one is to begin (ms after this one); NaN: never */
  poll(found = NOTHING, name: CollectionName = 'research_jobs', takesMs = 500): number {
    const began = this.now;
    this.now += takesMs;
    const stored = this.runs.onPoll(name)(new Date(began), new Date(began));
    const sooner = this.runs.notePoll(name, new Date(began), found);
    if (sooner !== undefined) this.corrected += 1;
    const { nextPollAt } = sooner ?? stored;
    const next = nextPollAt?.getTime() ?? Number.NaN;
    this.next.set(name, next);
    return next - began;
  }

  /** Begins the next one when it is due. */
  pollInTurn(found = NOTHING): number {
    this.now = this.next.get('research_jobs') ?? this.now;
    return this.poll(found);
  }
}

describe('the next poll', () => {
  it('is the line’s if no change was found', () => {
    const polls = new Polls();
    expect([polls.poll(), polls.pollInTurn(), polls.pollInTurn()]).toEqual([MINUTE, MINUTE, MINUTE]);
  });

  it('comes 15 s after one that found a change, then at growing intervals until the line’s', () => {
    const polls = new Polls();
    polls.poll();
    expect(polls.pollInTurn(CHANGED)).toBe(15_000);
    const gaps = [];
    for (let gap = 0; gap < MINUTE && gaps.length < 200; gaps.push(gap)) gap = polls.pollInTurn();
    // Ten minutes at 15 s each; twenty minutes after the change at 30 s; the line's after forty.
    expect(gaps.slice(0, 30)).toEqual(Array(30).fill(15_000));
    expect(gaps.length).toBeGreaterThan(90);
    expect(gaps.length).toBeLessThanOrEqual(40 + 75);
    // The line's runs stay in place.
    expect((polls.next.get('research_jobs') ?? 0) % MINUTE).toBe(0);
    expect(polls.pollInTurn()).toBe(MINUTE);
  });

  it('is corrected by one write if the poll’s end was stored before the change was known', () => {
    const polls = new Polls();
    polls.poll();
    for (let poll = 0; poll < 20; poll += 1) polls.pollInTurn(CHANGED);
    expect(polls.corrected).toBe(1);
  });

  it('is the line’s if the line never runs or its next run is more than five minutes away', () => {
    expect(new Polls(never).poll(CHANGED)).toBeNaN();
    expect(new Polls(eachMinutes(60)).poll(CHANGED)).toBe(60 * MINUTE);
    expect(new Polls(eachMinutes(5)).poll(CHANGED)).toBe(15_000);
  });

  it('comes sooner after polls only: an event announced what a hinted reading found, and full walks of a list without known order would follow each other', () => {
    const nextAfter = (reading: (asOf: Date, began: Date) => CollectionChange): number =>
      (reading(new Date(polls.now), new Date(polls.now)).nextPollAt?.getTime() ?? 0) - NOON;
    const polls = new Polls();
    polls.poll();
    expect(nextAfter(polls.runs.onPoll('research_jobs'))).toBe(MINUTE);
    polls.now = NOON;
    polls.poll(CHANGED);
    expect(nextAfter(polls.runs.onRead('research_jobs', 'poll'))).toBe(MINUTE);
    expect(nextAfter(polls.runs.onRead('research_jobs', 'full'))).toBe(MINUTE);
  });

  it('is early until the line’s next run', () => {
    const polls = new Polls();
    polls.poll(CHANGED);
    expect([polls.runs.isEarly('research_jobs'), polls.runs.isEarly('lists')]).toEqual([true, false]);
    polls.now = NOON + MINUTE;
    expect(polls.runs.isEarly('research_jobs')).toBe(false);
  });

  it('comes later if polls take more pages, if there are many lists, and if the rate is small', () => {
    const after = (perMinute: number, pages: number, lists: number): number => {
      const polls = new Polls(eachMinutes(1), perMinute);
      for (const name of ['lists', 'watchlist', 'research'] as CollectionName[]) polls.poll(NOTHING, name, 0);
      polls.runs.noteLists(lists);
      polls.poll({ ...NOTHING, pages }, 'research_jobs', 0);
      return polls.poll({ ...CHANGED, pages }, 'research_jobs', 0);
    };
    expect(after(48, 1, 10)).toBe(15_000);
    expect(after(48, 7, 0)).toBe(25_000);
    expect(after(48, 1, 16 * 12)).toBe(40_000);
    expect(after(10, 1, 0)).toBe(48_000);
    expect(after(48, 1, 5_000)).toBe(MINUTE);
  });

  it('leaves half of the rate to others, and never comes after less than 15 s', () => {
    fc.assert(
      fc.property(
        fc.record({
          quietMs: fc.double({ min: 0, max: 1e9, noNaN: true }),
          pages: fc.integer({ min: 1, max: 500 }),
          lists: fc.integer({ min: 0, max: 100_000 }),
          perMinute: fc.integer({ min: 1, max: 1_000 }),
        }),
        ({ quietMs, ...load }) => {
          const interval = earlyPollAfter(quietMs, load);
          expect(interval).toBeGreaterThanOrEqual(15_000);
          expect((load.pages * MINUTE) / interval).toBeLessThanOrEqual(load.perMinute / 2 + 1e-6);
          expect(earlyPollAfter(quietMs + 1, load)).toBeGreaterThanOrEqual(interval);
        },
      ),
    );
  });
});
