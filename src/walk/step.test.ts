import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { usableMemory, page, refused, asks, range } from '../../test/support/walks/walk-steps.ts';
import { beginConfirm } from './kinds/confirm.ts';
import { beginFull } from './kinds/full.ts';
import { newMemory, noteWritten } from './memory/memory.ts';
import { beginPoll } from './kinds/poll.ts';
import { beginRefresh } from './kinds/refresh.ts';
import { step } from './step.ts';
import type { WalkAnswer, Step } from './walk.ts';

describe('step', () => {
  it('ends every walk, whatever the service answers', () => {
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
        let stepped: Step =
          kind === 'poll'
            ? beginPoll(memory, { overlapKey: '20', now: 0 })
            : kind === 'full'
              ? beginFull(memory, { liveRows: 0, now: 0 })
              : kind === 'refresh'
                ? beginRefresh(memory, { unfinished: range(10, 30), now: 0 })
                : beginConfirm(memory, { keys: range(10, 30), now: 0 });
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

  it('goes back over the previous five keys, a stored row, and the top, twice, then gives up and names the page', () => {
    const memory = usableMemory();
    const begun = beginFull(memory, { liveRows: 100, now: 0 });
    const first = page(range(100, 76), true);
    const ladder = Array.from({ length: 6 }, () => refused(404));
    const stored: WalkAnswer = { type: 'predecessor', key: '82' };
    const round = [first, ...ladder, stored, refused(404)];
    expect(asks(begun, round)).toEqual([
      'top/500',
      '76/500',
      '77/500',
      '78/500',
      '79/500',
      '80/500',
      '81/500',
      '<81#1',
      '82/500',
      'top/500',
    ]);
    expect(asks(begun, [...round, ...round, ...round]).at(-1)).toBe('failed');
    let stepped: Step = begun;
    for (const answer of [...round, ...round, ...round]) {
      stepped = step(stepped.walk, stepped.memory, answer, 0);
    }
    expect(stepped.ask).toMatchObject({
      reason: 'page 4 (after "82", begun again 2 times) was refused: 404 no',
    });
  });

  it('lowers a refused limit to 100, then leaves it out, and remembers what works', () => {
    const begun = beginFull(newMemory('bigint'), { liveRows: 0, now: 0 });
    const answers = [refused(422), refused(400), page(range(50, 40), true)];
    expect(asks(begun, answers)).toEqual(['top/500', 'top/100', 'top/none', '40/none']);
    expect(asks(begun, [refused(422), refused(422), refused(422)]).at(-1)).toBe('failed');
  });

  it('gives the status when the scope itself is refused', () => {
    const begun = beginFull(newMemory('bigint'), { liveRows: 0, now: 0 });
    expect(step(begun.walk, begun.memory, refused(404), 0).ask).toEqual({
      type: 'end',
      outcome: 'failed',
      reason: 'page 1 (from the top) was refused: 404 no',
      status: 404,
    });
    expect(step(begun.walk, begun.memory, refused(404), 0).memory).toEqual(begun.memory);
  });

  it('passes over items without a usable key', () => {
    const begun = beginFull(newMemory('bigint'), { liveRows: 0, now: 0 });
    expect(asks(begun, [page(['9', undefined, '8', undefined], true)])).toEqual(['top/500', '8/500']);
    expect(asks(begun, [page([undefined], false)]).at(-1)).toBe('complete');
  });

  it('asks for fewer items where a page is too large, to a single one, then names the page', () => {
    const begun = beginFull(usableMemory(), { liveRows: 100, now: 0 });
    const large: WalkAnswer = { type: 'too-large' };
    const all = [page(range(100, 76), true), large, large, page(range(75, 56), true), large, large];
    expect(asks(begun, all)).toEqual(['top/500', '76/500', '76/100', '76/20', '56/20', '56/5', '56/1']);
    let stepped: Step = begun;
    for (const answer of [...all, large]) stepped = step(stepped.walk, stepped.memory, answer, 0);
    expect(stepped.ask).toMatchObject({
      outcome: 'failed',
      reason: 'page 3 (after "56") is too large to be held, with a single item',
    });
  });

  it('asks for more at once where a small page has no item to go on after, then for the least that is needed', () => {
    const begun = beginFull(usableMemory(), { liveRows: 100, now: 0 });
    const large: WalkAnswer = { type: 'too-large' };
    const down = [page(range(100, 76), true), large, large, large, large];
    const small = ['top/500', '76/500', '76/100', '76/20', '76/5', '76/1'];
    const none = page([undefined], true);
    const two = page([undefined, undefined], true);
    expect(asks(begun, [...down, none, page([undefined, '75'], true)])).toEqual([...small, '76/2', '75/2']);
    expect(asks(begun, [...down, none, two, large, page([undefined, undefined, '75'], true)])).toEqual([
      ...small,
      '76/2',
      '76/4',
      '76/3',
      '75/3',
    ]);
    // Where fewer would not do, as much is buffered as of a single item.
    const last = (answers: readonly WalkAnswer[]): Step['ask'] => {
      let stepped: Step = begun;
      for (const answer of answers) stepped = step(stepped.walk, stepped.memory, answer, 0);
      return stepped.ask;
    };
    expect(last([...down, none])).toEqual({ type: 'page', cursor: '76', limit: 2, large: true });
    expect(last([...down, none, two])).toEqual({ type: 'page', cursor: '76', limit: 4 });
    expect(last([...down, none, two, large])).toEqual({ type: 'page', cursor: '76', limit: 3, large: true });
    expect(last([...down, none, page([undefined, '75'], true)])).not.toHaveProperty('large');
    expect(last([...down, none, two, large, large])).toMatchObject({
      outcome: 'failed',
      reason:
        'page 4 (after "76") is too large to be held: its first 2 items have no usable cursor ID, and the one behind is needed',
    });
  });

  it('ends with pages of a single item once nothing follows the last one twice, and it was seen between', () => {
    const full = [page(['2'], true), page(['1'], true), page([], false), page(['1'], true), page([], false)];
    for (const answers of [full, full.map((answer) => ({ ...answer, hasMore: undefined }))]) {
      const begun = beginFull(newMemory('bigint'), { liveRows: 0, now: 0 });
      expect(asks(begun, answers)).toEqual(['top/500', '2/500', '1/500', '2/500', '1/500', 'complete']);
    }
    const single = [page(['7']), page([]), page(['7']), page([])];
    const begun = beginFull(newMemory('bigint'), { liveRows: 0, now: 0 });
    expect(asks(begun, single)).toEqual(['top/500', '7/500', 'top/500', '7/500', 'complete']);
  });

  it('leaves the memory as it is where a page says nothing new', () => {
    const { walk, memory } = beginFull(usableMemory(), { liveRows: 100, now: 0 });
    const first = step(walk, memory, page(range(100, 76), true), 0);
    const second = step(first.walk, first.memory, page(range(75, 51), true), 0);
    expect(second.memory).toBe(first.memory);
  });
});
