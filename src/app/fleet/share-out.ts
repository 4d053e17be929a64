import { hash } from 'node:crypto';

/** A daemon that takes part in the sharing. */
export interface FleetDaemon {
  readonly id: string;
  /** User IDs of the accounts that it has a good key of. */
  readonly serves: ReadonlySet<string>;
  /** Its last heartbeat is so fresh that it takes at once what it is given. */
  readonly prompt: boolean;
}

/**
 * Which daemon is to own which account: rendezvous hashing with bounded loads. Accounts that the same daemons serve are
 * a group; groups with the fewest daemons come first. As many places as a group has accounts are given out, each to the
 * daemon with the fewest so far, the oldest first. One account after the other then goes to the daemon with the highest
 * hash among those that have a place left. So where all have the same keys, each of d daemons has ⌊n/d⌋ or ⌈n/d⌉ of n.
 *
 * Who owns an account now changes nothing, so all daemons come to the same, and nothing flaps. One exception: a daemon
 * whose heartbeat is late is given nothing, and keeps what it has.
 * @param owners of all accounts, by user ID; undefined: no living process owns it
 * @param daemons the oldest first
 * @returns daemon by user ID; left out: accounts of late daemons, and those that no prompt daemon serves
 */
export function shareOut(
  owners: ReadonlyMap<string, string | undefined>,
  daemons: readonly FleetDaemon[],
): ReadonlyMap<string, string> {
  const late = new Set(daemons.filter(({ prompt }) => !prompt).map(({ id }) => id));
  const groups = Map.groupBy([...owners.keys()].toSorted(), (userId) =>
    daemons
      .filter(({ serves }) => serves.has(userId))
      .map(({ id }) => id)
      .join(),
  );
  const targets = new Map<string, string>();
  const loads = new Map(daemons.map(({ id }) => [id, 0]));
  const load = (id: string): number => loads.get(id) ?? 0;
  const named = [...groups].map(([ids, group]) => ({ ids: ids.split(','), group }));
  for (const { ids, group: all } of named.toSorted((a, b) => a.ids.length - b.ids.length)) {
    const servers = ids.filter((id) => id !== '' && !late.has(id));
    if (servers.length === 0) continue;
    const group = all.filter((userId) => !late.has(owners.get(userId) ?? ''));
    const places = new Map<string, number>();
    for (const _ of group) {
      const least = servers.reduce((best, id) => (load(id) < load(best) ? id : best));
      loads.set(least, load(least) + 1);
      places.set(least, (places.get(least) ?? 0) + 1);
    }
    for (const userId of group) {
      const choices = [...places]
        .filter(([, left]) => left > 0)
        .map(([id, left]) => ({ id, left, weight: hash('sha256', `${id} ${userId}`) }));
      const choice = choices.reduce((best, next) => (next.weight > best.weight ? next : best));
      places.set(choice.id, choice.left - 1);
      targets.set(userId, choice.id);
    }
  }
  return targets;
}
