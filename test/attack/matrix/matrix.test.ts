import { describe, expect, it } from 'vitest';
import { playMatrix } from './attack.ts';
import { FAULTS, MANY } from './pairs.ts';
import { attackedTables, tallyOf } from '../support/attacked-database.ts';

const tables = attackedTables();

describe('every fault of the sandbox', () => {
  it('is survived by random walks: nothing lost, nothing false, nothing twice', async () => {
    const broken: string[] = [];
    const tally = tallyOf('matrix', broken);
    // Of each fault another variant.
    const games = FAULTS.map((_, nth) => nth * MANY + (nth % MANY));
    await playMatrix(tables, tally, { games, parallel: 6 });
    expect(broken).toEqual([]);
    for (const fault of FAULTS) expect([fault, tally.count(fault) > 0]).toEqual([fault, true]);
  }, 300_000);
});
