import { expect, it } from 'vitest';
import { withOrigin } from './origin.ts';
import { playFailovers } from './play-failovers.ts';

// The short form of `npm run attack -- --only failovers`.
it('loses nothing, deletes nothing false and sends nothing twice where the database goes back', async () => {
  await withOrigin(async (origin) => {
    const games = (['crash', 'failover', 'restore'] as const).map((disaster, seed) =>
      playFailovers(seed, origin, [disaster]),
    );
    const results = await Promise.all(games);
    const broken = results.filter(({ findings }) => findings.length > 0);
    expect(broken.map(({ findings, trace }) => ({ findings, trace }))).toEqual([]);
  });
  // Most of it is waiting: for heartbeats, and for the window of the rate limit.
}, 400_000);
