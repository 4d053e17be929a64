import { describe, expect, it } from 'vitest';
import { playInLanes } from '../support/attack.ts';
import { drawGame } from './game/game.ts';
import { play } from './game/play.ts';
import { attackedTables, tallyOf } from '../support/attacked-database.ts';

/** The seeds of the short form: `npm run attack -- --only walks` draws others. */
const SEED = 1;
const WALKS = 400;
const FIRST_USER = 10_000;

const tables = attackedTables();

describe('random walks while the source changes', () => {
  it('end with a mirror that equals it: nothing lost, nothing false, nothing twice, every moment replayed', async () => {
    const broken: string[] = [];
    const tally = tallyOf('walks', broken);
    await playInLanes(
      6,
      () => tally.count('walks') < WALKS,
      async (index) => {
        const game = drawGame(SEED + index);
        tally.add(await play(tables.of(game), game, FIRST_USER + index));
      },
    );
    expect(broken).toEqual([]);
    // It is an attack only where it attacks.
    expect(tally.count('deletions')).toBeGreaterThan(20);
    expect(tally.count('moments replayed')).toBeGreaterThan(10);
  }, 300_000);
});
