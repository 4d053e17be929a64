import type { Operator } from '../../../src/postgres/operator-log.ts';

/** Who does what tests do. */
export const OPERATOR: Operator = { databaseUser: 'tests', osUser: 'ann@desk', program: '0.0.0' };
