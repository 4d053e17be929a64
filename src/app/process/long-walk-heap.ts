import type { SyncObserver } from '../../sync/reader/observer.ts';

/** Items after which a walk is long: minutes at any rate limit, so processor time is no matter, and memory is. */
const LONG_ITEMS = 200_000;
/** How far (percent) the old heap may grow before it is collected. */
const GROWS = { inLongWalks: 30, else: 80 };

/**
 * Has garbage collected earlier while a long walk is under way. What is used does not grow with the collection, but
 * garbage between two collections would double it (bench/README.md, `memory/walks.ts`).
 * @param setFlags V8's own; it heeds this flag at its next collection
 */
export function longWalkHeap(setFlags: (flags: string) => void): SyncObserver {
  /** Items so far, by walk that is under way. */
  const items = new Map<string, number>();
  let long = false;
  const judge = (): void => {
    const now = items.values().some((count) => count >= LONG_ITEMS);
    if (now === long) return;
    long = now;
    setFlags(`--heap-growing-percent=${now ? GROWS.inLongWalks : GROWS.else}`);
  };
  return {
    pageWritten({ scope, kind, items: count }) {
      const walk = `${kind} ${scope.userId} ${scope.collection} ${scope.parent}`;
      items.set(walk, (items.get(walk) ?? 0) + count);
      judge();
    },
    walkEnded({ scope, kind }) {
      items.delete(`${kind} ${scope.userId} ${scope.collection} ${scope.parent}`);
      judge();
    },
  };
}
