import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { usableMemory, page, refused, asks, range } from '../../test/support/walks/walk-steps.ts';
import { beginConfirm, beginRefresh } from './refresh.ts';
import { beginFull } from './full.ts';
import { newMemory, noteWritten, type ScopeMemory } from './memory.ts';
import { beginPoll } from './poll.ts';
import { step } from './step.ts';
import type { WalkAnswer, Step } from './walk.ts';

const FIRST = page(range(100, 76), true);
const LARGE: WalkAnswer = { type: 'too-large' };

/** A full walk of a list that was never read, and of one that was. */
const fresh = () => beginFull(newMemory('bigint'), { liveRows: 0, now: 0 });
const known = () => beginFull(usableMemory(), { liveRows: 100, now: 0 });

/** What is asked after all these answers. */
function last(begun: Step, answers: readonly WalkAnswer[]): Step['ask'] {
  return answers.reduce((at, answer) => step(at.walk, at.memory, answer, 0), begun).ask;
}

/** How a walk of each kind begins. */
const BEGIN = {
  poll: (memory: ScopeMemory): Step => beginPoll(memory, { overlapKey: '20', now: 0 }),
  full: (memory: ScopeMemory): Step => beginFull(memory, { liveRows: 0, now: 0 }),
  refresh: (memory: ScopeMemory): Step => beginRefresh(memory, { unfinished: range(10, 30), now: 0 }),
  confirm: (memory: ScopeMemory): Step => beginConfirm(memory, { keys: range(10, 30), now: 0 }),
};

it('step ends every walk, whatever the service answers', () => {
  const key = fc.option(fc.integer({ min: 1, max: 60 }).map(String), { nil: undefined, freq: 8 });
  const answer: fc.Arbitrary<WalkAnswer> = fc.oneof(
    {
      weight: 9,
      arbitrary: fc.record({
        type: fc.constant('page' as const),
        keys: fc.oneof(
          fc.array(key, { maxLength: 6 }),
          fc.integer({ min: 1, max: 60 }).map((top) => range(top, Math.max(1, top - 9))),
        ),
        hasMore: fc.constantFrom(true, true, true, false, undefined),
        nextCursor: fc.constantFrom(undefined, undefined, null, 'a', 'b', '7', ''),
      }),
    },
    { weight: 1, arbitrary: fc.constantFrom(400, 404, 422).map(refused) },
    { weight: 1, arbitrary: fc.constant({ type: 'too-large' as const }) },
  );
  const memories = [newMemory('bigint'), newMemory('text'), usableMemory()];
  const scenario = fc.record({
    memory: fc.constantFrom(...memories),
    kind: fc.constantFrom('poll', 'full', 'refresh', 'confirm'),
    answers: fc.array(answer, { minLength: 1, maxLength: 12 }),
  });
  fc.assert(
    fc.property(scenario, ({ memory, kind, answers }) => {
      const written = new Set<string>();
      let stepped = BEGIN[kind](memory);
      let requests = 0;
      for (; stepped.ask.type !== 'end' && requests < 20_000; requests += 1) {
        const { ask } = stepped;
        const given =
          ask.type === 'predecessor'
            ? { type: 'predecessor' as const, key: requests % 3 === 0 ? null : String(Number(ask.of) + 1) }
            : (answers[requests % answers.length] ?? refused(404));
        stepped = step(stepped.walk, stepped.memory, given, requests);
        if (given.type !== 'page') continue;
        const keys = given.keys.filter((key) => key !== undefined);
        const rows = keys.map((key) => ({ key, known: written.has(key), changed: false }));
        for (const key of keys) written.add(key);
        stepped = { ...stepped, memory: noteWritten(stepped.memory, rows) };
      }
      expect(stepped.ask.type).toBe('end');
      if (kind !== 'full') expect(requests).toBeLessThan(1000);
    }),
    { numRuns: 400 },
  );
});

it('step goes back over the previous five keys, a stored row, and the top, twice, then gives up and names the page', () => {
  const ladder = Array.from({ length: 6 }, () => refused(404));
  const round = [FIRST, ...ladder, { type: 'predecessor', key: '82' } as const, refused(404)];
  const back = ['76', '77', '78', '79', '80', '81'].map((key) => `${key}/500`);
  expect(asks(known(), round)).toEqual(['top/500', ...back, '<81#1', '82/500', 'top/500']);
  expect(last(known(), [...round, ...round, ...round])).toMatchObject({
    outcome: 'failed',
    reason: 'page 4 (after "82", restarted 2 times) was refused: 404 no',
  });
});

