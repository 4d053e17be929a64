import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ENOUGH, variants } from '../../test/support/walks/walk-arbitraries.ts';
import { WalkClient } from '../../test/support/walks/walk-client.ts';
import { WalkSource, type ListVariant } from '../../test/support/walks/walk-source.ts';
import { beginRefresh, beginConfirm } from './refresh.ts';
import { asks, page, range } from '../../test/support/walks/walk-steps.ts';
import { newMemory, type ScopeMemory } from './memory.ts';
import { step } from './step.ts';
import type { WalkAnswer, Step } from './walk.ts';

const EXACT: ListVariant = { order: 'falling', cursor: 'keyset', hasMore: 'exact', pageSize: 4 };

function loaded(variant: ListVariant, rows = 40) {
  const source = new WalkSource(variant, rows);
  const client = new WalkClient(source);
  client.run(client.beginFull(), ENOUGH);
  client.requests = 0;
  client.pages.length = 0;
  return { source, client };
}

const refresh = ({ memory, now }: WalkClient, unfinished: readonly string[]) =>
  beginRefresh(memory, { unfinished, now });

/** Fewest windows of `size` neighbours that hold all `places`: every way to cover the first one is tried. */
function fewestWindows(places: readonly number[], size: number): number {
  const [first] = places;
  if (first === undefined) return 0;
  const ways = Array.from({ length: size }, (_, back) => {
    const others = places.filter((place) => place < first - back || place >= first - back + size);
    return fewestWindows(others, size);
  });
  return 1 + Math.min(...ways);
}

const keys = fc.uniqueArray(fc.integer({ min: 1, max: 40 }), { maxLength: 8 });

it('a refresh reads its rows in as few pages as can be', () => {
  fc.assert(
    fc.property(fc.constantFrom('falling' as const, 'rising' as const), keys, (order, wanted) => {
      const { client } = loaded({ ...EXACT, order });
      expect(client.run(refresh(client, wanted.map(String)), ENOUGH)?.outcome).toBe('reached');
      const sorted = wanted.toSorted((a, b) => a - b);
      expect(client.requests).toBe(fewestWindows(sorted, EXACT.pageSize));
      const read = new Set(client.pages.flat());
      expect(wanted.filter((key) => !read.has(String(key)))).toEqual([]);
    }),
    { numRuns: 150 },
  );
});

it('a refresh reads every row that is still there, whatever the cursors mean and whatever was deleted or added', () => {
  fc.assert(
    fc.property(
      variants('falling', 'rising'),
      keys,
      fc.array(fc.nat(60), { maxLength: 12 }),
      fc.nat(20),
      (variant, wanted, deleted, inserted) => {
        const { source, client } = loaded(variant);
        for (const n of deleted) source.delete(n);
        for (let i = 0; i < inserted; i += 1) source.insert();
        const end = client.run(refresh(client, wanted.map(String)), ENOUGH);
        const read = new Set(client.pages.flat());
        const live = new Set(source.liveKeys());
        const unread = wanted.map(String).filter((key) => live.has(key) && !read.has(key));
        if (end?.outcome === 'failed') expect(end.reason).toMatch(/^page \d+ \(after "/);
        else expect([end?.outcome, unread]).toEqual(['reached', []]);
      },
    ),
    { numRuns: 500 },
  );
});

it('a refresh does not guess where the order is unknown', () => {
  const { client } = loaded({ ...EXACT, order: 'shuffled' });
  expect(refresh(client, ['3']).ask).toMatchObject({ type: 'end', outcome: 'full-needed' });
});

/** Memory of a scope of 50 rows, trusted: rows were seen to change in their places. */
function memory(order: ListVariant['order'] = 'falling'): ScopeMemory {
  const { source, client } = loaded({ ...EXACT, order, pageSize: 10 }, 50);
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
