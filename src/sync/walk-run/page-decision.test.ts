import { describe, expect, it } from 'vitest';
import type { ItemOutcome, ObservedPage } from '../../mirror/page-write.ts';
import { NO_ALARMS } from '../../plan/alarms.ts';
import { NOTHING_LEARNT } from '../../plan/learnt-changes.ts';
import type { Item } from '../../model/page.ts';
import { beginFull } from '../../walk/kinds/full.ts';
import { beginPoll } from '../../walk/kinds/poll.ts';
import { newMemory } from '../../walk/memory/memory.ts';
import { countOutcomes } from '../../mirror/rows/classify.ts';
import { BadItems } from '../scope/whole-reading.ts';
import { decide, type PageStep } from './page-decision.ts';
import { addTotals, NO_TOTALS } from './walk-totals.ts';

const memory = newMemory('bigint');
const began = Date.UTC(2026, 0, 1);
const items: readonly Item[] = ['3', '2', '1'].map((key) => ({
  source: `{"job_id":${key}}`,
  state: 'finished',
  key,
  problem: undefined,
}));
const taken: PageStep = {
  scope: { userId: '1', collection: 'research_jobs', parent: '' },
  startedAt: new Date(began),
  firstSentAt: new Date(began + 5),
  totals: NO_TOTALS,
  before: memory,
  walk: beginFull(memory, { liveRows: 3, now: began }).walk,
  memory,
  obs: 1,
  items,
  sentAfter: 0,
  end: undefined,
  page: { proof: null, contradiction: false, place: { after: '4', ends: false } },
  gracePeriodMs: 60_000,
  learning: {
    kind: 'collection',
    known: NOTHING_LEARNT,
    readAt: new Date(began - 60_000),
    alarms: NO_ALARMS,
    isDue: false,
    hinted: false,
  },
  lastReadAt: new Date(began - 60_000),
  early: false,
};

function observed(...outcomes: ItemOutcome[]): ObservedPage {
  return {
    outcomes,
    counts: countOutcomes(outcomes),
    at: new Date(began + 10),
    sentAt: new Date(began),
    hashes: outcomes.map(() => 'h'),
    missing: [],
    suspects: [],
    quarantined: [],
  };
}

