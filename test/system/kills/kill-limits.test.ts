import { afterEach, describe, expect, it } from 'vitest';
import { killAgainAndAgain, repeatedPages, writtenAgain } from '../../support/processes/kill-again.ts';
import { seeded } from '../../support/random.ts';
import { createSystem, type System } from '../../support/processes/system.ts';

let system: System;
afterEach(() => system.close());

describe('a full walk under a rate limit that is killed again and again', () => {
  it('keeps to the limit across its deaths: no request is refused, none is repeated in vain', async () => {
    system = await createSystem({
      limits: 'on',
      limitOther: 120,
      jobs: 6_000,
      latencyMin: 20,
      latencyMax: 100,
      maxLimit: 100,
      badLimit: 'clamped',
    });
    await system.sandbox.control.clock({ freeze: true });
    const kills = await killAgainAndAgain(system, ['research_jobs'], 8, seeded(3));
    expect(kills).toBe(8);
    // Before the last one, which goes on to the end and then reads again what was read before it began.
    const repeated = await repeatedPages(system);
    await system.sync(['--full', 'research_jobs']);
    expect((await system.sandbox.control.counters()).rateLimited).toBe(0);
    expect(repeated).toBeLessThanOrEqual(2 * kills);
    expect(await writtenAgain(system)).toBe(0);
    const { rows } = await system.db.query<{ count: number }>(
      'select count(*)::int as count from mirror.research_jobs',
    );
    expect(rows[0]?.count).toBe(6_000);
  });
});
