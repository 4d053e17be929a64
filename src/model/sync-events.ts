import type { CollectionName, Scope } from './collections.ts';

/** `confirm`: reads suspected deletions again; `deletion`: deletes what was proven, without a request. */
export const WALK_KINDS = ['poll', 'refresh', 'full', 'confirm', 'deletion', 'single'] as const;
export type WalkKind = (typeof WALK_KINDS)[number];

/** How a walk ended. */
export const WALK_OUTCOMES = ['complete', 'failed', 'interrupted'] as const;

export interface WalkStarted {
  readonly scope: Scope;
  readonly kind: WalkKind;
  readonly resumed: boolean;
}

/** What one page's transaction did. */
export interface PageWritten extends Readonly<
  Record<'items' | 'inserted' | 'updated' | 'unchanged' | 'quarantined', number>
> {
  readonly scope: Scope;
  readonly kind: WalkKind;
}

export interface WalkEnded extends Readonly<
  Record<'pages' | 'items' | 'inserted' | 'updated' | 'milliseconds', number>
> {
  readonly scope: Scope;
  readonly kind: WalkKind;
  readonly outcome: (typeof WALK_OUTCOMES)[number];
  /** Why it failed; undefined otherwise. */
  readonly error: Error | undefined;
}

export interface SuspectsWait {
  readonly userId: string;
  readonly collection: CollectionName;
  /** Rows that wait for a second observation. */
  readonly rows: number;
  readonly milliseconds: number;
}

export interface DeletionsJudged {
  /** For items that went with their lists: the whole collection, without a parent. */
  readonly scope: Scope;
  /** Rows of the scope's own collection. */
  readonly deleted: number;
}
