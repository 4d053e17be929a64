import { afterEach, describe, expect, it } from 'vitest';
import { killAgainAndAgain, repeatedPages, writtenAgain } from '../../support/processes/kill-again.ts';
import { differences } from '../../support/mirror/mirror-truth.ts';
import { seeded } from '../../support/random.ts';
import { createSystem, type System } from '../../support/processes/system.ts';

let system: System;
afterEach(() => system.close());

describe('a full walk that is killed again and again', () => {
  it('loses nothing, writes nothing twice and goes on where it was', async () => {
    system = await createSystem({
      jobs: 6_000,
      lists: 30,
      latencyMin: 10,
      latencyMax: 60,
      maxLimit: 100,
      badLimit: 'clamped',
    });
    await system.sandbox.control.clock({ freeze: true });
    const collections = ['research_jobs', 'lists', 'list_items'];
    const kills = await killAgainAndAgain(system, collections, 8, seeded(1), async () => {
      // What the dead had reserved would be waited for: kill-limits.test.ts has that.
      await system.db.query('delete from mirror_sync.slot_block').catch(() => {});
    });
    expect(kills).toBe(8);
    // Brings the walks to their ends; with --full what they had read before would be read again.
    await system.sync(collections);
    expect(await repeatedPages(system, 'ended')).toBeLessThanOrEqual(2 * kills);
    expect(await writtenAgain(system)).toBe(0);
    await system.sync(['--full']);
    expect(await differences(system)).toEqual([]);
  });
});
