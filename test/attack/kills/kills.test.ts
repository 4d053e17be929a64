import { afterAll, describe, expect, it } from 'vitest';
import type { TestDatabase } from '../../support/postgres/postgres.ts';
import { describeFindings } from '../support/attack.ts';
import { createAttackedDatabase } from '../support/attacked-database.ts';
import { playLane } from './lane.ts';

const SEED = 5;
const KILLS = 10;

const databases: TestDatabase[] = [];
afterAll(() => Promise.all(databases.map((each) => each.drop())));

describe('SIGKILL at random moments, also while Postgres holds a statement of a commit', () => {
  it('loses nothing, deletes nothing falsely, and writes no version twice', async () => {
    const database = await createAttackedDatabase();
    databases.push(database);
    const result = await playLane(SEED, KILLS, database.url);
    expect(result.findings.length === 0 ? '' : describeFindings('kills', result)).toBe('');
    expect(result.counts['kills']).toBeGreaterThan(KILLS / 2);
  }, 300_000);
});
