import type { Operator } from '../../../src/postgres/operator-log.ts';

/** The operator of a test's acts. */
export const OPERATOR: Operator = { databaseUser: 'tests', osUser: 'ann@desk', program: '0.0.0' };
