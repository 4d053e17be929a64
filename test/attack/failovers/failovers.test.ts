import { expect, it } from 'vitest';
import { withOrigin } from './origin.ts';
import { playFailovers } from './play-failovers.ts';

// The short form of `npm run attack -- --only failovers`.
it('loses nothing, deletes nothing false and sends nothing twice where the database goes back', async () => {
  await withOrigin(async (origin) => {
    const disasters = ['crash', 'failover', 'restore'] as const;
    const results = await Promise.all(disasters.map((each, seed) => playFailovers(seed, origin, [each])));
    expect(results.filter(({ findings }) => findings.length > 0)).toEqual([]);
  });
  // Most of it is waiting: for heartbeats, and for the window of the rate limit.
}, 400_000);
