import type { AbsenceProof } from '../../model/absence.ts';
import { orderGrade, type ScopeMemory } from '../memory/memory.ts';
import { askedAfter, type Reading } from '../reading.ts';
import type { PageProof, Walk } from '../walk.ts';

/**
 * What a page proves absent (docs/design/deletions.md, "What proves absence"); null: nothing. The whole scope is a
 * snapshot (P0). In trusted order a page is an interval (P1), from its cursor to its last item or to the list's end.
 * @param asked the walk as it was when it asked
 * @param memory after the page: an order that the page contradicts is no longer trusted
 * @param keys of all its items; undefined for an item without a usable key, which may be any row
 * @param page `accepted`: it brought the walk further, or ended it; `fromStart`: it begins at the top of the list although
 *   a cursor was sent; `snapshot`: it is the whole scope; `provenEnd`: it has a live item, and shows that nothing follows
 */
export function proofOf(
  asked: Reading,
  memory: ScopeMemory,
  keys: readonly (string | undefined)[],
  page: Readonly<Record<'accepted' | 'fromStart' | 'snapshot' | 'provenEnd', boolean>>,
): AbsenceProof | null {
  if (keys.includes(undefined)) return null;
  if (page.snapshot) return { kind: 'snapshot' };
  const last = keys.at(-1);
  if (!page.accepted || page.fromStart || last === undefined) return null;
  const { direction } = memory.evidence;
  if (direction === null || orderGrade(memory) !== 'trusted') return null;
  const after = askedAfter(asked);
  if (after === null && asked.cursor !== null) return null; // behind a token, with nothing read before it
  return { kind: 'interval', direction, after, through: page.provenEnd ? null : last };
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
