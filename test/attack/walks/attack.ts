import { type Attack, playInLanes, Tally } from '../support/attack.ts';
import { startServer } from '../support/server.ts';
import { drawGame } from './game.ts';
import { play } from './play.ts';
import { openTables } from './tables.ts';

/** First account of the games: each game has one of its own. */
const FIRST_USER = 10_000;

export const walksAttack: Attack = {
  name: 'walks',
  what: 'random walks and polls while rows come, change, move, go and come back between and during the requests',
  async run(options) {
    const tally = new Tally(options);
    const server = await startServer();
    try {
      const tables = await openTables(() => server.database());
      try {
        const { games, walks } = options.size;
        let begun = 0;
        const wanted = (): boolean =>
          !options.signal.aborted && (games > 0 ? begun < games : tally.count('walks') < walks);
        await playInLanes(options.parallel, wanted, async (index) => {
          begun += 1;
          const game = drawGame(options.seed + index);
          await tally.play(game.seed, () => play(tables.of(game), game, FIRST_USER + index));
        });
      } finally {
        await tables.close();
      }
    } finally {
      await server.stop();
    }
    return tally.report();
  },
};
