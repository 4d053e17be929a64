import { describe, expect, it } from 'vitest';
import { describeFindings } from '../support/attack.ts';
import { attackedDatabases } from '../support/attacked-database.ts';
import { playLane } from './lane.ts';

const SEED = 5;
const KILLS = 10;

const database = attackedDatabases();

describe('SIGKILL at random moments, also while Postgres holds a statement of a commit', () => {
  it('loses nothing, deletes nothing falsely, and writes no version twice', async () => {
    const result = await playLane({ seed: SEED, kills: KILLS, url: await database() });
    expect(result.findings.length === 0 ? '' : describeFindings('kills', result)).toBe('');
    expect(result.counts['kills']).toBeGreaterThan(KILLS / 2);
  }, 300_000);
});
