import { type Discrepancy, DISCREPANCY_KINDS, type DiscrepancyKind } from './report.ts';

/** Discrepancies of a collection that are told one by one; all are counted. */
export const MOST_LISTED = 1_000;

/** What was found out about one collection. */
export class Findings {
  readonly #counts = new Map<DiscrepancyKind | 'quarantined', number>();
  /** Certain ones, and those of which nothing can be said: these fill only the room that is left. */
  readonly #certain: Discrepancy[] = [];
  readonly #uncertain: Discrepancy[] = [];
  #readOnce = 0;

  /** @param tell makes what is told of it; not asked once enough is told */
  add(kind: DiscrepancyKind, tell: () => Omit<Discrepancy, 'kind'>): void {
    this.#count(kind, 1);
    const listed = kind === 'changed' ? this.#uncertain : this.#certain;
    if (listed.length < MOST_LISTED) listed.push({ kind, ...tell() });
  }

  quarantined(count: number): void {
    this.#count('quarantined', count);
  }

  /** Counted after one reading only. */
  addReadOnce(kind: DiscrepancyKind, count: number): void {
    this.#count(kind, count);
    this.#readOnce += count;
  }

  listed(): readonly Discrepancy[] {
    return [...this.#certain, ...this.#uncertain].slice(0, MOST_LISTED);
  }

  counts(): Readonly<Record<DiscrepancyKind | 'quarantined' | 'readOnce', number>> {
    const of = (kind: DiscrepancyKind | 'quarantined'): number => this.#counts.get(kind) ?? 0;
    const [missing, extra, different, changed] = DISCREPANCY_KINDS.map(of);
    return {
      missing: missing ?? 0,
      extra: extra ?? 0,
      different: different ?? 0,
      changed: changed ?? 0,
      quarantined: of('quarantined'),
      readOnce: this.#readOnce,
    };
  }

  #count(kind: DiscrepancyKind | 'quarantined', more: number): void {
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + more);
  }
}
