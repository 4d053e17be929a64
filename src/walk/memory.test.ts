import { expect, it } from 'vitest';
import { OVERLAP } from './frontier.ts';
import { isWorthStoring, newMemory, readMemory, type ScopeMemory } from './memory.ts';

const FRONTIER = { key: '9', at: 0, asOf: 1_000_000, marks: [[0, '7']] } as const;
const STORED: ScopeMemory = { ...newMemory('bigint'), frontier: FRONTIER, rows: 12 };

/** The memory after a poll in which nothing happened, as of then. */
function later(ms: number): ScopeMemory {
  return { ...STORED, frontier: { ...FRONTIER, asOf: FRONTIER.asOf + ms } };
}

it('the memory of a scope is not stored where only its frontier is as of a little later', () => {
  const read = readMemory(JSON.parse(JSON.stringify(STORED)), 'bigint');
  for (const memory of [read, later(60_000), later(OVERLAP / 2 - 1)]) {
    expect(isWorthStoring(read, memory)).toBe(false);
  }
});

it('the memory of a scope is stored where it lags half the overlap behind, or says something else', () => {
  const changes: Partial<ScopeMemory>[] = [
    { rows: 13 },
    { frontier: null },
    { frontier: { ...FRONTIER, asOf: FRONTIER.asOf + 1, key: '10' } },
    { frontier: { ...FRONTIER, asOf: FRONTIER.asOf + 1, marks: [] } },
    { evidence: { ...STORED.evidence, doubt: true } },
    { refreshed: { day: 1, week: 0 } },
    { open: { first: null, at: 0, asOf: 0, after: '1', low: null } },
  ];
  for (const memory of [later(OVERLAP / 2), later(-1), ...changes.map((each) => ({ ...STORED, ...each }))]) {
    expect(isWorthStoring(STORED, memory)).toBe(true);
  }
  expect(isWorthStoring({ ...STORED, frontier: null }, STORED)).toBe(true);
});
