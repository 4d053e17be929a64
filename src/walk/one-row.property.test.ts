import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ENOUGH, playing, script, variants } from '../../test/support/walks/walk-arbitraries.ts';
import { type ClientSource, WalkClient } from '../../test/support/walks/walk-client.ts';
import { WalkSource, type ListVariant } from '../../test/support/walks/walk-source.ts';
import { asks, page, range, refused, usableMemory } from '../../test/support/walks/walk-steps.ts';
import { runs } from '../../test/support/effort.ts';
import type { ScopeMemory } from './memory.ts';
import { OVERLAP } from './frontier.ts';
import { step } from './step.ts';
import type { Step, WalkAnswer } from './walk.ts';
import { beginRefresh } from './refresh.ts';

/** The full page of these tests: a list of twice as many rows may be asked for fewer. */
const FULL = 24;
const FALLING: ListVariant = { order: 'falling', cursor: 'keyset', hasMore: 'exact', pageSize: FULL };

/** What a service may make of a smaller limit than the greatest. */
const HABITS = ['takes', 'refuses', 'says that nothing follows', 'ignores', 'sends none'] as const;

const picky = (list: WalkSource, habit: (typeof HABITS)[number]): ClientSource => ({
  versionOf: (key) => list.versionOf(key),
  get: (cursor, limit) => {
    if (limit === null || limit >= FULL || habit === 'takes') return list.get(cursor, limit);
    if (habit === 'refuses') return refused(422);
    if (habit === 'sends none') return page([], true);
    const answer = list.get(cursor, habit === 'ignores' ? FULL : limit);
    const ends = habit === 'says that nothing follows' && answer.type === 'page';
    return ends ? { ...answer, hasMore: false } : answer;
  },
});

/** All of the list is mirrored, by a service that took `FULL` as its limit. */
function loaded(variant: ListVariant, habit: (typeof HABITS)[number] = 'takes', rows = 60) {
  const source = new WalkSource(variant, rows);
  const client = new WalkClient(picky(source, habit), 3);
  client.memory = taking(client.memory, FULL);
  expect(client.run(client.beginFull(), ENOUGH)?.outcome).toBe('complete');
  client.requests = 0;
  return { source, client };
}

const taking = (memory: ScopeMemory, value: number): ScopeMemory => ({
  ...memory,
  limit: { ...memory.limit, value, proven: true },
});

/** A list of a thousand rows, by a service that took 500 as its limit. */
const longList = () => taking({ ...usableMemory(), rows: 1000 }, 500);
const reread = (key: string, memory: ScopeMemory) => beginRefresh(memory, { unfinished: [key], now: 0 });

