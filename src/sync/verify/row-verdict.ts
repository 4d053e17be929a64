import type { DiscrepancyKind } from './report.ts';

/** What one reading of both sides says of a row. */
export interface Sighting {
  readonly kind: 'equal' | 'missing' | 'extra' | 'different' | 'quarantined' | 'forgotten';
  /** Content hash of the service's item; undefined: the service does not have it. */
  readonly source: string | undefined;
  /** `_change_id` of the mirror's row; undefined: there is none. */
  readonly row: string | undefined;
}

/**
 * What two readings say together: only what both say of the same item and the same version of the row counts. A
 * mirror that stays behind its service looks the same twice: it is different. A mirror that caught up between the
 * readings, or a service that changed meanwhile, does not.
 * @param suspected the mirror suspects the row's deletion, and waits for the second proof
 */
export function verdict(
  first: Sighting,
  second: Sighting,
  suspected: boolean,
): DiscrepancyKind | 'quarantined' | 'forgotten' {
  if (second.kind === 'quarantined' || second.kind === 'forgotten') return second.kind;
  const same = first.kind === second.kind && first.source === second.source && first.row === second.row;
  return same && !suspected && second.kind !== 'equal' ? second.kind : 'changed';
}
