import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestDatabase } from '../../support/postgres/postgres.ts';
import { describeFindings, Tally } from '../support/attack.ts';
import { createAttackedDatabase } from '../support/attacked-database.ts';
import { playNarrow } from '../narrow/attack.ts';
import { play } from '../walks/game/play.ts';
import { openTables, type Tables } from '../walks/game/tables.ts';
import { drawRefusedGame, makeRefusals } from './attack.ts';

/** The seeds of the short form: `npm run attack -- --only refusals,narrow` draws others. */
const SEEDS = {
  refusals: [1, 2, 3, 4, 5, 6],
  // Postgres refuses rows in the last four.
  narrow: [1, 2, 3, 26, 35, 38],
};
const USERS = { refusals: 3_000_000, narrow: 4_000_000 };

const databases: TestDatabase[] = [];
let tables: Tables;
beforeAll(async () => {
  tables = await openTables(async () => {
    const database = await createAttackedDatabase();
    databases.push(database);
    return database.url;
  });
  await makeRefusals(tables);
});
afterAll(async () => {
  await tables.close();
  await Promise.all(databases.map((each) => each.drop()));
});

describe('a database that refuses some rows', () => {
  it.each(['refusals', 'narrow'] as const)(
    'costs none of the others, and these as soon as it takes them: %s',
    async (name) => {
      const broken: string[] = [];
      const tally = new Tally({
        onGame: (result) => {
          if (result.findings.length > 0) broken.push(describeFindings(name, result));
        },
      });
      await Promise.all(
        SEEDS[name].map(async (seed) => {
          const user = USERS[name] + seed;
          const game = drawRefusedGame(seed);
          const played =
            name === 'narrow' ? playNarrow(tables, seed, user) : play(tables.of(game), game, user);
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
