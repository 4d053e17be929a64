import type { Attack } from '../support/attack.ts';
import { playKills } from '../support/play-kills.ts';
import { playLane } from './lane.ts';

export const killsAttack: Attack = {
  name: 'kills',
  what: 'SIGKILL of the real daemon at random moments, also while Postgres holds a statement of a commit',
  run: (options) =>
    playKills(options, {
      usual: 1000,
      play: ({ seed, kills, url, signal }) => playLane(seed, kills, url, signal),
    }),
};
