import type { ServiceConfig } from '../config/config.ts';
import type { CollectionName } from '../model/collections.ts';
import type { Logger } from '../runtime/logger.ts';

/** What the command line asks of the program behind it: src/app.ts does it. */
export interface Engine {
  /**
   * Runs the daemon until the signal aborts; resolves after a clean stop.
   * @throws what keeps it from running: Unusable, DatabaseUnavailable, …
   */
  readonly runDaemon: (config: ServiceConfig, options: DaemonOptions) => Promise<void>;

  /**
   * One pass over `collections` now: by itself, or carried out by the daemon that owns the account.
   * @throws the signal's reason when it is aborted; what was committed by then is kept
   */
  readonly runSync: (config: ServiceConfig, options: SyncOptions) => Promise<SyncReport>;
}

export interface RunOptions {
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** Takes a secret that was learnt while running (a password file, a webhook's secret): no output shows it then. */
  readonly hide: (secret: string) => void;
  readonly onProgress?: (progress: SyncProgress) => void;
}

export interface DaemonOptions extends RunOptions {
  /** Called once, when the daemon serves its page. */
  readonly onReady?: (address: { readonly statusUrl: string }) => void;
}

export interface SyncOptions extends RunOptions {
  readonly collections: readonly CollectionName[];
  readonly full: boolean;
}

/** What this pass has done of one collection of one account so far; sums. */
export interface SyncProgress {
  readonly userId: string;
  readonly collection: CollectionName;
  readonly pages: number;
  readonly items: number;
  readonly inserted: number;
  readonly updated: number;
}

export interface SyncReport {
  readonly collections: readonly CollectionReport[];
  /** Requests sent, and how many of them were answered with 429. */
  readonly requests: number;
  readonly rateLimited: number;
}

export interface CollectionReport extends SyncProgress {
  readonly unchanged: number;
  readonly quarantined: number;
  readonly milliseconds: number;
  /** Why the collection could not be read to its end; null when it was. */
  readonly error: string | null;
}

/** Loaded when needed: `--help` and `sql` need none of it. */
export async function loadEngine(): Promise<Engine> {
  return await import('../app.ts');
}
