/** Accounts and daemons as one daemon sees them at one moment. */
export interface Fleet {
  /** Those that live and take part. Others, and commands, only appear as owners. */
  readonly daemons: readonly FleetDaemon[];
  readonly accounts: readonly FleetAccount[];
}

export interface FleetDaemon {
  readonly id: string;
  /** User IDs of accounts that it has a good key of. */
  readonly serves: ReadonlySet<string>;
  /** Its last heartbeat is so fresh that it would take at once what it is given. */
  readonly prompt: boolean;
}

export interface FleetAccount {
  readonly userId: string;
  /** The living process that owns it; undefined: nobody does. */
  readonly owner: string | undefined;
}

/** A daemon with what it is to own, in piles: each of accounts that the same daemons serve. */
interface Portion {
  readonly daemon: FleetDaemon;
  count: number;
  readonly piles: Map<string, Pile>;
}

interface Pile {
  readonly servedBy: readonly string[];
  /** User IDs: those that nobody owns last, since they are moved first. */
  readonly accounts: string[];
}

/**
 * Who is to own which account, so that daemons own equally many, as far as each has keys: no change could bring two of
 * them closer to each other. Among such shares it is near the present one: an account changes hands only for a
 * difference of two at least, on the shortest ways from those with many to those with few. Where some accounts have
 * fewer daemons than others, a way may lead over daemons in between (cost-reducing paths; Harvey, Ladner, Lovász and
 * Tamir, "Semi-matchings for bipartite graphs and load balancing", 2006).
 *
 * The same for all who see the same, in whatever order. Accounts of processes that take no part stay with them.
 * @returns daemon by user ID, for accounts that nobody owns, or a daemon that serves them; left out: who can't be served
 */
export function shareOut({ daemons, accounts }: Fleet): ReadonlyMap<string, string> {
  const portions = new Map(
    daemons
      .toSorted((a, b) => order(a.id, b.id))
      .map((daemon): [string, Portion] => [daemon.id, { daemon, count: 0, piles: new Map() }]),
  );
  const takers = [...portions.values()].filter(({ daemon }) => daemon.prompt);
  const free: FleetAccount[] = [];
  for (const account of accounts.toSorted((a, b) => order(a.userId, b.userId))) {
    if (account.owner === undefined) free.push(account);
    else {
      const portion = portions.get(account.owner);
      if (portion?.daemon.serves.has(account.userId) === true) put(portion, account.userId, takers);
    }
  }
  for (const { userId } of free) {
    const servers = takers.filter(({ daemon }) => daemon.serves.has(userId));
    const least = servers.toSorted((a, b) => a.count - b.count)[0];
    if (least !== undefined) put(least, userId, takers);
  }
  while (evenOut(portions));
  return new Map(
    [...portions].flatMap(([id, { piles }]) =>
      [...piles.values()].flatMap((pile) => pile.accounts.map((userId): [string, string] => [userId, id])),
    ),
  );
}

function put(portion: Portion, userId: string, takers: readonly Portion[]): void {
  const servedBy = takers.filter(({ daemon }) => daemon.serves.has(userId)).map(({ daemon }) => daemon.id);
  toPile(portion, servedBy).accounts.push(userId);
  portion.count += 1;
}

function toPile({ piles }: Portion, servedBy: readonly string[]): Pile {
  const name = servedBy.join(' ');
  const pile = piles.get(name) ?? { servedBy, accounts: [] };
  piles.set(name, pile);
  return pile;
}

/** Moves one account from a daemon with many, or one on each step of a way. @returns false: it is even */
function evenOut(portions: ReadonlyMap<string, Portion>): boolean {
  const most = [...portions.values()].toSorted((a, b) => b.count - a.count);
  for (const from of most) {
    const way = wayFrom(from, portions);
    if (way === undefined) continue;
    for (const { giver, name, to } of way) {
      const pile = giver.piles.get(name);
      const userId = pile?.accounts.pop();
      if (pile === undefined || userId === undefined) continue;
      toPile(to, pile.servedBy).accounts.push(userId);
      giver.count -= 1;
      to.count += 1;
    }
    return true;
  }
  return false;
}

interface Step {
  readonly giver: Portion;
  /** Of the pile of which one account goes. */
  readonly name: string;
  readonly to: Portion;
}

/** The shortest way to a daemon with two fewer at least; the one with the fewest, of those that are equally near. */
function wayFrom(from: Portion, portions: ReadonlyMap<string, Portion>): readonly Step[] | undefined {
  const reached = new Map<Portion, Step | undefined>([[from, undefined]]);
  let nearest: readonly Portion[] = [from];
  while (nearest.length > 0) {
    const next: Portion[] = [];
    for (const giver of nearest) {
      for (const [name, { servedBy, accounts }] of giver.piles) {
        if (accounts.length === 0) continue;
        for (const id of servedBy) {
          const to = portions.get(id);
          if (to === undefined || reached.has(to)) continue;
          reached.set(to, { giver, name, to });
          next.push(to);
        }
      }
    }
    const ends = next.filter(({ count }) => count <= from.count - 2);
    const end = ends.toSorted((a, b) => a.count - b.count)[0];
    if (end !== undefined) return stepsTo(end, reached);
    nearest = next;
  }
  return undefined;
}

/** The last step first: each daemon on the way gets one before it gives one. */
function stepsTo(end: Portion, reached: ReadonlyMap<Portion, Step | undefined>): readonly Step[] {
  const steps: Step[] = [];
  for (let step = reached.get(end); step !== undefined; step = reached.get(step.giver)) steps.push(step);
  return steps;
}

/** What one daemon does now. */
export interface Round {
  readonly take: readonly string[];
  readonly giveUp: readonly string[];
  /** Nobody owns them, and it is another daemon's turn: one that may have looked too early to know. */
  readonly leave: readonly string[];
}

/**
 * What one daemon is to do, by what it sees.
 * @param most accounts that it gives up in a round: the others go on being read meanwhile
 */
export function roundOf(fleet: Fleet, self: string, most: number): Round {
  const targets = shareOut(fleet);
  const take: string[] = [];
  const giveUp: string[] = [];
  const leave: string[] = [];
  for (const { userId, owner } of fleet.accounts) {
    const target = targets.get(userId);
    if (target === undefined) continue;
    if (owner === self && target !== self) giveUp.push(userId);
    // Its own that it does not work on: as after a failure.
    else if (target === self && (owner === undefined || owner === self)) take.push(userId);
    else if (owner === undefined) leave.push(userId);
  }
  return { take, giveUp: giveUp.slice(0, most), leave };
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
