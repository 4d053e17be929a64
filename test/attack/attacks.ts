import type { Attack } from './support/attack.ts';
import { clocksAttack } from './clocks/play-clocks.ts';
import { deliveriesAttack } from './deliveries/lane.ts';
import { failoversAttack } from './failovers/play-failovers.ts';
import { killsAttack } from './kills/lane.ts';
import { matrixAttack } from './matrix/attack.ts';
import { modelAttack } from './model/attack.ts';
import { narrowAttack } from './narrow/attack.ts';
import { networkAttack } from './network/attack.ts';
import { ownersAttack } from './owners/play-owners.ts';
import { postgresAttack } from './postgres/play-postgres.ts';
import { refusalsAttack } from './refusals/attack.ts';
import { submissionsAttack } from './submissions/lane.ts';
import { walksAttack } from './walks/attack.ts';

/** All attacks, in the order in which they are played. */
export const ATTACKS: readonly Attack[] = [
  modelAttack,
  walksAttack,
  matrixAttack,
  killsAttack,
  deliveriesAttack,
  submissionsAttack,
  postgresAttack,
  failoversAttack,
  clocksAttack,
  ownersAttack,
  networkAttack,
  refusalsAttack,
  narrowAttack,
];
