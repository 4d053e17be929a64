import type { ColumnType, Generated } from 'kysely';
import type { CollectionColumn } from '../../model/collection-columns.ts';
import type { Bigint, BigintWithDefault, Json, OrNull } from './column-types.ts';

/** Columns of every mirrored table; further ones come with the items' fields. */
export interface MirroredRow {
  _user_id: Bigint;
  _first_seen_at: Date;
  _changed_at: Date;
  _change_id: Bigint;
  _deleted_at: OrNull<Date>;
  _hash: Buffer;
  _raw: Json;
  _verbatim: OrNull<string>;
}

/** What a view shows of src/model/collection-columns.ts: `{ live_rows: string, polled_at: Date | null, … }`. */
type ShownBy<View> = {
  [C in Extract<CollectionColumn, { view: View }> as C['column']]: {
    count: string;
    moment: Date | null;
    due: Date | null;
    text: string | null;
  }[C['kind']];
};

/** The same as columns of `_collections`. */
type StoredColumns = {
  [C in Exclude<CollectionColumn, { computed: true }> as C['column']]: {
    count: BigintWithDefault;
    moment: OrNull<Date>;
    due: OrNull<Date>;
    text: OrNull<string>;
  }[C['kind']];
};

/** `<schema>`: what analysts query. */
export interface MirrorTables {
  account: MirroredRow & {
    email: OrNull<string>;
    credits: OrNull<string>;
    subscription: OrNull<string>;
    org: OrNull<string>;
  };
  research_jobs: MirroredRow & { job_id: Bigint; status: OrNull<string> };
  bulk_research_jobs: MirroredRow & { bulk_job_id: Bigint };
  lists: MirroredRow & { list_id: Bigint };
  list_items: MirroredRow & { list_id: Bigint; id: string };
  watchlist: MirroredRow & { id: string };
  _collections: StoredColumns & {
    _user_id: Bigint;
    collection: string;
    mirrored_from: OrNull<Date>;
    history_from: OrNull<Date>;
    state: Generated<string>;
    reading_at: OrNull<Date>;
    paused_at: OrNull<Date>;
  };
  recoveries: { detected_at: Date; reason: string; last_sign_of_life: OrNull<Date> };
  freshness: ShownBy<'freshness'> & { _user_id: string; collection: string; state: string };
  sync_log: {
    _user_id: Bigint;
    walk_id: Bigint;
    collection: string;
    list_id: OrNull<string>;
    kind: string;
    started_at: Date;
    ended_at: Date;
    outcome: string;
    pages: Bigint;
    items: Bigint;
    inserted: Bigint;
    updated: Bigint;
    deleted: Bigint;
    unchanged: Bigint;
    quarantined: Bigint;
    requests: Bigint;
    rate_limited: Bigint;
    error: OrNull<string>;
  };
  quarantine: {
    _user_id: Bigint;
    collection: string;
    parent: Generated<string>;
    item_hash: Buffer;
    item: string;
    key: OrNull<string>;
    place: OrNull<string>;
    reason: string;
    bytes: OrNull<Bigint>;
    kept: Generated<boolean>;
    first_seen_at: Date;
    last_seen_at: Date;
  };
  forgotten: {
    _user_id: Bigint;
    collection: string;
    key_hash: Buffer;
    _change_id: Bigint;
    forgotten_at: Date;
  };
  webhook: {
    _user_id: Bigint;
    url: OrNull<string>;
    active: OrNull<boolean>;
    event_types: ColumnType<unknown, string | null | undefined, string | null>;
    _first_seen_at: Date;
    _changed_at: Date;
    _change_id: Bigint;
    _deleted_at: OrNull<Date>;
    _raw: Json;
  };
  events: {
    _user_id: Bigint;
    id: string;
    type: OrNull<string>;
    created_at: OrNull<Date>;
    data: ColumnType<unknown, string | null | undefined, string | null>;
    received_at: Date;
    _raw: Json;
    _verbatim: OrNull<string>;
    _collection: OrNull<string>;
    _key: OrNull<string>;
  };
  submissions: {
    _user_id: Bigint;
    submission_id: ColumnType<string, never, never>;
    operation: string;
    target_id: OrNull<string>;
    payload: Json;
    idempotency_key: OrNull<string>;
    state: Generated<string>;
    response_status: OrNull<number>;
    response: ColumnType<unknown, string | null | undefined, string | null>;
    error: OrNull<string>;
    created_at: Date;
    sent_at: OrNull<Date>;
    done_at: OrNull<Date>;
    _request_id: Generated<string>;
    _send_before: OrNull<Date>;
    _not_before: OrNull<Date>;
    _conclusive_at: OrNull<Date>;
    _verbatim: OrNull<string>;
  };
  _columns: {
    collection: string;
    field: string;
    column_name: OrNull<string>;
    type: string;
    documented: boolean;
    first_seen_at: Date;
  };
  _conflicts: { _user_id: Bigint; collection: string; field: string; conflicts: Bigint; last_at: Date };
  columns: {
    collection: string;
    field: string;
    column_name: string | null;
    type: string;
    documented: boolean;
    first_seen_at: Date;
    conflicts: string;
  };
  data_quality: ShownBy<'data_quality'> & {
    _user_id: string;
    collection: string;
    quarantined_without_text: string;
  };
}
