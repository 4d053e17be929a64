import type { ColumnType, Generated } from 'kysely';
import type { Bigint, BigintWithDefault, Json, JsonWithDefault, OrNull } from './column-types.ts';

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
    asked: Json | null;
    serves: string[] | null;
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
    recheck: Generated<boolean>;
    origin: OrNull<string>;
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
    changes: Generated<number>;
    announced: Generated<number>;
    watched_ms: Generated<number>;
    cost: Generated<number>;
    finish_ms: OrNull<number>;
    true_alarms: Generated<number>;
    false_alarms: Generated<number>;
  };
  candidate: {
    _user_id: Bigint;
    collection: string;
    parent: Generated<string>;
    key: string;
    kind: string;
    obs: Bigint;
    at: Date;
    served_at: OrNull<Date>;
    proven_at: OrNull<Date>;
    refused: OrNull<string>;
    refused_at: OrNull<Date>;
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
    nodes: JsonWithDefault;
    change_floor: BigintWithDefault;
  };
  event_seen: { _user_id: Bigint; id: string; received_at: Date; content: string | null };
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
  activity: {
    _user_id: Bigint;
    part_of_day: Bigint;
    begins_at: Date;
    age_seconds: OrNull<string>;
    live_rows: Bigint;
    changes: Bigint;
    requests: Bigint;
  };
  own_url: { _user_id: Bigint; url: string; registered_at: Date };
}
