import { describe, expect, it } from 'vitest';
import { describeFindings } from '../support/attack.ts';
import { attackedDatabases } from '../support/attacked-database.ts';
import { playLane } from './lane.ts';

const SEED = 3;
const KILLS = 3;

const database = attackedDatabases();

describe('SIGKILL while operations are being sent', () => {
  it('sends none twice, loses none, and says of each what became of it', async () => {
    const result = await playLane({ seed: SEED, kills: KILLS, url: await database(), hasten: true });
    expect(result.findings.length === 0 ? '' : describeFindings('submissions', result)).toBe('');
    expect(result.counts['kills']).toBe(KILLS);
    expect(result.counts['accepted']).toBeGreaterThan(0);
  }, 300_000);
});
