import type { RegistrationState } from '../events/registration.ts';
import type { CollectionFigures } from '../model/collection-columns.ts';
import type { CollectionName } from '../model/collections.ts';
import type { SubmissionState } from '../model/submission.ts';
import type { Problem } from './problem.ts';

/**
 * The report behind `research-mirror status`, the status page, `/api/status`, the metrics and the log. It is made of
 * Postgres, in the daemon also of its memory. Plain JSON: times are ISO 8601 in UTC, null is "not yet" or "unknown". It
 * holds no secret: keys are shown by a short hash.
 */
export interface StatusReport {
  /** No problem: `status` ends with 0. */
  readonly healthy: boolean;
  /** One for each cause, the worst first. */
  readonly problems: readonly Problem[];
  /** What is not wrong, but a person may act on. */
  readonly notes: readonly string[];
  readonly version: string;
  /** When the report was made, by the database's clock. */
  readonly at: string;
  /** `{base_url}` of the service; null for a command without it. */
  readonly service: string | null;
  /** The mirror's database in words, without password: `embedded Postgres, port 54329`. */
  readonly database: string;
  /** Size of the database with other programs' tables, as of the last minute; null before the migration. */
  readonly databaseBytes: number | null;
  readonly schema: string;
  /** The configured keys by state; null for a command without keys. */
  readonly keys: Readonly<Record<(typeof KEY_STATES)[number], number>> | null;
  readonly processes: readonly {
    readonly processId: string;
    /** `start`, `sync`, … */
    readonly command: string;
    readonly version: string;
    readonly host: string;
    readonly pid: number;
    readonly startedAt: string;
    readonly alive: boolean;
  }[];
  readonly accounts: readonly AccountStatus[];
  /** The last few errors of all accounts, the newest first, each with account and collection: `42/lists`. */
  readonly errors: readonly Readonly<Record<'at' | 'where' | 'message', string>>[];
  /** Rows that look deleted and are still mirrored, those that need a person first; 100 entries at most. */
  readonly deletions: readonly WaitingDeletion[];
  /** Submissions are on hold after a restore or copy of the database: since when and why; null: they are sent. */
  readonly held: { readonly since: string; readonly why: string } | null;
  /**
   * When the database was last found to have gone back within the last week, and why. `open`: what it may have lost is
   * not read again yet.
   */
  readonly recovery: { readonly at: string; readonly reason: string; readonly open: boolean } | null;
}

/** The report before it is judged. */
export type Facts = Omit<StatusReport, 'healthy' | 'problems' | 'notes'>;

/**
 * `good`: an account's key; `refused`: the service refused it last; `moved`: it answered for another account than
 * before; `unasked`: its account is not known yet.
 */
export const KEY_STATES = ['good', 'refused', 'moved', 'unasked'] as const;

export interface AccountStatus {
  /** Decimal digits of a bigint. */
  readonly userId: string;
  readonly email: string | null;
  /** `stopped`: `error` says why; `retired`: taken out by an operator. */
  readonly state: 'active' | 'stopped' | 'retired';
  readonly error: string | null;
  /** `processId` of the program that reads this account. */
  readonly owner: string | null;
  readonly collections: readonly CollectionStatus[];
  readonly walks: readonly {
    readonly collection: CollectionName;
    /** The list that is read; null for a whole collection. */
    readonly listId: string | null;
    readonly startedAt: string;
    readonly pages: number;
    readonly items: number;
  }[];
  /** Rate limits of each API key. `waiting` and `foreignUse` are known only of keys that this program uses. */
  readonly budgets: readonly {
    /** First digits of the key's SHA-256. */
    readonly key: string;
    readonly groups: readonly {
      readonly group: string;
      /** The service's, for 60 s. */
      readonly limit: number;
      /** This program's part of it. */
      readonly size: number;
      /** Why `size` is below its share of the specification's limit, and until when; null: it is not, or unknown. */
      readonly why: string | null;
      readonly until: string | null;
      readonly used: number;
      readonly waiting: number;
      /** Requests of others with the same key in the last 60 s. */
      readonly foreignUse: number;
      /** Answers with status 429 since the program began. */
      readonly refused: number;
    }[];
  }[];
  readonly webhook: {
    readonly state: RegistrationState;
    /** Host of the registered URL, ours or not. */
    readonly host: string | null;
    /** For the operator, with the remedy. */
    readonly error: string | null;
    /** When ours was last found removed or changed at the service within a day; null if it is not registered again. */
    readonly renewedSince: string | null;
    /** When the last event was stored. */
    readonly lastEventAt: string | null;
    /** Rows and scopes that events named, to be read again. */
    readonly hintsWaiting: number;
  };
  /** Those that wait, and those that ended in the last 24 hours. */
  readonly submissions: Readonly<Record<SubmissionState, number>>;
  /**
   * Decimal digits: the account's credits, and by how much they fell in the last 24 hours, top-ups aside (null without
   * history). Null: not mirrored, or the service tells none. As of the last minute.
   */
  readonly credits: { readonly left: string; readonly burntLastDay: string | null } | null;
}

/** What is still to be done in a collection, as of the last minute. */
export interface Backlog {
  /** New or changed lists whose items are not read yet; 0 for all collections but `list_items`. */
  readonly dueLists: number;
  readonly unfinishedRows: number;
  /** Fields with a new column that is not filled in all older rows yet. */
  readonly fieldsToFill: number;
}

/** A collection's columns of `freshness` and `data_quality` (src/model/collection-columns.ts), and its backlog. */
export interface CollectionStatus extends CollectionFigures, Backlog {
  readonly collection: CollectionName;
  /**
   * `new`: never read to its end; `failing`: has a `lastError`; `overdue`: a poll or full walk that was due has not
   * begun; `paused`: no daemon mirrors it.
   */
  readonly state: 'new' | 'current' | 'failing' | 'overdue' | 'paused';
}

/** Why rows that look deleted are still mirrored (docs/operations.md), those that need a person first. */
export const DELETION_CAUSES = ['refused', 'brake', 'item_without_id', 'second_proof', 'full_walk'] as const;

/** Rows of one collection that look deleted (`data_quality` counts them) and wait for one cause. */
export interface WaitingDeletion {
  readonly userId: string;
  readonly collection: CollectionName;
  readonly cause: (typeof DELETION_CAUSES)[number];
  readonly rows: number;
  /** Of the whole collection. */
  readonly liveRows: number;
  readonly since: string;
  /** Why they wait, without a full stop. */
  readonly what: string;
  readonly byItself: string;
  /** When that happens, if known. */
  readonly due: string | null;
  /** What a person can do; null: nothing. */
  readonly remedy: string | null;
  /** Some of their keys, as in `changes`. */
  readonly examples: readonly string[];
}
