import type {
  DeletionsJudged,
  PageWritten,
  SuspectsWait,
  WalkEnded,
  WalkStarted,
} from '../../model/sync-events.ts';

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
