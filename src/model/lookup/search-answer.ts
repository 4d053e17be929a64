import type { RowAddress } from './row-address.ts';

/** A row of a mirrored table. Moments are ISO 8601, in UTC. */
export interface FoundRow extends RowAddress {
  readonly kind: 'row';
  readonly by: 'id' | 'domain';
  /** What the item says of itself, where it has such fields. */
  readonly name: string | null;
  readonly status: string | null;
  readonly domain: string | null;
  readonly changedAt: string;
  /** Null while the service has it. */
  readonly deletedAt: string | null;
}

export interface FoundEvent {
  readonly kind: 'event';
  readonly userId: string;
  readonly id: string;
  readonly type: string | null;
  readonly receivedAt: string;
  /** The row that it names. */
  readonly row: RowAddress | null;
}

export interface FoundSubmission {
  readonly kind: 'submission';
  readonly userId: string;
  readonly submissionId: string;
  readonly operation: string;
  readonly state: string;
  readonly createdAt: string;
  /** The row that its answer names; else its target. */
  readonly row: RowAddress | null;
}

export interface FoundAccount {
  readonly kind: 'account';
  readonly userId: string;
  readonly email: string | null;
  /** Null before it was read. */
  readonly row: RowAddress | null;
}

/** A line of the view `companies`; counts are of rows that are there. */
export interface FoundCompany {
  readonly kind: 'company';
  readonly userId: string;
  readonly domain: string;
  readonly researchJobs: number;
  readonly listItems: number;
  readonly lists: number;
  readonly watched: boolean;
  readonly lastJobStatus: string | null;
  readonly lastResearchedAt: string | null;
  /** With every digit. */
  readonly latestScore: string | null;
}

export type Found = FoundAccount | FoundRow | FoundSubmission | FoundEvent | FoundCompany;

export interface SearchAnswer {
  readonly query: string;
  /** The database's time. */
  readonly at: string;
  readonly results: readonly Found[];
  /** There are others: only a narrower search shows them. */
  readonly more: boolean;
}
