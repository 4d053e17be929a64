import { describe, expect, it } from 'vitest';
import type { ItemOutcome, ObservedPage } from '../mirror/page-write.ts';
import type { Item } from '../model/page.ts';
import { beginFull } from '../walk/full.ts';
import { newMemory } from '../walk/memory.ts';
import { decide, type PageStep } from './page-decision.ts';
import { NO_TOTALS } from './walk-totals.ts';

const memory = newMemory('bigint');
const began = Date.UTC(2026, 0, 1);
const items: readonly Item[] = ['3', '2', '1'].map((key) => ({
  source: `{"job_id":${key}}`,
  fields: {},
  key,
  problem: undefined,
}));
const taken: PageStep = {
  scope: { userId: '1', collection: 'research_jobs', parent: '' },
  startedAt: new Date(began + 5),
  totals: NO_TOTALS,
  before: memory,
  walk: beginFull(memory, { liveRows: 3, now: began }).walk,
  memory,
  items,
  end: undefined,
  polledAt: undefined,
  collection: undefined,
  page: { proof: null, contradiction: false },
  settleMs: 60_000,
};

function observed(...outcomes: ItemOutcome[]): ObservedPage {
  const counts = {
    inserted: 0,
    updated: 0,
    undeleted: 0,
    unchanged: 0,
    deferred: 0,
    duplicate: 0,
    quarantined: 0,
    conflicts: 0,
  };
  for (const outcome of outcomes) counts[outcome] += 1;
  return {
    outcomes,
    counts,
    at: new Date(began + 10),
    sentAt: new Date(began),
    hashes: outcomes.map(() => 'h'),
    missing: [],
    candidates: [],
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
      clearDueUntil: at,
      failure: null,
      polledAt,
      fullAt: at,
    });
  });
});
