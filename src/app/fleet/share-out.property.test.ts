import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runs } from '../../../test/support/effort.ts';
import { type Fleet, roundOf, shareOut } from './share-out.ts';

interface World {
  /** By daemon, what it serves. */
  readonly daemons: readonly (readonly number[])[];
  /** By account, the daemon that owns it, if any: some are no daemon that takes part. */
  readonly owners: readonly (number | null)[];
}

const ACCOUNTS = 14;
const EVERYTHING = Array.from({ length: ACCOUNTS }, (_, index) => index);

const worlds: fc.Arbitrary<World> = fc.record({
  // Most have all keys, as daemons usually do.
  daemons: fc.array(
    fc.oneof(
      { weight: 2, arbitrary: fc.constant(EVERYTHING) },
      { weight: 1, arbitrary: fc.uniqueArray(fc.nat({ max: ACCOUNTS - 1 })) },
    ),
    { minLength: 1, maxLength: 5 },
  ),
  owners: fc.array(fc.option(fc.nat({ max: 6 })), { minLength: ACCOUNTS, maxLength: ACCOUNTS }),
});

function fleetOf({ daemons, owners }: World): Fleet {
  return {
    daemons: daemons.map((serves, index) => ({
      id: `d${index}`,
      serves: new Set(serves.map((account) => `a${account}`)),
      prompt: true,
    })),
    accounts: owners.map((owner, index) => ({
      userId: `a${index}`,
      owner: owner === null ? undefined : `d${owner}`,
    })),
  };
}

const squares = (loads: readonly number[]): number => loads.reduce((sum, each) => sum + each ** 2, 0);

/** The least sum of squares of any share: by trying all, one account after the other. */
function bestSquares({ daemons }: Fleet, accounts: readonly string[]): number {
  let loads = new Set([daemons.map(() => 0).join()]);
  for (const userId of accounts) {
    const next = new Set<string>();
    for (const text of loads) {
      daemons.forEach(({ serves }, index) => {
        if (!serves.has(userId)) return;
        const load = text.split(',').map(Number);
        next.add(load.with(index, (load[index] ?? 0) + 1).join());
      });
    }
    loads = next;
  }
  return Math.min(...[...loads].map((text) => squares(text.split(',').map(Number))));
}

function shuffled<T>(items: readonly T[], seed: number): T[] {
  const keyed = items.map((item, index) => ({ item, key: Math.sin(seed * 7.13 + index * 31.7) }));
  return keyed.toSorted((a, b) => a.key - b.key).map(({ item }) => item);
}

describe('a share', () => {
  it('gives each account that somebody serves to one who does, is as even as keys allow, and the same in whatever order all are seen', () => {
    fc.assert(
      fc.property(worlds, fc.integer(), (world, seed) => {
        const fleet = fleetOf(world);
        const { daemons, accounts } = fleet;
        const targets = shareOut(fleet);
        const shared = accounts.filter(({ userId, owner }) =>
          daemons.some(({ id, serves }) => (owner ?? id) === id && serves.has(userId)),
        );
        expect([...targets.keys()].toSorted()).toEqual(shared.map(({ userId }) => userId).toSorted());
        for (const [userId, target] of targets) {
          expect(daemons.find(({ id }) => id === target)?.serves.has(userId)).toBe(true);
        }
        const loads = daemons.map(({ id }) => [...targets.values()].filter((each) => each === id).length);
        expect(squares(loads)).toBe(bestSquares(fleet, [...targets.keys()]));
        const mixed = { daemons: shuffled(daemons, seed), accounts: shuffled(accounts, seed) };
        expect(shareOut(mixed)).toEqual(targets);
      }),
      { numRuns: runs(150, 3_000) },
    );
  });

  it('moves as few accounts as possible where all daemons have all keys', () => {
    fc.assert(
      fc.property(worlds, (world) => {
        const fleet = fleetOf({ ...world, daemons: world.daemons.map(() => EVERYTHING) });
        const targets = shareOut(fleet);
        const moved = fleet.accounts.filter(
          ({ userId, owner }) => owner !== undefined && targets.has(userId) && targets.get(userId) !== owner,
        );
        const before = fleet.daemons.map(
          ({ id }) => fleet.accounts.filter(({ owner }) => owner === id).length,
        );
        // Those with more than a share of the greater size, and as many as may have one.
        const [low, rest] = [Math.floor(targets.size / before.length), targets.size % before.length];
        const over = before
          .toSorted((a, b) => b - a)
          .map((each, at) => Math.max(0, each - low - (at < rest ? 1 : 0)));
        expect(moved.length).toBe(over.reduce((sum, each) => sum + each));
      }),
      { numRuns: runs(150, 3_000) },
    );
  });

  it('gives nothing to a daemon whose heartbeat is late, and takes nothing from it', () => {
    const serves = new Set(['a', 'b', 'c', 'd']);
    const owners = [
      ['a', 'late'],
      ['b', undefined],
      ['c', 'one'],
      ['d', 'one'],
    ] as const;
    const targets = shareOut({
      daemons: [
        { id: 'late', serves, prompt: false },
        { id: 'one', serves, prompt: true },
      ],
      accounts: owners.map(([userId, owner]) => ({ userId, owner })),
    });
    expect(Object.fromEntries(targets)).toEqual({ a: 'late', b: 'one', c: 'one', d: 'one' });
  });
});

