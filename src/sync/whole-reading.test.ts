import { keyStore } from '@research-mirror/runtime/kept-keys';
import { scratchKeys } from '@research-mirror/runtime/testing/scratch-keys';
import { describe, expect, it } from 'vitest';
import type { SuspectChange } from '../model/absence.ts';
import type { Page } from '../model/page.ts';
import type { Scope } from '../model/collections.ts';
import { WholeReading, type WholeWalk } from '../walk/whole-walk.ts';
import type { ReadingContext } from './reading-context.ts';
import { recordAbsences } from './walk-proofs.ts';

const scope: Scope = { userId: '7', collection: 'research_jobs', parent: '' };
const GRACE_PERIOD = 60_000;
const [BEGAN, ENDED] = [new Date(10 * GRACE_PERIOD), new Date(10 * GRACE_PERIOD + 500)];

function items(...keys: (string | undefined)[]): Pick<Page, 'items'> {
  return {
    items: keys.map((key) => ({ source: '{}', state: 'finished' as const, key, problem: undefined })),
  };
}

/** A page with these items is written. @param hash of each item's content; null: it can't be mirrored */
function note(reading: WholeReading, page: Pick<Page, 'items'>, hash: string | null = 'h'): void {
  reading.note(
    page,
    page.items.map(() => hash ?? undefined),
    () => false,
  );
}

/** A walk that saw `1` and `2`, and what the mirror holds as live. */
function told(
  live: readonly string[],
  { reading = seen(), previous = null as WholeWalk | null, suspects = [] as readonly unknown[] } = {},
) {
  const changes: SuspectChange[] = [];
  const context = {
    gracePeriodMs: GRACE_PERIOD,
    store: {
      // As many as the walk saw, whatever there is: rows were changed by hand.
      liveRows: () => Promise.resolve(2),
      liveKeysMissing: (_: Scope, saw: (key: string) => boolean) =>
        Promise.resolve(live.filter((key) => !saw(key)).map((key) => ({ key, changedAt: 0 }))),
      suspectsOf: () => Promise.resolve(suspects),
    },
    mirror: {
      recordSuspects: (_: unknown, __: unknown, change: SuspectChange) => {
        changes.push(change);
        return Promise.resolve();
      },
    },
  } as unknown as ReadingContext;
  const present = reading.walk(BEGAN, ENDED);
  const answer = recordAbsences(context, scope, reading, present, previous, 9);
  return answer.then((result) => ({ ...result, changes, digest: present?.digest ?? '' }));
}

function seen(): WholeReading {
  const reading = new WholeReading(scratchKeys);
  note(reading, items('1', '2'));
  return reading;
}

describe('a whole walk', () => {
  it('proves that no row is missing if it saw all of them', async () => {
    expect(await told(['1', '2'])).toMatchObject({ judged: true, raised: false, proven: false });
  });

  it('suspects rows that it did not see, and the next equal one proves them gone', async () => {
    const first = await told(['1', '2', '3']);
    expect(first).toMatchObject({ raised: true, proven: false });
    expect(first.changes[0]?.add).toEqual([{ key: '3', kind: 'pair' }]);
    const suspect = { key: '3', kind: 'pair', at: 0, proven: false };
    const previous = { digest: first.digest, began: 0, ended: BEGAN.getTime() - GRACE_PERIOD };
    const second = await told(['1', '2', '3'], { previous, suspects: [suspect] });
    expect(second).toMatchObject({ raised: false, proven: true });
    expect(second.changes[0]?.prove).toEqual(['3']);
    const other = { ...previous, digest: 'other' };
    expect((await told(['1', '2', '3'], { previous: other, suspects: [suspect] })).proven).toBe(false);
  });

  it('concludes nothing if its keys could not be kept', async () => {
    const full = keyStore({ folders: [], onLost: () => {} });
    // More than are kept in memory.
    const keys = Array.from({ length: 53_000 }, (_, number) => String(number));
    for (const live of [keys, [...keys, 'another']]) {
      const reading = new WholeReading(full);
      note(reading, items(...keys));
      expect(await told(live, { reading })).toMatchObject({ judged: false, raised: false, digest: '' });
    }
  });

  it('concludes nothing if its keys are lost during the comparison', async () => {
    const reading = seen();
    const answer = told(['1', '2', '3'], { reading });
    reading.close();
    expect(await answer).toMatchObject({ judged: false, raised: false, changes: [] });
  });

  it('believes a sighting by another walk meanwhile', async () => {
    const reading = seen();
    reading.sighted(['3']);
    expect(await told(['1', '2', '3'], { reading })).toMatchObject({ judged: true, raised: false });
  });

  it('does not confuse an item that can’t be mirrored with a row', async () => {
    const reading = seen();
    note(reading, items('4'), null);
    expect(await told(['1', '2', '3'], { reading })).toMatchObject({ raised: true });
  });

  it('can’t be compared if an item changed meanwhile or has no key', () => {
    const changed = seen();
    note(changed, items('1'), 'other');
    expect(changed.walk(BEGAN, ENDED)).toBeNull();
    const keyless = seen();
    note(keyless, items(undefined), null);
    expect(keyless.walk(BEGAN, ENDED)).toBeNull();
  });

  it('with a keyless item still proves that no row is missing, but suspects none', async () => {
    const reading = seen();
    note(reading, items(undefined, '3'), null);
    expect(await told(['1', '2', '3'], { reading })).toMatchObject({ judged: true, changes: [] });
    expect(await told(['1', '2', '3', '4'], { reading })).toMatchObject({ judged: false, changes: [] });
  });
});
