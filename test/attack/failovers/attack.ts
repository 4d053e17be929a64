import type { Attack } from '../support/attack.ts';
import { playGames } from '../support/play-games.ts';
import { withOrigin } from './origin.ts';
import { playFailovers } from './play-failovers.ts';

const GAMES = 200;
/** Most of a game is waiting: for heartbeats to expire, and for the window of the rate limit. */
const LANES = 6;

export const failoversAttack: Attack = {
  name: 'failovers',
  what: 'the database goes back: crashes that lose commits, standbys that lagged, backups and copies put in its place',
  run: (options) =>
    withOrigin((origin) =>
      playGames(options, {
        lanes: LANES,
        more: (begun) => begun < GAMES,
        play: (seed) => playFailovers(seed, origin),
      }),
    ),
};
