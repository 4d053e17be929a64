import type { CollectionName, Scope } from '../../model/collections.ts';
import type { WalkKind } from '../../mirror/scope/walk-end.ts';

/** Gets the events of readings. Logs, metrics and progress are made of these alone. */
export interface SyncObserver {
  walkStarted?(event: WalkStarted): void;
  pageWritten?(event: PageWritten): void;
  walkEnded?(event: WalkEnded): void;
  /** A reading waits until suspects may be read again: until the grace period is over. */
  suspectsWait?(event: SuspectsWait): void;
  /** Proven deletions were carried out, or blocked by the brake. */
  deletionsJudged?(event: DeletionsJudged): void;
}

export interface WalkStarted {
  readonly scope: Scope;
  readonly kind: WalkKind;
  readonly resumed: boolean;
}

/** What one page's transaction did. */
export interface PageWritten {
  readonly scope: Scope;
  readonly kind: WalkKind;
  readonly items: number;
  readonly inserted: number;
  readonly updated: number;
  readonly unchanged: number;
  readonly quarantined: number;
}

export interface WalkEnded {
  readonly scope: Scope;
  readonly kind: WalkKind;
  readonly outcome: 'complete' | 'failed' | 'interrupted';
  /** Why it failed; undefined otherwise. */
  readonly error: string | undefined;
  readonly pages: number;
  readonly items: number;
  readonly milliseconds: number;
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
  /** Proven deletions of the scope that the brake blocks. */
  readonly blocked: number;
}

/** Passes every event on to each of `observers`. */
export function observeAll(observers: readonly SyncObserver[]): Required<SyncObserver> {
  return {
    walkStarted: (event) => observers.forEach((each) => each.walkStarted?.(event)),
    pageWritten: (event) => observers.forEach((each) => each.pageWritten?.(event)),
    walkEnded: (event) => observers.forEach((each) => each.walkEnded?.(event)),
    suspectsWait: (event) => observers.forEach((each) => each.suspectsWait?.(event)),
    deletionsJudged: (event) => observers.forEach((each) => each.deletionsJudged?.(event)),
  };
}
