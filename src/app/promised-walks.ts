import type { CollectionName } from '../model/collections.ts';

/**
 * Full walks that an earlier process promised and that no cron line of this one will begin in time: they came due
 * while nobody ran, or their line has fired and they wait for their place in the spread (firings.ts).
 * @param promised when each collection's next full walk was to begin, as last stored
 * @param nextFullAt when its cron line has it begin next; null: never
 * @param now milliseconds since the epoch
 * @returns how long (ms) each is to wait
 */
export function promisedWalks(
  collections: readonly CollectionName[],
  promised: ReadonlyMap<string, Date>,
  nextFullAt: (name: CollectionName) => Date | null,
  now: number,
): ReadonlyMap<CollectionName, number> {
  const waits = new Map<CollectionName, number>();
  for (const name of collections) {
    const at = promised.get(name);
    const next = nextFullAt(name);
    if (at !== undefined && next !== null && at < next) waits.set(name, Math.max(0, at.getTime() - now));
  }
  return waits;
}