it('step lowers a refused limit to 100, then leaves it out, and remembers what works', () => {
  const answers = [refused(422), refused(400), page(range(50, 40), true)];
  expect(asks(fresh(), answers)).toEqual(['top/500', 'top/100', 'top/none', '40/none']);
  expect(asks(fresh(), [refused(422), refused(422), refused(422)]).at(-1)).toBe('failed');
});

it('step gives the status when the scope itself is refused', () => {
  const { walk, memory } = fresh();
  const { ask, memory: after } = step(walk, memory, refused(404), 0);
  const reason = 'page 1 (from the top) was refused: 404 no';
  expect(ask).toEqual({ type: 'end', outcome: 'failed', reason, status: 404 });
  expect(after).toEqual(memory);
});

it('step passes over items without a usable key', () => {
  expect(asks(fresh(), [page(['9', undefined, '8', undefined], true)])).toEqual(['top/500', '8/500']);
  expect(asks(fresh(), [page([undefined], false)]).at(-1)).toBe('complete');
});

it('step asks for fewer items where a page is too large, to a single one, then names the page', () => {
  const all = [FIRST, LARGE, LARGE, page(range(75, 56), true), LARGE, LARGE];
  expect(asks(known(), all)).toEqual(['top/500', '76/500', '76/100', '76/20', '56/20', '56/5', '56/1']);
  expect(last(known(), [...all, LARGE])).toMatchObject({
    outcome: 'failed',
    reason: 'page 3 (after "56") is too large for memory, even with a single item',
  });
});

it('step asks for more at once where a small page has no item to go on after, then for the least that is needed', () => {
  const down = [FIRST, LARGE, LARGE, LARGE, LARGE];
  const small = ['top/500', '76/500', '76/100', '76/20', '76/5', '76/1'];
  const none = page([undefined], true);
  const two = page([undefined, undefined], true);
  const behindOne = page([undefined, '75'], true);
  expect(asks(known(), [...down, none, behindOne])).toEqual([...small, '76/2', '75/2']);
  const behindTwo = page([undefined, undefined, '75'], true);
  const wider = [...small, '76/2', '76/4', '76/3', '75/3'];
  expect(asks(known(), [...down, none, two, LARGE, behindTwo])).toEqual(wider);
  // Where fewer would not do, as much is buffered as of a single item.
  const after = (...answers: WalkAnswer[]) => last(known(), [...down, none, ...answers]);
  expect(after()).toEqual({ type: 'page', cursor: '76', limit: 2, large: true });
  expect(after(two)).toEqual({ type: 'page', cursor: '76', limit: 4 });
  expect(after(two, LARGE)).toEqual({ type: 'page', cursor: '76', limit: 3, large: true });
  expect(after(behindOne)).not.toHaveProperty('large');
  expect(after(two, LARGE, LARGE)).toMatchObject({
    outcome: 'failed',
    reason:
      'page 4 (after "76") is too large for memory: its first 2 items have no usable cursor ID, and the next item is needed',
  });
});

it('step leaves the memory as it is where a page says nothing new', () => {
  const { walk, memory } = known();
  const first = step(walk, memory, FIRST, 0);
  const second = step(first.walk, first.memory, page(range(75, 51), true), 0);
  expect(second.memory).toBe(first.memory);
});

const [X, Y] = [page(range(100, 76), true, 'x'), page(range(75, 51), true, 'y')];
const Z = page(range(50, 26), true, 'z');
/** The first page of a service that offers cursors and says nothing of `has_more`. */
const OFFERS = page(range(100, 76), undefined, 'x');
const REST = range(75, 60);
/** Null with every page, as others may send it. */
const NULL = page(range(100, 76), undefined, null);
const NULL_REST = page(['76', ...REST], undefined, null);

