import type { SyncObserver } from '../../sync/reader/observer.ts';

/** Items from which on a walk is a load, which garbage that is collected too early would slow down. */
const LOAD_ITEMS = 2_000;
/** Items after which a walk is long: minutes at any rate limit, so processor time is no matter, and memory is. */
const LONG_ITEMS = 200_000;
/** How far (percent) the old heap may grow before it is collected. At its start a program has the launcher's OLD_HEAP. */
const GROWS = { else: 30, inLoads: 150 };

/**
 * Has garbage collected early, but while a load is under way. What is used does not grow with the collection, but garbage
 * between two collections would double it (bench/README.md, `memory/walks.ts`); and a process that rests would keep it.
 * @param setFlags V8's own; it heeds this flag at its next collection
 */
export function walkHeap(setFlags: (flags: string) => void): SyncObserver {
  /** Items so far, by walk that is under way. */
  const items = new Map<string, number>();
  let loads = false;
  const set = (): void => setFlags(`--heap-growing-percent=${loads ? GROWS.inLoads : GROWS.else}`);
  const judge = (): void => {
    const counts = [...items.values()];
    const now = counts.some((count) => count >= LOAD_ITEMS) && counts.every((count) => count < LONG_ITEMS);
    if (now === loads) return;
    loads = now;
    set();
  };
  set();
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
