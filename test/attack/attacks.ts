import type { Attack } from './support/attack.ts';
import { walksAttack } from './walks/attack.ts';

/** All attacks, in the order in which they are played. */
export const ATTACKS: readonly Attack[] = [walksAttack];
