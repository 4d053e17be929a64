import { afterAll, describe, expect, it } from 'vitest';
import type { TestDatabase } from '../../support/postgres/postgres.ts';
import { describeFindings } from '../support/attack.ts';
import { createAttackedDatabase } from '../support/attacked-database.ts';
import { playLane } from './lane.ts';

const SEED = 3;
const KILLS = 3;

const databases: TestDatabase[] = [];
afterAll(() => Promise.all(databases.map((each) => each.drop())));

describe('SIGKILL while events are delivered', () => {
  it('keeps each delivery that was answered with 200, once, and mirrors what they tell of', async () => {
    const database = await createAttackedDatabase();
    databases.push(database);
    const result = await playLane({ seed: SEED, kills: KILLS, url: database.url, retries: 6 });
    expect(result.findings.length === 0 ? '' : describeFindings('deliveries', result)).toBe('');
    expect(result.counts['kills']).toBe(KILLS);
    expect(result.counts['events stored']).toBeGreaterThan(0);
  }, 300_000);
});
