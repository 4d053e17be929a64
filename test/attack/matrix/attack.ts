import { type Attack, playInLanes, Tally } from '../support/attack.ts';
import { play } from '../walks/game/play.ts';
import { type Tables, withTables } from '../walks/game/tables.ts';
import { ALL_PAIRS, FAULTS, MANY, pairing, pairsOf } from './pairs.ts';

const FIRST_USER = 1_000_000;
/** How often a fault that met no request is played, each time with another seed. */
const TRIES = 3;

export const matrixAttack: Attack = {
  name: 'matrix',
  what: 'every fault of the sandbox with every variant of lists',
  async run(options) {
    const tally = new Tally(options);
    const { parallel, signal } = options;
    const { games } = options.size;
    const count = games > 0 ? games : FAULTS.length * MANY;
    const first = games > 0 ? options.seed % 1_000_000 : 0;
    const numbers = Array.from({ length: count }, (_, index) => first + index);
    await withTables((tables) => playMatrix(tables, tally, { games: numbers, parallel, signal }));
    return tally.report();
  },
};

/** Plays games of the matrix by their numbers: all variants of the first fault, then of the next, and again. */
export async function playMatrix(
  tables: Tables,
  tally: Tally,
  {
    games,
    parallel,
    signal,
  }: { readonly games: readonly number[]; readonly parallel: number; readonly signal?: AbortSignal },
): Promise<void> {
  const covered = new Set<string>();
  let next = 0;
  await playInLanes(
    parallel,
    () => next < games.length && signal?.aborted !== true,
    async () => {
      const index = games[next];
      next += 1;
      const fault = index === undefined ? undefined : FAULTS[Math.floor(index / MANY) % FAULTS.length];
      if (index === undefined || fault === undefined) return;
      for (let tries = 0; tries < TRIES; tries += 1) {
        const pair = pairing(fault, index % MANY, index + tries * 1_000_003);
        const user = FIRST_USER + index + tries * 100_000;
        const result = await play(tables.of(pair.game), pair.game, user);
        tally.add({ ...result, seed: index });
        if (result.counts[fault] === undefined) continue;
        for (const each of pairsOf(pair)) covered.add(each);
        break;
      }
    },
  );
  tally.counts['pairs'] = covered.size;
  tally.counts['pairs possible'] = ALL_PAIRS;
  tally.notes.push(`${covered.size} of ${ALL_PAIRS} pairs of a fault and a variant's value were met`);
}