describe('what is stored with a page', () => {
  it('is its checkpoint alone where nothing was new', () => {
    const { decision } = decide(taken, observed('unchanged', 'unchanged', 'unchanged'), null);
    expect(Object.keys(decision)).toEqual(['scope']);
    expect(Object.keys(decision.scope)).toEqual(['fullWalk']);
  });

  it('is the scope’s memory too where rows came', () => {
    const { decision, memory: after } = decide(taken, observed('inserted', 'quarantined', 'unchanged'), null);
    expect(decision.scope.memory).toBe(after);
    expect(after.rows).toBe(1);
  });

  it('is no freshness where the walk failed: what it read stays, and its failure is told', () => {
    const end = { type: 'end', outcome: 'failed', reason: 'page 2 was refused' } as const;
    const { decision } = decide({ ...taken, end }, observed('unchanged', 'unchanged', 'unchanged'), null);
    expect(decision.scope).toEqual({
      fullWalk: null,
      failure: { message: '1/research_jobs: page 2 was refused', at: new Date(began + 10) },
    });
    expect(decision.walkEnd).toMatchObject({ outcome: 'failed', collection: { state: 'failing' } });
    expect(decision.walkEnd?.collection).not.toHaveProperty('polledAt');
  });

  it('is as of the walk’s beginning where it read everything, and polled as of what its end made true', () => {
    const end = { type: 'end', outcome: 'complete' } as const;
    const polledAt = new Date(began + 1);
    const { decision } = decide(
      { ...taken, end, polledAt },
      observed('unchanged', 'unchanged', 'unchanged'),
      null,
    );
    const at = new Date(began);
    expect(decision.scope).toEqual({
      fullWalk: null,
      lastReadAt: at,
      clearDueUntil: new Date(began + 5),
      failure: null,
      polledAt,
      fullAt: at,
    });
  });

  it('has no row in the log where a poll between the line’s runs went well and found nothing', () => {
    const reached = { type: 'end', outcome: 'reached' } as const;
    const unlogged = (step: Partial<PageStep>, ...outcomes: ItemOutcome[]): boolean | undefined =>
      decide({ ...taken, end: reached, early: true, ...step }, observed(...outcomes), null).decision.walkEnd
        ?.unlogged;
    expect(unlogged({}, 'unchanged', 'unchanged')).toBe(true);
    expect(unlogged({ early: false }, 'unchanged')).toBeUndefined();
    expect(unlogged({}, 'unchanged', 'updated')).toBeUndefined();
    expect(unlogged({ totals: addTotals(NO_TOTALS, { inserted: 1 }) }, 'unchanged')).toBeUndefined();
    expect(unlogged({ totals: addTotals(NO_TOTALS, { rateLimited: 1 }) }, 'unchanged')).toBeUndefined();
    expect(unlogged({ end: { type: 'end', outcome: 'full-needed' } }, 'unchanged')).toBeUndefined();
    expect(unlogged({ end: { type: 'end', outcome: 'failed' } }, 'unchanged')).toBeUndefined();
  });

  it('keeps the beginning of a poll that came while a full walk went on, unless that lies ahead', () => {
    const end = { type: 'end', outcome: 'complete' } as const;
    const readAt = (lastReadAt: number, walk: PageStep['walk'] = taken.walk): Date | undefined =>
      decide({ ...taken, walk, end, lastReadAt: new Date(lastReadAt) }, observed('unchanged'), null).decision
        .scope.lastReadAt;
    expect(readAt(began + 7)).toEqual(new Date(began + 7));
    expect(readAt(began - 7)).toEqual(new Date(began));
    expect(readAt(began + 600_000)).toEqual(new Date(began));
    const poll = beginPoll(memory, { overlapKey: null, now: began }).walk;
    expect(readAt(began + 7, poll)).toEqual(new Date(began));
  });

  it('leaves due what came due after the beginning of a walk that went on', () => {
    const end = { type: 'end', outcome: 'reached' } as const;
    const later = { ...taken, end, startedAt: new Date(began + 3) };
    const { decision } = decide(later, observed('unchanged'), null);
    expect(decision.scope.clearDueUntil).toEqual(new Date(began));
  });

  it('leaves due what came due after the first request, where the walk’s beginning is dated by a clock that is ahead', () => {
    const end = { type: 'end', outcome: 'complete' } as const;
    const ahead = began + 600_000;
    const walk = { ...taken.walk, began: ahead };
    const { decision } = decide(
      { ...taken, walk, end, startedAt: new Date(ahead) },
      observed('unchanged', 'unchanged', 'unchanged'),
      null,
    );
    expect(decision.scope.clearDueUntil).toEqual(new Date(began + 5));
    // Nor is an item in quarantine gone that others saw since.
    expect(decision.unseen?.before.getTime()).toBeLessThan(began + 5);
  });

  it('moves nothing that polls answer for while a row is seen and not believed', () => {
    const end = { type: 'end', outcome: 'complete' } as const;
    const polledAt = new Date(began + 1);
    const collection = { polledAt, state: 'current', failure: null } as const;
    const moved = (unbelieved: readonly string[], view: ObservedPage): readonly boolean[] => {
      const { decision } = decide({ ...taken, end, polledAt, collection, unbelieved }, view, null);
      expect(decision.walkEnd?.collection).toMatchObject({ state: 'current', failure: null });
      expect(decision.scope.lastReadAt).toBeDefined();
      return ['polledAt' in decision.scope, 'polledAt' in (decision.walkEnd?.collection ?? {})];
    };
    const seen = observed('unchanged', 'undeleted', 'unchanged');
    const returned = { kind: 'returned', at: began - 60_000, proven: false } as const;
    const suspects = [{ ...returned, key: '2' }];
    expect(moved([], seen)).toEqual([true, true]);
    // It was seen on an earlier page, or by an earlier walk; or on this one.
    expect(moved(['7'], seen)).toEqual([false, false]);
    expect(moved(['2'], { ...observed('unchanged', 'deferred', 'unchanged'), suspects })).toEqual([
      false,
      false,
    ]);
    expect(moved([], observed('unchanged', 'deferred', 'unchanged'))).toEqual([false, false]);
    // This page is the second sighting.
    expect(moved(['2'], { ...seen, suspects })).toEqual([true, true]);
    expect(moved(['2', '7'], { ...seen, suspects })).toEqual([false, false]);
  });

  describe('and what it says of absence', () => {
    const end = { type: 'end', outcome: 'complete' } as const;
    const snapshot = {
      proof: { kind: 'snapshot' },
      contradiction: false,
      place: { after: null, ends: true },
    } as const;
    const seen = observed('unchanged', 'unchanged', 'unchanged');
    const long = began - 3_600_000;

    it('overlooks what it lacks and what came too lately to be doubted', () => {
      const overlooks = (changedAt: number): boolean =>
        decide({ ...taken, page: snapshot }, { ...seen, missing: [{ key: '8', changedAt }] }, null).overlooks;
      expect([overlooks(began - 59_999), overlooks(began - 60_000)]).toEqual([true, false]);
    });

    it('teaches that the scope changes, where it proves a row gone', () => {
      const first = { key: '7', kind: 'snapshot', at: began - 60_000, proven: false } as const;
      const learning = { ...taken.learning, kind: 'list' } as const;
      const changes = (suspects: ObservedPage['suspects']): number | undefined =>
        decide(
          { ...taken, page: snapshot, end, learning },
          { ...seen, suspects, missing: [{ key: '7', changedAt: long }] },
          null,
        ).decision.scope.learnt?.changes;
      expect(changes([first])).toBeCloseTo(1, 2);
      expect(changes([])).toBe(0);
    });

    it('is withdrawn for a row that is there, an item in quarantine too', () => {
      const suspects = [{ key: '2', kind: 'snapshot', at: long, proven: true }] as const;
      const view = { ...observed('unchanged', 'quarantined', 'unchanged'), suspects };
      const { decision } = decide({ ...taken, page: snapshot }, view, null);
      expect(decision.suspectChange?.withdraw).toEqual(['2']);
    });

    it('completes the scope in one answer, once it is proven whose it was, unless rows are suspected', () => {
      const asOf = (view: ObservedPage): Date | undefined =>
        decide({ ...taken, page: snapshot, end }, view, null).completeAsOf;
      expect(asOf(seen)).toEqual(new Date(began - 60_000));
      expect(asOf({ ...seen, missing: [{ key: '7', changedAt: long }] })).toBeUndefined();
      // A row that is seen and not believed is not here.
      expect(asOf(observed('unchanged', 'deferred', 'unchanged'))).toBeUndefined();
      // It may have gone right after it came: as of a grace period ago the mirror would have a row too many.
      expect(asOf({ ...seen, missing: [{ key: '7', changedAt: began - 1 }] })).toBeUndefined();
      const suspect = { kind: 'interval', at: began - 1, proven: false } as const;
      expect(asOf({ ...seen, suspects: [{ ...suspect, key: '7' }] })).toBeUndefined();
      expect(asOf({ ...seen, suspects: [{ ...suspect, key: '3' }] })).toEqual(new Date(began - 60_000));
    });

    it('is what two whole walks tell, where that is remembered: the last one, or that there was none', () => {
      const whole = { digest: 'd', began, ended: began + 10 };
      const full = { ...taken, end };
      expect(decide(full, seen, whole).decision.scope.memory).toMatchObject({ whole });
      const before = { ...memory, whole };
      const lost = decide({ ...full, before, memory: before }, seen, null);
      expect(lost.decision.scope.memory).toMatchObject({ whole: null });
      expect(decide({ ...taken, before, memory: before }, seen, null).memory.whole).toEqual(whole);
    });

    it('says of a deferred row neither that it is known nor that it changed', () => {
      const { decision, memory: after } = decide(taken, observed('unchanged', 'deferred', 'unchanged'), null);
      expect(decision.suspectChange?.add).toEqual([{ key: '2', kind: 'returned' }]);
      expect(after).toBe(memory);
    });
  });
});