describe('a reading of one row', () => {
  it('keeps no row from the polls, whatever the service makes of small limits', () => {
    const act = fc.record({
      key: fc.integer({ min: 1, max: 60 }).map(String),
      requests: fc.integer({ min: 1, max: 6 }),
      steps: script,
      pause: fc.constantFrom(0, OVERLAP, 2 * OVERLAP),
    });
    fc.assert(
      fc.property(
        variants('falling', 'rising'),
        fc.constantFrom(...HABITS),
        fc.array(act, { minLength: 1, maxLength: 6 }),
        (variant, habit, acts) => {
          const { source, client } = loaded({ ...variant, pageSize: Math.max(2, variant.pageSize) }, habit);
          for (const { key, requests, steps, pause } of acts) {
            client.now += pause;
            const begun = beginRefresh(client.memory, { unfinished: [key], now: client.now });
            client.run(begun, requests, playing(source, steps));
            client.run(client.beginPoll(), requests);
          }
          expect(client.run(client.beginPoll(), ENOUGH)?.outcome).toMatch(/reached|complete/);
          expect(source.liveKeys().filter((key) => !client.mirror.has(key))).toEqual([]);
        },
      ),
      { numRuns: runs(150, 800) },
    );
  });

  it('asks for a page of twenty right before it, and of more rows for full pages', () => {
    const before = { type: 'predecessor', key: '61' } as const;
    const asked = asks(reread('60', longList()), [before, page(range(60, 41), true)]);
    expect(asked).toEqual(['<60#1', '61/20', 'reached']);
    const two = beginRefresh(longList(), { unfinished: ['60', '58'], now: 0 });
    expect(asks(two, [before])).toEqual(['<60#1', '61/500']);
  });

  it('asks for a full page where one might show the whole list, or smaller ones are not known to be taken', () => {
    const memory = longList();
    const { limit } = memory;
    const asked = (changed: Partial<ScopeMemory>): string | undefined =>
      asks(reread('60', { ...memory, ...changed }), [{ type: 'predecessor', key: '61' }])[1];
    expect(asked({ rows: 999 })).toBe('61/500');
    expect(asked({ cursors: 'offered' })).toBe('61/500');
    expect(asked({ limit: { ...limit, proven: false } })).toBe('61/500');
    expect(asked({ limit: { ...limit, onlyFull: true } })).toBe('61/500');
    expect(asked({ limit: { ...limit, fits: 5 } })).toBe('61/5');
  });

  it('takes no twenty rows for the whole list', () => {
    const begun = reread('100', longList());
    const newest = step(begun.walk, begun.memory, { type: 'predecessor', key: null }, 0);
    const again = step(newest.walk, newest.memory, page(range(100, 81), false), 0);
    expect([newest.ask, again.page?.proof, again.page?.place.ends, again.ask]).toEqual([
      { type: 'page', cursor: null, limit: 20 },
      null,
      false,
      { type: 'page', cursor: null, limit: 500 },
    ]);
    // It really was all: the next ones are believed.
    const honest = step(again.walk, again.memory, page(range(100, 81), false), 0);
    expect([honest.page?.proof?.kind, honest.memory.limit.onlyFull]).toEqual(['snapshot', false]);
    const lied = step(again.walk, again.memory, page(range(100, 77), true), 0);
    expect([lied.ask.type, lied.memory.limit.onlyFull]).toEqual(['end', true]);
  });

  it('goes on after a cursor of the service’s own with the limit that it was made with', () => {
    const answers = [{ type: 'predecessor', key: null } as const, page(range(120, 101), true, 'page-2')];
    expect(asks(reread('100', longList()), answers)).toEqual(['<100#1', 'top/20', 'page-2/20']);
  });

  it('asks for a full page where the service refuses so few, and remembers it; not where it refused the cursor', () => {
    let stepped: Step = reread('60', longList());
    const play = (answer: WalkAnswer): void => {
      stepped = step(stepped.walk, stepped.memory, answer, 0);
    };
    play({ type: 'predecessor', key: '61' });
    play(refused(400));
    expect(stepped.ask).toMatchObject({ cursor: '61', limit: 500 });
    const asked = stepped;
    play(page(range(60, 41), true));
    expect(stepped.memory.limit.onlyFull).toBe(true);

    stepped = asked;
    play(refused(400));
    play({ type: 'predecessor', key: '62' });
    play(page(range(61, 42), true));
    expect(stepped.ask.type).toBe('end');
    expect(stepped.memory.limit.onlyFull).toBe(false);
  });

  it('reads a row that is still there, in one request', () => {
    const order = fc.constantFrom('falling' as const, 'rising' as const);
    fc.assert(
      fc.property(order, fc.integer({ min: 1, max: 60 }), fc.constantFrom(...HABITS), (order, key, habit) => {
        const { client } = loaded({ ...FALLING, order, pageSize: 100 }, habit);
        const begun = beginRefresh(client.memory, { unfinished: [String(key)], now: client.now });
        client.pages.length = 0;
        expect(client.run(begun, ENOUGH)?.outcome).toBe('reached');
        if (habit === 'takes') expect(client.requests).toBe(1);
        expect(client.pages.flat()).toContain(String(key));
      }),
      { numRuns: 100 },
    );
  });
});
