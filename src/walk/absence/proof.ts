import type { AbsenceProof } from '../../model/absence.ts';
import { orderGrade, type ScopeMemory } from '../memory/memory.ts';
import { askedAfter, type Reading } from '../reading.ts';
import type { PageProof, Walk } from '../walk.ts';

/** What decides whether a page proves absence. */
export interface ProofView {
  /** The walk as it was when it asked. */
  readonly asked: Reading;
  /** The memory after the page: an order that the page contradicts is no longer trusted. */
  readonly memory: ScopeMemory;
  /** Keys of all its items. Undefined for an item without a usable key: it may be any row. */
  readonly keys: readonly (string | undefined)[];
  /** The page brought the walk further, or ended it. */
  readonly accepted: boolean;
  /** The page begins at the top of the list although a cursor was sent. */
  readonly fromStart: boolean;
  /** The page is the whole scope. */
  readonly snapshot: boolean;
  /** The page has a live item, and shows that nothing follows. */
  readonly provenEnd: boolean;
}

/**
 * What a page proves absent (docs/design/deletions.md, "What proves absence"); null: nothing. The whole scope is a
 * snapshot (P0). In trusted order a page is an interval (P1), from its cursor to its last item or to the list's end.
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
 * What a walk may conclude from a page's proof (docs/design/deletions.md, "P1"). A snapshot stands by itself. An
 * interval depends on the order of the whole list: a missing row may have moved. So only a full walk brings any row
 * under suspicion by intervals; a confirming walk only those that it was sent for; other walks none.
 */
export function proofFor(walk: Walk, proof: AbsenceProof | null): PageProof | null {
  if (proof === null || proof.kind === 'snapshot' || walk.kind === 'full') return proof;
  return walk.kind === 'confirm' ? { ...proof, raises: walk.keys } : null;
}
