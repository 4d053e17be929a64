import type {
  SuspectedDeletion,
  SuspectChange,
  SuspectKind,
  MissingRow,
  AbsenceProof,
} from '../../model/absence.ts';
import { isCopy, type Served } from '../../model/page.ts';
import { isSecondProof } from '../memory/second-proof.ts';
import type { PageProof } from '../walk.ts';

/** A written page, as far as absence is concerned. Moments are milliseconds by the database's clock. */
export interface PageView {
  readonly proof: PageProof | null;
  /** The page contradicts the order. */
  readonly contradiction: boolean;
  /** When its request was sent. */
  readonly sentAt: number;
  /** Left out: nothing is known of it. */
  readonly served?: Served | undefined;
  /** Keys of all its items, those in quarantine too: they are there. */
  readonly seen: readonly string[];
  /** Keys of items that were not believed yet. */
  readonly deferred: readonly string[];
  /** Live rows that the proof says are absent. */
  readonly missing: readonly MissingRow[];
  /** Rows in doubt among all of these. */
  readonly suspects: readonly SuspectedDeletion[];
  /** Least time between two proofs: more than a replica lags. */
  readonly gracePeriodMs: number;
}

/**
 * What a page says of rows in doubt (docs/design/deletions.md, "Suspected deletions"): a sighting withdraws a candidate; a first proof makes one, unless the
 * row came or changed so shortly before that a stale replica may not know; a second proves it (second-proof.ts).
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
    // A copy that was made before the row was missing says nothing of that.
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
      // A snapshot's candidate survives a contradiction: an interval may not prove it, and takes its place instead.
      const rests = proof.kind === 'interval' && first.kind === 'snapshot';
      if (!rests) prove.push(key);
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

/** One answer says it by itself; the other kinds are weaker than that, and give way to it. */
function isFirstProof(kind: SuspectKind): kind is AbsenceProof['kind'] {
  return kind === 'snapshot' || kind === 'interval';
}