describe('what a complete reading says of items in quarantine', () => {
  const end = { type: 'end', outcome: 'complete' } as const;
  const seen = { ...observed('unchanged', 'quarantined', 'unchanged'), quarantined: ['b'] };
  const unseen = (step: Partial<PageStep>, known?: readonly string[]) => {
    const badItems = new BadItems();
    badItems.note(known ?? []);
    return decide({ ...taken, end, ...step }, seen, null, known && badItems).decision.unseen;
  };

  it('is that items are gone that it did not see, and that nobody saw within the grace period before it began', () => {
    expect(unseen({}, ['a', 'b'])).toEqual({ seen: ['a', 'b'], before: new Date(began + 5 - 60_000) });
    const whole = { ...taken.page, proof: null, contradiction: false, place: { after: null, ends: true } };
    expect(unseen({ page: whole }, ['a', 'b'])).toEqual({ seen: ['b'], before: new Date(began - 60_000) });
  });

  it('is, of a walk that was continued, an hour less: seen items are stamped once an hour', () => {
    expect(unseen({})).toEqual({ seen: ['b'], before: new Date(began + 5 - 60_000 - 3_600_000) });
  });

  it('is nothing before its end, from a part of the list, or from a list that is gone', () => {
    expect(unseen({ end: undefined }, [])).toBeUndefined();
    expect(unseen({ end: { type: 'end', outcome: 'failed' } }, [])).toBeUndefined();
    expect(unseen({ end: { ...end, status: 404 } }, [])).toBeUndefined();
    const poll = beginPoll(memory, { overlapKey: null, now: began }).walk;
    expect(unseen({ walk: poll }, [])).toBeUndefined();
  });
});
