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
 * a group. Of n accounts, each of their d daemons has ⌊n/d⌋ places, and the n mod d oldest daemons have one more. One
 * account after the other goes to the daemon with the highest hash among those that have a place left.
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
  for (const [servers, all] of groups) {
    const ids = servers.split(',').filter((id) => id !== '' && !late.has(id));
    if (ids.length === 0) continue;
    const group = all.filter((userId) => !late.has(owners.get(userId) ?? ''));
    const each = Math.floor(group.length / ids.length);
    const more = group.length % ids.length;
    const places = new Map(ids.map((id, at) => [id, at < more ? each + 1 : each]));
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
