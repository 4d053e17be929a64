import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runs } from '../../test/support/effort.ts';
import { type FleetDaemon, shareOut } from './share-keeper.ts';

const ids = fc.uniqueArray(fc.uuid(), { minLength: 1, maxLength: 6 });
const users = fc.uniqueArray(
  fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }).map((id) => id.toString()),
  { minLength: 1, maxLength: 60 },
);

/** Daemons that have all keys, the oldest first. */
const sameKeys = (daemons: readonly string[], accounts: readonly string[]): FleetDaemon[] =>
  daemons.map((id) => ({ id, serves: new Set(accounts), prompt: true }));

/** Daemons and accounts, of which each daemon has all keys, or some. */
const worlds = fc.tuple(ids, users).chain(([daemons, accounts]) => {
  const some = fc.oneof({ weight: 2, arbitrary: fc.constant(accounts) }, fc.subarray(accounts));
  const each = daemons.map((id) => some.map((serves) => ({ id, serves: new Set(serves), prompt: true })));
  return fc.record({ accounts: fc.constant(accounts), daemons: fc.tuple(...each) });
});

const free = (accounts: readonly string[]): Map<string, undefined> =>
  new Map(accounts.map((userId) => [userId, undefined]));

const counts = (targets: ReadonlyMap<string, string>, daemons: readonly FleetDaemon[]): number[] =>
  daemons.map(({ id }) => [...targets.values()].filter((each) => each === id).length);

const squares = (loads: readonly number[]): number => loads.reduce((sum, each) => sum + each ** 2, 0);

