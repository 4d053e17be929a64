import type { KeptKeys, KeyStore } from '@research-mirror/runtime/kept-keys';
import { createHash, type Hash } from 'node:crypto';
import type { MissingRow, SuspectChange, SuspectedDeletion } from '../model/absence.ts';
import { isCopy, type Page, type AnswerDate } from '../model/page.ts';

/** The last complete, clean full walk (docs/design/deletions.md, "P2"). Times are ms of the database’s clock. */
export interface WholeWalk {
  /** Digest of keys and contents in the order of their first sighting. */
  readonly digest: string;
  /** When its first request was sent. */
  readonly began: number;
  /** When its last answer was written. */
  readonly ended: number;
  /** Freshness of its answers; left out: unknown. */
  readonly served?: WalkDates;
}

/** The first and last `Date` of a walk's answers, by the service's clock, and the greatest `Age` among them. */
export type WalkDates = Readonly<Record<'first' | 'last' | 'ageMs', number>>;

/** Keys and contents of one walk in the order of their first sighting. Its answers mean nothing once `seen` is lost. */
export class WalkSequence {
  readonly #seen: KeptKeys;
  #hash: Hash = createHash('sha256');
  #changed = false;

  /** @param seen empty; keeps the content of each key */
  constructor(seen: KeptKeys) {
    this.#seen = seen;
  }

  /** @param hash of the item's content; undefined if it can't be mirrored */
  add(key: string, hash: string | undefined): void {
    const content = hash ?? '';
    const before = this.#seen.keep(key, content);
    if (before === undefined) this.#hash.update(`${JSON.stringify(key)}:${content}\n`);
    else if (before !== content) this.#changed = true;
  }

  has(key: string): boolean {
    return this.#seen.has(key);
  }

  /** Hexadecimal; undefined if an item changed during the walk. */
  digest(): string | undefined {
    return this.#changed ? undefined : this.#hash.copy().digest('hex');
  }
}

/**
 * What a complete, clean walk concludes about the live rows that it did not see. The first walk suspects them. A second
 * one with the same sequence, begun at least the grace period after the first ended, confirms those that are still
 * suspected. A suspicion of another kind becomes one of this kind: its own second proof no longer comes, since the
 * order is no longer trusted or the scope is no longer one page.
 * @param missing live rows that `present` did not see
 * @param suspects the suspected deletions among them
 */
export function judgePair(
  previous: WholeWalk | null,
  present: WholeWalk,
  {
    missing,
    suspects,
    gracePeriodMs,
  }: {
    readonly missing: readonly MissingRow[];
    readonly suspects: readonly SuspectedDeletion[];
    readonly gracePeriodMs: number;
  },
): SuspectChange {
  const known = new Map(suspects.map((suspect) => [suspect.key, suspect]));
  const { served } = present;
  const answer = { sentAt: present.began, served: served && { date: served.first, ageMs: served.ageMs } };
  const same =
    previous !== null &&
    previous.digest === present.digest &&
    isSecondProof({ at: previous.ended, servedAt: previous.served?.last }, answer, gracePeriodMs);
  const before = present.began - gracePeriodMs;
  const add: { key: string; kind: 'pair' }[] = [];
  const prove: string[] = [];
  for (const { key, changedAt } of missing) {
    const first = known.get(key);
    if (first?.proven === true) continue;
    if (first === undefined || first.kind === 'returned') {
      if (changedAt <= before) add.push({ key, kind: 'pair' });
    } else if (first.kind !== 'pair') {
      if (first.at <= before) add.push({ key, kind: 'pair' });
    } else if (same && isSecondProof(first, answer, gracePeriodMs)) prove.push(key);
  }
  const dated = served === undefined || add.length === 0 ? {} : { servedAt: served.last };
  return { add, prove, withdraw: [], withdrawOrdered: false, ...dated };
}

/**
 * Whether an answer is a second proof (docs/design/deletions.md, "Second proof"): it was requested at least the grace
 * period after the first one was written, and generated that much later as well, since a cache may send one copy twice.
 * `Age` reveals a cache, and so does a `Date` that has not advanced. Dates are whole seconds; an answer without one is
 * believed.
 * @param first `at`: when it was written (ms, the database's clock); `servedAt`: its `Date` (ms), if it had one
 * @param answer `sentAt`: when its request was sent, as `at`; `served`: what is known of it
 */
export function isSecondProof(
  first: { readonly at: number; readonly servedAt?: number | undefined },
  answer: { readonly sentAt: number; readonly served?: AnswerDate | undefined },
  gracePeriodMs: number,
): boolean {
  if (first.at > answer.sentAt - gracePeriodMs) return false;
  const { served } = answer;
  if (served === undefined) return true;
  if (isCopy(served)) return false;
  if (first.servedAt === undefined || served.date === undefined) return true;
  return served.date - first.servedAt >= Math.floor(gracePeriodMs / 1000) * 1000;
}

/**
 * The rows that a running full walk has seen. Two whole walks that saw the same rows prove absent what neither saw
 * (docs/design/deletions.md, "P2"). A resumed or restarted walk has none.
 */
export class WholeReading {
  readonly #seen: KeptKeys;
  readonly #sequence: WalkSequence;
  /** The walk saw an item without a usable key, which may be any row. */
  #keyless = false;
  /** Keys that other walks of the scope saw meanwhile. */
  readonly #sighted: KeptKeys;
  #served: WalkDates | undefined;

  constructor(keys: KeyStore) {
    this.#seen = keys.open();
    this.#sequence = new WalkSequence(this.#seen);
    this.#sighted = keys.open();
  }

  /** What it saw could not be kept, so it proves nothing. */
  get lost(): boolean {
    return this.#seen.lost || this.#sighted.lost;
  }

  /** Forgets what it saw. */
  close(): void {
    for (const each of [this.#seen, this.#sighted]) each.close();
  }

  /**
   * Takes a page that is being written. A retried write passes the same page again.
   * @param hashes of the items' content, in their order; undefined for an item that can't be mirrored
   * @param skips whether the page has the item again further down
   */
  note(
    { items, served }: Pick<Page, 'items' | 'served'>,
    hashes: readonly (string | undefined)[],
    skips: (index: number) => boolean,
  ): void {
    if (served !== undefined) this.#served = withAnswer(this.#served, served);
    for (const [index, { key }] of items.entries()) {
      if (key === undefined) this.#keyless = true;
      else if (!skips(index)) this.#sequence.add(key, hashes[index]);
    }
  }

  /** Another walk of the scope saw these. */
  sighted(keys: Iterable<string>): void {
    for (const key of keys) this.#sighted.keep(key, '');
  }

  saw(key: string): boolean {
    return this.#sequence.has(key) || this.#sighted.has(key);
  }

  /** Null if an item changed during the walk or has no usable key, or if what it saw is lost. */
  walk(began: Date, ended: Date): WholeWalk | null {
    const digest = this.#keyless || this.lost ? undefined : this.#sequence.digest();
    if (digest === undefined) return null;
    const walk = { digest, began: began.getTime(), ended: ended.getTime() };
    return this.#served === undefined ? walk : { ...walk, served: this.#served };
  }
}

/** An answer without a `Date` adds only its age. */
function withAnswer(before: WalkDates | undefined, { date, ageMs }: AnswerDate): WalkDates | undefined {
  if (date === undefined) return before && { ...before, ageMs: Math.max(before.ageMs, ageMs) };
  return {
    first: Math.min(before?.first ?? date, date),
    last: Math.max(before?.last ?? date, date),
    ageMs: Math.max(before?.ageMs ?? 0, ageMs),
  };
}
