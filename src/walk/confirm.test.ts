import { expect, it } from 'vitest';
import { asks, page, range } from '../../test/support/walks/walk-steps.ts';
import { WalkClient } from '../../test/support/walks/walk-client.ts';
import { WalkSource, type ListVariant } from '../../test/support/walks/walk-source.ts';
import { beginConfirm } from './refresh.ts';
import { newMemory, type ScopeMemory } from './memory.ts';
import { step } from './step.ts';
import type { WalkAnswer, Step } from './walk.ts';

const PAGED: ListVariant = { order: 'falling', cursor: 'keyset', hasMore: 'exact', pageSize: 10 };

/** Memory of a scope of 50 rows, trusted: rows were seen to change in their places. */
function memory(order: ListVariant['order'] = 'falling'): ScopeMemory {
  const source = new WalkSource({ ...PAGED, order }, 50);
  const client = new WalkClient(source);
  client.run(client.beginFull(), 100);
  for (const row of [5, 15, 25]) source.update(row);
  client.run(client.beginFull(), 100);
  return client.memory;
}

const begin = (keys: readonly string[], known = memory()): Step => beginConfirm(known, { keys, now: 0 });

/** What the walk makes of its first answer. */
const made = ({ walk, memory }: Step, answer: WalkAnswer) => step(walk, memory, answer, 0).page;

const TOP = page(range(50, 41), true);
const before = (key: string): WalkAnswer => ({ type: 'predecessor', key });

it('a confirming walk reads the top first, then the fewest pages that cover its rows', () => {
  const asked = asks(begin(['18', '45', '19']), [TOP, before('20'), page(range(17, 8), true)]);
  expect(asked).toEqual(['top/500', '<19#1', '20/500', 'reached']);
});

it('a confirming walk goes on after the last row that it has read where the stored predecessor lies before that', () => {
  expect(asks(begin(['45', '40']), [TOP, before('42')])).toEqual(['top/500', '<40#1', '41/500']);
});

it('a confirming walk ends with a snapshot, whatever the order', () => {
  for (const known of [memory(), newMemory('bigint')]) {
    const all = page(['9', '7'], false);
    expect(asks(begin(['1', '2'], known), [all]).at(-1)).toBe('complete');
    expect(made(begin(['1', '2'], known), all)).toMatchObject({
      proof: { kind: 'snapshot' },
      contradiction: false,
    });
  }
});

it('a confirming walk gives way to full walks where the order is unknown, or a page contradicts it', () => {
  expect(asks(begin(['1'], memory('shuffled')), [TOP])).toEqual(['top/500', 'full-needed']);
  const moved = page(['18', '50', '49'], true);
  expect(asks(begin(['18']), [moved])).toEqual(['top/500', 'full-needed']);
  expect(made(begin(['18']), moved)).toMatchObject({ proof: null, contradiction: true });
});
