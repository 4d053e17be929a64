import type {
  DeletionsJudged,
  PageWritten,
  SuspectsWait,
  WalkEnded,
  WalkStarted,
} from '../../model/sync-events.ts';

/** Who may know what happens: logs, metrics and progress are made of these, and of nothing else. */
export interface SyncObserver {
  walkStarted?(event: WalkStarted): void;
  pageWritten?(event: PageWritten): void;
  walkEnded?(event: WalkEnded): void;
  /** Rows are in doubt; they are read again when the settle time is over. */
  suspectsWait?(event: SuspectsWait): void;
  /** Proven deletions were carried out, or the brake held them. */
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
