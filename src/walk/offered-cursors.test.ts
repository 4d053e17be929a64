import { describe, expect, it } from 'vitest';
import { usableMemory, page, refused, asks, range } from '../../test/support/walks/walk-steps.ts';
import { beginConfirm, beginRefresh } from './refresh.ts';
import { beginFull } from './full.ts';
import { newMemory, type ScopeMemory } from './memory.ts';
import { beginPoll } from './poll.ts';
import { step } from './step.ts';
import type { WalkAnswer, Step } from './walk.ts';

const fresh = () => beginFull(newMemory('bigint'), { liveRows: 0, now: 0 });
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
