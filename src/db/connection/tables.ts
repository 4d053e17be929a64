import type { ColumnType, Generated } from 'kysely';

/**
 * Tables and columns that statements of Kysely's builder name, as it sees them: read, inserted, updated. The driver
 * gives `bigint` and `numeric` as strings, no digit lost, and `timestamptz` as Date (milliseconds).
 */

/** bigint: decimal digits; numbers may be written. */
type Bigint = ColumnType<string, string | number | bigint, string | number | bigint>;
type BigintWithDefault = ColumnType<string, string | number | bigint | undefined, string | number | bigint>;
/**
 * jsonb: parsed when read (digits beyond double precision are lost: read `::text` where they matter), text when
 * written.
 */
type Json = ColumnType<unknown, string, string>;
type JsonOrNull = ColumnType<unknown, string | null | undefined, string | null>;
type OrNull<T> = ColumnType<T | null, T | null | undefined, T | null>;

/** `<schema>`: what analysts query. */
export interface MirrorTables {
  _collections: {
    _user_id: Bigint;
    collection: string;
    polled_at: OrNull<Date>;
    complete_as_of: OrNull<Date>;
    next_poll_at: OrNull<Date>;
    next_full_at: OrNull<Date>;
    paused_at: OrNull<Date>;
  };
  sync_log: {
    _user_id: Bigint;
    collection: string;
    kind: string;
    started_at: Date;
    ended_at: Date;
    outcome: string;
  };
  quarantine: {
    _user_id: Bigint;
    collection: string;
    parent: Generated<string>;
    item_hash: Buffer;
    item: string;
    key: OrNull<string>;
    reason: string;
    kept: Generated<boolean>;
    first_seen_at: Date;
    last_seen_at: Date;
  };
  submissions: {
    _user_id: Bigint;
    submission_id: ColumnType<string, never, never>;
    operation: string;
    state: Generated<string>;
  };
}

/** `<schema>_sync`: the daemon's own state. */
export interface StateTables {
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
    state: Generated<string>;
    error: OrNull<string>;
    created_at: Date;
    origin: OrNull<string>;
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
  api_key: {
    key_hash: string;
    _user_id: OrNull<string>;
    pinged_at: Date;
    error: OrNull<string>;
    proven_change_id: OrNull<string>;
    answered_for: OrNull<string>;
    answered_at: OrNull<Date>;
  };
  command: {
    command_id: string;
    kind: string;
    arguments: Json;
    state: Generated<string>;
    created_at: Date;
    wanted_until: Date;
    owner: OrNull<string>;
    progress: JsonOrNull;
    result: JsonOrNull;
    error: OrNull<string>;
    done_at: OrNull<Date>;
  };
  installation: { held_at: OrNull<Date>; held_why: OrNull<string> };
  registration: {
    _user_id: Bigint;
    state: Generated<string>;
    url: OrNull<string>;
    event_types: JsonOrNull;
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
