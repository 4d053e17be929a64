import type { Attack } from '../support/attack.ts';
import { playGames, whileRoundsLast } from '../support/play-games.ts';
import { withServer } from '../support/server.ts';
import { playOwners } from './play-owners.ts';

/** Each trial waits out a heartbeat: side by side they cost little. */
const LANES = 3;

export const ownersAttack: Attack = {
  name: 'owners',
  what: 'an owner stops in mid-page (SIGSTOP) until another takes the account, and goes on then: it writes nothing',
  run(options) {
    return withServer((server) =>
      playGames(options, {
        lanes: LANES,
        more: whileRoundsLast(options.size),
        play: async (seed) => playOwners(seed, await server.database()),
      }),
    );
  },
};
