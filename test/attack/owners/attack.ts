import { type Attack, endOfRounds, playInLanes, Tally } from '../support/attack.ts';
import { startServer } from '../support/server.ts';
import { playOwners } from './play-owners.ts';

/** Each trial waits out a heartbeat: side by side they cost little. */
const LANES = 3;

export const ownersAttack: Attack = {
  name: 'owners',
  what: 'an owner stops in mid-page (SIGSTOP) until another takes the account, and goes on then: it writes nothing',
  async run(options) {
    const tally = new Tally(options);
    const server = await startServer();
    const until = endOfRounds(options.size);
    try {
      let begun = 0;
      const { games } = options.size;
      const wanted = (): boolean =>
        !options.signal.aborted && (games > 0 ? begun < games : begun < 1 || performance.now() < until);
      await playInLanes(Math.min(LANES, options.parallel), wanted, async (index) => {
        begun += 1;
        const seed = options.seed + index;
        await tally.play(seed, async () => playOwners(seed, await server.database()));
      });
    } finally {
      await server.stop();
    }
    return tally.report();
  },
};
