import type { KeptKeys, KeyStore } from '@research-mirror/runtime/kept-keys';
import type { ObservedPage } from '../../mirror/page-write.ts';
import type { Item, Served } from '../../model/page.ts';
import { judgePair, type ServedWalk, WalkSequence, type WholeWalk } from '../../walk/memory/pair.ts';
import type { ReadingContext } from '../reader/reading-context.ts';
import type { Scope } from '../../model/collections.ts';

/**
 * What a full walk saw, kept while it runs: two whole walks that saw the same prove absent what neither saw
 * (docs/design/deletions.md, "P2"). A resumed or restarted walk has none.
 */
export class WholeReading {
  readonly #seen: KeptKeys;
  readonly #sequence: WalkSequence;
  /** It saw an item without usable key, which may be any row. */
  #keyless = false;
  /** Keys that only other walks of the scope saw meanwhile. */
  readonly #sighted: KeptKeys;
  #served: ServedWalk | undefined;

  constructor(keys: KeyStore) {
    this.#seen = keys.open();
    this.#sequence = new WalkSequence(this.#seen);
    this.#sighted = keys.open();
  }

  /** What it saw could not be kept: it proves nothing. */
  get lost(): boolean {
    return this.#seen.lost || this.#sighted.lost;
  }

  /** Forgets what it saw. */
  close(): void {
    for (const each of [this.#seen, this.#sighted]) each.close();
  }

  /** Takes a page that is being written; the same page comes again where the write is tried again. */
  note(items: readonly Item[], { outcomes, hashes }: ObservedPage, served?: Served): void {
    if (served !== undefined) this.#served = withAnswer(this.#served, served);
    for (const [index, { key }] of items.entries()) {
      if (key === undefined) this.#keyless = true;
      if (key === undefined || outcomes[index] === 'duplicate') continue;
      this.#sequence.add(key, hashes[index]);
    }
  }

  /** Another walk of the scope saw these. */
  sighted(keys: Iterable<string>): void {
    for (const key of keys) this.#sighted.keep(key, '');
  }

  saw(key: string): boolean {
    return this.#sequence.has(key) || this.#sighted.has(key);
  }

  /** Null where an item changed while the walk was reading, has no usable key, or what it saw is lost. */
  walk(began: Date, ended: Date): WholeWalk | null {
    const digest = this.#keyless || this.lost ? undefined : this.#sequence.digest();
    if (digest === undefined) return null;
    const walk = { digest, began: began.getTime(), ended: ended.getTime() };
    return this.#served === undefined ? walk : { ...walk, served: this.#served };
  }
}

/** An answer without a `Date` adds its age alone. */
function withAnswer(before: ServedWalk | undefined, { date, ageMs }: Served): ServedWalk | undefined {
  if (date === undefined) return before && { ...before, ageMs: Math.max(before.ageMs, ageMs) };
  return {
    first: Math.min(before?.first ?? date, date),
    last: Math.max(before?.last ?? date, date),
    ageMs: Math.max(before?.ageMs ?? 0, ageMs),
  };
}

/** What a whole walk says of the rows that it did not see. */
export interface Absences {
  /** They are suspected, or proven gone, or there are none. */
  readonly judged: boolean;
  /** Some are newly suspected. */
  readonly raised: boolean;
  /** Some are proven gone now. */
  readonly proven: boolean;
  /** Some came or changed too lately to be suspected. */
  readonly overlooks: boolean;
}

export const NOT_JUDGED: Absences = { judged: false, raised: false, proven: false, overlooks: false };
const NONE_ABSENT: Absences = { ...NOT_JUDGED, judged: true };

/**
 * Records what a whole walk says of live rows that it did not see: all their keys are compared, since a counter does
 * not know what somebody changed by hand. Call it in the write lane right after the last page, so that no other page
 * comes between.
 * @param present null where the walk can't be compared with another: it can only say that no row is missing
 * @param previous the whole walk before it, if one is remembered
 * @param obs observation number of its last page
 */
export async function recordAbsences(
  { fence, mirror, store, gracePeriodMs }: ReadingContext,
  scope: Scope,
  reading: WholeReading,
  present: WholeWalk | null,
  previous: WholeWalk | null,
  obs: number,
): Promise<Absences> {
  const missing = await store.liveKeysMissing(scope, (key) => reading.saw(key));
  // Rows that it did see would pass for missing.
  if (reading.lost) return NOT_JUDGED;
  if (missing.length === 0) return NONE_ABSENT;
  if (present === null) return NOT_JUDGED;
  const keys = new Set(missing.map(({ key }) => key));
  const suspects = (await store.suspectsOf(scope)).filter(({ key }) => keys.has(key));
  const change = judgePair(previous, present, { missing, suspects, gracePeriodMs });
  const [raised, proven] = [change.add.length > 0, change.prove.length > 0];
  if (raised || proven) await mirror.recordSuspects(fence, scope, change, obs);
  const suspectKeys = new Set(suspects.map(({ key }) => key));
  const overlooks = missing.some(
    ({ key, changedAt }) => changedAt > present.began - gracePeriodMs && !suspectKeys.has(key),
  );
  return { judged: true, raised, proven, overlooks };
}
