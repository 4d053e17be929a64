import { type Attack, playGames } from '../support/attack.ts';
import { drawGame } from './game/game.ts';
import { play } from './game/play.ts';
import { withTables } from './game/tables.ts';

/** First account of the games: each game has one of its own. */
const FIRST_USER = 10_000;

export const walksAttack: Attack = {
  name: 'walks',
  what: 'random walks and polls while rows come, change, move, go and come back between and during the requests',
  run(options) {
    const { walks } = options.size;
    return withTables((tables) =>
      playGames(options, {
        more: (_begun, tally) => tally.count('walks') < walks,
        play: (seed, index) => {
          const game = drawGame(seed);
          return play(tables.of(game), game, FIRST_USER + index);
        },
      }),
    );
  },
};
