import type { AbsenceProof, MissingRow, SuspectChange, SuspectedDeletion, SuspectKind } from '../model/absence.ts';
import { isCopy, type AnswerDate } from '../model/page.ts';
import { orderGrade, type ScopeMemory } from './memory.ts';
import { isSecondProof } from './whole-walk.ts';
import { askedAfter, type Reading } from './reading.ts';
import type { PageProof, TakenPage, Walk } from './walk.ts';

/**
 * What a page proves absent (docs/design/deletions.md, "What proves absence"); null: nothing. The whole scope is a
 * snapshot (P0). In trusted order a page is an interval (P1), from its cursor to its last item or to the list's end.
 * @param asked the walk at the time of the request
 * @param memory after the page: an order that the page contradicts is no longer trusted
 * @param keys of all items; undefined for an item without a usable key, which may be any row
 * @param page `accepted`: the walk got further or ended; `fromStart`: the page begins at the top despite a cursor;
 *   `snapshot`: it is the whole scope; `provenEnd`: it has a live item and shows that nothing follows
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
  if (after === null && asked.cursor !== null) return null; // after a token, with no key read before it
  return { kind: 'interval', direction, after, through: page.provenEnd ? null : last };
}

/**
 * What a walk may conclude from a page's proof (docs/design/deletions.md, "P1"). A snapshot is enough by itself. An
 * interval depends on the order of the whole list, since a missing row may have moved: a full walk suspects any row by
 * intervals, a confirming walk only its own rows, other walks none.
 */
export function proofFor(walk: Walk, proof: AbsenceProof | null): PageProof | null {
  if (proof === null || proof.kind === 'snapshot' || walk.kind === 'full') return proof;
  return walk.kind === 'confirm' ? { ...proof, raises: walk.keys } : null;
}

/**
 * How a page changes the suspected deletions (docs/design/deletions.md, "Suspected deletions"). A sighting withdraws
 * one. A first proof adds one, unless the row came or changed within the grace period: a stale replica may not know it
 * yet. A second proof confirms it.
 * @param view.sentAt when the request was sent; times are milliseconds of the database's clock
 * @param view.seen keys of all items, those in quarantine included: the service has them
 * @param view.deferred keys of items that are not believed yet
 * @param view.missing live rows that the proof shows absent
 * @param view.suspects suspected deletions among all these keys
 */
export function judgePage(
  view: Pick<TakenPage, 'proof' | 'contradiction'> & {
    readonly sentAt: number;
    readonly served?: AnswerDate | undefined;
    readonly seen: readonly string[];
    readonly deferred: readonly string[];
    readonly missing: readonly MissingRow[];
    readonly suspects: readonly SuspectedDeletion[];
    readonly gracePeriodMs: number;
  },
): SuspectChange {
  const { proof, sentAt, gracePeriodMs, contradiction } = view;
  const suspects = new Map(
    view.suspects
      .filter(({ kind }) => !(contradiction && kind === 'interval'))
      .map((suspect) => [suspect.key, suspect]),
  );
  const deferred = new Set(view.deferred);
  const copied = isCopy(view.served);
  const withdraw = view.seen.filter((key) => {
    const suspect = suspects.get(key);
    if (suspect === undefined || deferred.has(key)) return false;
    // A cached copy from before the row went missing is no contradiction.
    return !copied || suspect.kind === 'returned' || suspect.at <= sentAt;
  });
  const add: { key: string; kind: SuspectKind }[] = view.deferred
    .filter((key) => !suspects.has(key))
    .map((key) => ({ key, kind: 'returned' }));
  const prove: string[] = [];
  const raises = proof?.raises === undefined ? undefined : new Set(proof.raises);
  const mayRaise = (key: string): boolean => raises === undefined || raises.has(key);
  for (const { key, changedAt } of proof === null ? [] : view.missing) {
    const first = suspects.get(key);
    if (first?.proven === true || proof === null) continue;
    if (first === undefined || !isFirstProof(first.kind)) {
      if (mayRaise(key) && changedAt <= sentAt - gracePeriodMs) add.push({ key, kind: proof.kind });
    } else if (isSecondProof(first, view, gracePeriodMs)) {
      // A contradiction of the order keeps a snapshot's suspicion, so an interval replaces it instead of confirming it.
      const replaces = proof.kind === 'interval' && first.kind === 'snapshot';
      if (!replaces) prove.push(key);
      else if (mayRaise(key)) add.push({ key, kind: proof.kind });
    }
  }
  const servedAt = view.served?.date;
  return {
    add,
    prove,
    withdraw,
    withdrawOrdered: contradiction,
    ...(servedAt === undefined || add.length === 0 ? {} : { servedAt }),
  };
}

/** Whether one answer is enough for this kind. Such a proof replaces the other kinds. */
function isFirstProof(kind: SuspectKind): kind is AbsenceProof['kind'] {
  return kind === 'snapshot' || kind === 'interval';
}
