import type { Attack } from '../support/attack.ts';
import { playKills } from '../support/play-kills.ts';
import { playLane } from './lane.ts';

export const submissionsAttack: Attack = {
  name: 'submissions',
  what: 'SIGKILL of the daemon while operations are queued by SQL and the service fails in every way',
  run: (options) => playKills(options, { usual: 200, play: playLane }),
};
