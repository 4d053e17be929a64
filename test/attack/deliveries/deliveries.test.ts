import { describe, expect, it } from 'vitest';
import { describeFindings } from '../support/attack.ts';
import { attackedDatabases } from '../support/attacked-database.ts';
import { playLane } from './lane.ts';

const SEED = 3;
const KILLS = 3;

const database = attackedDatabases();

describe('SIGKILL while events are delivered', () => {
  it('keeps each delivery that was answered with 200, once, and mirrors what they tell of', async () => {
    const result = await playLane({ seed: SEED, kills: KILLS, url: await database(), retries: 6 });
    expect(result.findings.length === 0 ? '' : describeFindings('deliveries', result)).toBe('');
    expect(result.counts['kills']).toBe(KILLS);
    expect(result.counts['events stored']).toBeGreaterThan(0);
  }, 300_000);
});
