import { type Discrepancy, DISCREPANCY_KINDS, type DiscrepancyKind } from './report.ts';

/** Discrepancies of a collection that are listed one by one; all are counted. */
export const MOST_LISTED = 1_000;

/** Why the mirror has no row of an item, and is right: no discrepancy. */
export type SetApart = 'quarantined' | 'forgotten';

/** What was found out about one collection. */
export class Findings {
  readonly #counts = new Map<DiscrepancyKind | SetApart, number>();
  /** `changed` ones are uncertain: they are listed only where certain ones leave room. */
  readonly #certain: Discrepancy[] = [];
  readonly #uncertain: Discrepancy[] = [];
  #readOnce = 0;

  /** @param describe called only while there is room in the list */
  add(kind: DiscrepancyKind, describe: () => Omit<Discrepancy, 'kind'>): void {
    this.#count(kind, 1);
    const listed = kind === 'changed' ? this.#uncertain : this.#certain;
    if (listed.length < MOST_LISTED) listed.push({ kind, ...describe() });
  }

  setApart(kind: SetApart, count: number): void {
    this.#count(kind, count);
  }

  /** Counts rows that were read only once. */
  addReadOnce(kind: DiscrepancyKind, count: number): void {
    this.#count(kind, count);
    this.#readOnce += count;
  }

  listed(): readonly Discrepancy[] {
    return [...this.#certain, ...this.#uncertain].slice(0, MOST_LISTED);
  }

  counts(): Readonly<Record<DiscrepancyKind | SetApart | 'readOnce', number>> {
    const of = (kind: DiscrepancyKind | SetApart): number => this.#counts.get(kind) ?? 0;
    const [missing, extra, different, changed] = DISCREPANCY_KINDS.map(of);
    return {
      missing: missing ?? 0,
      extra: extra ?? 0,
      different: different ?? 0,
      changed: changed ?? 0,
      quarantined: of('quarantined'),
      forgotten: of('forgotten'),
      readOnce: this.#readOnce,
    };
  }

  #count(kind: DiscrepancyKind | SetApart, more: number): void {
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + more);
  }
}
