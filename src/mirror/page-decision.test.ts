import { NO_SUSPECTS } from '../model/absence.ts';
import type { WholeReading } from '../walk/whole-walk.ts';
import { describe, expect, it } from 'vitest';
import { addTotals, NO_TOTALS } from '../model/sync-events.ts';
import { NO_PAGE } from '../walk/take-page.ts';
import { pageRecord } from '../../test/support/mirror/page-record.ts';
import { countOutcomes, type ItemOutcome, type ObservedPage, type PageRecord } from './page-record.ts';
import type { Item } from '../model/page.ts';
import { beginFull } from '../walk/full.ts';
import { beginPoll } from '../walk/poll.ts';
import { newMemory } from '../walk/memory.ts';
import { decide } from './page-decision.ts';

const memory = newMemory('bigint');
const began = Date.UTC(2026, 0, 1);
const items: readonly Item[] = ['3', '2', '1'].map((key) => ({
  source: `{"job_id":${key}}`,
  state: 'finished',
  key,
  problem: undefined,
}));
const at = (ms: number): Date => new Date(began + ms);
const record: PageRecord = {
  ...pageRecord(
    { scope: { userId: '1', collection: 'research_jobs', parent: '' }, obs: 1, after: 0 },
    { items, where: { after: '4', ends: false } },
  ),
  walk: beginFull(memory, { liveRows: 3, now: began }).walk,
  memory: { before: memory, after: memory },
  startedAt: at(0),
  firstSentAt: at(5),
  lastReadAt: at(-60_000),
};

function observed(...outcomes: ItemOutcome[]): ObservedPage {
  return {
    outcomes,
    counts: countOutcomes(outcomes),
    at: at(10),
    sentAt: at(0),
    hashes: outcomes.map(() => 'h'),
    missing: [],
    suspects: [],
    quarantined: [],
  };
}

const SAME = observed('unchanged', 'unchanged', 'unchanged');
const COMPLETE = { type: 'end', outcome: 'complete' } as const;
const REACHED = { type: 'end', outcome: 'reached' } as const;
const FAILED = { type: 'end', outcome: 'failed' } as const;
const POLL = beginPoll(memory, { overlapKey: null, now: began }).walk;

function decided(more: Partial<PageRecord> = {}, view = SAME) {
  return decide({ ...record, ...more }, view, 60_000);
}

