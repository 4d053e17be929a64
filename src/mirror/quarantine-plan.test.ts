import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { STAMP_EVERY_MS } from './page-record.ts';
import { placesOn, planQuarantine, type QuarantinedRow, type SeenItem } from './quarantine.ts';

const GRACE_PERIOD = 60_000;

/** An item of a list whose order stays and whose texts change: with or without a key, mirrored or not. */
interface Entry {
  readonly key: string | undefined;
  readonly text: string;
  readonly bad: boolean;
}

/** What a page of `length` items from `from` on makes of the quarantine. */
function read(
  stored: ReadonlyMap<string, QuarantinedRow>,
  list: readonly Entry[],
  from: number,
  length: number,
  at: number,
): Map<string, QuarantinedRow> {
  const before = list.slice(0, from).findLast(({ key }) => key !== undefined)?.key;
  const items = list.slice(from, from + length);
  const where = { after: from === 0 ? null : before, ends: from + length >= list.length };
  const { places, shown } = placesOn(items, where);
  const seen = items.flatMap(({ key = null, text, bad }, index): SeenItem[] =>
    bad ? [{ hash: text, key, place: key === null ? (places[index] ?? null) : null, reason: 'is bad' }] : [],
  );
  const good = new Set(items.flatMap(({ key, bad }) => (bad ? [] : (key ?? []))));
  const page = { seen, good, shown, at, gracePeriodMs: GRACE_PERIOD };
  const plan = planQuarantine(page, [...stored.values()]);
  const after = new Map(stored);
  for (const hash of plan.remove) expect(after.delete(hash)).toBe(true);
  for (const { item, since } of plan.insert) {
    expect(after.has(item.hash)).toBe(false);
    after.set(item.hash, { ...item, kept: true, firstSeenAt: since, lastSeenAt: at });
  }
  for (const item of plan.stamp) {
    const row = after.get(item.hash);
    if (row === undefined) throw new Error('stamped what is not there');
    after.set(item.hash, { ...row, place: item.place ?? row.place, lastSeenAt: at });
  }
  return after;
}

const entries = fc
  .array(fc.record({ keyed: fc.boolean(), bad: fc.boolean() }), { minLength: 1, maxLength: 12 })
  .map((all) => all.map(({ keyed, bad }, n) => ({ key: keyed ? `k${n}` : undefined, bad: bad || !keyed })));

it('the plan of quarantine has one row for each bad item of the list after every whole reading, whatever their texts became meanwhile', () => {
  const versions = fc.array(fc.nat(3), { minLength: 12, maxLength: 12 });
  const texts = fc.array(versions, { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(entries, texts, fc.integer({ min: 1, max: 12 }), (shape, rounds, length) => {
      let stored: Map<string, QuarantinedRow> = new Map();
      let at = 1_000_000;
      for (const versions of rounds) {
        at += 2 * GRACE_PERIOD;
        const list = shape.map((each, n) => ({ ...each, text: `${n}.${versions[n]}` }));
        // Walks continue after the last item with a key, so that everything after it is reread.
        for (let from = 0; from < list.length;) {
          const items = Math.max(length, runLength(list, from));
          stored = read(stored, list, from, items, at);
          const next = items + from;
          const last = list.slice(0, next).findLastIndex(({ key }) => key !== undefined);
          from = next >= list.length ? next : Math.max(last + 1, from + 1);
        }
        const bad = list.filter((each) => each.bad).map(({ text }) => text);
        expect([...stored.keys()].toSorted()).toEqual(bad.toSorted());
      }
    }),
  );
});

it('the plan of quarantine writes nothing for a page that shows what is there already', () => {
  fc.assert(
    fc.property(entries, (shape) => {
      const list = shape.map((each, n) => ({ ...each, text: String(n) }));
      const first = read(new Map(), list, 0, 12, 1_000_000);
      expect(read(first, list, 0, 12, 1_000_000 + STAMP_EVERY_MS)).toEqual(first);
    }),
  );
});

it('the plan of quarantine keeps since when an item is bad, whatever its text', () => {
  const list = (n: number): Entry[] => [
    { key: undefined, text: `a${n}`, bad: true },
    { key: 'k', text: `b${n}`, bad: true },
  ];
  const before = read(new Map(), list(1), 0, 2, 1_000);
  const after = read(before, list(2), 0, 2, 9_000_000);
  const since = [...after.values()].map(({ hash, firstSeenAt }) => `${hash} ${firstSeenAt}`);
  expect(since).toEqual(['a2 1000', 'b2 1000']);
});

it('the plan of quarantine leaves one row of several under one key', () => {
  const row = { key: 'k', place: null, reason: 'is bad', kept: true, firstSeenAt: 1, lastSeenAt: 1 };
  const stored = ['old', 'older'].map((hash): QuarantinedRow => ({ ...row, hash }));
  const seen = [{ hash: 'new', key: 'k', place: null, reason: 'is bad' }];
  const none = new Set<string>();
  const page = { seen, good: none, shown: none, at: 2, gracePeriodMs: GRACE_PERIOD };
  expect(planQuarantine(page, stored)).toMatchObject({ remove: ['old', 'older'], insert: [{ since: 1 }] });
});

/** Items up to the next one with a key: a page that ends before it would not advance its walk. */
function runLength(list: readonly Entry[], from: number): number {
  const next = list.findIndex(({ key }, n) => n >= from && key !== undefined);
  return (next === -1 ? list.length : next + 1) - from;
}
