import type { KeptKeys, KeyStore } from '@research-mirror/runtime/kept-keys';
import type { Page, Served } from '../model/page.ts';
import { type ServedWalk, WalkSequence, type WholeWalk } from './pair.ts';

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
  #served: ServedWalk | undefined;

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
function withAnswer(before: ServedWalk | undefined, { date, ageMs }: Served): ServedWalk | undefined {
  if (date === undefined) return before && { ...before, ageMs: Math.max(before.ageMs, ageMs) };
  return {
    first: Math.min(before?.first ?? date, date),
    last: Math.max(before?.last ?? date, date),
    ageMs: Math.max(before?.ageMs ?? 0, ageMs),
  };
}
