import { expect, it } from 'vitest';
import { isFaketimeTested, withOwnClock } from '../../support/clocks/stepping-clock.ts';
import { withOrigin } from '../failovers/origin.ts';
import { playClocks } from './play-clocks.ts';

// The short form of `npm run attack -- --only clocks`.
it.runIf(isFaketimeTested())(
  'loses nothing, deletes nothing false and sends nothing twice where the database’s clock steps',
  async () => {
    await withOrigin(async (origin) => {
      const results = await Promise.all([1, 2, 3].map((seed) => playClocks(seed, origin)));
      const broken = results.filter(({ findings }) => findings.length > 0);
      expect(broken.map(({ findings, trace }) => ({ findings, trace }))).toEqual([]);
    }, withOwnClock);
  },
  400_000,
);
