import type { CollectionFigures } from '../model/collection-columns.ts';
import type { CollectionName } from '../model/collections.ts';
import type { Problem } from './problem.ts';
import type { SubmissionState } from '../model/submission.ts';
import type { RegistrationState } from '../events/registration.ts';

/**
 * What `research-mirror status`, the status page, `/api/status`, the metrics and the log print: made of Postgres alone,
 * and by the daemon of its memory, too. Plain JSON: moments are ISO 8601 in UTC, null is "not yet" or "not known". It
 * holds no secret: keys are shown by a short hash.
 */
export interface StatusReport {
  /** No problem: `status` ends with 0. */
  readonly healthy: boolean;
  /** What is wrong, one for each cause, the worst first; empty when healthy. */
  readonly problems: readonly Problem[];
  /** What is not wrong, but something a person may act on. */
  readonly notes: readonly string[];
  readonly version: string;
  /** When the report was made, by the database's clock. */
  readonly at: string;
  /** `{base_url}` of the service; null for a command that does not know it. */
  readonly service: string | null;
  /** The mirror's database, in words and without password: `embedded Postgres, port 54329`. */
  readonly database: string;
  /** Size of the database, other programs' tables included, as of the last minute; null: it is not migrated yet. */
  readonly databaseBytes: number | null;
  readonly schema: string;
  /** The configured keys by what is known of them; null for a command that has none. */
  readonly keys: KeyCounts | null;
  readonly processes: readonly ProcessStatus[];
  readonly accounts: readonly AccountStatus[];
  /** The last few errors over all accounts, the newest first, each with account and collection: `42/lists`. */
  readonly errors: readonly Readonly<Record<'at' | 'where' | 'message', string>>[];
  /** Rows that look deleted and are still there, by collection and cause; those first that need a person, 100 at most. */
  readonly deletions: readonly WaitingDeletion[];
  /** Submissions are held (after a restore or copy of the database): since when and why; null: they go out. */
  readonly held: { readonly since: string; readonly why: string } | null;
  /**
   * When the database was last found to have gone back, and why; null: not within the last week. `open`: what it may
   * have lost is not read again yet.
   */
  readonly recovery: { readonly at: string; readonly reason: string; readonly open: boolean } | null;
}

/** The report before it is judged. */
export type Facts = Omit<StatusReport, 'healthy' | 'problems' | 'notes'>;

/**
 * `good`: it is an account's; `refused`: the service refused it last; `moved`: it answered for another account than
 * before; `unasked`: the service has not said yet whose it is.
 */
export const KEY_STATES = ['good', 'refused', 'moved', 'unasked'] as const;
export type KeyCounts = Readonly<Record<(typeof KEY_STATES)[number], number>>;

export interface ProcessStatus {
  readonly processId: string;
  /** `start`, `sync`, … */
  readonly command: string;
  readonly version: string;
  readonly host: string;
  readonly pid: number;
  readonly startedAt: string;
  readonly alive: boolean;
}

export interface AccountStatus {
  /** Decimal digits of a bigint. */
  readonly userId: string;
  readonly email: string | null;
  /** `active`, or `stopped`: then `error` says why; `retired`: taken out by an operator. */
  readonly state: 'active' | 'stopped' | 'retired';
  readonly error: string | null;
  /** `processId` of the program that reads this account. */
  readonly owner: string | null;
  readonly collections: readonly CollectionStatus[];
  readonly walks: readonly WalkStatus[];
  /** Of keys that another program uses it has what is stored: not what others use, nor what waits. */
  readonly budgets: readonly KeyBudgetStatus[];
  readonly webhook: WebhookStatus;
  readonly submissions: SubmissionCounts;
  /**
   * Decimal digits: what the account has, and by how much that fell in the last 24 hours, top-ups aside; null where no
   * history is kept. Null: not mirrored, or the service tells none. As of the last minute.
   */
  readonly credits: { readonly left: string; readonly burntLastDay: string | null } | null;
}

export interface WebhookStatus {
  readonly state: RegistrationState;
  /** Host of the registered URL, ours or not; its path may hold secrets. Null: none is known. */
  readonly host: string | null;
  /** What an operator should know of it, with the remedy. */
  readonly error: string | null;
  /** When ours was last found removed or changed at the service; null: not in the last day, or it is not registered again. */
  readonly renewedSince: string | null;
  /** When an event was stored last; null: none that is kept. */
  readonly lastEventAt: string | null;
  /** Rows and scopes that events named, to be read again. */
  readonly hintsWaiting: number;
}

/** Submissions by state: those that wait, and those that ended in the last 24 hours. */
export type SubmissionCounts = Readonly<Record<SubmissionState, number>>;

/**
 * `new`: never read to its end; `failing`: has a `lastError`; `overdue`: a poll or full walk that was due has not
 * begun; `paused`: no daemon is asked to mirror it.
 */
type CollectionState = 'new' | 'current' | 'failing' | 'overdue' | 'paused';

/** What of a collection is still to be done, as of the last minute. */
export interface Backlog {
  /** Lists that are new or have changed, and whose items are not read yet; 0 for any collection but `list_items`. */
  readonly dueLists: number;
  /** Rows whose state may still change: polls read them again. */
  readonly unfinishedRows: number;
  /** Fields that got a column, which is not filled in all older rows yet. */
  readonly fieldsToFill: number;
}

/** A collection's columns of `freshness` and `data_quality` (src/model/collection-columns.ts), and some more. */
export interface CollectionStatus extends CollectionFigures, Backlog {
  readonly collection: CollectionName;
  readonly state: CollectionState;
}

export interface WalkStatus {
  readonly collection: CollectionName;
  /** The list that is read; null for a whole collection. */
  readonly listId: string | null;
  readonly startedAt: string;
  readonly pages: number;
  readonly items: number;
}

/** The rate limits of one API key. */
export interface KeyBudgetStatus {
  /** First digits of the key's SHA-256. */
  readonly key: string;
  readonly groups: readonly {
    readonly group: string;
    /** The service's, for 60 s. */
    readonly limit: number;
    /** What this program allows itself of it. */
    readonly size: number;
    /** Why that is not its share of the specification's limit or more, one clause, and until when; null: it is, not known. */
    readonly why: string | null;
    readonly until: string | null;
    readonly used: number;
    readonly waiting: number;
    /** Requests of others with the same key in the last 60 s. */
    readonly foreignUse: number;
    /** Answers with status 429 since the program began. */
    readonly refused: number;
  }[];
}

/** Why rows that look deleted are still there (docs/operations.md); those first for which a person has to do something. */
export const DELETION_CAUSES = ['refused', 'brake', 'item_without_id', 'second_proof', 'full_walk'] as const;

/** Rows of one collection that look deleted (`data_quality` counts them), and wait for one cause. */
export interface WaitingDeletion {
  readonly userId: string;
  readonly collection: CollectionName;
  readonly cause: (typeof DELETION_CAUSES)[number];
  /** How many rows wait, of how many live ones. */
  readonly rows: number;
  readonly liveRows: number;
  readonly since: string;
  /** Why they wait, without a full stop. */
  readonly what: string;
  readonly byItself: string;
  /** When that is due, as far as it is known. */
  readonly due: string | null;
  /** What a person can do; null: nothing is to be done. */
  readonly remedy: string | null;
  /** Some of their keys, as in `changes`. */
  readonly examples: readonly string[];
}
