import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runs } from '../../../test/support/effort.ts';
import { type Fleet, type FleetDaemon, roundOf, shareOut } from './share-out.ts';

interface World {
  /** By daemon, what it serves. */
  readonly daemons: readonly (readonly number[])[];
  /** By account, the daemon that owns it, if any: some are no daemon that takes part. */
  readonly owners: readonly (number | null)[];
}

const ACCOUNTS = 14;

const worlds: fc.Arbitrary<World> = fc.record({
  // Most have all keys, as daemons usually do.
  daemons: fc.array(
    fc.oneof(
      { weight: 2, arbitrary: fc.constant(Array.from({ length: ACCOUNTS }, (_, index) => index)) },
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

function counts({ daemons }: Fleet, targets: ReadonlyMap<string, string>): number[] {
  return daemons.map(({ id }) => [...targets.values()].filter((each) => each === id).length);
}

/** The least sum of squares of any share: by trying all, one account after the other. */
function bestSquares({ daemons }: Fleet, accounts: readonly string[]): number {
  let loads = new Set([daemons.map(() => 0).join()]);
  for (const userId of accounts) {
    const next = new Set<string>();
    for (const text of loads) {
      const load = text.split(',').map(Number);
      daemons.forEach(({ serves }, index) => {
        if (serves.has(userId)) next.add(load.map((each, at) => (at === index ? each + 1 : each)).join());
      });
    }
    loads = next;
  }
  return Math.min(
    ...[...loads].map((text) => text.split(',').reduce((sum, each) => sum + Number(each) ** 2, 0)),
  );
}

describe('a share', () => {
  it('gives each account that somebody serves to one who does, and is as even as keys allow', () => {
    fc.assert(
      fc.property(worlds, (world) => {
        const fleet = fleetOf(world);
        const targets = shareOut(fleet);
        const ids = new Set(fleet.daemons.map(({ id }) => id));
        const shared = fleet.accounts.filter(({ userId, owner }) =>
          owner === undefined
            ? fleet.daemons.some(({ serves }) => serves.has(userId))
            : fleet.daemons.some(({ id, serves }) => id === owner && serves.has(userId)),
        );
        expect([...targets.keys()].toSorted()).toEqual(shared.map(({ userId }) => userId).toSorted());
        for (const [userId, id] of targets) {
          expect(ids.has(id) && fleet.daemons.find((each) => each.id === id)?.serves.has(userId)).toBe(true);
        }
        const squares = counts(fleet, targets).reduce((sum, each) => sum + each ** 2, 0);
        expect(squares).toBe(bestSquares(fleet, [...targets.keys()]));
      }),
      { numRuns: runs(150, 3_000) },
    );
  });

  it('moves as few accounts as possible where all daemons have all keys', () => {
    fc.assert(
      fc.property(worlds, (world) => {
        const everything = Array.from({ length: ACCOUNTS }, (_, index) => index);
        const fleet = fleetOf({ ...world, daemons: world.daemons.map(() => everything) });
        const targets = shareOut(fleet);
        const moved = fleet.accounts.filter(
          ({ userId, owner }) => owner !== undefined && targets.has(userId) && targets.get(userId) !== owner,
        );
        const before = fleet.daemons.map(
          ({ id }) => fleet.accounts.filter(({ owner }) => owner === id).length,
        );
        // Those with more than a share of the greater size, and as many as may have one.
        const [low, rest] = [Math.floor(targets.size / before.length), targets.size % before.length];
        const sorted = before.toSorted((a, b) => b - a);
        const least = sorted.reduce(
          (sum, each, at) => sum + Math.max(0, each - low - (at < rest ? 1 : 0)),
          0,
        );
        expect(moved.length).toBe(least);
      }),
      { numRuns: runs(150, 3_000) },
    );
  });

  it('is the same in whatever order processes and accounts are seen', () => {
    fc.assert(
      fc.property(worlds, fc.integer(), (world, seed) => {
        const fleet = fleetOf(world);
        const mixed = {
          daemons: shuffled(fleet.daemons, seed),
          accounts: shuffled(fleet.accounts, seed),
        };
        expect(shareOut(mixed)).toEqual(shareOut(fleet));
      }),
      { numRuns: runs(100, 1_000) },
    );
  });

  it('gives nothing to a daemon whose heartbeat is late, and takes nothing from it', () => {
    const all = new Set(['a', 'b', 'c', 'd']);
    const targets = shareOut({
      daemons: [
        { id: 'late', serves: all, prompt: false },
        { id: 'one', serves: all, prompt: true },
      ],
      accounts: [
        { userId: 'a', owner: 'late' },
        { userId: 'b', owner: undefined },
        { userId: 'c', owner: 'one' },
        { userId: 'd', owner: 'one' },
      ],
    });
    expect(Object.fromEntries(targets)).toEqual({ a: 'late', b: 'one', c: 'one', d: 'one' });
  });
});

/** What may happen in a fleet; daemons act on what they saw before, and in any order. */
type Event =
  | { readonly kind: 'join'; readonly daemon: number }
  | { readonly kind: 'end'; readonly daemon: number }
  | { readonly kind: 'look'; readonly daemon: number }
  | { readonly kind: 'act'; readonly daemon: number };

const events: fc.Arbitrary<Event[]> = fc.array(
  fc.record({
    kind: fc.constantFrom('join', 'end', 'look', 'look', 'act', 'act'),
    daemon: fc.nat({ max: 4 }),
  }),
  { maxLength: 60 },
);

/** The protocol over one table of owners, as the share-out keeper and the lease play it. */
class PlayedFleet {
  readonly owners: (string | undefined)[] = Array.from({ length: ACCOUNTS });
  readonly #daemons: readonly FleetDaemon[];
  readonly #alive = new Set<string>();
  readonly #seen = new Map<string, Fleet>();
  moves = 0;

  constructor(serves: World['daemons']) {
    this.#daemons = fleetOf({ daemons: serves, owners: [] }).daemons;
  }

  play({ kind, daemon }: Event): void {
    const id = this.#daemons[daemon]?.id;
    if (id === undefined) return;
    if (kind === 'join') this.#alive.add(id);
    else if (!this.#alive.has(id)) return;
    else if (kind === 'look') this.#seen.set(id, this.now());
    else if (kind === 'act') this.#act(id);
    else {
      this.#alive.delete(id);
      this.#seen.delete(id);
    }
  }

  now(): Fleet {
    return {
      daemons: this.#daemons.filter(({ id }) => this.#alive.has(id)),
      accounts: this.owners.map((owner, index) => ({
        userId: `a${index}`,
        owner: owner !== undefined && this.#alive.has(owner) ? owner : undefined,
      })),
    };
  }

  get living(): readonly number[] {
    return this.#daemons.flatMap(({ id }, index) => (this.#alive.has(id) ? [index] : []));
  }

  #act(id: string): void {
    const seen = this.#seen.get(id);
    if (seen === undefined) return;
    const now = this.now();
    const { take, giveUp } = roundOf(seen, id, 3);
    const ownerOf = (userId: string): string | undefined =>
      now.accounts.find((each) => each.userId === userId)?.owner;
    for (const userId of take) {
      if (ownerOf(userId) === undefined) this.owners[Number(userId.slice(1))] = id;
    }
    for (const userId of giveUp) {
      if (ownerOf(userId) !== id) continue;
      this.owners[Number(userId.slice(1))] = undefined;
      this.moves += 1;
    }
  }
}

describe('daemons that share accounts out', () => {
  it('end with even shares, and then move nothing, whatever joined, ended and was seen too late', () => {
    fc.assert(
      fc.property(worlds, events, fc.integer(), ({ daemons }, played, seed) => {
        const fleet = new PlayedFleet(daemons);
        fleet.play({ kind: 'join', daemon: 0 });
        for (const event of played) fleet.play(event);
        // Each looks and acts, in an order that changes; now and then two have looked before both act.
        for (let round = 0; round < 4 * ACCOUNTS; round += 1) {
          const order = shuffled(fleet.living, seed + round);
          for (const daemon of order) {
            fleet.play({ kind: 'look', daemon });
            if (round % 2 === 0) fleet.play({ kind: 'act', daemon });
          }
          for (const daemon of order) fleet.play({ kind: 'act', daemon });
        }
        const moves = fleet.moves;
        const now = fleet.now();
        const targets = shareOut(now);
        for (const { userId, owner } of now.accounts) expect(targets.get(userId)).toBe(owner);
        for (const daemon of fleet.living) {
          fleet.play({ kind: 'look', daemon });
          fleet.play({ kind: 'act', daemon });
        }
        expect(fleet.moves).toBe(moves);
      }),
      { numRuns: runs(150, 5_000) },
    );
  });
});

function shuffled<T>(items: readonly T[], seed: number): T[] {
  const keyed = items.map((item, index) => ({ item, key: Math.sin(seed * 7.13 + index * 31.7) }));
  return keyed.toSorted((a, b) => a.key - b.key).map(({ item }) => item);
}
