import { describe, expect, it } from 'vitest';
import { allStarts, nameOf } from '../../model/all-variants.ts';
import type { AttackOptions, GameResult } from '../support/attack.ts';
import { searchModel } from './attack.ts';

/** Few and small: what the model says is under test in `test/model`. */
const FEW = allStarts()
  .filter(({ order, pageSize }) => order === 'falling' && pageSize === 2)
  .slice(0, 3);

describe('the model as an attack', () => {
  it('searches every variant in threads, and sums up what they found', async () => {
    const { options, results } = optionsOf({});
    const { counts, findings, notPlayed, notes } = await searchModel(options, 1, FEW);
    expect(results.map(({ what }) => what).toSorted()).toEqual(FEW.map(nameOf).toSorted());
    expect(counts).toMatchObject({ variants: FEW.length, 'beyond P2': 0 });
    expect(counts['states']).toBeGreaterThan(100);
    expect(counts['deletions']).toBeGreaterThan(0);
    expect(Object.values(findings)).toEqual([0, 0, 0, 0, 0]);
    expect(notPlayed).toEqual([]);
    expect(notes.at(-1)).toBe('3 of 3 variants, up to 1 operations');
  });

  it('tells what it left out when its time is up', async () => {
    const { options, results } = optionsOf({ minutes: 0 });
    const { counts, notPlayed, details } = await searchModel(options, 3, FEW);
    expect(results).toEqual([]);
    expect(counts).toEqual({});
    expect(notPlayed).toEqual(['3 of 3 variants: time was up (--json names them)']);
    expect(details).toEqual({ searched: [], left: expect.arrayContaining(FEW.map(nameOf)) });
  });

  it('ends at once when it is interrupted in the middle of a search', async () => {
    const interrupt = new AbortController();
    const { options } = optionsOf({ signal: interrupt.signal });
    // One that takes much longer than a test may.
    const long = allStarts().filter(
      (start) => nameOf(start) === 'rank, refused cursors, has_more exact, pages of 2',
    );
    const searching = searchModel(options, 6, long);
    setImmediate(() => interrupt.abort());
    const { counts, notPlayed } = await searching;
    expect(counts).toEqual({});
    expect(notPlayed).toEqual(['1 of 1 variants: interrupted (--json names them)']);
  });

  it('plays one variant again by its number', async () => {
    const { options, results } = optionsOf({ games: 1, seed: 1 });
    await searchModel(options, 1, FEW);
    expect(results.map(({ seed, what }) => [seed, what])).toEqual([[1, FEW.map(nameOf)[1]]]);
  });
});

function optionsOf({
  seed = 7,
  games = 0,
  minutes,
  signal = new AbortController().signal,
}: {
  readonly seed?: number;
  readonly games?: number;
  readonly minutes?: number;
  readonly signal?: AbortSignal;
}): { readonly options: AttackOptions; readonly results: GameResult[] } {
  const results: GameResult[] = [];
  const size = { games, minutes, walks: 0, kills: 0 };
  const options = {
    seed,
    size,
    parallel: 2,
    signal,
    onGame: (result: GameResult) => void results.push(result),
  };
  return { options, results };
}