describe('what is stored with a page', () => {
  it('is its checkpoint alone where nothing was new', () => {
    const { scope, suspectChange, unseen, walkEnd } = decided();
    const rest = [suspectChange, unseen, walkEnd];
    expect([Object.keys(scope), ...rest]).toEqual([['fullWalk'], NO_SUSPECTS, undefined, undefined]);
  });

  it('is the scope’s memory too where rows came', () => {
    const { scope, memory: after } = decided({}, observed('inserted', 'quarantined', 'unchanged'));
    expect(scope.memory).toBe(after);
    expect(after?.rows).toBe(1);
  });

  it('is no freshness where the walk failed: what it read stays, and its failure is told', () => {
    const decision = decided({ end: { ...FAILED, reason: 'page 2 was refused' } });
    const failure = { message: '1/research_jobs: page 2 was refused', at: at(10) };
    expect(decision.scope).toEqual({ fullWalk: null, failure });
    expect(decision.walkEnd).toMatchObject({ outcome: 'failed', collection: { state: 'failing' } });
    expect(decision.walkEnd?.collection).not.toHaveProperty('polledAt');
  });

  it('is as of the walk’s beginning where it read everything, and polled as of what its end made true', () => {
    const { scope } = decided({ end: { ...COMPLETE, polledAt: at(1) } });
    const times = { lastReadAt: at(0), clearDueUntil: at(5), polledAt: at(1), fullAt: at(0) };
    expect(scope).toEqual({ fullWalk: null, failure: null, ...times });
  });

  it.each<[true | undefined, Partial<PageRecord>, ItemOutcome?]>([
    [true, {}],
    [undefined, { early: false }],
    [undefined, {}, 'updated'],
    [undefined, { totals: addTotals(NO_TOTALS, { inserted: 1 }) }],
    [undefined, { totals: addTotals(NO_TOTALS, { rateLimited: 1 }) }],
    [undefined, { end: { type: 'end', outcome: 'full-needed' } }],
    [undefined, { end: FAILED }],
  ])('has no row in the log (%s) of an early poll that found nothing: %j %s', (unlogged, step, last) => {
    const view = observed('unchanged', last ?? 'unchanged');
    expect(decided({ end: REACHED, early: true, ...step }, view).walkEnd?.unlogged).toBe(unlogged);
  });

  it.each<[number, number, PageRecord['walk']?]>([
    [7, 7],
    [-7, 0],
    [600_000, 0],
    [7, 0, POLL],
  ])(
    'keeps when a poll during a full walk began (%i), unless that lies ahead: %i',
    (last, kept, walk = record.walk) => {
      const decision = decided({ walk, end: COMPLETE, lastReadAt: at(last) });
      expect(decision.scope.lastReadAt).toEqual(at(kept));
    },
  );

  it('leaves due what came due after the beginning of a walk that went on', () => {
    expect(decided({ end: REACHED, startedAt: at(3) }).scope.clearDueUntil).toEqual(at(0));
  });

  it('leaves due what came due after the first request, where the walk’s beginning is dated by a clock that is ahead', () => {
    const walk = { ...record.walk, began: began + 600_000 };
    const decision = decided({ walk, end: COMPLETE, startedAt: at(600_000) });
    expect(decision.scope.clearDueUntil).toEqual(at(5));
    // An item in quarantine that others have seen since is not gone either.
    expect(decision.unseen?.before.getTime()).toBeLessThan(began + 5);
  });

  const RETURNED = [{ key: '2', kind: 'returned', at: began - 60_000, proven: false }] as const;
  const DEFERRED = observed('unchanged', 'deferred', 'unchanged');
  const SECOND = { ...observed('unchanged', 'undeleted', 'unchanged'), suspects: RETURNED };

  it.each<[string, boolean, readonly string[], ObservedPage]>([
    ['all are believed', true, [], { ...SECOND, suspects: [] }],
    ['it was seen on an earlier page, or by an earlier walk', false, ['7'], { ...SECOND, suspects: [] }],
    ['it was suspected, and is seen on this one', false, ['2'], { ...DEFERRED, suspects: RETURNED }],
    ['it is seen on this one', false, [], DEFERRED],
    ['this page is the second sighting', true, ['2'], SECOND],
    ['of another row this page is the second sighting', false, ['2', '7'], SECOND],
  ])('moves what polls answer for only where all rows seen are believed: %s: %s', (_, moved, unbelieved, view) => {
    const collection = { polledAt: at(1), state: 'current', failure: null } as const;
    const decision = decided({ end: { ...COMPLETE, polledAt: at(1), collection, unbelieved } }, view);
    expect(decision.walkEnd?.collection).toMatchObject({ state: 'current', failure: null });
    expect(decision.scope.lastReadAt).toBeDefined();
    const collectionToo = 'polledAt' in (decision.walkEnd?.collection ?? {});
    expect(['polledAt' in decision.scope, collectionToo]).toEqual([moved, moved]);
  });
});

