import { isFaketimeTested, withOwnClock } from '../../support/clocks/stepping-clock.ts';
import { type Attack, noFindings } from '../support/attack.ts';
import { withOrigin } from '../failovers/origin.ts';
import { playGames } from '../support/play-games.ts';
import { playClocks } from './play-clocks.ts';

const GAMES = 200;
/** Most of a game is waiting: for heartbeats, and for what a killed daemon was sending. */
const LANES = 6;

export const clocksAttack: Attack = {
  name: 'clocks',
  what: 'the clock of the database steps, by seconds to weeks, back and ahead, under a daemon that is alive, stopped or dead',
  async run(options) {
    if (!isFaketimeTested()) {
      const notPlayed = ['libfaketime is not installed (apt-get install faketime)'];
      return { counts: {}, findings: noFindings(), notes: [], notPlayed };
    }
    return withOrigin(
      (origin) =>
        playGames(options, {
          lanes: LANES,
          more: (begun) => begun < GAMES,
          play: (seed) => playClocks(seed, origin),
        }),
      withOwnClock,
    );
  },
};
