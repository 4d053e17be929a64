import type { CollectionName, Scope } from '../model/collections.ts';

/** A scope's row in `<schema>_sync.scope`. */
export interface StoredScope {
  readonly scope: Scope;
  /** JSON as stored; {} for a new scope. */
  readonly memory: unknown;
  readonly dueAt: Date | undefined;
  /** When its last walk ended. */
  readonly lastReadAt: Date | undefined;
  readonly polledAt: Date | undefined;
  readonly fullAt: Date | undefined;
  readonly liveRows: number;
  readonly lastError: string | undefined;
  readonly lastErrorAt: Date | undefined;
  /** Failures in a row. */
  readonly failures: number;
  /** Checkpoint of the unfinished walk, JSON as stored; undefined where none is. */
  readonly pollWalk: unknown;
  readonly fullWalk: unknown;
  readonly lastObs: number;
}

/**
 * Scopes of the account, and of one list each, as the database knows them.
 * `due` lists scopes of a collection with lists of its own, in the order in which they are to be read: changed, new
 * or hinted ones (oldest first), then those with unsettled rows, then those read longest ago.
 */
export interface ScopeStore {
  /** The scope's row, made where there is none. */
  open(scope: Scope): Promise<StoredScope>;
  due(userId: string, collection: CollectionName, limit: number): Promise<StoredScope[]>;
  /** Hints: the scope is due at `at` or as soon as it was due before. Needs no fence. */
  markDue(scope: Scope, at: Date): Promise<void>;
}

/** Reading order of a walk: `falling` goes from the greatest key down, `rising` from the least up. */
export type Direction = 'falling' | 'rising';

/** A row that may still change. */
export interface UnsettledRow {
  readonly key: string;
  /** When it last changed: it cools from then on. */
  readonly since: Date;
  /** Its state is a finished one that services take back (`failed`): warm for an hour. */
  readonly failed: boolean;
}
