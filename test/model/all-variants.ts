import { type Found, explore, type Start } from './explore.ts';

const ORDERS = ['falling', 'rising', 'updated', 'score', 'rank', 'shuffled'] as const;
const CURSORS = ['keyset', 'inclusive', 'refused', 'empty', 'ignored', 'token', 'token-only'] as const;
const HAS_MORE = ['exact', 'full', 'missing'] as const;

/**
 * Every order × cursor × `has_more` with pages of one and two items. Lists by ID begin trusted or not; lists by last
 * change or score begin untrusted, and have pages of three items, too: fewer can't earn trust. Pages of one item that
 * begin with the cursor's own row are left out: they lead nowhere.
 */
export function allStarts(): Start[] {
  const starts = ORDERS.flatMap((order) =>
    CURSORS.flatMap((cursor) =>
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
export function* exploreAll(operations: number, starts: readonly Start[] = allStarts()) {
  for (const start of starts) {
    const found = explore(start, operations);
    yield { found, violations: violations(start, found) };
  }
}

/** The same, told together: how many deletions were judged, and what must not have been found. */
export function searchAll(operations: number, starts: readonly Start[]) {
  let deletions = 0;
  const wrong: string[] = [];
  for (const { found, violations } of exploreAll(operations, starts)) {
    deletions += found.deletions;
    wrong.push(...violations);
  }
  return { deletions, wrong };
}