describe('what a page says of absence', () => {
  const place = { after: null, ends: true };
  const taken = { proof: { kind: 'snapshot' }, contradiction: false, place } as const;
  const missing = (changedAt = began - 3_600_000, key = '7') => ({ key, changedAt });
  const suspect = (ago: number, key = '7') => ({ key, kind: 'snapshot', at: began - ago, proven: false }) as const;

  it.each([
    [59_999, true],
    [60_000, false],
  ])('overlooks what it lacks and what came %i ms ago, too lately to be doubted: %s', (ago, overlooks) => {
    expect(decided({ taken }, { ...SAME, missing: [missing(began - ago)] }).overlooks).toBe(overlooks);
  });

  it('is withdrawn for a row that is there, an item in quarantine too', () => {
    const suspects = [{ ...suspect(3_600_000, '2'), proven: true }];
    const view = { ...observed('unchanged', 'quarantined', 'unchanged'), suspects };
    expect(decided({ taken }, view).suspectChange.withdraw).toEqual(['2']);
  });

  it.each<[string, Date | undefined, ObservedPage]>([
    ['all', at(-60_000), SAME],
    ['not one that is missing', undefined, { ...SAME, missing: [missing()] }],
    ['not one that is seen and not believed', undefined, observed('unchanged', 'deferred', 'unchanged')],
    // It may have gone right after it came: as of a grace period ago, the mirror would have one row too many.
    ['not one that came just now', undefined, { ...SAME, missing: [missing(began - 1)] }],
    ['not one that is suspected', undefined, { ...SAME, suspects: [suspect(1)] }],
    ['one that was suspected', at(-60_000), { ...SAME, suspects: [suspect(1, '3')] }],
  ])('completes the scope in one answer, once that is proven its own, with %s', (_, asOf, view) => {
    expect(decided({ taken, end: COMPLETE }, view).completeAsOf).toEqual(asOf);
  });

  it('is what two whole walks tell, where that is remembered: the last one, or that there was none', () => {
    const whole = { digest: 'd', began, ended: began + 10 };
    const remembered = { memory: { before: { ...memory, whole }, after: { ...memory, whole } } };
    const reading = { note: () => {}, walk: () => whole } as unknown as WholeReading;
    expect(decided({ end: COMPLETE, whole: reading }).scope.memory).toMatchObject({ whole });
    // A snapshot needs no second walk, so nothing is stored after it.
    expect(decided({ taken, end: COMPLETE, whole: reading })).toMatchObject({ whole: undefined, memory });
    const lost = decided({ end: COMPLETE, ...remembered });
    expect(lost.scope.memory).toMatchObject({ whole: null });
    expect(decided(remembered).memory?.whole).toEqual(whole);
  });

  it('says of a deferred row neither that it is known nor that it changed', () => {
    const { suspectChange, memory: after } = decided({}, observed('unchanged', 'deferred', 'unchanged'));
    expect(suspectChange.add).toEqual([{ key: '2', kind: 'returned' }]);
    expect(after).toBe(memory);
  });
});

describe('what a complete reading says of items in quarantine', () => {
  const seen = { ...observed('unchanged', 'quarantined', 'unchanged'), quarantined: ['b'] };
  const unseen = (step: Partial<PageRecord>, known?: readonly string[]) => {
    const badItems = known && new Set(known);
    return decided({ end: COMPLETE, badItems, ...step }, seen).unseen;
  };

  it('is that items are gone that it did not see, and that nobody saw within the grace period before it began', () => {
    expect(unseen({}, ['a', 'b'])).toEqual({ seen: ['a', 'b'], before: at(5 - 60_000) });
    const whole = { ...NO_PAGE, place: { after: null, ends: true } };
    expect(unseen({ taken: whole }, ['a', 'b'])).toEqual({ seen: ['b'], before: at(-60_000) });
  });

  it('is, of a walk that was continued, an hour less: seen items are stamped once an hour', () => {
    expect(unseen({})).toEqual({ seen: ['b'], before: at(5 - 60_000 - 3_600_000) });
  });

  it.each<[string, Partial<PageRecord>]>([
    ['before its end', { end: undefined }],
    ['where it failed', { end: FAILED }],
    ['from a list that is gone', { end: { ...COMPLETE, status: 404 } }],
    ['from a poll', { walk: POLL }],
  ])('is nothing %s', (_, step) => {
    expect(unseen(step, [])).toBeUndefined();
  });
});
