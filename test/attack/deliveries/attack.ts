import type { Attack } from '../support/attack.ts';
import { playKills } from '../support/play-kills.ts';
import { playLane } from './lane.ts';

export const deliveriesAttack: Attack = {
  name: 'deliveries',
  what: 'SIGKILL of the daemon while the service delivers, also while Postgres holds the transaction of an event',
  run: (options) => playKills(options, { usual: 200, play: playLane }),
};
