import type {
  SuspectedDeletion,
  SuspectChange,
  SuspectKind,
  MissingRow,
  AbsenceProof,
} from '../../model/absence.ts';
import { isCopy, type Served } from '../../model/page.ts';
import { isSecondProof } from '../memory/second-proof.ts';
import type { TakenPage } from '../walk.ts';

/** A written page, and the rows that it may prove absent. Moments are milliseconds by the database's clock. */
export interface PageView extends Pick<TakenPage, 'proof' | 'contradiction'> {
  /** When its request was sent. */
  readonly sentAt: number;
  /** How fresh its answer was; left out: not known. */
  readonly served?: Served | undefined;
  /** Keys of all its items, also of those in quarantine: the service has them. */
  readonly seen: readonly string[];
  /** Keys of items that were not believed yet. */
  readonly deferred: readonly string[];
  /** Live rows that the proof says are absent. */
  readonly missing: readonly MissingRow[];
  /** Suspected deletions among all of these. */
  readonly suspects: readonly SuspectedDeletion[];
  readonly gracePeriodMs: number;
}

/**
 * What a page changes of the suspected deletions (docs/design/deletions.md, "Suspected deletions"). A sighting
 * withdraws one. A first proof adds one, unless the row came or changed within the grace period: a stale replica may
 * not know it yet. A second proof proves it.
 */
export function judgePage(view: PageView): SuspectChange {
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
    // A copy that was made before the row was missing does not contradict that.
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
      // A contradiction of the order leaves a snapshot's suspicion: so an interval replaces it, and does not prove
      // it.
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

/** One answer says it by itself. The other kinds give way to such a proof. */
function isFirstProof(kind: SuspectKind): kind is AbsenceProof['kind'] {
  return kind === 'snapshot' || kind === 'interval';
}
