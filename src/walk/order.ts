import type { KeyType } from '../model/collections.ts';
import { compareKeys } from '../model/key.ts';
import { askedAfter, type Reading } from './reading.ts';

/**
 * The specification does not define the order of a list, so evidence decides (docs/design/walks.md, "Order is
 * evidence"):
 * - `usable`: polls may stop at the frontier and refreshes may jump. A mistake costs delay until the next full walk.
 * - `trusted`: a page also proves absent what its interval lacks (docs/design/deletions.md, "P1").
 */
export type OrderGrade = 'none' | 'usable' | 'trusted';

/** Direction of the keys from the top of the list to its end. */
export type ListDirection = 'falling' | 'rising';

export interface OrderEvidence {
  /** Direction of the rows seen so far; null before the second row and after a contradiction. */
  readonly direction: ListDirection | null;
  /** Longest run of distinct rows that one walk saw in key order, across pages; capped at what is needed. */
  readonly inOrder: number;
  /** Changed rows seen in key order between unchanged neighbours; capped at what is needed. */
  readonly inPlace: number;
  /** The last page began at the top despite a cursor, or its cursor's row moved there: no trust. */
  readonly fromStart: boolean;
  /** A contradiction since the last clean complete walk began. */
  readonly doubt: boolean;
  /** A contradiction since the running full walk began. */
  readonly contradicted: boolean;
}

/** Evidence needed for an order. */
export interface EvidenceNeeded {
  /** Distinct rows in key order for a usable one. */
  readonly inOrder: number;
  /** Changed rows in place for a trusted one: a list sorted by last update or score moves them. */
  readonly inPlace: number;
}

export const EVIDENCE_NEEDED: EvidenceNeeded = { inOrder: 20, inPlace: 3 };

export const NO_EVIDENCE: OrderEvidence = {
  direction: null,
  inOrder: 0,
  inPlace: 0,
  fromStart: false,
  doubt: false,
  contradicted: false,
};

const CONTRADICTED: OrderEvidence = { ...NO_EVIDENCE, doubt: true, contradicted: true };

export function gradeOf(evidence: OrderEvidence, needed = EVIDENCE_NEEDED): OrderGrade {
  if (evidence.direction === null || evidence.doubt || evidence.inOrder < needed.inOrder) return 'none';
  return evidence.inPlace < needed.inPlace ? 'usable' : 'trusted';
}

/** Compares two keys by their place in the list: negative if `a` is nearer to the top. */
export function compareInList(keyType: KeyType, direction: ListDirection, a: string, b: string): number {
  return direction === 'rising' ? compareKeys(keyType, a, b) : compareKeys(keyType, b, a);
}

export interface Observation {
  readonly evidence: OrderEvidence;
  readonly run: number;
  /** The page begins before its cursor, which the service ignored. It costs trust, and is no contradiction. */
  readonly fromStart: boolean;
  readonly contradiction: boolean;
}

/**
 * Evidence from a page: the order of its items among each other and after its cursor.
 * @param keys in the page's order, neighbours distinct; at least one
 * @param asked the walk at the time of the request
 */
export function observeOrder(
  evidence: OrderEvidence,
  keyType: KeyType,
  keys: readonly string[],
  asked: Reading,
  needed = EVIDENCE_NEEDED,
): Observation {
  const fromStart = beginsBefore(evidence, keyType, keys, asked, needed);
  const { recent } = asked;
  const after = askedAfter(asked);
  const chain = after === null || after === keys[0] || fromStart ? keys : [after, ...keys];
  let direction = evidence.direction;
  for (const [i, key] of chain.entries()) {
    const before = chain[i - 1];
    if (before === undefined) continue;
    const seen = compareKeys(keyType, before, key) < 0 ? 'rising' : 'falling';
    if (direction !== null && direction !== seen) {
      return { evidence: CONTRADICTED, run: 0, fromStart, contradiction: true };
    }
    direction = seen;
  }
  const last = recent.at(-1);
  const chained = !fromStart && after !== null && last !== undefined && recent.includes(after);
  const added = chained
    ? keys.filter((key) => direction === null || compareInList(keyType, direction, key, last) > 0)
    : keys;
  const run = Math.min(needed.inOrder, (chained ? asked.run : 0) + added.length);
  const inOrder = Math.max(evidence.inOrder, run);
  const inPlace = fromStart ? 0 : evidence.inPlace;
  const same =
    direction === evidence.direction &&
    inOrder === evidence.inOrder &&
    inPlace === evidence.inPlace &&
    fromStart === evidence.fromStart;
  const learnt = same ? evidence : { ...evidence, direction, inOrder, inPlace, fromStart };
  return { evidence: learnt, run, fromStart, contradiction: false };
}

/**
 * Whether the service ignored the cursor. Before the order is usable, only a page from the very top counts; any other
 * page before its cursor contradicts the order. Once it is usable, any such page counts, since the top row may be gone.
 * A cursor whose row has just been seen is never ignored.
 */
function beginsBefore(
  evidence: OrderEvidence,
  keyType: KeyType,
  [begin]: readonly string[],
  asked: Reading,
  needed: EvidenceNeeded,
): boolean {
  const { direction } = evidence;
  const { first, again } = asked;
  const after = askedAfter(asked);
  if (begin === undefined || after === null || begin === after) return false;
  if (begin === first) return true;
  if (direction === null || compareInList(keyType, direction, begin, after) > 0) return false;
  if (again !== null) return false;
  if (first === null || gradeOf(evidence, needed) !== 'none') return true;
  return compareInList(keyType, direction, begin, first) <= 0;
}

/** A row of a written page, in the page's order. */
export interface WrittenRow {
  readonly key: string;
  /** The mirror has it as a live row. */
  readonly known: boolean;
  /** Its content differs from what the mirror had. */
  readonly changed: boolean;
}

/** Counts the changed rows in key order between unchanged neighbours. */
export function observeChanges(
  evidence: OrderEvidence,
  keyType: KeyType,
  rows: readonly WrittenRow[],
  needed = EVIDENCE_NEEDED,
): OrderEvidence {
  const { direction } = evidence;
  if (direction === null || evidence.fromStart || evidence.inPlace >= needed.inPlace) return evidence;
  let { inPlace } = evidence;
  for (const [i, row] of rows.entries()) {
    const above = rows[i - 1];
    const below = rows[i + 1];
    if (above === undefined || below === undefined || !row.known || !row.changed) continue;
    const steady = above.known && !above.changed && below.known && !below.changed;
    const inPlaceHere =
      compareInList(keyType, direction, above.key, row.key) < 0 &&
      compareInList(keyType, direction, row.key, below.key) < 0;
    if (steady && inPlaceHere) inPlace += 1;
  }
  return inPlace === evidence.inPlace
    ? evidence
    : { ...evidence, inPlace: Math.min(needed.inPlace, inPlace) };
}
