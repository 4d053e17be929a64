import type { MovingDatabase } from '../../support/databases/moving-database.ts';

/** A way in which a database goes back in time. */
interface Disaster {
  /** What there is after it is as of now, or a little later. */
  prepare(moving: MovingDatabase): Promise<() => Promise<void>>;
  /** How often it is drawn. */
  readonly weight: number;
}

/** All of them; what `prepare` resolves to makes it happen. */
export const DISASTERS = {
  crash: {
    prepare: async (moving) => () => moving.crash(),
    weight: 4,
  },
  failover: {
    async prepare(moving) {
      await moving.follow();
      await moving.cutStandby();
      return () => moving.failOver();
    },
    weight: 4,
  },
  restore: {
    async prepare(moving) {
      const backup = await moving.backUp();
      return () => moving.restore(backup);
    },
    weight: 3,
  },
  'older copy': {
    async prepare(moving) {
      await moving.copyDatabase();
      return () => moving.takeCopy();
    },
    weight: 2,
  },
} as const satisfies Readonly<Record<string, Disaster>>;

export type DisasterName = keyof typeof DISASTERS;

export const WEIGHTS = Object.fromEntries(
  Object.entries(DISASTERS).map(([name, { weight }]) => [name, weight]),
) as Record<DisasterName, number>;
