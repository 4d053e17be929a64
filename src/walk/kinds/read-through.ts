import { usableDirection, type ScopeMemory } from '../memory/memory.ts';
import { compareInList } from '../memory/order.ts';
import type { FullWalk } from '../walk.ts';

/**
 * Whether a full walk has read everything from the top of the list through the place of `key`: it went on without
 * beginning again, in an order that says where that place is, whether its row is there or not.
 */
export function hasReadThrough(walk: FullWalk, memory: ScopeMemory, key: string): boolean {
  const direction = usableDirection(memory);
  const last = walk.recent.at(-1);
  if (direction === null || last === undefined || walk.restarts > 0) return false;
  return compareInList(memory.keyType, direction, last, key) >= 0;
}
