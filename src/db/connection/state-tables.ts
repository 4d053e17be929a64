// Generated of migrations/schema.sql by: node test/support/databases/dump-schema.ts. Not to be edited.

import type { Generated } from 'kysely';
import type {
  Bigint,
  BigintOrNull,
  BigintWithDefault,
  Json,
  JsonOrNull,
  JsonWithDefault,
  OrNull,
} from './column-types.ts';

/** `<schema>_sync`: the daemon's own state. */
export interface StateTables {
  account: {
    _user_id: Bigint;
    owner: OrNull<string>;
    token: BigintWithDefault;
    change_id: BigintWithDefault;
    walk_id: BigintWithDefault;
    state: Generated<string>;
    error: OrNull<string>;
    created_at: Date;
    recheck: Generated<boolean>;
    origin: OrNull<string>;
  };
  api_key: {
    key_hash: string;
    _user_id: BigintOrNull;
    pinged_at: Date;
    error: OrNull<string>;
    answered_for: BigintOrNull;
  };
  backfill: {
    _user_id: Bigint;
    collection: string;
    field: string;
    done_through: Bigint;
    until: Bigint;
    history_through: OrNull<Date>;
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
    progress: JsonOrNull;
    result: JsonOrNull;
    error: OrNull<string>;
    done_at: OrNull<Date>;
  };
  deletions: {
    _user_id: Bigint;
    collection: string;
    hour: Date;
    deleted: Bigint;
  };
  event_seen: {
    _user_id: Bigint;
    id: string;
    received_at: Date;
    content: OrNull<string>;
  };
  first_ping: {
    key_hash: string;
    sent_at: Date;
  };
  granted: {
    role: string;
    object: string;
    role_id: OrNull<string>;
  };
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
  installation: {
    singleton: Generated<boolean>;
    created_at: Date;
    settings: JsonWithDefault;
    fingerprint: JsonOrNull;
    alive_at: OrNull<Date>;
    held_at: OrNull<Date>;
    held_why: OrNull<string>;
    nodes: JsonWithDefault;
    change_floor: BigintWithDefault;
  };
  migration: {
    name: string;
    checksum: string;
    applied_at: Date;
    oldest_program: OrNull<string>;
  };
  own_url: {
    _user_id: Bigint;
    url: string;
    registered_at: Date;
  };
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
    asked: JsonOrNull;
    serves: OrNull<string[]>;
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
  scope: {
    _user_id: Bigint;
    collection: string;
    parent: Generated<string>;
    memory: JsonWithDefault;
    due_at: OrNull<Date>;
    last_read_at: OrNull<Date>;
    polled_at: OrNull<Date>;
    full_at: OrNull<Date>;
    live_rows: BigintWithDefault;
    last_error: OrNull<string>;
    last_error_at: OrNull<Date>;
    failures: Generated<number>;
    full_walk: JsonOrNull;
    last_obs: BigintWithDefault;
    complete_as_of: OrNull<Date>;
    gone_at: OrNull<Date>;
    last_due_at: OrNull<Date>;
    finish_ms: OrNull<number>;
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
  unsettled: {
    _user_id: Bigint;
    collection: string;
    parent: Generated<string>;
    key: string;
    since: Date;
    finished: boolean;
  };
}
