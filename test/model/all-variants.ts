import { CURSORS, HAS_MORE } from '../support/walks/walk-source.ts';
import { type Found, explore, type Start } from './explore.ts';

export const ORDERS = ['falling', 'rising', 'updated', 'score', 'rank', 'shuffled'] as const;

/**
 * Every order × cursor × `has_more` with pages of one and two items. Lists by ID begin trusted or not; lists by last
 * change or score begin untrusted, and have pages of three items, too: fewer can't earn trust. Pages of one item that
 * begin with the cursor's own row are left out: they lead nowhere.
 */
export function allStarts(): Start[] {
  const cursors = CURSORS.filter((cursor) => cursor !== 'token-or-none');
  const starts = ORDERS.flatMap((order) =>
    cursors.flatMap((cursor) =>
      HAS_MORE.flatMap((hasMore) =>
        [1, 2, 3].flatMap((pageSize) =>
          [true, false].map((trusted) => ({ order, cursor, hasMore, pageSize, trusted })),
        ),
      ),
    ),
  );
  return starts.filter(({ order, cursor, pageSize, trusted }) => {
    const byId = order === 'falling' || order === 'rising';
    const earns = order === 'updated' || order === 'score' || order === 'rank';
    if (cursor === 'inclusive' && pageSize === 1) return false;
    return (byId || !trusted) && (earns || pageSize < 3);
  });
}

export function nameOf({ order, cursor, hasMore, pageSize, trusted, interrupted = false }: Start): string {
  return `${interrupted ? 'interrupted walk, ' : ''}${order}${trusted ? ' (trusted)' : ''}, ${cursor} cursors, has_more ${hasMore}, pages of ${pageSize}`;
}

/** What a search must not find, each as a line with the shortest way that leads there. */
function violations(start: Start, { untrue, sighted, mistaken, incomplete, diverged }: Found): string[] {
  const kinds = {
    'deleted though the source had it': untrue,
    'deleted though read between the proofs': sighted,
    'claimed absent though the source had it': mistaken,
    'claimed complete though a row was gone': incomplete,
    'not mirrored when quiet': diverged,
  };
  return Object.entries(kinds).flatMap(([kind, ways]) => {
    const [shortest] = ways.toSorted((a, b) => a.length - b.length);
    return shortest === undefined ? [] : [`${nameOf(start)}: ${kind}: ${shortest.join(' | ')}`];
  });
}

/** Searches variant after variant, all interleavings of up to `operations` source operations each. */
export function* exploreAll(operations: number, starts: readonly Start[]) {
  for (const start of starts) {
    const found = explore(start, operations);
    yield { found, violations: violations(start, found) };
  }
}
