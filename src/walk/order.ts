import type { KeyType } from '../model/collections.ts';
import { compareKeys } from '../model/key.ts';

/**
 * The order of a list is not specified, so it is evidence (design 3, "Order is evidence"), in two grades:
 * - `usable`: polls may stop at the frontier, refresh may go by cover. A mistake costs delay until the next full walk.
 * - `trusted`: a page proves what its interval holds, absences included (design 4, P1).
 */
export type OrderGrade = 'none' | 'usable' | 'trusted';

/** How keys run from the top of the list to its end. */
export type Direction = 'falling' | 'rising';

export interface OrderEvidence {
  /** What the rows seen so far say; null before the second row and after a contradiction. */
  readonly direction: Direction | null;
  /** Longest run of distinct rows that one walk saw in key order, across pages; counted up to `ROWS_IN_ORDER`. */
  readonly inOrder: number;
  /** Changed rows seen in key order between unchanged neighbours; counted up to `ROWS_IN_PLACE`. */
  readonly inPlace: number;
  /** A contradiction came since the last clean complete walk began. */
  readonly doubt: boolean;
  /** A contradiction came since the running full walk began. */
  readonly contradicted: boolean;
}

/** Distinct rows in key order from which on an order counts as usable. */
export const ROWS_IN_ORDER = 20;
/** Changed rows that kept their place from which on it counts as trusted: a list by "last updated" or score moves them. */
export const ROWS_IN_PLACE = 3;

export const NO_EVIDENCE: OrderEvidence = {
  direction: null,
  inOrder: 0,
  inPlace: 0,
  doubt: false,
  contradicted: false,
};

export function gradeOf(evidence: OrderEvidence): OrderGrade {
  if (evidence.direction === null || evidence.doubt || evidence.inOrder < ROWS_IN_ORDER) return 'none';
  return evidence.inPlace < ROWS_IN_PLACE ? 'usable' : 'trusted';
}

/** Compares two keys by their place in the list: negative when `a` stands nearer to the top. */
export function compareInList(keyType: KeyType, direction: Direction, a: string, b: string): number {
  return direction === 'rising' ? compareKeys(keyType, a, b) : compareKeys(keyType, b, a);
}
