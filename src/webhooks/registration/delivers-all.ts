import { EVENT_TYPES } from '../../model/webhook/event-types.ts';

/** How services spell "all" in a list. */
const ALL = new Set(['*', 'all']);

/**
 * Whether a webhook that shows these types delivers what was registered, which is every type.
 * @param answered the types in the registration's own answer: that is how the service shows ours
 */
export function deliversAll(seen: readonly string[] | null, answered: readonly string[] | null): boolean {
  if (seen === null || seen.some((type) => ALL.has(type))) return true;
  if (answered !== null && sameTypes(seen, answered)) return true;
  // A registration for all types has each known one.
  return EVENT_TYPES.every((type) => seen.includes(type));
}

function sameTypes(one: readonly string[], other: readonly string[]): boolean {
  return one.every((type) => other.includes(type)) && other.every((type) => one.includes(type));
}
