import { beforeAll, describe, expect, it } from 'vitest';
import { playNarrow } from '../narrow/attack.ts';
import { play } from '../walks/game/play.ts';
import { drawRefusedGame, makeRefusals } from './attack.ts';
import { attackedTables, tallyOf } from '../support/attacked-database.ts';

/** The seeds of the short form: `npm run attack -- --only refusals,narrow` draws others. */
const SEEDS = {
  refusals: [1, 2, 3, 4, 5, 6],
  // Postgres refuses rows in the last four.
  narrow: [1, 2, 3, 26, 35, 38],
};
const USERS = { refusals: 3_000_000, narrow: 4_000_000 };

const tables = attackedTables();
beforeAll(() => makeRefusals(tables));

describe('a database that refuses some rows', () => {
  it.each(['refusals', 'narrow'] as const)(
    'costs none of the others, and these as soon as it takes them: %s',
    async (name) => {
      const broken: string[] = [];
      const tally = tallyOf(name, broken);
      await Promise.all(
        SEEDS[name].map(async (seed) => {
          const user = USERS[name] + seed;
          const game = drawRefusedGame(seed);
          const played = name === 'narrow' ? playNarrow(tables, seed, user) : play(tables.of(game), game, user);
          tally.add(await played);
        }),
      );
      expect(broken).toEqual([]);
      // It is an attack only where it attacks.
      expect(tally.count('items refused')).toBeGreaterThan(5);
    },
    600_000,
  );
});
