import { expect, it } from 'vitest';
import { describeFindings } from '../support/attack.ts';
import { attackedDatabases } from '../support/attacked-database.ts';
import { playLane } from './lane.ts';

const KILLS = 10;

const database = attackedDatabases();

it('SIGKILL in the middle of walks and commits loses nothing, deletes nothing falsely, and writes no version twice', async () => {
  const result = await playLane({ seed: 5, kills: KILLS, url: await database() });
  expect(result.findings.length === 0 ? '' : describeFindings('kills', result)).toBe('');
  expect(result.counts['kills']).toBeGreaterThan(KILLS / 2);
}, 300_000);
