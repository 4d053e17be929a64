import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ENOUGH, variants } from '../../test/support/walks/walk-arbitraries.ts';
import { WalkClient } from '../../test/support/walks/walk-client.ts';
import { WalkSource, type ListVariant } from '../../test/support/walks/walk-source.ts';
import { beginRefresh } from './refresh.ts';

const EXACT: ListVariant = { order: 'falling', cursor: 'keyset', hasMore: 'exact', pageSize: 4 };

function loaded(variant: ListVariant, rows = 40): { source: WalkSource; client: WalkClient } {
  const source = new WalkSource(variant, rows);
  const client = new WalkClient(source);
  client.run(client.beginFull(), ENOUGH);
  client.requests = 0;
  client.pages.length = 0;
  return { source, client };
}

function refresh(client: WalkClient, unfinished: readonly string[]): ReturnType<typeof beginRefresh> {
  return beginRefresh(client.memory, { unfinished, now: client.now });
}

/** Fewest windows of `size` neighbours that hold all `places`: every way to cover the first one is tried. */
function fewestWindows(places: readonly number[], size: number): number {
  const [first] = places;
  if (first === undefined) return 0;
  const ways = Array.from({ length: size }, (_, back) => {
    const begin = first - back;
    return (
      1 +
      fewestWindows(
        places.filter((place) => place < begin || place >= begin + size),
        size,
      )
    );
  });
  return Math.min(...ways);
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
