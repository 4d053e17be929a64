import type { KeyType } from '../model/collections.ts';
import { compareKeys } from '../model/key.ts';

/** Longest time between a row's ID and its visibility, ms (docs/design/walks.md, "Overlap"). */
export const OVERLAP = 600_000;
/** Least distance of two marks, ms: it bounds their number. */
const MARK_SPACING = 60_000;

/** The newest known row (docs/design/walks.md, "Frontier"), in either direction of the list. */
export interface Frontier {
  readonly key: string;
  /** Time of the answer with `key`: the row has its ID since before. */
  readonly at: number;
  /** The moment that the last walk to reach it read as of: it may have missed a row that became visible later. */
  readonly asOf: number;
  /** Earlier frontiers, oldest first, at least a minute apart, as far back as the overlap needs. */
  readonly marks: readonly Mark[];
}

type Mark = readonly [at: number, key: string];

/** The unread part of an interrupted poll. */
export interface OpenPart {
  /** Falling: first key of the poll's first page, which becomes the frontier at its end. Rising: null. */
  readonly first: string | null;
  /** Time of that page's answer. */
  readonly at: number;
  /** The moment that the poll has read as of so far. */
  readonly asOf: number;
  /** Last key read; the rest follows it. */
  readonly after: string;
  /** Falling: key at which the poll may stop; null: the list's end. */
  readonly low: string | null;
}

/** The newest row of a walk that reached the old frontier or read everything. */
type NewestRow = Omit<Frontier, 'marks'>;

/** The frontier after a poll that reached the old one. It never moves back. */
export function advance(keyType: KeyType, old: Frontier | null, reached: NewestRow): Frontier {
  if (old === null) return { ...reached, marks: [] };
  const further = compareKeys(keyType, reached.key, old.key) > 0;
  const last = old.marks.at(-1);
  const spaced = last === undefined || old.at - last[0] >= MARK_SPACING;
  const marks: readonly Mark[] = further && spaced ? [...old.marks, [old.at, old.key]] : old.marks;
  const { key, at } = further ? reached : old;
  return { key, at, asOf: reached.asOf, marks: needed(marks, at, reached.asOf) };
}

/** The frontier after a complete full walk; polls may have moved it further meanwhile. */
export function advanceByFull(keyType: KeyType, old: Frontier | null, reached: NewestRow): Frontier {
  if (old !== null && compareKeys(keyType, reached.key, old.key) <= 0) return old;
  return advance(keyType, old, reached);
}

/**
 * Key down to which the next poll has to read (docs/design/walks.md, "Overlap"); null: everything. The overlap
 * reaches to the frontier of 10 minutes before the last poll or to the 200th known row, whichever is further.
 * @param overlapKey the 200th known live row from the newest; null if there are fewer
 */
export function overlapLow(keyType: KeyType, frontier: Frontier, overlapKey: string | null): string | null {
  if (overlapKey === null) return null;
  const history: readonly Mark[] = [...frontier.marks, [frontier.at, frontier.key]];
  const stood = history.findLast(([at]) => at <= frontier.asOf - OVERLAP) ?? history[0];
  const key = stood === undefined ? frontier.key : stood[1];
  return compareKeys(keyType, key, overlapKey) < 0 ? key : overlapKey;
}

/** The last mark older than the overlap and those after it; none if the frontier itself is older. */
function needed(marks: readonly Mark[], at: number, asOf: number): readonly Mark[] {
  const limit = asOf - OVERLAP;
  if (at <= limit) return [];
  const begin = marks.findLastIndex(([at]) => at <= limit);
  return begin <= 0 ? marks : marks.slice(begin);
}
