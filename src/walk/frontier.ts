import type { KeyType } from '../model/collections.ts';
import { compareKeys } from '../model/key.ts';

/** How long (ms) after taking its ID a row may become visible (docs/design/walks.md, "Overlap"). */
export const OVERLAP = 600_000;
/** Least distance of two marks, in milliseconds: it bounds their number. */
const MARK_SPACING = 60_000;

/** Up to where the newest rows are known (docs/design/walks.md, "Frontier"), in either direction of the list. */
export interface Frontier {
  readonly key: string;
  /** When the answer with `key` came: the row took its ID before. */
  readonly at: number;
  /** As of when the walk that last reached it read: that walk may have missed a row that became visible later. */
  readonly asOf: number;
  /** Earlier frontiers, oldest first, at least a minute apart: as far back as the overlap needs. */
  readonly marks: readonly Mark[];
}

type Mark = readonly [at: number, key: string];

/** The rest of an interrupted poll. */
export interface OpenPart {
  /** Falling: first key of the poll's first page, the frontier once the rest is read. Rising: null. */
  readonly first: string | null;
  /** When that page was answered. */
  readonly at: number;
  /** As of when the poll read so far. */
  readonly asOf: number;
  /** Last key read: the rest follows it. */
  readonly after: string;
  /** Falling: key at which the rest may stop; null: the list's end. */
  readonly low: string | null;
}

/** The newest row of a walk that reached the old frontier, or read everything. */
type Reached = Omit<Frontier, 'marks'>;

/** The frontier after a poll that reached the old one: never further back than it was. */
export function advance(keyType: KeyType, old: Frontier | null, reached: Reached): Frontier {
  if (old === null) return { ...reached, marks: [] };
  const further = compareKeys(keyType, reached.key, old.key) > 0;
  const last = old.marks.at(-1);
  const spaced = last === undefined || old.at - last[0] >= MARK_SPACING;
  const marks: readonly Mark[] = further && spaced ? [...old.marks, [old.at, old.key]] : old.marks;
  const { key, at } = further ? reached : old;
  return { key, at, asOf: reached.asOf, marks: needed(marks, at, reached.asOf) };
}

/** The frontier after a complete full walk: polls may have moved it further meanwhile. */
export function advanceByFull(keyType: KeyType, old: Frontier | null, reached: Reached): Frontier {
  if (old !== null && compareKeys(keyType, reached.key, old.key) <= 0) return old;
  return advance(keyType, old, reached);
}

/**
 * Key down to which the next poll has to read (docs/design/walks.md, "Overlap"); null: everything. The overlap
 * reaches to the frontier as it was 10 minutes before the last poll began, or to the 200th known row, whichever is
 * further.
 * @param overlapKey the 200th known live row from the newest; null where there are fewer
 */
export function overlapLow(keyType: KeyType, frontier: Frontier, overlapKey: string | null): string | null {
  if (overlapKey === null) return null;
  const history: readonly Mark[] = [...frontier.marks, [frontier.at, frontier.key]];
  const stood = history.findLast(([at]) => at <= frontier.asOf - OVERLAP) ?? history[0];
  const key = stood === undefined ? frontier.key : stood[1];
  return compareKeys(keyType, key, overlapKey) < 0 ? key : overlapKey;
}

/** The last mark older than the overlap, and those after it; none where the frontier itself is older. */
function needed(marks: readonly Mark[], at: number, asOf: number): readonly Mark[] {
  const limit = asOf - OVERLAP;
  if (at <= limit) return [];
  const begin = marks.findLastIndex(([at]) => at <= limit);
  return begin <= 0 ? marks : marks.slice(begin);
}
