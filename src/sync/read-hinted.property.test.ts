import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryAccount } from '../../test/support/sync/memory-account.ts';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { operate, operation, variants } from '../../test/support/walks/walk-arbitraries.ts';
import { WalkSource, type ListVariant } from '../../test/support/walks/walk-source.ts';
import { PRIORITY } from '../service/rate-groups.ts';
import { Stopped } from '@research-mirror/runtime/service';
import type { HintedOutcome } from './read-hinted.ts';
import { runs } from '../../test/support/effort.ts';

const NAME = 'research_jobs';
const FALLING: ListVariant = { order: 'falling', cursor: 'keyset', hasMore: 'exact', pageSize: 10 };
const { signal } = new AbortController();

/** All of the source is mirrored. */
async function mirrored(variant: ListVariant, rows: number) {
  const clock = new VirtualClock();
  const list = new WalkSource(variant, rows);
  const account = await MemoryAccount.make(clock, { [NAME]: list });
  const { error } = await clock.runUntil(account.reader.read(NAME, { what: 'current', signal }));
  expect(error).toBeUndefined();
  account.sent.length = 0;
  const ask = async (
    keys: readonly string[],
    requests: number,
    { whole = false, signal = new AbortController().signal } = {},
  ): Promise<HintedOutcome> => {
    const scope = { userId: '7', collection: NAME, parent: '' } as const;
    const known = await account.hintStore.live(scope, keys);
    const hinted = whole ? ['', ...keys] : keys;
    const request = { keys: hinted, known, requests, priority: PRIORITY.HINT, signal };
    return clock.runUntil(account.reader.readHinted(scope, request));
  };
  /** A poll that is stopped after so many milliseconds: it leaves open what it did not read. */
  const pollFor = async (ms: number): Promise<void> => {
    const stop = new AbortController();
    const polling = account.reader.read(NAME, { what: 'poll', signal: stop.signal });
    await clock.advance(ms);
    stop.abort(new Stopped('the test'));
    await clock.runUntil(polling);
  };
  return { clock, list, account, ask, pollFor };
}

describe('a reading of hinted rows', () => {
  it('covers all of them in the end, however short its parts are, and then the mirror has them', async () => {
    const ordered = variants('falling', 'rising');
    await fc.assert(
      fc.asyncProperty(
        ordered,
        fc.array(operation, { maxLength: 30 }),
        fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 1, max: 4 }),
        async (variant, operations, ids, requests) => {
          const { list, account, ask, clock } = await mirrored(variant, 60);
          operate(list, operations);
          const keys = [...new Set(ids.map(String))];
          let left: readonly string[] = keys;
          for (let readings = 0; left.length > 0; readings += 1) {
            expect(readings).toBeLessThan(400);
            const { outcome, covers, walkNeeded } = await ask(left, requests);
            expect(outcome.error).toBeUndefined();
            left = left.filter((key) => !covers(key));
            if (!walkNeeded) continue;
            const all = await clock.runUntil(account.reader.read(NAME, { what: 'rows', signal }));
            expect(all.error).toBeUndefined();
            left = [];
          }
          const stale = new Set(account.stale(NAME));
          expect(keys.filter((key) => stale.has(key))).toEqual([]);
        },
      ),
      { numRuns: runs(30, 150) },
    );
  });

  it('covers no row that it did not read, whatever an earlier poll left open, even if changed rows move to the top', async () => {
    const any = variants('falling', 'rising', 'updated', 'shuffled');
    await fc.assert(
      fc.asyncProperty(
        any,
        fc.array(operation, { maxLength: 10 }),
        fc.array(operation, { maxLength: 20 }),
        fc.nat(1_000),
        fc.array(fc.integer({ min: 1, max: 120 }), { minLength: 1, maxLength: 20 }),
        fc.integer({ min: 1, max: 4 }),
        async (variant, before, after, pollMs, ids, requests) => {
          const { list, account, ask, pollFor } = await mirrored(variant, 60);
          operate(list, before);
          await pollFor(pollMs);
          operate(list, after);
          const { covers } = await ask([...new Set(ids.map(String))], requests);
          const stale = account.stale(NAME);
          expect(ids.map(String).filter((key) => covers(key) && stale.includes(key))).toEqual([]);
        },
      ),
      { numRuns: runs(30, 150) },
    );
  });

  it('requests known rows only, and new ones by a poll that brings known ones along', async () => {
    const { list, account, ask } = await mirrored(FALLING, 300);
    await ask(['150', '145'], 5);
    expect(account.sent.map(({ cursor }) => cursor)).toEqual(['151']);

    account.sent.length = 0;
    const newest = String(list.insert());
    const read = await ask([newest, '299', '20'], 50);
    expect(['299', '20', newest].map(read.covers)).toEqual([true, true, true]);
    expect(account.sent[0]?.cursor).toBeUndefined();
    expect(account.sent.at(-1)?.cursor).toBe('21');
  });

  it('requests twenty rows at a known one, and a full page if one may be new', async () => {
    const { list, account, ask } = await mirrored({ ...FALLING, pageSize: 500 }, 1_200);
    await ask(['600'], 5);
    const { covers } = await ask([String(list.insert())], 5);
    expect(covers('1201')).toBe(true);
    expect(account.sent.map(({ limit }) => limit)).toEqual([20, 500]);
  });

  it('stops at its bound, and covers what it read until then', async () => {
    const { account, ask } = await mirrored(FALLING, 300);
    const { covers } = await ask(['280', '275', '180', '80'], 2);
    expect(account.sent).toHaveLength(2);
    expect(['280', '275', '180', '80'].map(covers)).toEqual([true, true, true, false]);
  });

  it('polls if the scope as a whole is hinted, however long that takes', async () => {
    const { account, ask } = await mirrored(FALLING, 300);
    const { covers } = await ask([], 1, { whole: true });
    expect(covers('')).toBe(true);
    // The overlap: 200 rows.
    expect(account.sent.length).toBeGreaterThanOrEqual(20);
  });

  it('reads the top if a known row is not in its place: changed rows may move there', async () => {
    const { list, account, ask } = await mirrored({ ...FALLING, order: 'updated' }, 60);
    list.update(18);
    expect(account.stale(NAME)).toEqual(['42']);
    const { covers } = await ask(['42'], 5);
    expect(covers('42')).toBe(true);
    expect(account.stale(NAME)).toEqual([]);
    expect(account.sent.map(({ cursor }) => cursor)).toEqual(['43', undefined]);
  });

  it('does not cover a row that is not in its place if the poll that follows is interrupted', async () => {
    const { clock, list, account, ask } = await mirrored(FALLING, 300);
    list.delete(258);
    const stop = new AbortController();
    const reading = ask(['42'], 5, { signal: stop.signal });
    await clock.advance(150);
    expect(account.sent.map(({ cursor }) => cursor)).toEqual(['43', undefined]);
    stop.abort(new Stopped('the test'));
    expect((await reading).covers('42')).toBe(false);
  });

  it('needs a full walk if the order is not known and the top did not show the rows', async () => {
    const { list, account, ask } = await mirrored({ ...FALLING, order: 'shuffled' }, 60);
    const [first = '', ...others] = list.liveKeys();
    const seen = await ask([first], 5);
    expect(seen.covers(first)).toBe(true);
    const unseen = await ask([first, others.at(-1) ?? ''], 5);
    expect(unseen.walkNeeded).toBe(true);
    expect([first, others.at(-1) ?? ''].map(unseen.covers)).toEqual([true, false]);
    expect(account.sent).toHaveLength(2);
  });
});
