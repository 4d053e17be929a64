import type { ColumnType, Generated, Kysely } from 'kysely';

/**
 * The tables as Kysely sees them. The driver gives `bigint` and `numeric` as strings, no digit lost, and
 * `timestamptz` as Date (milliseconds).
 */

/** bigint: decimal digits; numbers may be written. */
type Bigint = ColumnType<string, string | number | bigint, string | number | bigint>;
type BigintWithDefault = ColumnType<string, string | number | bigint | undefined, string | number | bigint>;
/** jsonb: parsed when read (digits beyond double precision are lost: read `::text` where they matter), text when written. */
type Json = ColumnType<unknown, string, string>;
type JsonWithDefault = ColumnType<unknown, string | undefined, string>;
type OrNull<T> = ColumnType<T | null, T | null | undefined, T | null>;

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
  _collections: {
    _user_id: Bigint;
    collection: string;
    live_rows: BigintWithDefault;
    deleted_rows: BigintWithDefault;
    held_deletions: BigintWithDefault;
    waiting_deletions: BigintWithDefault;
    mirrored_from: OrNull<Date>;
    history_from: OrNull<Date>;
    polled_at: OrNull<Date>;
    complete_as_of: OrNull<Date>;
    next_poll_at: OrNull<Date>;
    next_full_at: OrNull<Date>;
    state: Generated<string>;
    last_error: OrNull<string>;
    last_error_at: OrNull<Date>;
  };
  freshness: {
    _user_id: string;
    collection: string;
    live_rows: string;
    deleted_rows: string;
    polled_at: Date | null;
    complete_as_of: Date | null;
    next_poll_at: Date | null;
    next_full_at: Date | null;
    state: string;
    last_error: string | null;
    last_error_at: Date | null;
  };
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
    reason: string;
    first_seen_at: Date;
    last_seen_at: Date;
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
  data_quality: {
    _user_id: string;
    collection: string;
    quarantined_items: string;
    field_conflicts: string;
    held_deletions: string;
    waiting_deletions: string;
  };
}

/** `<schema>_sync`: the daemon's own state. */
export interface SyncTables {
  process: {
    process_id: string;
    command: string;
    version: string;
    host: string;
    machine: string;
    pid: number;
    started_ticks: string;
    started_at: Date;
    alive_until: Date;
  };
  account: {
    _user_id: Bigint;
    owner: OrNull<string>;
    token: BigintWithDefault;
    change_id: BigintWithDefault;
    walk_id: BigintWithDefault;
    state: Generated<string>;
    error: OrNull<string>;
    created_at: Date;
  };
  scope: {
    _user_id: Bigint;
    collection: string;
    parent: Generated<string>;
    memory: JsonWithDefault;
    due_at: OrNull<Date>;
    last_due_at: OrNull<Date>;
    last_read_at: OrNull<Date>;
    polled_at: OrNull<Date>;
    full_at: OrNull<Date>;
    live_rows: BigintWithDefault;
    last_error: OrNull<string>;
    last_error_at: OrNull<Date>;
    failures: Generated<number>;
    full_walk: ColumnType<unknown, string | null | undefined, string | null>;
    last_obs: BigintWithDefault;
    complete_as_of: OrNull<Date>;
    gone_at: OrNull<Date>;
  };
  candidate: {
    _user_id: Bigint;
    collection: string;
    parent: Generated<string>;
    key: string;
    kind: string;
    obs: Bigint;
    at: Date;
    proven_at: OrNull<Date>;
  };
  deletions: { _user_id: Bigint; collection: string; hour: Date; deleted: Bigint };
  unsettled: {
    _user_id: Bigint;
    collection: string;
    parent: Generated<string>;
    key: string;
    since: Date;
    finished: boolean;
  };
  slot_block: {
    _user_id: Bigint;
    key_hash: string;
    rate_group: string;
    block_id: Bigint;
    size: number;
    valid_until: Date;
    freed: Generated<Date[]>;
  };
  rate_group: { _user_id: Bigint; key_hash: string; rate_group: string; learnt: Json };
  first_ping: { key_hash: string; sent_at: Date };
  api_key: { key_hash: string; _user_id: OrNull<string>; pinged_at: Date; error: OrNull<string> };
  command: {
    command_id: string;
    kind: string;
    arguments: Json;
    state: Generated<string>;
    created_at: Date;
    wanted_until: Date;
    owner: OrNull<string>;
    progress: ColumnType<unknown, string | null | undefined, string | null>;
    result: ColumnType<unknown, string | null | undefined, string | null>;
    error: OrNull<string>;
    done_at: OrNull<Date>;
  };
  installation: {
    singleton: Generated<boolean>;
    created_at: Date;
    settings: JsonWithDefault;
    fingerprint: ColumnType<unknown, string | null | undefined, string | null>;
    alive_at: OrNull<Date>;
    held_at: OrNull<Date>;
    held_why: OrNull<string>;
  };
  event_seen: { _user_id: Bigint; id: string; received_at: Date };
  hint: {
    _user_id: Bigint;
    collection: string;
    parent: Generated<string>;
    key: Generated<string>;
    seq: BigintWithDefault;
    hinted_at: Date;
    due_at: Date;
    step: Generated<number>;
  };
  registration: {
    _user_id: Bigint;
    state: Generated<string>;
    url: OrNull<string>;
    event_types: ColumnType<unknown, string | null | undefined, string | null>;
    secret: OrNull<string>;
    secret_at: OrNull<Date>;
    scheme: OrNull<string>;
    previous_secret: OrNull<string>;
    previous_until: OrNull<Date>;
    previous_scheme: OrNull<string>;
    registering_at: OrNull<Date>;
    registered_at: OrNull<Date>;
    checked_at: OrNull<Date>;
    replaced_at: Generated<Date[]>;
    verified_at: OrNull<Date>;
    mismatches: Generated<number>;
    suspect_at: OrNull<Date>;
    error: OrNull<string>;
  };
  own_url: { _user_id: Bigint; url: string; registered_at: Date };
}

/** Queries on the mirrored tables, by `db` or inside a transaction. */
export function mirrorTables(db: Kysely<unknown>, schema: string): Kysely<MirrorTables> {
  return db.withSchema(schema);
}

/** Queries on the daemon's own tables, by `db` or inside a transaction. */
export function syncTables(db: Kysely<unknown>, schema: string): Kysely<SyncTables> {
  return db.withSchema(`${schema}_sync`);
}
