import { describe, expect, it } from 'vitest';
import { WalkClient } from '../../../test/support/walks/walk-client.ts';
import { WalkSource, type SourceVariant } from '../../../test/support/walks/walk-source.ts';
import { beginConfirm } from './confirm.ts';
import type { ScopeMemory } from '../memory/memory.ts';
import { newMemory } from '../memory/memory.ts';
import { step } from '../step.ts';
import type { WalkAnswer, Step } from '../walk.ts';

const PAGED: SourceVariant = { order: 'falling', cursor: 'keyset', hasMore: 'exact', pageSize: 10 };

/** Memory of a scope of 50 rows, trusted: rows were seen to change in their places. */
function memory(order: SourceVariant['order'] = 'falling'): ScopeMemory {
  const source = new WalkSource({ ...PAGED, order }, 50);
  const client = new WalkClient(source);
  client.run(client.beginFull(), 100);
  for (const row of [5, 15, 25]) source.update(row);
  client.run(client.beginFull(), 100);
  return client.memory;
}

function page(keys: readonly string[], hasMore?: boolean): WalkAnswer {
  return { type: 'page', keys, hasMore };
}

function range(from: number, to: number): string[] {
  return Array.from({ length: from - to + 1 }, (_, i) => String(from - i));
}

function play(begun: Step, answers: readonly WalkAnswer[]): Step[] {
  let last = begun;
  return [begun, ...answers.map((answer) => (last = step(last.walk, last.memory, answer, 0)))];
}

function shown({ ask }: Step): string {
  if (ask.type === 'page') return ask.cursor ?? 'top';
  return ask.type === 'predecessor' ? `<${ask.of}` : ask.outcome;
}

describe('a confirming walk', () => {
  it('reads the top first, then the fewest pages that cover its rows', () => {
    const begun = beginConfirm(memory(), { keys: ['18', '45', '19'], now: 0 });
    const steps = play(begun, [
      page(range(50, 41), true),
      { type: 'predecessor', key: '20' },
      page(range(17, 8), true),
    ]);
    expect(steps.map(shown)).toEqual(['top', '<19', '20', 'reached']);
  });

  it('goes on after the last row that it has read where the stored predecessor lies before that', () => {
    const steps = play(beginConfirm(memory(), { keys: ['45', '40'], now: 0 }), [
      page(range(50, 41), true),
      { type: 'predecessor', key: '42' },
    ]);
    expect(steps.map(shown)).toEqual(['top', '<40', '41']);
  });

  it('says what each page proves, for the rows that it was sent for', () => {
    const keys = ['18', '45'];
    const steps = play(beginConfirm(memory(), { keys, now: 0 }), [
      page(range(50, 41), true),
      { type: 'predecessor', key: '20' },
      page(range(17, 8), false),
    ]);
    const interval = { kind: 'interval', direction: 'falling', raises: keys };
    expect(steps.map((each) => each.page?.proof)).toEqual([
      undefined,
      { ...interval, after: null, through: '41' },
      undefined,
      { ...interval, after: '20', through: null },
    ]);
  });

  it('ends with a snapshot, whatever the order', () => {
    for (const known of [memory(), newMemory('bigint')]) {
      const last = play(beginConfirm(known, { keys: ['1', '2'], now: 0 }), [page(['9', '7'], false)]).at(-1);
      expect(last?.ask).toMatchObject({ type: 'end', outcome: 'complete' });
      expect(last?.page).toMatchObject({ proof: { kind: 'snapshot' }, contradiction: false });
    }
  });

  it('gives way to full walks where the order is unknown, or a page contradicts it', () => {
    const unknown = beginConfirm(memory('shuffled'), { keys: ['1'], now: 0 });
    expect(play(unknown, [page(range(50, 41), true)]).map(shown)).toEqual(['top', 'full-needed']);
    const moved = play(beginConfirm(memory(), { keys: ['18'], now: 0 }), [page(['18', '50', '49'], true)]);
    expect(moved.map(shown)).toEqual(['top', 'full-needed']);
    expect(moved.at(-1)?.page).toMatchObject({ proof: null, contradiction: true });
  });
});