describe('a walk over cursors that the service offers', () => {
  it('prefers a cursor that the server offers, and falls back on keys where that is refused', () => {
    const begun = beginFull(usableMemory(), { liveRows: 100, now: 0 });
    const answers = [page(range(100, 76), true, 'x='), refused(400), page(REST, true)];
    expect(asks(begun, answers)).toEqual(['top/500', 'x=/500', '76/500', '60/500']);
  });

  it.each<[string, WalkAnswer, WalkAnswer, string[]]>([
    ['null, where cursors are offered', OFFERS, page(REST, undefined, null), ['x/500', 'complete']],
    ['missing behind a cursor', OFFERS, page(REST), ['x/500', 'complete']],
    ['null, but more follow', OFFERS, page(REST, true, null), ['x/500', '60/500']],
    ['null on every page', NULL, NULL_REST, ['77/500', '61/500']],
  ])('takes a next_cursor for the end or not: %s', (_, first, second, asked) => {
    expect(asks(fresh(), [first, second])).toEqual(['top/500', ...asked]);
  });

  it('goes back by the cursor that the service offered before, and ends when nothing comes behind it twice', () => {
    const nothing = page([], false, null);
    const there = ['top/500', 'x/500', 'y/500', 'x/500'];
    const twice = asks(fresh(), [X, Y, nothing, Y, page(range(50, 40), false, null)]);
    expect(twice).toEqual([...there, 'y/500', 'complete']);
    expect(asks(fresh(), [X, Y, nothing, Y, nothing]).at(-1)).toBe('complete');
    expect(asks(fresh(), [X, Y, nothing, page(range(75, 52), false, null)]).at(-1)).toBe('complete');
    expect(asks(fresh(), [X, page([], true), X])).toEqual(['top/500', 'x/500', 'top/500', 'x/500']);
  });

  it('remembers that a service refuses IDs: it goes by offered cursors alone, from the top if need be', () => {
    const lost = [X, Y, refused(400), refused(400)];
    expect(asks(fresh(), lost)).toEqual(['top/500', 'x/500', 'y/500', '51/500', 'x/500']);
    const learnt = lost.reduce<Step>((at, answer) => step(at.walk, at.memory, answer, 0), fresh());
    const memory: ScopeMemory = { ...usableMemory(), cursors: learnt.memory.cursors };
    expect(memory.cursors).toBe('offered-only');
    const open = { first: '100', at: 0, asOf: 0, after: '60', low: '40' };
    for (const covering of [
      beginRefresh(memory, { unfinished: ['60', '30'], now: 0 }),
      beginConfirm(memory, { keys: ['30', '60'], now: 0 }),
      beginPoll({ ...memory, open }, { overlapKey: '50', now: 0 }),
    ]) {
      expect(asks(covering, [X, Y, Z])).toEqual(['top/500', 'x/500', 'y/500', 'reached']);
    }
  });

  it.each([
    [401, 'offered'],
    [400, 'offered-only'],
    [404, 'offered-only'],
    [410, 'offered-only'],
    [422, 'offered-only'],
  ])('learns of an ID refused with %i: %s; where the key is refused, nothing', (status, cursors) => {
    const begun = fresh();
    const { walk, memory } = step(begun.walk, begun.memory, X, 0);
    const idAsked = step({ ...walk, cursor: '76', token: false }, memory, refused(status), 0);
    expect(idAsked.memory.cursors).toBe(cursors);
  });

  it('goes back to the top where a cursor is refused with the key', () => {
    expect(asks(fresh(), [X, refused(401)])).toEqual(['top/500', 'x/500', 'top/500']);
  });

  it('begins a refresh again at the top where it finds out that a service refuses IDs', () => {
    const memory: ScopeMemory = { ...usableMemory(), cursors: 'offered' };
    const begun = beginRefresh(memory, { unfinished: ['90'], now: 0 });
    const found: WalkAnswer = { type: 'predecessor', key: '91' };
    const asked = asks(begun, [found, refused(400), X]);
    expect(asked).toEqual(['<90#1', '91/500', 'top/500', 'reached']);
  });

  it('believes a null next_cursor without has_more where no ID is taken either', () => {
    const only = page(['9', '7', '8'], undefined, null);
    const first = asks(fresh(), [only, refused(400), refused(400), only, refused(400)]);
    expect(first).toEqual(['top/500', '7/500', '9/500', 'top/500', '8/500', 'complete']);
  });
});
