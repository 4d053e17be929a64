import type { SuspectChange } from '../model/absence.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import type { CollectionName, Scope } from '../model/collections.ts';
import type { Fence } from '../model/fence.ts';
import type { ChangedTable, Decision, PageResult, PageWrite } from './page-write.ts';
import type { CollectionChange } from './scope/walk-end.ts';

/** The one path by which rows change (docs/design/writing-a-page.md, "One path"). */
export interface Mirror {
  /**
   * Writes a page in one fenced transaction (invariant 1). An unchanged page writes its scope's row alone.
   * @throws Superseded when a later observation of the scope is committed (or the scope is unknown), DatabaseWentBack
   *   when an earlier one is: nothing is written; what `fenced` throws
   */
  applyPage(fence: Fence, write: PageWrite): Promise<PageResult>;

  /**
   * Changes the scope's suspected deletions by what two whole walks saw alike (docs/design/deletions.md, "P2").
   * @param obs number of the last committed observation, on which it rests
   * @throws Superseded, DatabaseWentBack: nothing is written
   */
  recordSuspects(fence: Fence, scope: Scope, change: SuspectChange, obs: number): Promise<void>;

  /**
   * Deletes the scope's proven suspects, unless the brake blocks that. `data_quality` shows what is blocked, and what
   * is still suspected. A list is deleted with its items, in one transaction unless it has very many.
   * @param options.accept lifts the brake
   * @param options.obs number of the scope's last observation that is committed, as its reader knows it
   * @throws Superseded, DatabaseWentBack: nothing more is deleted
   */
  applyDeletions(
    fence: Fence,
    scope: Scope,
    options: { readonly accept: boolean; readonly obs: number },
  ): Promise<DeletionResult>;

  /**
   * Stores the end of a walk that has no further page: a failure, a stop, an end without answer.
   * @param obs number of the scope's last observation that is committed, as its reader knows it; undefined: it rests
   *   on none
   * @throws Superseded, DatabaseWentBack: nothing is stored
   */
  endWalk(fence: Fence, scope: Scope, stop: WalkStop, obs: number | undefined): Promise<void>;

  /**
   * Adds columns that fields still wait for. Fills one batch of a column that was added after its field had been
   * stored, from `_raw`: no history, no `_changed_at`, no `_change_id`. Call it when the account is idle.
   * @returns true while there is more to fill
   */
  backfill(fence: Fence): Promise<boolean>;
}

/** What is stored without a page. */
export interface WalkStop extends Pick<Decision, 'scope' | 'walkEnd'> {
  /** Changes of the collection's freshness, besides those of `walkEnd`. */
  readonly collection?: CollectionChange;
}

export interface DeletionResult {
  /** Rows of the scope's own collection that were deleted. */
  readonly deleted: number;
  /** Rows of other collections that were deleted with these. */
  readonly along: RowsByCollection;
  /** Proven deletions of the scope that the brake blocks. */
  readonly blocked: number;
  /** For NOTIFY after the commits. */
  readonly changed: readonly ChangedTable[];
}

/** Numbers of rows; collections that have none are left out. */
export type RowsByCollection = ReadonlyMap<CollectionName, number>;

export interface MirrorOptions {
  /** `MIRROR_SCHEMA_DRIFT`: `raw` makes no columns for new fields. */
  readonly schemaDrift: 'add' | 'raw';
  /** `MIRROR_IGNORE_FIELDS`: fields whose change alone is no change. */
  readonly ignoreFields: Readonly<Record<CollectionName, readonly string[]>>;
  /** `MIRROR_EXCLUDE_FIELDS`: never stored. */
  readonly excludeFields: Readonly<Record<CollectionName, readonly string[]>>;
  /** `MIRROR_SETTLE`, milliseconds: least time between two observations that contradict a third. */
  readonly gracePeriodMs: number;
  /** `MIRROR_DELETES`. */
  readonly deletes: 'soft' | 'hard';
  /** `MIRROR_HISTORY`: superseded versions are kept. */
  readonly history: boolean;
  /** The one by which requests are dated (`PageWrite.sentAfter`). */
  readonly clock: Pick<Clock, 'monotonic'>;
}
