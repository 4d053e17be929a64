// Generated from migrations/schema.sql by: node test/support/databases/dump-schema.ts. Not to be edited.

import type { ColumnType } from 'kysely';

/** A column that may be null. */
type OrNull<T> = [T] extends [ColumnType<infer Read, infer Inserted, infer Updated>]
  ? ColumnType<Read | null, Inserted | null | undefined, Updated | null>
  : ColumnType<T | null, T | null | undefined, T | null>;

/** A column with a default. Kysely's own type drops what a ColumnType says of inserts and updates. */
type Generated<T> = [T] extends [ColumnType<infer Read, infer Inserted, infer Updated>]
  ? ColumnType<Read, Inserted | undefined, Updated>
  : ColumnType<T, T | undefined, T>;

/** bigint: decimal digits; numbers may be written. */
type Bigint = ColumnType<string, string | number | bigint, string | number | bigint>;

/** jsonb: parsed when read (`::text` keeps digits beyond double precision), text when written. */
type Json = ColumnType<unknown, string, string>;

/** `<schema>`: what analysts query. */
export interface MirrorTables {
  _collections: {
    _user_id: Bigint;
    collection: string;
    live_rows: Generated<Bigint>;
    deleted_rows: Generated<Bigint>;
    held_deletions: Generated<Bigint>;
    polled_at: OrNull<Date>;
    complete_as_of: OrNull<Date>;
    next_poll_at: OrNull<Date>;
    next_full_at: OrNull<Date>;
    state: Generated<string>;
    last_error: OrNull<string>;
    last_error_at: OrNull<Date>;
    waiting_deletions: Generated<Bigint>;
    mirrored_from: OrNull<Date>;
    history_from: OrNull<Date>;
    reading_at: OrNull<Date>;
    paused_at: OrNull<Date>;
    failing_since: OrNull<Date>;
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
    place: OrNull<string>;
    bytes: OrNull<Bigint>;
    kept: Generated<boolean>;
  };
}

/** `<schema>_sync`: the daemon's own state. */
export interface StateTables {
  account: {
    _user_id: Bigint;
    owner: OrNull<string>;
    token: Generated<Bigint>;
    change_id: Generated<Bigint>;
    walk_id: Generated<Bigint>;
    state: Generated<string>;
    error: OrNull<string>;
    created_at: Date;
    recheck: Generated<boolean>;
    origin: OrNull<string>;
  };
  api_key: {
    key_hash: string;
    _user_id: OrNull<Bigint>;
    pinged_at: Date;
    error: OrNull<string>;
    answered_for: OrNull<Bigint>;
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
    served_at: OrNull<Date>;
    refused: OrNull<string>;
    refused_at: OrNull<Date>;
  };
  command: {
    command_id: string;
    kind: string;
    arguments: Json;
    state: Generated<string>;
    created_at: Date;
    wanted_until: Date;
    owner: OrNull<string>;
    progress: OrNull<Json>;
    result: OrNull<Json>;
    error: OrNull<string>;
    done_at: OrNull<Date>;
  };
  first_ping: {
    key_hash: string;
    sent_at: Date;
  };
  own_url: {
    _user_id: Bigint;
    url: string;
    registered_at: Date;
  };
  rate_group: {
    _user_id: Bigint;
    key_hash: string;
    rate_group: string;
    learnt: Json;
  };
  registration: {
    _user_id: Bigint;
    state: Generated<string>;
    url: OrNull<string>;
    secret: OrNull<string>;
    secret_at: OrNull<Date>;
    previous_secret: OrNull<string>;
    previous_until: OrNull<Date>;
    registering_at: OrNull<Date>;
    registered_at: OrNull<Date>;
    checked_at: OrNull<Date>;
    replaced_at: Generated<Date[]>;
    verified_at: OrNull<Date>;
    mismatches: Generated<number>;
    error: OrNull<string>;
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
}
