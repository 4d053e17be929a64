import type { AbsenceProof } from '../../model/absence.ts';
import { orderGrade, type ScopeMemory } from '../memory/memory.ts';
import { askedAfter, type Reading } from '../reading.ts';
import type { PageProof, Walk } from '../walk.ts';

/** A page that was taken, as far as absence is concerned. */
export interface ProofView {
  /** The walk as it was when it asked. */
  readonly asked: Reading;
  /** The memory after the page: an order that it contradicts is not trusted any more. */
  readonly memory: ScopeMemory;
  /** Keys of all its items; undefined for one without a usable key, which may be any row. */
  readonly keys: readonly (string | undefined)[];
  /** It brought the walk further, or ended it. */
  readonly accepted: boolean;
  /** It begins at the top of the list though a cursor was sent. */
  readonly fromStart: boolean;
  /** It is the whole scope. */
  readonly snapshot: boolean;
  /** It shows the list's end: a live item, and that none follows. */
  readonly provenEnd: boolean;
}

/**
 * What a page proves absent (docs/design/deletions.md, "What proves absence"): P0 where it is the whole scope; P1 where the order is trusted: exactly what
 * lies between its cursor and its last item, or the list's end. Null: nothing. An empty page after a cursor never
 * does: the cursor's row may be gone, and the service lost.
 */
export function proofOf(view: ProofView): AbsenceProof | null {
  const { asked, memory, keys, accepted, fromStart, snapshot, provenEnd } = view;
  if (keys.includes(undefined)) return null;
  if (snapshot) return { kind: 'snapshot' };
  const last = keys.at(-1);
  if (!accepted || fromStart || last === undefined) return null;
  const { direction } = memory.evidence;
  if (direction === null || orderGrade(memory) !== 'trusted') return null;
  const after = askedAfter(asked);
  if (after === null && asked.cursor !== null) return null; // behind a token, with nothing read before it
  return { kind: 'interval', direction, after, through: provenEnd ? null : last };
}

/**
 * What a walk may make of a page's proof. A snapshot stands by itself. An interval rests on the order of the whole
 * list: a row that is not in its place may have moved, which only a walk over all pages finds out; such a walk alone
 * brings any row into doubt. A confirming walk, whose top page tests the order anew, may prove what is in doubt, and
 * doubt what it was sent for. (A poll that misses a row at the top, and a confirming walk after it, would delete a row
 * that went further down.)
 */
export function proofFor(walk: Walk, proof: AbsenceProof | null): PageProof | null {
  if (proof === null || proof.kind === 'snapshot' || walk.kind === 'full') return proof;
  return walk.kind === 'confirm' ? { ...proof, raises: walk.keys } : null;
}
