import { afterAll, describe, expect, it } from 'vitest';
import type { TestDatabase } from '../../support/postgres/postgres.ts';
import { describeFindings } from '../support/attack.ts';
import { createAttackedDatabase } from '../support/attacked-database.ts';
import { playLane } from './lane.ts';

const SEED = 3;
const KILLS = 3;

const databases: TestDatabase[] = [];
afterAll(() => Promise.all(databases.map((each) => each.drop())));

describe('SIGKILL while operations are being sent', () => {
  it('sends none twice, loses none, and says of each what became of it', async () => {
    const database = await createAttackedDatabase();
    databases.push(database);
    const result = await playLane({ seed: SEED, kills: KILLS, url: database.url, hasten: true });
    expect(result.findings.length === 0 ? '' : describeFindings('submissions', result)).toBe('');
    expect(result.counts['kills']).toBe(KILLS);
    expect(result.counts['accepted']).toBeGreaterThan(0);
  }, 300_000);
});