/** What may happen in a fleet; daemons act on what they saw before, and in any order. */
const events = fc.array(
  fc.record({
    kind: fc.constantFrom('join', 'end', 'look', 'look', 'act', 'act'),
    daemon: fc.nat({ max: 4 }),
  }),
  { maxLength: 60 },
);

/** The protocol over one table of owners, as the share-out keeper and the lease play it. */
function playedFleet(serves: World['daemons']) {
  const { daemons } = fleetOf({ daemons: serves, owners: [] });
  const owners = new Map<string, string>();
  const alive = new Set<string>();
  const seen = new Map<string, Fleet>();
  const is = { moves: 0 };
  const ownerOf = (userId: string): string | undefined => {
    const owner = owners.get(userId);
    return owner !== undefined && alive.has(owner) ? owner : undefined;
  };
  const now = (): Fleet => ({
    daemons: daemons.filter(({ id }) => alive.has(id)),
    accounts: EVERYTHING.map((index) => ({ userId: `a${index}`, owner: ownerOf(`a${index}`) })),
  });
  const act = (id: string): void => {
    const fleet = seen.get(id);
    if (fleet === undefined) return;
    const { take, giveUp } = roundOf(fleet, id, 3);
    for (const userId of take) if (ownerOf(userId) === undefined) owners.set(userId, id);
    for (const userId of giveUp) {
      if (ownerOf(userId) !== id) continue;
      owners.delete(userId);
      is.moves += 1;
    }
  };
  const play = (kind: string, id: string): void => {
    if (kind === 'join') alive.add(id);
    else if (!alive.has(id)) return;
    else if (kind === 'look') seen.set(id, now());
    else if (kind === 'act') act(id);
    else {
      alive.delete(id);
      seen.delete(id);
    }
  };
  return { is, ids: daemons.map(({ id }) => id), alive, now, play };
}

describe('daemons that share accounts out', () => {
  it('end with even shares, and then move nothing, whatever joined, ended and was seen too late', () => {
    fc.assert(
      fc.property(worlds, events, fc.integer(), ({ daemons }, played, seed) => {
        const { is, ids, alive, now, play } = playedFleet(daemons);
        play('join', 'd0');
        for (const { kind, daemon } of played) if (daemon < ids.length) play(kind, `d${daemon}`);
        // Each looks and acts, in an order that changes; now and then two have looked before both act.
        for (let round = 0; round < 4 * ACCOUNTS; round += 1) {
          const order = shuffled([...alive].toSorted(), seed + round);
          for (const id of order) {
            play('look', id);
            if (round % 2 === 0) play('act', id);
          }
          for (const id of order) play('act', id);
        }
        const { moves } = is;
        const fleet = now();
        const targets = shareOut(fleet);
        for (const { userId, owner } of fleet.accounts) expect(targets.get(userId)).toBe(owner);
        for (const id of alive) {
          play('look', id);
          play('act', id);
        }
        expect(is.moves).toBe(moves);
      }),
      { numRuns: runs(150, 5_000) },
    );
  });
});
