import { type Attack, playGames } from '../support/attack.ts';
import { Draw } from '../support/draw.ts';
import { drawGame, type Game } from '../walks/game/game.ts';
import { play } from '../walks/game/play.ts';
import { type Tables, withTables } from '../walks/game/tables.ts';
import { drawRefusals, makeRefusalTriggers } from './triggers.ts';

const GAMES = 200;
const FIRST_USER = 3_000_000;

export const refusalsAttack: Attack = {
  name: 'refusals',
  what: 'random walks while Postgres refuses some rows, by triggers and constraints of every kind',
  run: (options) =>
    withTables(async (tables) => {
      await makeRefusals(tables);
      return playGames(options, {
        more: (begun) => begun < GAMES,
        play: (seed, index) => {
          const game = drawRefusedGame(seed);
          return play(tables.of(game), game, FIRST_USER + index);
        },
      });
    }),
};

export async function makeRefusals(tables: Tables): Promise<void> {
  for (const history of [true, false]) await makeRefusalTriggers(tables.of({ history }).db);
}

/** A walk's game, in which rows are refused until its last part: what `freshness` claims leaves these out. */
export function drawRefusedGame(seed: number): Game {
  return { ...drawShortGame(seed), refusals: drawRefusals(new Draw(seed ^ 0x3c6ef372)), lies: true };
}

/** A walk's game of few pages: what happens in a page's transaction is what it is about. */
export function drawShortGame(seed: number): Game {
  const draw = new Draw(seed ^ 0x5be0cd19);
  const game = drawGame(seed);
  const least = (rows = 0): number => Math.min(rows, 25);
  const { jobs, bulkJobs, lists, itemsPerList, watchlist } = game.switches;
  return {
    ...game,
    rounds: Math.min(game.rounds, 3),
    switches: {
      ...game.switches,
      jobs: least(jobs),
      bulkJobs: least(bulkJobs),
      lists: Math.min(lists ?? 0, 2),
      itemsPerList: least(itemsPerList),
      watchlist: least(watchlist),
      maxLimit: draw.one([6, 12, 60]),
    },
  };
}
