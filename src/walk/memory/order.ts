import type { KeyType } from '../../model/collections.ts';
import { compareKeys } from '../../model/key.ts';

/**
 * The order of a list is not specified, so it is evidence (docs/design/walks.md, "Order is evidence"), in two grades:
 * - `usable`: polls may stop at the frontier, refresh may go by cover. A mistake costs delay until the next full walk.
 * - `trusted`: a page proves what its interval holds, absences included (docs/design/deletions.md, "P1").
 */
export type OrderGrade = 'none' | 'usable' | 'trusted';

/** How keys run from the top of the list to its end. */
export type ListDirection = 'falling' | 'rising';

export interface OrderEvidence {
  /** What the rows seen so far say; null before the second row and after a contradiction. */
  readonly direction: ListDirection | null;
  /** Longest run of distinct rows that one walk saw in key order, across pages; counted as far as it is needed. */
  readonly inOrder: number;
  /** Changed rows seen in key order between unchanged neighbours; counted as far as it is needed. */
  readonly inPlace: number;
  /** The last page began at the top though a cursor was sent, or its cursor's row moved there: it earns no trust. */
  readonly fromStart: boolean;
  /** A contradiction came since the last clean complete walk began. */
  readonly doubt: boolean;
  /** A contradiction came since the running full walk began. */
  readonly contradicted: boolean;
}

/** How much evidence makes an order. */
export interface EvidenceNeeded {
  /** Distinct rows in key order from which on an order counts as usable. */
  readonly inOrder: number;
  /** Changed rows that kept their place from which on it is trusted: a list by "last updated" or score moves them. */
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

/** Compares two keys by their place in the list: negative when `a` stands nearer to the top. */
export function compareInList(keyType: KeyType, direction: ListDirection, a: string, b: string): number {
  return direction === 'rising' ? compareKeys(keyType, a, b) : compareKeys(keyType, b, a);
}

/** One page, as far as order is concerned. */
export interface OrderSample {
  /** Keys in the page's order, neighbours distinct; at least one. */
  readonly keys: readonly string[];
  /** Key that the page should lie beyond; null for a page from the top. */
  readonly after: string | null;
  /** The row of `after` was seen just before: the service knows it. */
  readonly again: boolean;
  /** Keys that the walk had read last, the newest last. */
  readonly recent: readonly string[];
  /** First key of the walk's first page; null where the walk did not begin at the top. */
  readonly first: string | null;
  /** Rows that the walk saw in order before, without a break. */
  readonly run: number;
}

export interface Observation {
  readonly evidence: OrderEvidence;
  readonly run: number;
  /**
   * The page begins before its cursor: the service ignored the cursor, as some do with one that they don't know, and
   * began at the top. That says nothing against the order, but it costs trust.
   */
  readonly fromStart: boolean;
  readonly contradiction: boolean;
}

/** What a page says of the order: within itself, and against the cursor that it followed. */
export function observeOrder(
  evidence: OrderEvidence,
  keyType: KeyType,
  sample: OrderSample,
  needed = EVIDENCE_NEEDED,
): Observation {
  const fromStart = beginsBefore(evidence, keyType, sample, needed);
  const { keys, after, recent } = sample;
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
  const run = Math.min(needed.inOrder, (chained ? sample.run : 0) + added.length);
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
 * While an order is being earned, only a page from the very top is a cursor ignored; any other that does not follow
 * its cursor speaks against the order. Once earned it takes more to lose it: the top row may be gone meanwhile. In
 * either case a cursor whose row has just been seen is not ignored.
 */
function beginsBefore(
  evidence: OrderEvidence,
  keyType: KeyType,
  sample: OrderSample,
  needed: EvidenceNeeded,
): boolean {
  const { direction } = evidence;
  const { after, first, again } = sample;
  const [begin] = sample.keys;
  if (begin === undefined || after === null || begin === after) return false;
  if (begin === first) return true;
  if (direction === null || compareInList(keyType, direction, begin, after) > 0) return false;
  if (again) return false;
  if (first === null || gradeOf(evidence, needed) !== 'none') return true;
  return compareInList(keyType, direction, begin, first) <= 0;
}

/** A row of a written page, in the page's order. */
export interface WrittenRow {
  readonly key: string;
  /** The mirror had it, live. */
  readonly known: boolean;
  /** Its content differs from what the mirror had. */
  readonly changed: boolean;
}

/** Adds the changed rows that stand in key order between unchanged neighbours. */
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
