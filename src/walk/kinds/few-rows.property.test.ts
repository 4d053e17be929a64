import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ENOUGH, playing, script, variants } from '../../../test/support/walks/walk-arbitraries.ts';
import { type ClientSource, WalkClient } from '../../../test/support/walks/walk-client.ts';
import { WalkSource, type SourceVariant } from '../../../test/support/walks/walk-source.ts';
import { asks, page, range, refused, usableMemory } from '../../../test/support/walks/walk-steps.ts';
import { runs } from '../../../test/support/effort.ts';
import type { ScopeMemory } from '../memory/memory.ts';
import { OVERLAP } from '../memory/frontier.ts';
import { step } from '../step.ts';
import type { WalkAnswer } from '../walk.ts';
import { beginPoll } from './poll.ts';
import { beginRefresh } from './refresh.ts';

/** The full page of these tests: a list of twice as many rows may be asked for fewer. */
const FULL = 24;
const FALLING: SourceVariant = { order: 'falling', cursor: 'keyset', hasMore: 'exact', pageSize: FULL };

/** What a service may make of a smaller limit than the greatest. */
const HABITS = ['takes', 'refuses', 'says that nothing follows', 'ignores', 'sends none'] as const;

class Picky implements ClientSource {
  readonly #list: WalkSource;
  readonly #habit: (typeof HABITS)[number];

  constructor(list: WalkSource, habit: (typeof HABITS)[number]) {
    this.#list = list;
    this.#habit = habit;
  }

  get(cursor: string | null, limit: number | null): WalkAnswer {
    if (limit === null || limit >= FULL || this.#habit === 'takes') return this.#list.get(cursor, limit);
    if (this.#habit === 'refuses') return refused(422);
    if (this.#habit === 'sends none') return page([], true);
    const answer = this.#list.get(cursor, this.#habit === 'ignores' ? FULL : limit);
    const ends = this.#habit === 'says that nothing follows' && answer.type === 'page';
    return ends ? { ...answer, hasMore: false } : answer;
  }

  versionOf(key: string): number {
    return this.#list.versionOf(key);
  }
}

/** All of the list is mirrored, by a service that took `FULL` as its limit. */
function loaded(variant: SourceVariant, habit: (typeof HABITS)[number] = 'takes', rows = 60) {
  const source = new WalkSource(variant, rows);
  const client = new WalkClient(new Picky(source, habit), 3);
  client.memory = withFullPage(client.memory);
  expect(client.run(client.beginFull(), ENOUGH)?.outcome).toBe('complete');
  client.requests = 0;
  return { source, client };
}

function withFullPage(memory: ScopeMemory): ScopeMemory {
  return { ...memory, limit: { ...memory.limit, value: FULL, proven: true } };
}

describe('a poll that asks for few rows', () => {
  it('leaves no row unknown, whatever the service makes of small limits', () => {
    const act = fc.record({
      few: fc.option(fc.integer({ min: 1, max: FULL }), { nil: undefined }),
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
          for (const { few, requests, steps, pause } of acts) {
            client.now += pause;
            client.few = few;
            client.run(client.beginPoll(), requests, playing(source, steps));
          }
          expect(client.run(client.beginPoll(), ENOUGH)?.outcome).toMatch(/reached|complete/);
          expect(source.liveKeys().filter((key) => !client.mirror.has(key))).toEqual([]);
        },
      ),
      { numRuns: runs(150, 800) },
    );
  });

  it('asks for a full page where one might show the whole list, or the list’s end is needed', () => {
    const memory = withFullPage(usableMemory());
    const limitOf = (changed: Partial<ScopeMemory>, overlapKey: string | null = '95'): string | undefined =>
      asks(beginPoll({ ...memory, ...changed }, { overlapKey, now: 0, few: 3 }), [])[0];
    expect(limitOf({ rows: 48 })).toBe('top/3');
    expect(limitOf({ rows: 47 })).toBe('top/24');
    expect(limitOf({}, null)).toBe('top/24');
    expect(limitOf({ cursors: 'offered' })).toBe('top/24');
    expect(limitOf({ limit: { ...memory.limit, proven: false } })).toBe('top/24');
    expect(limitOf({ limit: { ...memory.limit, onlyFull: true } })).toBe('top/24');
    expect(limitOf({ limit: { ...memory.limit, fits: 5 } })).toBe('top/5');
  });

  it('takes no few rows for the whole list', () => {
    const memory = withFullPage(usableMemory());
    const begun = beginPoll(memory, { overlapKey: '95', now: 0, few: 3 });
    const again = step(begun.walk, begun.memory, page(range(100, 98), false), 0);
    expect([again.page?.proof, again.page?.place.ends, again.ask]).toEqual([
      null,
      false,
      { type: 'page', cursor: null, limit: FULL },
    ]);
    // It really was all: the next ones are believed.
    const honest = step(again.walk, again.memory, page(range(100, 98), false), 0);
    expect([honest.page?.proof?.kind, honest.memory.limit.onlyFull]).toEqual(['snapshot', false]);
    const lied = step(again.walk, again.memory, page(range(100, 77), true), 0);
    expect([lied.ask.type, lied.memory.limit.onlyFull]).toEqual(['end', true]);
  });

  it('goes on after a cursor of the service’s own with the limit that it was made with', () => {
    const memory = withFullPage(usableMemory());
    const begun = beginPoll(memory, { overlapKey: '90', now: 0, few: 3 });
    expect(asks(begun, [page(range(100, 98), true, 'page-2')])).toEqual(['top/3', 'page-2/3']);
  });
});

describe('a reading of one row', () => {
  it('asks for a page of twenty right before it, and of more rows for full pages', () => {
    const memory = { ...usableMemory(), rows: 1000 };
    const limit = { ...memory.limit, value: 500, proven: true };
    const begin = (
      unfinished: string[],
      changed: Partial<ScopeMemory> = {},
    ): ReturnType<typeof beginRefresh> =>
      beginRefresh({ ...memory, limit, ...changed }, { unfinished, now: 0 });
    const before = { type: 'predecessor', key: '61' } as const;
    expect(asks(begin(['60']), [before, page(range(60, 41), true)])).toEqual(['<60#1', '61/20', 'reached']);
    expect(asks(begin(['60', '58']), [before])).toEqual(['<60#1', '61/500']);
    expect(asks(begin(['60'], { rows: 999 }), [before])).toEqual(['<60#1', '61/500']);
  });

  it('asks for a full page where the service refuses so few, and remembers it; not where it refused the cursor', () => {
    const memory = { ...usableMemory(), rows: 1000 };
    const limit = { ...memory.limit, value: 500, proven: true };
    let stepped = beginRefresh({ ...memory, limit }, { unfinished: ['60'], now: 0 });
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
