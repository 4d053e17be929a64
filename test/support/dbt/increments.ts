import type { Mutation } from '@research-mirror/sandbox/control/mutation';
import type { System } from '../processes/system.ts';

type Name = 'research_jobs' | 'bulk_research_jobs' | 'lists' | 'watchlist';
const NAMES: readonly Name[] = ['research_jobs', 'bulk_research_jobs', 'lists', 'watchlist'];

/** IDs of what the service has now, in its order. */
async function ids(
  { sandbox }: System,
  which: { collection: Name; user: number } | { collection: 'list_items'; user: number; list: string },
): Promise<string[]> {
  const truth = await sandbox.control.truth(which);
  return truth.map((text) => String(Object.values(JSON.parse(text) as Record<string, unknown>)[0]));
}

/**
 * Increment `nth` of the accounts' data at the service: in each collection an item comes, some change, one goes; what
 * went two increments ago comes back. A list goes, and comes back, with its items. From the third on, jobs have a field
 * that they did not have before.
 * @param gone what went, by increment: filled here, to be given again at the next
 */
export async function changeService(
  system: System,
  users: readonly number[],
  nth: number,
  gone: Map<number, Mutation[]>,
): Promise<void> {
  const mutations: Mutation[] = [];
  const removed: Mutation[] = [];
  for (const user of users) {
    for (const collection of NAMES) {
      const all = await ids(system, { collection, user });
      const at = (index: number): string => all[(nth * 7 + index) % all.length] ?? '';
      const fields = { note: `increment ${nth}`, ...(nth > 2 ? { Mood: nth / 4 } : {}) };
      for (const index of [0, 1, 2])
        mutations.push({ op: 'update', user, collection, id: at(index), fields });
      mutations.push({ op: 'insert', user, collection });
      removed.push({ op: 'delete', user, collection, id: at(3) });
      if (collection !== 'lists') continue;
      const place = { user, collection: 'list_items', list: at(4) } as const;
      const [first = '', second = ''] = await ids(system, place);
      mutations.push({ op: 'update', ...place, id: first, fields }, { op: 'insert', ...place });
      removed.push({ op: 'delete', ...place, id: second });
    }
  }
  const back = (gone.get(nth - 2) ?? []).map((each): Mutation => ({ ...each, op: 'restore' }));
  gone.set(nth, removed);
  // What comes back first: an item's list is there before the item.
  await system.sandbox.control.mutate(...back, ...mutations, ...removed);
}
