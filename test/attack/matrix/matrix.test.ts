import { expect, it } from 'vitest';
import { FAULTS, MANY, playMatrix } from './attack.ts';
import { attackedTables, tallyOf } from '../support/attacked-database.ts';

const tables = attackedTables();

it('random walks survive every fault of the sandbox: nothing lost, nothing false, nothing twice', async () => {
  const broken: string[] = [];
  const tally = tallyOf('matrix', broken);
  // Of each fault another variant.
  const games = FAULTS.map((_, nth) => nth * MANY + (nth % MANY));
  await playMatrix(tables, tally, games, 6);
  expect(broken).toEqual([]);
  for (const fault of FAULTS) expect([fault, tally.count(fault) > 0]).toEqual([fault, true]);
}, 300_000);