/** The least sum of squares of any share: by trying all, one account after the other. */
function bestSquares(daemons: readonly FleetDaemon[], accounts: readonly string[]): number {
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

/** Accounts with another daemon than before. */
const moved = (before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] =>
  [...before].filter(([userId, id]) => after.get(userId) !== id).map(([userId]) => userId);

describe('a share', () => {
  it('gives each account to a daemon that serves it, and none to others', () => {
    fc.assert(
      fc.property(worlds, ({ accounts, daemons }) => {
        const targets = shareOut(free(accounts), daemons);
        const served = accounts.filter((userId) => daemons.some(({ serves }) => serves.has(userId)));
        expect([...targets.keys()].toSorted()).toEqual(served.toSorted());
        for (const [userId, target] of targets)
          expect(daemons.find(({ id }) => id === target)?.serves.has(userId)).toBe(true);
      }),
      { numRuns: runs(150, 3_000) },
    );
  });

  it('is even among daemons with the same keys: ⌊n/d⌋ each, and one more for the oldest', () => {
    fc.assert(
      fc.property(ids, users, (names, accounts) => {
        const daemons = sameKeys(names, accounts);
        const [each, more] = [Math.floor(accounts.length / names.length), accounts.length % names.length];
        expect(counts(shareOut(free(accounts), daemons), daemons)).toEqual(
          names.map((_, at) => (at < more ? each + 1 : each)),
        );
      }),
      { numRuns: runs(150, 3_000) },
    );
  });

  it('is as even as keys allow if each daemon has the keys of the next one, and more', () => {
    const sizes = fc.array(fc.nat({ max: 9 }), { minLength: 1, maxLength: 4 });
    const accounts = Array.from({ length: 9 }, (_, index) => `a${index}`);
    fc.assert(
      fc.property(sizes, fc.boolean(), (sizes, isRising) => {
        const sorted = sizes.toSorted((a, b) => (isRising ? a - b : b - a));
        const daemons = sorted.flatMap((size, at) => sameKeys([`d${at}`], accounts.slice(0, size)));
        const targets = shareOut(free(accounts), daemons);
        expect(squares(counts(targets, daemons))).toBe(bestSquares(daemons, [...targets.keys()]));
      }),
      { numRuns: runs(150, 3_000) },
    );
  });

  it('does not depend on the order of accounts, nor on owners that are prompt, commands, or of another version', () => {
    fc.assert(
      fc.property(worlds, fc.array(fc.nat({ max: 7 })), ({ accounts, daemons }, owners) => {
        const names = [...daemons.map(({ id }) => id), 'a command'];
        const owned = accounts.map((userId, at) => [userId, names[owners[at] ?? 7]] as const);
        const targets = shareOut(free(accounts), daemons);
        expect(shareOut(new Map(owned.toReversed()), daemons)).toEqual(targets);
      }),
      { numRuns: runs(150, 3_000) },
    );
  });

  it('moves nothing when a daemon’s heartbeat is late, and gives it no free account', () => {
    fc.assert(
      fc.property(worlds, fc.nat(), fc.nat(), ({ accounts, daemons }, which, other) => {
        const before = shareOut(free(accounts), daemons);
        const lateId = daemons[which % daemons.length]?.id;
        const now = daemons.map((each) => ({ ...each, prompt: each.id !== lateId }));
        const after = shareOut(new Map(accounts.map((userId) => [userId, before.get(userId)])), now);
        expect(moved(before, after).every((userId) => before.get(userId) === lateId)).toBe(true);
        expect([...after.values()]).not.toContain(lateId);
        // One of its accounts, and of all others, is free.
        const freed = accounts[other % accounts.length] ?? '';
        const withFreed = new Map(accounts.map((userId) => [userId, before.get(userId)]));
        expect([...shareOut(withFreed.set(freed, undefined), now).values()]).not.toContain(lateId);
      }),
      { numRuns: runs(150, 3_000) },
    );
  });

  it.each([
    [12, 2],
    [200, 3],
    [1_000, 4],
    [1_000, 9],
  ])('of %i accounts over %i daemons moves at most a newcomer’s share and a fifth of it', (n, d) => {
    const accounts = Array.from({ length: n }, (_, index) => String(1001 + index));
    const sizes = Array.from({ length: 20 }, (_, run) => {
      const names = Array.from({ length: d + 1 }, (_, index) => `daemon ${run} ${index}`);
      const before = shareOut(free(accounts), sameKeys(names.slice(0, d), accounts));
      return moved(before, shareOut(free(accounts), sameKeys(names, accounts))).length;
    });
    const mean = sizes.reduce((sum, each) => sum + each) / sizes.length;
    process.stdout.write(`${n} accounts, ${d} daemons and one more: ${mean} move, ${Math.max(...sizes)} at most\n`);
    expect(mean).toBeLessThanOrEqual((1.2 * n) / (d + 1));
  });
});

/** What may happen in a fleet; daemons act on what they saw before, and in any order. */
const events = fc.array(
  fc.record({
    kind: fc.constantFrom('join', 'end', 'look', 'look', 'act', 'act'),
    daemon: fc.nat({ max: 5 }),
  }),
  { maxLength: 60 },
);

/** The protocol over one table of owners, as the share keeper and the lease play it. */
function playedFleet(accounts: readonly string[], all: readonly FleetDaemon[]) {
  const owners = new Map<string, string>();
  const alive = new Set<string>();
  const seen = new Map<string, { owners: ReadonlyMap<string, string | undefined>; daemons: FleetDaemon[] }>();
  const is = { moves: 0 };
  const ownerOf = (userId: string): string | undefined => {
    const owner = owners.get(userId);
    return owner !== undefined && alive.has(owner) ? owner : undefined;
  };
  const now = () => ({
    owners: new Map(accounts.map((userId) => [userId, ownerOf(userId)])),
    daemons: all.filter(({ id }) => alive.has(id)),
  });
  const act = (id: string): void => {
    const fleet = seen.get(id);
    if (fleet === undefined) return;
    let givenUp = 0;
    for (const [userId, target] of shareOut(fleet.owners, fleet.daemons)) {
      const owner = fleet.owners.get(userId);
      if (target === id && owner === undefined && ownerOf(userId) === undefined) owners.set(userId, id);
      if (target === id || owner !== id || ownerOf(userId) !== id || givenUp === 3) continue;
      owners.delete(userId);
      givenUp += 1;
      is.moves += 1;
    }
  };
  const play = (kind: string, id: string | undefined): void => {
    if (id === undefined) return;
    if (kind === 'join') alive.add(id);
    else if (!alive.has(id)) return;
    else if (kind === 'look') seen.set(id, now());
    else if (kind === 'act') act(id);
    else {
      alive.delete(id);
      seen.delete(id);
    }
  };
  return { is, alive, now, play };
}

describe('daemons that share accounts out', () => {
  it('end with even shares and move nothing more, though daemons joined, ended and looked late', () => {
    fc.assert(
      fc.property(worlds, events, ({ accounts, daemons }, played) => {
        const { is, alive, now, play } = playedFleet(accounts, daemons);
        play('join', daemons[0]?.id);
        for (const { kind, daemon } of played) play(kind, daemons[daemon]?.id);
        // All look before the first acts: each sees what was before the others' acts.
        const round = (): void => {
          for (const id of alive) play('look', id);
          for (const id of alive) play('act', id);
        };
        for (let rounds = 0; rounds < accounts.length; rounds += 1) round();
        const { owners, daemons: living } = now();
        expect(new Map([...owners].filter(([, owner]) => owner !== undefined))).toEqual(shareOut(owners, living));
        const { moves } = is;
        round();
        expect(is.moves).toBe(moves);
      }),
      { numRuns: runs(100, 3_000) },
    );
  });
});
