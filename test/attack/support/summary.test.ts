import { describe, expect, it } from 'vitest';
import { noFindings, Tally } from './attack.ts';
import { readFlags } from './flags.ts';
import { brokenIn, formatOtherCounts, formatSummary, type Played } from './summary.ts';

const NONE = { notes: [], notPlayed: [], load: 1.25 };
const WALKS: Played = {
  ...NONE,
  name: 'walks',
  seconds: 12.4,
  counts: { games: 3, walks: 40, deletions: 7, 'beyond P2': 1, 'equal after 1': 3 },
  findings: noFindings(),
};
const MATRIX: Played = {
  ...NONE,
  name: 'matrix',
  seconds: 3,
  counts: { games: 2, walks: 5, pairs: 9, 'pairs possible': 10 },
  findings: { ...noFindings(), false: 2 },
};

describe('the summary of the attacks', () => {
  it('has a row an attack and their sum, and no column of what nobody counted', () => {
    const [titles, , ...rows] = formatSummary([WALKS, MATRIX])
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/\s{2,}/));
    expect(titles?.slice(0, 6)).toEqual(['attack', 'took', 'load', 'games', 'walks', 'pairs met']);
    expect(titles).not.toContain('kills');
    expect(rows.map((row) => row.join(' '))).toEqual([
      expect.stringMatching(/^walks 12 s 1\.3 3 40 7 0 0 0 0 0 1$/),
      expect.stringMatching(/^matrix 3 s 1\.3 2 5 9\/10 0 2 0 0 0$/),
      expect.stringMatching(/^all 15 s 5 45 7 0 2 0 0 0 1$/),
    ]);
  });

  it('tells below it what has no column, and counts what is broken', () => {
    expect(formatOtherCounts([WALKS, MATRIX])).toEqual(['walks: 3 equal after 1']);
    expect(brokenIn([WALKS, MATRIX])).toBe(2);
  });

  it('leaves out what games do that were interrupted', () => {
    const interrupt = new AbortController();
    const told: unknown[] = [];
    const tally = new Tally({ onGame: (result) => told.push(result), signal: interrupt.signal });
    const finding = { kind: 'claim', text: 'ended with 130' } as const;
    const result = { seed: 1, what: '', findings: [finding], counts: { games: 1 }, trace: [] };
    tally.add(result);
    interrupt.abort();
    tally.add(result);
    expect(told).toHaveLength(1);
    expect(tally.report()).toMatchObject({
      findings: { claim: 1 },
      counts: { games: 1, 'games interrupted': 1 },
    });
  });
});

describe('the flags of the attacks', () => {
  it('are everything in its full size, where none is given', () => {
    const full = {
      only: ['a', 'b'],
      walks: 10_000,
      kills: undefined,
      games: 0,
      minutes: undefined,
      json: undefined,
    };
    expect(readFlags(['a', 'b'], [])).toMatchObject(full);
  });

  it.each([
    [['--only', 'a,c'], 'there is no attack c'],
    [['--kills', 'many'], "--kills must be a number from 0 up, not 'many'"],
    [['--minutes', ''], "--minutes must be a number from 0 up, not ''"],
    [['--what'], "Unknown option '--what'"],
  ])('%j are refused', (args, problem) => {
    expect(() => readFlags(['a', 'b'], args)).toThrow(problem);
  });
});
