import type { RowAddress } from './row-address.ts';

/** The beginning of a text that may be long. */
export interface CutText {
  readonly text: string;
  /** Of the whole. */
  readonly characters: number;
}

/** A field before and after a change, as JSON text; null: the item did not have it. */
export interface FieldChange {
  readonly field: string;
  readonly before: CutText | null;
  readonly after: CutText | null;
}

/** What happened to a row. */
export type Happening =
  | {
      /** `ended`: without an answer (cancelled, unknown). `state` is that of now. */
      readonly what: 'queued' | 'sent' | 'answered' | 'ended';
      readonly submissionId: string;
      readonly operation: string;
      readonly idempotencyKey: string | null;
      readonly state: string;
      readonly responseStatus: number | null;
    }
  /** By the service, as its `created_at` says. */
  | { readonly what: 'created' }
  | {
      readonly what: 'event';
      readonly eventId: string;
      readonly type: string | null;
      readonly createdAt: string | null;
    }
  /** First mirrored; the walk is in `sync_log`, null where it is not known (any more). */
  | { readonly what: 'mirrored'; readonly walkId: string | null; readonly walk: string | null }
  /** Without fields where none is different, or the version before is not kept. */
  | { readonly what: 'changed'; readonly changeId: string; readonly fields: readonly FieldChange[] }
  | { readonly what: 'deleted' | 'undeleted'; readonly changeId: string }
  /** A first proof lacks it, or it came back too soon: a second observation decides. */
  | { readonly what: 'suspected'; readonly proven: boolean; readonly returned: boolean };

/** At a moment in UTC, to the microsecond: such texts compare as their moments do. */
export type TimelineEntry = Happening & { readonly at: string };

/** A row with its timeline. */
export interface RowStory extends RowAddress {
  /** The database's time. */
  readonly at: string;
  /** `absent`: nothing is mirrored under this key, but events or submissions name it. */
  readonly state: 'live' | 'deleted' | 'absent';
  readonly deletedAt: string | null;
  /** The newest first. */
  readonly timeline: readonly TimelineEntry[];
  /** Older entries are left out. */
  readonly more: boolean;
  /** Of the row, or of its last version where it is removed; those without a value are left out. */
  readonly columns: readonly { readonly name: string; readonly type: string; readonly value: CutText }[];
  /** The whole item as JSON text. */
  readonly raw: CutText | null;
}
