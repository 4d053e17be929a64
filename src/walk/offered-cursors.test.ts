import { describe, expect, it } from 'vitest';
import {
  usableMemory,
  trustedMemory,
  page,
  refused,
  asks,
  shown,
  range,
} from '../../test/support/walks/walk-steps.ts';
import { beginConfirm } from './kinds/confirm.ts';
import { beginFull } from './kinds/full.ts';
import { newMemory, type ScopeMemory } from './memory/memory.ts';
import { beginPoll } from './kinds/poll.ts';
import { beginRefresh } from './kinds/refresh.ts';
import { step } from './step.ts';
import type { WalkAnswer, Step } from './walk.ts';

describe('a walk over cursors that the service offers', () => {
  it('prefers a cursor that the server offers, and falls back on keys where that is refused', () => {
    const begun = beginFull(usableMemory(), { liveRows: 100, now: 0 });
    const answers = [page(range(100, 76), true, 'x='), refused(400), page(range(75, 60), true)];
    expect(asks(begun, answers)).toEqual(['top/500', 'x=/500', '76/500', '60/500']);
  });

  it('takes a null next_cursor for the end where the service offers cursors, and a missing one behind a cursor', () => {
    const begun = beginFull(newMemory('bigint'), { liveRows: 0, now: 0 });
    const first = page(range(100, 76), undefined, 'x');
    for (const last of [null, undefined]) {
      expect(asks(begun, [first, page(range(75, 60), undefined, last)])).toEqual([
        'top/500',
        'x/500',
        'complete',
      ]);
    }
    expect(asks(begun, [first, page(range(75, 60), true, null)])).toEqual(['top/500', 'x/500', '60/500']);
    // Others may send it with every page.
    const plain = asks(begun, [
      page(range(100, 76), undefined, null),
      page(['76', ...range(75, 60)], undefined, null),
    ]);
    expect(plain).toEqual(['top/500', '77/500', '61/500']);
  });

  it('proves nothing behind the last item by a null next_cursor alone', () => {
    const begun = beginFull(trustedMemory(), { liveRows: 100, now: 0 });
    const first = step(begun.walk, begun.memory, page(range(100, 76), undefined, 'x'), 0);
    const interval = { kind: 'interval', direction: 'falling', after: '76' };
    for (const [hasMore, through] of [
      [undefined, '60'],
      [false, null],
    ] as const) {
      const last = step(first.walk, first.memory, page(range(75, 60), hasMore, null), 0);
      expect(last.ask).toMatchObject({ outcome: 'complete' });
      expect(last.page?.proof).toEqual({ ...interval, through });
    }
  });

  it('goes back by the cursor that the service offered before, and ends when nothing comes behind it twice', () => {
    const begun = beginFull(newMemory('bigint'), { liveRows: 0, now: 0 });
    const pages = [page(range(100, 76), true, 'x'), page(range(75, 51), true, 'y'), page([], false, null)];
    const back = page(range(75, 51), true, 'y');
    expect(asks(begun, [...pages, back, page(range(50, 40), false, null)])).toEqual([
      'top/500',
      'x/500',
      'y/500',
      'x/500',
      'y/500',
      'complete',
    ]);
    expect(asks(begun, [...pages, back, page([], false, null)]).at(-1)).toBe('complete');
    expect(asks(begun, [...pages, page(range(75, 52), false, null)]).at(-1)).toBe('complete');
    expect(asks(begun, [...pages.slice(0, 1), page([], true), page(range(100, 76), true, 'x')])).toEqual([
      'top/500',
      'x/500',
      'top/500',
      'x/500',
    ]);
  });

  it('remembers that a service refuses IDs: it goes by offered cursors alone, from the top if need be', () => {
    const begun = beginFull(newMemory('bigint'), { liveRows: 0, now: 0 });
    const lost = [
      page(range(100, 76), true, 'x'),
      page(range(75, 51), true, 'y'),
      refused(400),
      refused(400),
    ];
    expect(asks(begun, lost)).toEqual(['top/500', 'x/500', 'y/500', '51/500', 'x/500']);
    let stepped: Step = begun;
    for (const answer of lost) stepped = step(stepped.walk, stepped.memory, answer, 0);
    const memory: ScopeMemory = { ...usableMemory(), cursors: stepped.memory.cursors };
    expect(memory.cursors).toBe('offered-only');
    const pages = [
      page(range(100, 76), true, 'x'),
      page(range(75, 51), true, 'y'),
      page(range(50, 26), true, 'z'),
    ];
    for (const covering of [
      beginRefresh(memory, { unfinished: ['60', '30'], now: 0 }),
      beginConfirm(memory, { keys: ['30', '60'], now: 0 }),
    ]) {
      expect(asks(covering, pages)).toEqual(['top/500', 'x/500', 'y/500', 'reached']);
    }
    const open = { first: '100', at: 0, asOf: 0, after: '60', low: '40' };
    const poll = beginPoll({ ...memory, open }, { overlapKey: '50', now: 0 });
    expect(asks(poll, pages)).toEqual(['top/500', 'x/500', 'y/500', 'reached']);
  });

  it('learns nothing of cursors where the key is refused', () => {
    const begun = beginFull(newMemory('bigint'), { liveRows: 0, now: 0 });
    const { walk, memory } = step(begun.walk, begun.memory, page(range(100, 76), true, 'x'), 0);
    const back = step(walk, memory, refused(401), 0);
    expect(shown(back)).toBe('top/500');
    const idAsked = step({ ...walk, cursor: '76', token: false }, memory, refused(401), 0);
    expect(idAsked.memory.cursors).toBe('offered');
  });

  it.each([400, 404, 410, 422])(
    'learns of a refusal with status %i that a service takes no IDs',
    (status) => {
      const begun = beginFull(newMemory('bigint'), { liveRows: 0, now: 0 });
      const { walk, memory } = step(begun.walk, begun.memory, page(range(100, 76), true, 'x'), 0);
      const idAsked = step({ ...walk, cursor: '76', token: false }, memory, refused(status), 0);
      expect(idAsked.memory.cursors).toBe('offered-only');
    },
  );

  it('begins a refresh again at the top where it finds out that a service refuses IDs', () => {
    const memory: ScopeMemory = { ...usableMemory(), cursors: 'offered' };
    const begun = beginRefresh(memory, { unfinished: ['90'], now: 0 });
    const found: WalkAnswer = { type: 'predecessor', key: '91' };
    expect(asks(begun, [found, refused(400), page(range(100, 76), true, 'x')])).toEqual([
      '<90#1',
      '91/500',
      'top/500',
      'reached',
    ]);
  });

  it('believes a null next_cursor without has_more where no ID is taken either', () => {
    const begun = beginFull(newMemory('bigint'), { liveRows: 0, now: 0 });
    const only = page(['9', '7', '8'], undefined, null);
    const first = asks(begun, [only, refused(400), refused(400), only, refused(400)]);
    expect(first).toEqual(['top/500', '7/500', '9/500', 'top/500', '8/500', 'complete']);
  });
});
