import { type Attack, playInLanes, Tally } from '../support/attack.ts';
import { startServer } from '../support/server.ts';
import { playLane } from './lane.ts';

/** Kills of one account, before everything is compared. */
const KILLS_A_LANE = 25;
/** Programs that run, and die, side by side: each costs a second of a core to start. */
const LANES = 4;

export const killsAttack: Attack = {
  name: 'kills',
  what: 'SIGKILL of the real daemon at random moments, also while Postgres holds a statement of a commit',
  async run(options) {
    const tally = new Tally(options);
    const server = await startServer();
    try {
      let begun = 0;
      const { games } = options.size;
      const all = games > 0 ? games * KILLS_A_LANE : options.size.kills;
      const wanted = (): boolean => begun < all && !options.signal.aborted;
      await playInLanes(Math.min(LANES, options.parallel), wanted, async (index) => {
        const kills = Math.min(KILLS_A_LANE, all - begun);
        begun += kills;
        const seed = options.seed + index;
        await tally.play(seed, async () => playLane(seed, kills, await server.database(), options.signal));
      });
    } finally {
      await server.stop();
    }
    return tally.report();
  },
};
