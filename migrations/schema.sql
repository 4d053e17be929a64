-- What all migrations make, for reading. Made by: node test/support/databases/dump-schema.ts

-- Schema mirror

create table mirror._collections (
  _user_id bigint not null,
  collection text not null,
  live_rows bigint default 0 not null,
  deleted_rows bigint default 0 not null,
  held_deletions bigint default 0 not null,
  polled_at timestamp with time zone,
  complete_as_of timestamp with time zone,
  next_poll_at timestamp with time zone,
  next_full_at timestamp with time zone,
  state text default 'new'::text not null,
  last_error text,
  last_error_at timestamp with time zone,
  waiting_deletions bigint default 0 not null,
  mirrored_from timestamp with time zone,
  history_from timestamp with time zone,
  reading_at timestamp with time zone,
  paused_at timestamp with time zone,
  failing_since timestamp with time zone,
  constraint _collections_pkey PRIMARY KEY (_user_id, collection)
);

create table mirror._columns (
  collection text not null,
  field text not null,
  column_name text,
  type text not null,
  documented boolean not null,
  first_seen_at timestamp with time zone not null,
  constraint _columns_pkey PRIMARY KEY (collection, field)
);

create table mirror._conflicts (
  _user_id bigint not null,
  collection text not null,
  field text not null,
  conflicts bigint not null,
  last_at timestamp with time zone not null,
  constraint _conflicts_pkey PRIMARY KEY (_user_id, collection, field)
);

create table mirror.account (
  _user_id bigint not null,
  email text,
  credits numeric,
  subscription text,
  org text,
  _first_seen_at timestamp with time zone not null,
  _changed_at timestamp with time zone not null,
  _change_id bigint not null,
  _deleted_at timestamp with time zone,
  _hash bytea not null,
  _raw jsonb not null,
  _verbatim text,
  constraint account_pkey PRIMARY KEY (_user_id)
);
CREATE INDEX account_change ON mirror.account USING btree (_user_id, _change_id);

create table mirror.account_history (
  _user_id bigint not null,
  email text,
  credits numeric,
  subscription text,
  org text,
  _first_seen_at timestamp with time zone not null,
  _changed_at timestamp with time zone not null,
  _change_id bigint not null,
  _deleted_at timestamp with time zone,
  _hash bytea not null,
  _raw jsonb not null,
  _verbatim text,
  _valid_from timestamp with time zone not null,
  _valid_to timestamp with time zone not null,
  _op text not null,
  constraint account_history_pkey PRIMARY KEY (_user_id, _change_id)
);
CREATE INDEX account_history_age ON mirror.account_history USING btree (_user_id, _valid_to, _change_id);
CREATE INDEX account_history_change ON mirror.account_history USING btree (_user_id, _change_id);
CREATE INDEX account_history_deletes ON mirror.account_history USING btree (_user_id, _change_id) WHERE (_op = 'delete'::text);

create table mirror.bulk_research_jobs (
  _user_id bigint not null,
  bulk_job_id bigint not null,
  _first_seen_at timestamp with time zone not null,
  _changed_at timestamp with time zone not null,
  _change_id bigint not null,
  _deleted_at timestamp with time zone,
  _hash bytea not null,
  _raw jsonb not null,
  _verbatim text,
  constraint bulk_research_jobs_pkey PRIMARY KEY (_user_id, bulk_job_id)
);
CREATE INDEX bulk_research_jobs_change ON mirror.bulk_research_jobs USING btree (_user_id, _change_id);

create table mirror.bulk_research_jobs_history (
  _user_id bigint not null,
  bulk_job_id bigint not null,
  _first_seen_at timestamp with time zone not null,
  _changed_at timestamp with time zone not null,
  _change_id bigint not null,
  _deleted_at timestamp with time zone,
  _hash bytea not null,
  _raw jsonb not null,
  _verbatim text,
  _valid_from timestamp with time zone not null,
  _valid_to timestamp with time zone not null,
  _op text not null,
  constraint bulk_research_jobs_history_pkey PRIMARY KEY (_user_id, bulk_job_id, _change_id)
);
CREATE INDEX bulk_research_jobs_history_age ON mirror.bulk_research_jobs_history USING btree (_user_id, _valid_to, _change_id);
CREATE INDEX bulk_research_jobs_history_change ON mirror.bulk_research_jobs_history USING btree (_user_id, _change_id);
CREATE INDEX bulk_research_jobs_history_deletes ON mirror.bulk_research_jobs_history USING btree (_user_id, _change_id) WHERE (_op = 'delete'::text);

create table mirror.events (
  _user_id bigint not null,
  id text collate "C" not null,
  type text,
  created_at timestamp with time zone,
  data jsonb,
  received_at timestamp with time zone not null,
  _raw jsonb not null,
  _verbatim text,
  _collection text,
  _key text collate "C",
  constraint events_pkey PRIMARY KEY (_user_id, id)
);
CREATE INDEX events_received ON mirror.events USING btree (_user_id, received_at);
CREATE INDEX events_row ON mirror.events USING btree (_user_id, _collection, _key, received_at);

create table mirror.forgotten (
  _user_id bigint not null,
  collection text not null,
  key_hash bytea not null,
  _change_id bigint not null,
  forgotten_at timestamp with time zone not null,
  constraint forgotten_pkey PRIMARY KEY (_user_id, collection, key_hash)
);
CREATE INDEX forgotten_change ON mirror.forgotten USING btree (_user_id, _change_id);

create table mirror.list_items (
  _user_id bigint not null,
  list_id bigint not null,
  id text collate "C" not null,
  _first_seen_at timestamp with time zone not null,
  _changed_at timestamp with time zone not null,
  _change_id bigint not null,
  _deleted_at timestamp with time zone,
  _hash bytea not null,
  _raw jsonb not null,
  _verbatim text,
  _domain text collate "C",
  constraint list_items_pkey PRIMARY KEY (_user_id, list_id, id)
);
CREATE INDEX list_items_change ON mirror.list_items USING btree (_user_id, _change_id);
CREATE INDEX list_items_deleted_domain ON mirror.list_items USING btree (_user_id, _domain) WHERE ((_deleted_at IS NOT NULL) AND (_domain IS NOT NULL));
CREATE INDEX list_items_domain ON mirror.list_items USING btree (_user_id, _domain, list_id) WHERE ((_deleted_at IS NULL) AND (_domain IS NOT NULL));
CREATE INDEX list_items_order ON mirror.list_items USING btree (_user_id, list_id, octet_length(id), id);

create table mirror.list_items_history (
  _user_id bigint not null,
  list_id bigint not null,
  id text collate "C" not null,
  _first_seen_at timestamp with time zone not null,
  _changed_at timestamp with time zone not null,
  _change_id bigint not null,
  _deleted_at timestamp with time zone,
  _hash bytea not null,
  _raw jsonb not null,
  _verbatim text,
  _valid_from timestamp with time zone not null,
  _valid_to timestamp with time zone not null,
  _op text not null,
  _domain text collate "C",
  constraint list_items_history_pkey PRIMARY KEY (_user_id, list_id, id, _change_id)
);
CREATE INDEX list_items_history_age ON mirror.list_items_history USING btree (_user_id, _valid_to, _change_id);
CREATE INDEX list_items_history_change ON mirror.list_items_history USING btree (_user_id, _change_id);
CREATE INDEX list_items_history_deletes ON mirror.list_items_history USING btree (_user_id, _change_id) WHERE (_op = 'delete'::text);

create table mirror.lists (
  _user_id bigint not null,
  list_id bigint not null,
  _first_seen_at timestamp with time zone not null,
  _changed_at timestamp with time zone not null,
  _change_id bigint not null,
  _deleted_at timestamp with time zone,
  _hash bytea not null,
  _raw jsonb not null,
  _verbatim text,
  constraint lists_pkey PRIMARY KEY (_user_id, list_id)
);
CREATE INDEX lists_change ON mirror.lists USING btree (_user_id, _change_id);

create table mirror.lists_history (
  _user_id bigint not null,
  list_id bigint not null,
  _first_seen_at timestamp with time zone not null,
  _changed_at timestamp with time zone not null,
  _change_id bigint not null,
  _deleted_at timestamp with time zone,
  _hash bytea not null,
  _raw jsonb not null,
  _verbatim text,
  _valid_from timestamp with time zone not null,
  _valid_to timestamp with time zone not null,
  _op text not null,
  constraint lists_history_pkey PRIMARY KEY (_user_id, list_id, _change_id)
);
CREATE INDEX lists_history_age ON mirror.lists_history USING btree (_user_id, _valid_to, _change_id);
CREATE INDEX lists_history_change ON mirror.lists_history USING btree (_user_id, _change_id);
CREATE INDEX lists_history_deletes ON mirror.lists_history USING btree (_user_id, _change_id) WHERE (_op = 'delete'::text);

create table mirror.operator_log (
  _user_id bigint not null,
  act_id bigint not null,
  at timestamp with time zone default clock_timestamp() not null,
  act text not null,
  arguments jsonb not null,
  database_user text,
  os_user text,
  program text,
  constraint operator_log_pkey PRIMARY KEY (_user_id, act_id)
);

create table mirror.quarantine (
  _user_id bigint not null,
  collection text not null,
  parent text default ''::text not null,
  item_hash bytea not null,
  item text not null,
  key text,
  reason text not null,
  first_seen_at timestamp with time zone not null,
  last_seen_at timestamp with time zone not null,
  place text,
  bytes bigint,
  kept boolean default true not null,
  constraint quarantine_pkey PRIMARY KEY (_user_id, collection, parent, item_hash)
);
CREATE INDEX quarantine_kept ON mirror.quarantine USING btree (_user_id, collection) WHERE kept;
CREATE INDEX quarantine_key ON mirror.quarantine USING btree (_user_id, collection, parent, key);
CREATE INDEX quarantine_place ON mirror.quarantine USING btree (_user_id, collection, parent, place) WHERE (place IS NOT NULL);

create table mirror.recoveries (
  detected_at timestamp with time zone not null,
  reason text not null,
  last_sign_of_life timestamp with time zone,
  constraint recoveries_pkey PRIMARY KEY (detected_at)
);

create table mirror.research_jobs (
  _user_id bigint not null,
  job_id bigint not null,
  status text,
  _first_seen_at timestamp with time zone not null,
  _changed_at timestamp with time zone not null,
  _change_id bigint not null,
  _deleted_at timestamp with time zone,
  _hash bytea not null,
  _raw jsonb not null,
  _verbatim text,
  _domain text collate "C",
  constraint research_jobs_pkey PRIMARY KEY (_user_id, job_id)
);
CREATE INDEX research_jobs_change ON mirror.research_jobs USING btree (_user_id, _change_id);
CREATE INDEX research_jobs_deleted_domain ON mirror.research_jobs USING btree (_user_id, _domain) WHERE ((_deleted_at IS NOT NULL) AND (_domain IS NOT NULL));
CREATE INDEX research_jobs_domain ON mirror.research_jobs USING btree (_user_id, _domain, job_id) WHERE ((_deleted_at IS NULL) AND (_domain IS NOT NULL));

create table mirror.research_jobs_history (
  _user_id bigint not null,
  job_id bigint not null,
  status text,
  _first_seen_at timestamp with time zone not null,
  _changed_at timestamp with time zone not null,
  _change_id bigint not null,
  _deleted_at timestamp with time zone,
  _hash bytea not null,
  _raw jsonb not null,
  _verbatim text,
  _valid_from timestamp with time zone not null,
  _valid_to timestamp with time zone not null,
  _op text not null,
  _domain text collate "C",
  constraint research_jobs_history_pkey PRIMARY KEY (_user_id, job_id, _change_id)
);
CREATE INDEX research_jobs_history_age ON mirror.research_jobs_history USING btree (_user_id, _valid_to, _change_id);
CREATE INDEX research_jobs_history_change ON mirror.research_jobs_history USING btree (_user_id, _change_id);
CREATE INDEX research_jobs_history_deletes ON mirror.research_jobs_history USING btree (_user_id, _change_id) WHERE (_op = 'delete'::text);

create table mirror.submissions (
  _user_id bigint not null,
  submission_id bigint not null,
  operation text not null,
  target_id text,
  payload jsonb not null,
  idempotency_key text,
  state text default 'queued'::text not null,
  response_status integer,
  response jsonb,
  error text,
  created_at timestamp with time zone not null,
  sent_at timestamp with time zone,
  done_at timestamp with time zone,
  _request_id uuid default gen_random_uuid() not null,
  _send_before timestamp with time zone,
  _not_before timestamp with time zone,
  _conclusive_at timestamp with time zone,
  _verbatim text,
  constraint submissions_pkey PRIMARY KEY (_user_id, submission_id),
  constraint submissions_state_check CHECK ((state = ANY (ARRAY['queued'::text, 'sending'::text, 'accepted'::text, 'rejected'::text, 'unknown'::text, 'cancelled'::text, 'held'::text])))
);
CREATE INDEX submissions_answer ON mirror.submissions USING gin ((((jsonb_path_query_array(response, '$.**{0 to 1}."job_id"'::jsonpath) || jsonb_path_query_array(response, '$.**{0 to 1}."bulk_job_id"'::jsonpath)) || jsonb_path_query_array(response, '$.**{0 to 1}."list_id"'::jsonpath))) jsonb_path_ops) WITH (fastupdate=off) WHERE (response IS NOT NULL);
CREATE INDEX submissions_done ON mirror.submissions USING btree (_user_id, done_at);
CREATE INDEX submissions_done_keyless ON mirror.submissions USING btree (_user_id, done_at) WHERE (idempotency_key IS NULL);
CREATE INDEX submissions_id ON mirror.submissions USING btree (submission_id);
CREATE UNIQUE INDEX submissions_key ON mirror.submissions USING btree (_user_id, idempotency_key) WHERE (idempotency_key IS NOT NULL);
CREATE INDEX submissions_open ON mirror.submissions USING btree (_user_id, submission_id) WHERE (state = ANY (ARRAY['queued'::text, 'sending'::text, 'held'::text]));
CREATE INDEX submissions_queued ON mirror.submissions USING btree (_user_id, operation, submission_id) WHERE (state = 'queued'::text);
CREATE INDEX submissions_target ON mirror.submissions USING btree (_user_id, target_id) WHERE (target_id IS NOT NULL);

create table mirror.sync_log (
  _user_id bigint not null,
  walk_id bigint not null,
  collection text not null,
  list_id bigint,
  kind text not null,
  started_at timestamp with time zone not null,
  ended_at timestamp with time zone not null,
  outcome text not null,
  pages bigint not null,
  items bigint not null,
  inserted bigint not null,
  updated bigint not null,
  deleted bigint not null,
  unchanged bigint not null,
  quarantined bigint not null,
  requests bigint not null,
  rate_limited bigint not null,
  error text,
  constraint sync_log_pkey PRIMARY KEY (_user_id, walk_id)
);
CREATE INDEX sync_log_started ON mirror.sync_log USING btree (_user_id, started_at);

create table mirror.watchlist (
  _user_id bigint not null,
  id text collate "C" not null,
  _first_seen_at timestamp with time zone not null,
  _changed_at timestamp with time zone not null,
  _change_id bigint not null,
  _deleted_at timestamp with time zone,
  _hash bytea not null,
  _raw jsonb not null,
  _verbatim text,
  _domain text collate "C",
  constraint watchlist_pkey PRIMARY KEY (_user_id, id)
);
CREATE INDEX watchlist_change ON mirror.watchlist USING btree (_user_id, _change_id);
CREATE INDEX watchlist_deleted_domain ON mirror.watchlist USING btree (_user_id, _domain) WHERE ((_deleted_at IS NOT NULL) AND (_domain IS NOT NULL));
CREATE INDEX watchlist_domain ON mirror.watchlist USING btree (_user_id, _domain) WHERE ((_deleted_at IS NULL) AND (_domain IS NOT NULL));
CREATE INDEX watchlist_order ON mirror.watchlist USING btree (_user_id, octet_length(id), id);

create table mirror.watchlist_history (
  _user_id bigint not null,
  id text collate "C" not null,
  _first_seen_at timestamp with time zone not null,
  _changed_at timestamp with time zone not null,
  _change_id bigint not null,
  _deleted_at timestamp with time zone,
  _hash bytea not null,
  _raw jsonb not null,
  _verbatim text,
  _valid_from timestamp with time zone not null,
  _valid_to timestamp with time zone not null,
  _op text not null,
  _domain text collate "C",
  constraint watchlist_history_pkey PRIMARY KEY (_user_id, id, _change_id)
);
CREATE INDEX watchlist_history_age ON mirror.watchlist_history USING btree (_user_id, _valid_to, _change_id);
CREATE INDEX watchlist_history_change ON mirror.watchlist_history USING btree (_user_id, _change_id);
CREATE INDEX watchlist_history_deletes ON mirror.watchlist_history USING btree (_user_id, _change_id) WHERE (_op = 'delete'::text);

create table mirror.webhook (
  _user_id bigint not null,
  url text,
  active boolean,
  event_types jsonb,
  _first_seen_at timestamp with time zone not null,
  _changed_at timestamp with time zone not null,
  _change_id bigint not null,
  _deleted_at timestamp with time zone,
  _raw jsonb not null,
  constraint webhook_pkey PRIMARY KEY (_user_id)
);

create view mirror.account_live with (security_invoker=true) as
 SELECT _user_id::text AS _key,
    _user_id,
    email,
    credits,
    subscription,
    org,
    _first_seen_at,
    _changed_at,
    _change_id
   FROM mirror.account
  WHERE _deleted_at IS NULL;

create view mirror.account_versions with (security_invoker=true) as
 SELECT account._user_id,
    account.email,
    account.credits,
    account.subscription,
    account.org,
    account._first_seen_at,
    account._changed_at,
    account._change_id,
    account._raw,
    account._changed_at AS _valid_from,
    NULL::timestamp with time zone AS _valid_to,
    true AS _is_current,
    NULL::text AS _op
   FROM mirror.account
  WHERE account._deleted_at IS NULL
UNION ALL
 SELECT account_history._user_id,
    account_history.email,
    account_history.credits,
    account_history.subscription,
    account_history.org,
    account_history._first_seen_at,
    account_history._changed_at,
    account_history._change_id,
    account_history._raw,
    account_history._valid_from,
    account_history._valid_to,
    false AS _is_current,
    account_history._op
   FROM mirror.account_history;

create view mirror.bulk_research_jobs_live with (security_invoker=true) as
 SELECT (_user_id::text || ':'::text) || bulk_job_id::text AS _key,
    _user_id,
    bulk_job_id,
    _first_seen_at,
    _changed_at,
    _change_id
   FROM mirror.bulk_research_jobs
  WHERE _deleted_at IS NULL;

create view mirror.bulk_research_jobs_versions with (security_invoker=true) as
 SELECT bulk_research_jobs._user_id,
    bulk_research_jobs.bulk_job_id,
    bulk_research_jobs._first_seen_at,
    bulk_research_jobs._changed_at,
    bulk_research_jobs._change_id,
    bulk_research_jobs._raw,
    bulk_research_jobs._changed_at AS _valid_from,
    NULL::timestamp with time zone AS _valid_to,
    true AS _is_current,
    NULL::text AS _op
   FROM mirror.bulk_research_jobs
  WHERE bulk_research_jobs._deleted_at IS NULL
UNION ALL
 SELECT bulk_research_jobs_history._user_id,
    bulk_research_jobs_history.bulk_job_id,
    bulk_research_jobs_history._first_seen_at,
    bulk_research_jobs_history._changed_at,
    bulk_research_jobs_history._change_id,
    bulk_research_jobs_history._raw,
    bulk_research_jobs_history._valid_from,
    bulk_research_jobs_history._valid_to,
    false AS _is_current,
    bulk_research_jobs_history._op
   FROM mirror.bulk_research_jobs_history;

create view mirror.changes with (security_invoker=true) as
 SELECT s._user_id,
    'account'::text AS collection,
    s._user_id::text AS key,
    d.field,
    d.before,
    d.after,
    e.changed_at,
    s._change_id AS change_id,
    e.op
   FROM mirror.account s
     LEFT JOIN mirror.account_history p ON p._user_id = s._user_id AND p._change_id = (( SELECT max(h._change_id) AS max
           FROM mirror.account_history h
          WHERE h._user_id = s._user_id AND h._change_id < s._change_id))
     LEFT JOIN mirror._collections c ON c._user_id = s._user_id AND c.collection = 'account'::text
     CROSS JOIN LATERAL UNNEST(
        CASE
            WHEN p._op = 'delete'::text AND s._deleted_at IS NULL THEN ARRAY['delete'::text]
            ELSE '{}'::text[]
        END ||
        CASE
            WHEN s._deleted_at IS NOT NULL THEN 'delete'::text
            WHEN p._op = 'delete'::text AND p._valid_to >= c.history_from THEN 'undelete'::text
            WHEN s._changed_at = s._first_seen_at AND p._op IS DISTINCT FROM 'update'::text THEN 'insert'::text
            ELSE 'update'::text
        END,
        CASE
            WHEN p._op = 'delete'::text AND s._deleted_at IS NULL THEN ARRAY[p._valid_to, s._changed_at]
            ELSE ARRAY[s._changed_at]
        END) e(op, changed_at)
     LEFT JOIN LATERAL ( SELECT k.field,
            p._raw -> k.field AS before,
            s._raw -> k.field AS after
           FROM jsonb_object_keys(p._raw || s._raw) k(field)
          WHERE e.op = 'update'::text AND p._op = 'update'::text AND p._valid_to = s._changed_at AND ((p._raw -> k.field)::text) IS DISTINCT FROM ((s._raw -> k.field)::text)) d ON true
  WHERE has_table_privilege('"mirror".account'::text, 'select'::text) AND has_table_privilege('"mirror".account_history'::text, 'select'::text)
UNION ALL
 SELECT s._user_id,
    'account'::text AS collection,
    s._user_id::text AS key,
    d.field,
    d.before,
    d.after,
    e.changed_at,
    s._change_id AS change_id,
    e.op
   FROM mirror.account_history s
     LEFT JOIN mirror.account_history p ON p._user_id = s._user_id AND p._change_id = (( SELECT max(h._change_id) AS max
           FROM mirror.account_history h
          WHERE h._user_id = s._user_id AND h._change_id < s._change_id))
     LEFT JOIN mirror._collections c ON c._user_id = s._user_id AND c.collection = 'account'::text
     CROSS JOIN LATERAL UNNEST(
        CASE
            WHEN p._op = 'delete'::text AND s._deleted_at IS NULL THEN ARRAY['delete'::text]
            ELSE '{}'::text[]
        END ||
        CASE
            WHEN s._deleted_at IS NOT NULL THEN 'delete'::text
            WHEN p._op = 'delete'::text AND p._valid_to >= c.history_from THEN 'undelete'::text
            WHEN s._changed_at = s._first_seen_at AND p._op IS DISTINCT FROM 'update'::text THEN 'insert'::text
            ELSE 'update'::text
        END,
        CASE
            WHEN p._op = 'delete'::text AND s._deleted_at IS NULL THEN ARRAY[p._valid_to, s._changed_at]
            ELSE ARRAY[s._changed_at]
        END) e(op, changed_at)
     LEFT JOIN LATERAL ( SELECT k.field,
            p._raw -> k.field AS before,
            s._raw -> k.field AS after
           FROM jsonb_object_keys(p._raw || s._raw) k(field)
          WHERE e.op = 'update'::text AND p._op = 'update'::text AND p._valid_to = s._changed_at AND ((p._raw -> k.field)::text) IS DISTINCT FROM ((s._raw -> k.field)::text)) d ON true
  WHERE has_table_privilege('"mirror".account'::text, 'select'::text) AND has_table_privilege('"mirror".account_history'::text, 'select'::text)
UNION ALL
 SELECT s._user_id,
    'account'::text AS collection,
    s._user_id::text AS key,
    NULL::text AS field,
    NULL::jsonb AS before,
    NULL::jsonb AS after,
    s._valid_to AS changed_at,
    s._change_id AS change_id,
    'delete'::text AS op
   FROM mirror.account_history s
  WHERE s._op = 'delete'::text AND NOT (EXISTS ( SELECT 1
           FROM mirror.account h
          WHERE h._user_id = s._user_id)) AND NOT (EXISTS ( SELECT 1
           FROM mirror.account_history h
          WHERE h._user_id = s._user_id AND h._change_id > s._change_id)) AND has_table_privilege('"mirror".account'::text, 'select'::text) AND has_table_privilege('"mirror".account_history'::text, 'select'::text)
UNION ALL
 SELECT s._user_id,
    'research_jobs'::text AS collection,
    s.job_id::text AS key,
    d.field,
    d.before,
    d.after,
    e.changed_at,
    s._change_id AS change_id,
    e.op
   FROM mirror.research_jobs s
     LEFT JOIN mirror.research_jobs_history p ON p._user_id = s._user_id AND p.job_id = s.job_id AND p._change_id = (( SELECT max(h._change_id) AS max
           FROM mirror.research_jobs_history h
          WHERE h._user_id = s._user_id AND h.job_id = s.job_id AND h._change_id < s._change_id))
     LEFT JOIN mirror._collections c ON c._user_id = s._user_id AND c.collection = 'research_jobs'::text
     CROSS JOIN LATERAL UNNEST(
        CASE
            WHEN p._op = 'delete'::text AND s._deleted_at IS NULL THEN ARRAY['delete'::text]
            ELSE '{}'::text[]
        END ||
        CASE
            WHEN s._deleted_at IS NOT NULL THEN 'delete'::text
            WHEN p._op = 'delete'::text AND p._valid_to >= c.history_from THEN 'undelete'::text
            WHEN s._changed_at = s._first_seen_at AND p._op IS DISTINCT FROM 'update'::text THEN 'insert'::text
            ELSE 'update'::text
        END,
        CASE
            WHEN p._op = 'delete'::text AND s._deleted_at IS NULL THEN ARRAY[p._valid_to, s._changed_at]
            ELSE ARRAY[s._changed_at]
        END) e(op, changed_at)
     LEFT JOIN LATERAL ( SELECT k.field,
            p._raw -> k.field AS before,
            s._raw -> k.field AS after
           FROM jsonb_object_keys(p._raw || s._raw) k(field)
          WHERE e.op = 'update'::text AND p._op = 'update'::text AND p._valid_to = s._changed_at AND ((p._raw -> k.field)::text) IS DISTINCT FROM ((s._raw -> k.field)::text)) d ON true
  WHERE has_table_privilege('"mirror".research_jobs'::text, 'select'::text) AND has_table_privilege('"mirror".research_jobs_history'::text, 'select'::text)
UNION ALL
 SELECT s._user_id,
    'research_jobs'::text AS collection,
    s.job_id::text AS key,
    d.field,
    d.before,
    d.after,
    e.changed_at,
    s._change_id AS change_id,
    e.op
   FROM mirror.research_jobs_history s
     LEFT JOIN mirror.research_jobs_history p ON p._user_id = s._user_id AND p.job_id = s.job_id AND p._change_id = (( SELECT max(h._change_id) AS max
           FROM mirror.research_jobs_history h
          WHERE h._user_id = s._user_id AND h.job_id = s.job_id AND h._change_id < s._change_id))
     LEFT JOIN mirror._collections c ON c._user_id = s._user_id AND c.collection = 'research_jobs'::text
     CROSS JOIN LATERAL UNNEST(
        CASE
            WHEN p._op = 'delete'::text AND s._deleted_at IS NULL THEN ARRAY['delete'::text]
            ELSE '{}'::text[]
        END ||
        CASE
            WHEN s._deleted_at IS NOT NULL THEN 'delete'::text
            WHEN p._op = 'delete'::text AND p._valid_to >= c.history_from THEN 'undelete'::text
            WHEN s._changed_at = s._first_seen_at AND p._op IS DISTINCT FROM 'update'::text THEN 'insert'::text
            ELSE 'update'::text
        END,
        CASE
            WHEN p._op = 'delete'::text AND s._deleted_at IS NULL THEN ARRAY[p._valid_to, s._changed_at]
            ELSE ARRAY[s._changed_at]
        END) e(op, changed_at)
     LEFT JOIN LATERAL ( SELECT k.field,
            p._raw -> k.field AS before,
            s._raw -> k.field AS after
           FROM jsonb_object_keys(p._raw || s._raw) k(field)
          WHERE e.op = 'update'::text AND p._op = 'update'::text AND p._valid_to = s._changed_at AND ((p._raw -> k.field)::text) IS DISTINCT FROM ((s._raw -> k.field)::text)) d ON true
  WHERE has_table_privilege('"mirror".research_jobs'::text, 'select'::text) AND has_table_privilege('"mirror".research_jobs_history'::text, 'select'::text)
UNION ALL
 SELECT s._user_id,
    'research_jobs'::text AS collection,
    s.job_id::text AS key,
    NULL::text AS field,
    NULL::jsonb AS before,
    NULL::jsonb AS after,
    s._valid_to AS changed_at,
    s._change_id AS change_id,
    'delete'::text AS op
   FROM mirror.research_jobs_history s
  WHERE s._op = 'delete'::text AND NOT (EXISTS ( SELECT 1
           FROM mirror.research_jobs h
          WHERE h._user_id = s._user_id AND h.job_id = s.job_id)) AND NOT (EXISTS ( SELECT 1
           FROM mirror.research_jobs_history h
          WHERE h._user_id = s._user_id AND h.job_id = s.job_id AND h._change_id > s._change_id)) AND has_table_privilege('"mirror".research_jobs'::text, 'select'::text) AND has_table_privilege('"mirror".research_jobs_history'::text, 'select'::text)
UNION ALL
 SELECT s._user_id,
    'bulk_research_jobs'::text AS collection,
    s.bulk_job_id::text AS key,
    d.field,
    d.before,
    d.after,
    e.changed_at,
    s._change_id AS change_id,
    e.op
   FROM mirror.bulk_research_jobs s
     LEFT JOIN mirror.bulk_research_jobs_history p ON p._user_id = s._user_id AND p.bulk_job_id = s.bulk_job_id AND p._change_id = (( SELECT max(h._change_id) AS max
           FROM mirror.bulk_research_jobs_history h
          WHERE h._user_id = s._user_id AND h.bulk_job_id = s.bulk_job_id AND h._change_id < s._change_id))
     LEFT JOIN mirror._collections c ON c._user_id = s._user_id AND c.collection = 'bulk_research_jobs'::text
     CROSS JOIN LATERAL UNNEST(
        CASE
            WHEN p._op = 'delete'::text AND s._deleted_at IS NULL THEN ARRAY['delete'::text]
            ELSE '{}'::text[]
        END ||
        CASE
            WHEN s._deleted_at IS NOT NULL THEN 'delete'::text
            WHEN p._op = 'delete'::text AND p._valid_to >= c.history_from THEN 'undelete'::text
            WHEN s._changed_at = s._first_seen_at AND p._op IS DISTINCT FROM 'update'::text THEN 'insert'::text
            ELSE 'update'::text
        END,
        CASE
            WHEN p._op = 'delete'::text AND s._deleted_at IS NULL THEN ARRAY[p._valid_to, s._changed_at]
            ELSE ARRAY[s._changed_at]
        END) e(op, changed_at)
     LEFT JOIN LATERAL ( SELECT k.field,
            p._raw -> k.field AS before,
            s._raw -> k.field AS after
           FROM jsonb_object_keys(p._raw || s._raw) k(field)
          WHERE e.op = 'update'::text AND p._op = 'update'::text AND p._valid_to = s._changed_at AND ((p._raw -> k.field)::text) IS DISTINCT FROM ((s._raw -> k.field)::text)) d ON true
  WHERE has_table_privilege('"mirror".bulk_research_jobs'::text, 'select'::text) AND has_table_privilege('"mirror".bulk_research_jobs_history'::text, 'select'::text)
UNION ALL
 SELECT s._user_id,
    'bulk_research_jobs'::text AS collection,
    s.bulk_job_id::text AS key,
    d.field,
    d.before,
    d.after,
    e.changed_at,
    s._change_id AS change_id,
    e.op
   FROM mirror.bulk_research_jobs_history s
     LEFT JOIN mirror.bulk_research_jobs_history p ON p._user_id = s._user_id AND p.bulk_job_id = s.bulk_job_id AND p._change_id = (( SELECT max(h._change_id) AS max
           FROM mirror.bulk_research_jobs_history h
          WHERE h._user_id = s._user_id AND h.bulk_job_id = s.bulk_job_id AND h._change_id < s._change_id))
     LEFT JOIN mirror._collections c ON c._user_id = s._user_id AND c.collection = 'bulk_research_jobs'::text
     CROSS JOIN LATERAL UNNEST(
        CASE
            WHEN p._op = 'delete'::text AND s._deleted_at IS NULL THEN ARRAY['delete'::text]
            ELSE '{}'::text[]
        END ||
        CASE
            WHEN s._deleted_at IS NOT NULL THEN 'delete'::text
            WHEN p._op = 'delete'::text AND p._valid_to >= c.history_from THEN 'undelete'::text
            WHEN s._changed_at = s._first_seen_at AND p._op IS DISTINCT FROM 'update'::text THEN 'insert'::text
            ELSE 'update'::text
        END,
        CASE
            WHEN p._op = 'delete'::text AND s._deleted_at IS NULL THEN ARRAY[p._valid_to, s._changed_at]
            ELSE ARRAY[s._changed_at]
        END) e(op, changed_at)
     LEFT JOIN LATERAL ( SELECT k.field,
            p._raw -> k.field AS before,
            s._raw -> k.field AS after
           FROM jsonb_object_keys(p._raw || s._raw) k(field)
          WHERE e.op = 'update'::text AND p._op = 'update'::text AND p._valid_to = s._changed_at AND ((p._raw -> k.field)::text) IS DISTINCT FROM ((s._raw -> k.field)::text)) d ON true
  WHERE has_table_privilege('"mirror".bulk_research_jobs'::text, 'select'::text) AND has_table_privilege('"mirror".bulk_research_jobs_history'::text, 'select'::text)
UNION ALL
 SELECT s._user_id,
    'bulk_research_jobs'::text AS collection,
    s.bulk_job_id::text AS key,
    NULL::text AS field,
    NULL::jsonb AS before,
    NULL::jsonb AS after,
    s._valid_to AS changed_at,
    s._change_id AS change_id,
    'delete'::text AS op
   FROM mirror.bulk_research_jobs_history s
  WHERE s._op = 'delete'::text AND NOT (EXISTS ( SELECT 1
           FROM mirror.bulk_research_jobs h
          WHERE h._user_id = s._user_id AND h.bulk_job_id = s.bulk_job_id)) AND NOT (EXISTS ( SELECT 1
           FROM mirror.bulk_research_jobs_history h
          WHERE h._user_id = s._user_id AND h.bulk_job_id = s.bulk_job_id AND h._change_id > s._change_id)) AND has_table_privilege('"mirror".bulk_research_jobs'::text, 'select'::text) AND has_table_privilege('"mirror".bulk_research_jobs_history'::text, 'select'::text)
UNION ALL
 SELECT s._user_id,
    'lists'::text AS collection,
    s.list_id::text AS key,
    d.field,
    d.before,
    d.after,
    e.changed_at,
    s._change_id AS change_id,
    e.op
   FROM mirror.lists s
     LEFT JOIN mirror.lists_history p ON p._user_id = s._user_id AND p.list_id = s.list_id AND p._change_id = (( SELECT max(h._change_id) AS max
           FROM mirror.lists_history h
          WHERE h._user_id = s._user_id AND h.list_id = s.list_id AND h._change_id < s._change_id))
     LEFT JOIN mirror._collections c ON c._user_id = s._user_id AND c.collection = 'lists'::text
     CROSS JOIN LATERAL UNNEST(
        CASE
            WHEN p._op = 'delete'::text AND s._deleted_at IS NULL THEN ARRAY['delete'::text]
            ELSE '{}'::text[]
        END ||
        CASE
            WHEN s._deleted_at IS NOT NULL THEN 'delete'::text
            WHEN p._op = 'delete'::text AND p._valid_to >= c.history_from THEN 'undelete'::text
            WHEN s._changed_at = s._first_seen_at AND p._op IS DISTINCT FROM 'update'::text THEN 'insert'::text
            ELSE 'update'::text
        END,
        CASE
            WHEN p._op = 'delete'::text AND s._deleted_at IS NULL THEN ARRAY[p._valid_to, s._changed_at]
            ELSE ARRAY[s._changed_at]
        END) e(op, changed_at)
     LEFT JOIN LATERAL ( SELECT k.field,
            p._raw -> k.field AS before,
            s._raw -> k.field AS after
           FROM jsonb_object_keys(p._raw || s._raw) k(field)
          WHERE e.op = 'update'::text AND p._op = 'update'::text AND p._valid_to = s._changed_at AND ((p._raw -> k.field)::text) IS DISTINCT FROM ((s._raw -> k.field)::text)) d ON true
  WHERE has_table_privilege('"mirror".lists'::text, 'select'::text) AND has_table_privilege('"mirror".lists_history'::text, 'select'::text)
UNION ALL
 SELECT s._user_id,
    'lists'::text AS collection,
    s.list_id::text AS key,
    d.field,
    d.before,
    d.after,
    e.changed_at,
    s._change_id AS change_id,
    e.op
   FROM mirror.lists_history s
     LEFT JOIN mirror.lists_history p ON p._user_id = s._user_id AND p.list_id = s.list_id AND p._change_id = (( SELECT max(h._change_id) AS max
           FROM mirror.lists_history h
          WHERE h._user_id = s._user_id AND h.list_id = s.list_id AND h._change_id < s._change_id))
     LEFT JOIN mirror._collections c ON c._user_id = s._user_id AND c.collection = 'lists'::text
     CROSS JOIN LATERAL UNNEST(
        CASE
            WHEN p._op = 'delete'::text AND s._deleted_at IS NULL THEN ARRAY['delete'::text]
            ELSE '{}'::text[]
        END ||
        CASE
            WHEN s._deleted_at IS NOT NULL THEN 'delete'::text
            WHEN p._op = 'delete'::text AND p._valid_to >= c.history_from THEN 'undelete'::text
            WHEN s._changed_at = s._first_seen_at AND p._op IS DISTINCT FROM 'update'::text THEN 'insert'::text
            ELSE 'update'::text
        END,
        CASE
            WHEN p._op = 'delete'::text AND s._deleted_at IS NULL THEN ARRAY[p._valid_to, s._changed_at]
            ELSE ARRAY[s._changed_at]
        END) e(op, changed_at)
     LEFT JOIN LATERAL ( SELECT k.field,
            p._raw -> k.field AS before,
            s._raw -> k.field AS after
           FROM jsonb_object_keys(p._raw || s._raw) k(field)
          WHERE e.op = 'update'::text AND p._op = 'update'::text AND p._valid_to = s._changed_at AND ((p._raw -> k.field)::text) IS DISTINCT FROM ((s._raw -> k.field)::text)) d ON true
  WHERE has_table_privilege('"mirror".lists'::text, 'select'::text) AND has_table_privilege('"mirror".lists_history'::text, 'select'::text)
UNION ALL
 SELECT s._user_id,
    'lists'::text AS collection,
    s.list_id::text AS key,
    NULL::text AS field,
    NULL::jsonb AS before,
    NULL::jsonb AS after,
    s._valid_to AS changed_at,
    s._change_id AS change_id,
    'delete'::text AS op
   FROM mirror.lists_history s
  WHERE s._op = 'delete'::text AND NOT (EXISTS ( SELECT 1
           FROM mirror.lists h
          WHERE h._user_id = s._user_id AND h.list_id = s.list_id)) AND NOT (EXISTS ( SELECT 1
           FROM mirror.lists_history h
          WHERE h._user_id = s._user_id AND h.list_id = s.list_id AND h._change_id > s._change_id)) AND has_table_privilege('"mirror".lists'::text, 'select'::text) AND has_table_privilege('"mirror".lists_history'::text, 'select'::text)
UNION ALL
 SELECT s._user_id,
    'list_items'::text AS collection,
    (s.list_id::text || ':'::text) || s.id AS key,
    d.field,
    d.before,
    d.after,
    e.changed_at,
    s._change_id AS change_id,
    e.op
   FROM mirror.list_items s
     LEFT JOIN mirror.list_items_history p ON p._user_id = s._user_id AND p.list_id = s.list_id AND p.id = s.id AND p._change_id = (( SELECT max(h._change_id) AS max
           FROM mirror.list_items_history h
          WHERE h._user_id = s._user_id AND h.list_id = s.list_id AND h.id = s.id AND h._change_id < s._change_id))
     LEFT JOIN mirror._collections c ON c._user_id = s._user_id AND c.collection = 'list_items'::text
     CROSS JOIN LATERAL UNNEST(
        CASE
            WHEN p._op = 'delete'::text AND s._deleted_at IS NULL THEN ARRAY['delete'::text]
            ELSE '{}'::text[]
        END ||
        CASE
            WHEN s._deleted_at IS NOT NULL THEN 'delete'::text
            WHEN p._op = 'delete'::text AND p._valid_to >= c.history_from THEN 'undelete'::text
            WHEN s._changed_at = s._first_seen_at AND p._op IS DISTINCT FROM 'update'::text THEN 'insert'::text
            ELSE 'update'::text
        END,
        CASE
            WHEN p._op = 'delete'::text AND s._deleted_at IS NULL THEN ARRAY[p._valid_to, s._changed_at]
            ELSE ARRAY[s._changed_at]
        END) e(op, changed_at)
     LEFT JOIN LATERAL ( SELECT k.field,
            p._raw -> k.field AS before,
            s._raw -> k.field AS after
           FROM jsonb_object_keys(p._raw || s._raw) k(field)
          WHERE e.op = 'update'::text AND p._op = 'update'::text AND p._valid_to = s._changed_at AND ((p._raw -> k.field)::text) IS DISTINCT FROM ((s._raw -> k.field)::text)) d ON true
  WHERE has_table_privilege('"mirror".list_items'::text, 'select'::text) AND has_table_privilege('"mirror".list_items_history'::text, 'select'::text)
UNION ALL
 SELECT s._user_id,
    'list_items'::text AS collection,
    (s.list_id::text || ':'::text) || s.id AS key,
    d.field,
    d.before,
    d.after,
    e.changed_at,
    s._change_id AS change_id,
    e.op
   FROM mirror.list_items_history s
     LEFT JOIN mirror.list_items_history p ON p._user_id = s._user_id AND p.list_id = s.list_id AND p.id = s.id AND p._change_id = (( SELECT max(h._change_id) AS max
           FROM mirror.list_items_history h
          WHERE h._user_id = s._user_id AND h.list_id = s.list_id AND h.id = s.id AND h._change_id < s._change_id))
     LEFT JOIN mirror._collections c ON c._user_id = s._user_id AND c.collection = 'list_items'::text
     CROSS JOIN LATERAL UNNEST(
        CASE
            WHEN p._op = 'delete'::text AND s._deleted_at IS NULL THEN ARRAY['delete'::text]
            ELSE '{}'::text[]
        END ||
        CASE
            WHEN s._deleted_at IS NOT NULL THEN 'delete'::text
            WHEN p._op = 'delete'::text AND p._valid_to >= c.history_from THEN 'undelete'::text
            WHEN s._changed_at = s._first_seen_at AND p._op IS DISTINCT FROM 'update'::text THEN 'insert'::text
            ELSE 'update'::text
        END,
        CASE
            WHEN p._op = 'delete'::text AND s._deleted_at IS NULL THEN ARRAY[p._valid_to, s._changed_at]
            ELSE ARRAY[s._changed_at]
        END) e(op, changed_at)
     LEFT JOIN LATERAL ( SELECT k.field,
            p._raw -> k.field AS before,
            s._raw -> k.field AS after
           FROM jsonb_object_keys(p._raw || s._raw) k(field)
          WHERE e.op = 'update'::text AND p._op = 'update'::text AND p._valid_to = s._changed_at AND ((p._raw -> k.field)::text) IS DISTINCT FROM ((s._raw -> k.field)::text)) d ON true
  WHERE has_table_privilege('"mirror".list_items'::text, 'select'::text) AND has_table_privilege('"mirror".list_items_history'::text, 'select'::text)
UNION ALL
 SELECT s._user_id,
    'list_items'::text AS collection,
    (s.list_id::text || ':'::text) || s.id AS key,
    NULL::text AS field,
    NULL::jsonb AS before,
    NULL::jsonb AS after,
    s._valid_to AS changed_at,
    s._change_id AS change_id,
    'delete'::text AS op
   FROM mirror.list_items_history s
  WHERE s._op = 'delete'::text AND NOT (EXISTS ( SELECT 1
           FROM mirror.list_items h
          WHERE h._user_id = s._user_id AND h.list_id = s.list_id AND h.id = s.id)) AND NOT (EXISTS ( SELECT 1
           FROM mirror.list_items_history h
          WHERE h._user_id = s._user_id AND h.list_id = s.list_id AND h.id = s.id AND h._change_id > s._change_id)) AND has_table_privilege('"mirror".list_items'::text, 'select'::text) AND has_table_privilege('"mirror".list_items_history'::text, 'select'::text)
UNION ALL
 SELECT s._user_id,
    'watchlist'::text AS collection,
    s.id AS key,
    d.field,
    d.before,
    d.after,
    e.changed_at,
    s._change_id AS change_id,
    e.op
   FROM mirror.watchlist s
     LEFT JOIN mirror.watchlist_history p ON p._user_id = s._user_id AND p.id = s.id AND p._change_id = (( SELECT max(h._change_id) AS max
           FROM mirror.watchlist_history h
          WHERE h._user_id = s._user_id AND h.id = s.id AND h._change_id < s._change_id))
     LEFT JOIN mirror._collections c ON c._user_id = s._user_id AND c.collection = 'watchlist'::text
     CROSS JOIN LATERAL UNNEST(
        CASE
            WHEN p._op = 'delete'::text AND s._deleted_at IS NULL THEN ARRAY['delete'::text]
            ELSE '{}'::text[]
        END ||
        CASE
            WHEN s._deleted_at IS NOT NULL THEN 'delete'::text
            WHEN p._op = 'delete'::text AND p._valid_to >= c.history_from THEN 'undelete'::text
            WHEN s._changed_at = s._first_seen_at AND p._op IS DISTINCT FROM 'update'::text THEN 'insert'::text
            ELSE 'update'::text
        END,
        CASE
            WHEN p._op = 'delete'::text AND s._deleted_at IS NULL THEN ARRAY[p._valid_to, s._changed_at]
            ELSE ARRAY[s._changed_at]
        END) e(op, changed_at)
     LEFT JOIN LATERAL ( SELECT k.field,
            p._raw -> k.field AS before,
            s._raw -> k.field AS after
           FROM jsonb_object_keys(p._raw || s._raw) k(field)
          WHERE e.op = 'update'::text AND p._op = 'update'::text AND p._valid_to = s._changed_at AND ((p._raw -> k.field)::text) IS DISTINCT FROM ((s._raw -> k.field)::text)) d ON true
  WHERE has_table_privilege('"mirror".watchlist'::text, 'select'::text) AND has_table_privilege('"mirror".watchlist_history'::text, 'select'::text)
UNION ALL
 SELECT s._user_id,
    'watchlist'::text AS collection,
    s.id AS key,
    d.field,
    d.before,
    d.after,
    e.changed_at,
    s._change_id AS change_id,
    e.op
   FROM mirror.watchlist_history s
     LEFT JOIN mirror.watchlist_history p ON p._user_id = s._user_id AND p.id = s.id AND p._change_id = (( SELECT max(h._change_id) AS max
           FROM mirror.watchlist_history h
          WHERE h._user_id = s._user_id AND h.id = s.id AND h._change_id < s._change_id))
     LEFT JOIN mirror._collections c ON c._user_id = s._user_id AND c.collection = 'watchlist'::text
     CROSS JOIN LATERAL UNNEST(
        CASE
            WHEN p._op = 'delete'::text AND s._deleted_at IS NULL THEN ARRAY['delete'::text]
            ELSE '{}'::text[]
        END ||
        CASE
            WHEN s._deleted_at IS NOT NULL THEN 'delete'::text
            WHEN p._op = 'delete'::text AND p._valid_to >= c.history_from THEN 'undelete'::text
            WHEN s._changed_at = s._first_seen_at AND p._op IS DISTINCT FROM 'update'::text THEN 'insert'::text
            ELSE 'update'::text
        END,
        CASE
            WHEN p._op = 'delete'::text AND s._deleted_at IS NULL THEN ARRAY[p._valid_to, s._changed_at]
            ELSE ARRAY[s._changed_at]
        END) e(op, changed_at)
     LEFT JOIN LATERAL ( SELECT k.field,
            p._raw -> k.field AS before,
            s._raw -> k.field AS after
           FROM jsonb_object_keys(p._raw || s._raw) k(field)
          WHERE e.op = 'update'::text AND p._op = 'update'::text AND p._valid_to = s._changed_at AND ((p._raw -> k.field)::text) IS DISTINCT FROM ((s._raw -> k.field)::text)) d ON true
  WHERE has_table_privilege('"mirror".watchlist'::text, 'select'::text) AND has_table_privilege('"mirror".watchlist_history'::text, 'select'::text)
UNION ALL
 SELECT s._user_id,
    'watchlist'::text AS collection,
    s.id AS key,
    NULL::text AS field,
    NULL::jsonb AS before,
    NULL::jsonb AS after,
    s._valid_to AS changed_at,
    s._change_id AS change_id,
    'delete'::text AS op
   FROM mirror.watchlist_history s
  WHERE s._op = 'delete'::text AND NOT (EXISTS ( SELECT 1
           FROM mirror.watchlist h
          WHERE h._user_id = s._user_id AND h.id = s.id)) AND NOT (EXISTS ( SELECT 1
           FROM mirror.watchlist_history h
          WHERE h._user_id = s._user_id AND h.id = s.id AND h._change_id > s._change_id)) AND has_table_privilege('"mirror".watchlist'::text, 'select'::text) AND has_table_privilege('"mirror".watchlist_history'::text, 'select'::text);

create view mirror.columns with (security_invoker=true) as
 SELECT c.collection,
    c.field,
    c.column_name,
    c.type,
    c.documented,
    c.first_seen_at,
    COALESCE(x.conflicts, 0::numeric)::bigint AS conflicts
   FROM mirror._columns c
     LEFT JOIN ( SELECT _conflicts.collection,
            _conflicts.field,
            sum(_conflicts.conflicts) AS conflicts
           FROM mirror._conflicts
          GROUP BY _conflicts.collection, _conflicts.field) x ON x.collection = c.collection AND x.field = c.field;

create view mirror.companies with (security_invoker=true) as
 SELECT c._user_id,
    c._domain AS domain,
    c.jobs::bigint AS research_jobs,
    c.items::bigint AS list_items,
    c.lists::bigint AS lists,
    c.watched > 0::numeric AS watched,
    j.status AS last_job_status,
    COALESCE(j._first_seen_at) AS last_researched_at,
    COALESCE(NULL::numeric, NULL::numeric) AS latest_score
   FROM ( SELECT b._user_id,
            b._domain,
            sum(b.jobs) AS jobs,
            max(b.last_job) AS last_job,
            sum(b.items) AS items,
            sum(b.lists) AS lists,
            sum(b.watched) AS watched
           FROM ( SELECT research_jobs._user_id,
                    research_jobs._domain,
                    count(*) AS jobs,
                    max(research_jobs.job_id) AS last_job,
                    0 AS items,
                    0 AS lists,
                    0 AS watched
                   FROM mirror.research_jobs
                  WHERE research_jobs._deleted_at IS NULL AND research_jobs._domain IS NOT NULL AND has_table_privilege('"mirror".research_jobs'::text, 'select'::text)
                  GROUP BY research_jobs._user_id, research_jobs._domain
                UNION ALL
                 SELECT list_items._user_id,
                    list_items._domain,
                    0,
                    NULL::bigint,
                    count(*) AS count,
                    count(DISTINCT list_items.list_id) AS count,
                    0
                   FROM mirror.list_items
                  WHERE list_items._deleted_at IS NULL AND list_items._domain IS NOT NULL AND has_table_privilege('"mirror".list_items'::text, 'select'::text)
                  GROUP BY list_items._user_id, list_items._domain
                UNION ALL
                 SELECT watchlist._user_id,
                    watchlist._domain,
                    0,
                    NULL::bigint,
                    0,
                    0,
                    count(*) AS count
                   FROM mirror.watchlist
                  WHERE watchlist._deleted_at IS NULL AND watchlist._domain IS NOT NULL AND has_table_privilege('"mirror".watchlist'::text, 'select'::text)
                  GROUP BY watchlist._user_id, watchlist._domain) b
          GROUP BY b._user_id, b._domain) c
     LEFT JOIN mirror.research_jobs j ON j._user_id = c._user_id AND j.job_id = c.last_job;

create view mirror.credits_daily with (security_invoker=true) as
 SELECT _user_id,
    day,
    closing + burnt - topped_up AS opening,
    burnt,
    topped_up,
    closing
   FROM ( SELECT daily._user_id,
            daily.day,
            daily.burnt,
            daily.topped_up,
            max(daily.closing) OVER (PARTITION BY daily._user_id, daily.known) AS closing
           FROM ( SELECT d._user_id,
                    d.day,
                    COALESCE(v.burnt, 0::numeric) AS burnt,
                    COALESCE(v.topped_up, 0::numeric) AS topped_up,
                    v.closing,
                    count(v.closing) OVER (PARTITION BY d._user_id ORDER BY d.day) AS known
                   FROM ( SELECT a._user_id,
                            generate_series((min(a._valid_from) AT TIME ZONE 'UTC'::text)::date::timestamp with time zone, (now() AT TIME ZONE 'UTC'::text)::date::timestamp with time zone, '1 day'::interval)::date AS day
                           FROM ( SELECT account._user_id,
                                    account._change_id,
                                    account._changed_at AS _valid_from,
                                    account.credits
                                   FROM mirror.account
                                  WHERE account._deleted_at IS NULL
                                UNION ALL
                                 SELECT account_history._user_id,
                                    account_history._change_id,
                                    account_history._valid_from,
                                    account_history.credits
                                   FROM mirror.account_history) a
                          WHERE a.credits IS NOT NULL
                          GROUP BY a._user_id) d
                     LEFT JOIN ( SELECT s._user_id,
                            (s._valid_from AT TIME ZONE 'UTC'::text)::date AS day,
                            COALESCE(sum(s.before - s.credits) FILTER (WHERE s.credits < s.before), 0::numeric) AS burnt,
                            COALESCE(sum(s.credits - s.before) FILTER (WHERE s.credits > s.before), 0::numeric) AS topped_up,
                            (array_agg(s.credits ORDER BY s._valid_from DESC, s._change_id DESC))[1] AS closing
                           FROM ( SELECT a._user_id,
                                    a._valid_from,
                                    a._change_id,
                                    a.credits,
                                    lag(a.credits) OVER (PARTITION BY a._user_id ORDER BY a._valid_from, a._change_id) AS before
                                   FROM ( SELECT account._user_id,
    account._change_id,
    account._changed_at AS _valid_from,
    account.credits
   FROM mirror.account
  WHERE account._deleted_at IS NULL
UNION ALL
 SELECT account_history._user_id,
    account_history._change_id,
    account_history._valid_from,
    account_history.credits
   FROM mirror.account_history) a
                                  WHERE a.credits IS NOT NULL) s
                          GROUP BY s._user_id, ((s._valid_from AT TIME ZONE 'UTC'::text)::date)) v ON v._user_id = d._user_id AND v.day = d.day) daily) filled
  WHERE has_table_privilege('"mirror".account'::text, 'select'::text) AND has_table_privilege('"mirror".account_versions'::text, 'select'::text);

create view mirror.data_quality with (security_invoker=true) as
 SELECT _user_id,
    collection,
    ( SELECT count(*) AS count
           FROM mirror.quarantine q
          WHERE q._user_id = c._user_id AND q.collection = c.collection) AS quarantined_items,
    COALESCE(( SELECT sum(x.conflicts) AS sum
           FROM mirror._conflicts x
          WHERE x._user_id = c._user_id AND x.collection = c.collection), 0::numeric)::bigint AS field_conflicts,
    held_deletions,
    waiting_deletions,
    ( SELECT count(*) AS count
           FROM mirror.quarantine q
          WHERE q._user_id = c._user_id AND q.collection = c.collection AND NOT q.kept) AS quarantined_without_text,
    ( SELECT count(*) AS count
           FROM mirror.forgotten f
          WHERE f._user_id = c._user_id AND f.collection = c.collection) AS forgotten_rows,
    ( SELECT count(*) AS count
           FROM mirror.stale_rows s
          WHERE s._user_id = c._user_id AND s.collection = c.collection) AS stale_rows
   FROM mirror._collections c;

create view mirror.freshness with (security_invoker=true) as
 SELECT _user_id,
    collection,
    live_rows,
    deleted_rows,
    polled_at,
    complete_as_of,
        CASE
            WHEN paused_at IS NULL THEN next_poll_at
            ELSE NULL::timestamp with time zone
        END AS next_poll_at,
        CASE
            WHEN paused_at IS NULL THEN next_full_at
            ELSE NULL::timestamp with time zone
        END AS next_full_at,
        CASE
            WHEN paused_at IS NOT NULL THEN 'paused'::text
            WHEN state = 'failing'::text THEN state
            WHEN polled_at > (now() + '00:01:00'::interval) THEN 'overdue'::text
            WHEN reading_at >= (now() - '00:02:30'::interval) AND reading_at <= (now() + '00:02:30'::interval) THEN state
            WHEN next_poll_at < (now() - '00:05:00'::interval) OR next_full_at < (now() - '00:15:00'::interval) THEN 'overdue'::text
            ELSE state
        END AS state,
    last_error,
    last_error_at,
        CASE
            WHEN state = 'failing'::text AND paused_at IS NULL THEN failing_since
            ELSE NULL::timestamp with time zone
        END AS failing_since
   FROM mirror._collections;

create view mirror.list_items_live with (security_invoker=true) as
 SELECT (((_user_id::text || ':'::text) || list_id::text) || ':'::text) || id AS _key,
    (_user_id::text || ':'::text) || list_id::text AS _list_key,
    _user_id,
    list_id,
    id,
    _first_seen_at,
    _changed_at,
    _change_id,
    _domain
   FROM mirror.list_items
  WHERE _deleted_at IS NULL;

create view mirror.list_items_versions with (security_invoker=true) as
 SELECT list_items._user_id,
    list_items.list_id,
    list_items.id,
    list_items._first_seen_at,
    list_items._changed_at,
    list_items._change_id,
    list_items._raw,
    list_items._changed_at AS _valid_from,
    NULL::timestamp with time zone AS _valid_to,
    true AS _is_current,
    NULL::text AS _op
   FROM mirror.list_items
  WHERE list_items._deleted_at IS NULL
UNION ALL
 SELECT list_items_history._user_id,
    list_items_history.list_id,
    list_items_history.id,
    list_items_history._first_seen_at,
    list_items_history._changed_at,
    list_items_history._change_id,
    list_items_history._raw,
    list_items_history._valid_from,
    list_items_history._valid_to,
    false AS _is_current,
    list_items_history._op
   FROM mirror.list_items_history;

create view mirror.lists_live with (security_invoker=true) as
 SELECT (_user_id::text || ':'::text) || list_id::text AS _key,
    _user_id,
    list_id,
    _first_seen_at,
    _changed_at,
    _change_id
   FROM mirror.lists
  WHERE _deleted_at IS NULL;

create view mirror.lists_versions with (security_invoker=true) as
 SELECT lists._user_id,
    lists.list_id,
    lists._first_seen_at,
    lists._changed_at,
    lists._change_id,
    lists._raw,
    lists._changed_at AS _valid_from,
    NULL::timestamp with time zone AS _valid_to,
    true AS _is_current,
    NULL::text AS _op
   FROM mirror.lists
  WHERE lists._deleted_at IS NULL
UNION ALL
 SELECT lists_history._user_id,
    lists_history.list_id,
    lists_history._first_seen_at,
    lists_history._changed_at,
    lists_history._change_id,
    lists_history._raw,
    lists_history._valid_from,
    lists_history._valid_to,
    false AS _is_current,
    lists_history._op
   FROM mirror.lists_history;

create view mirror.research_jobs_live with (security_invoker=true) as
 SELECT (_user_id::text || ':'::text) || job_id::text AS _key,
    _user_id,
    job_id,
    status,
    _first_seen_at,
    _changed_at,
    _change_id,
    _domain
   FROM mirror.research_jobs
  WHERE _deleted_at IS NULL;

create view mirror.research_jobs_versions with (security_invoker=true) as
 SELECT research_jobs._user_id,
    research_jobs.job_id,
    research_jobs.status,
    research_jobs._first_seen_at,
    research_jobs._changed_at,
    research_jobs._change_id,
    research_jobs._raw,
    research_jobs._changed_at AS _valid_from,
    NULL::timestamp with time zone AS _valid_to,
    true AS _is_current,
    NULL::text AS _op
   FROM mirror.research_jobs
  WHERE research_jobs._deleted_at IS NULL
UNION ALL
 SELECT research_jobs_history._user_id,
    research_jobs_history.job_id,
    research_jobs_history.status,
    research_jobs_history._first_seen_at,
    research_jobs_history._changed_at,
    research_jobs_history._change_id,
    research_jobs_history._raw,
    research_jobs_history._valid_from,
    research_jobs_history._valid_to,
    false AS _is_current,
    research_jobs_history._op
   FROM mirror.research_jobs_history;

create view mirror.stale_rows with (security_invoker=true) as
 SELECT _user_id,
    collection,
    key,
    since,
    reason
   FROM ( SELECT q._user_id,
            q.collection,
            q.since,
            q.reason,
                CASE q.collection
                    WHEN 'account'::text THEN ( SELECT t._user_id::text AS _user_id
                       FROM mirror.account t
                      WHERE t._user_id = q._user_id AND t._deleted_at IS NULL)
                    WHEN 'research_jobs'::text THEN ( SELECT t.job_id::text AS job_id
                       FROM mirror.research_jobs t
                      WHERE t._user_id = q._user_id AND t.job_id = q.id AND t._deleted_at IS NULL)
                    WHEN 'bulk_research_jobs'::text THEN ( SELECT t.bulk_job_id::text AS bulk_job_id
                       FROM mirror.bulk_research_jobs t
                      WHERE t._user_id = q._user_id AND t.bulk_job_id = q.id AND t._deleted_at IS NULL)
                    WHEN 'lists'::text THEN ( SELECT t.list_id::text AS list_id
                       FROM mirror.lists t
                      WHERE t._user_id = q._user_id AND t.list_id = q.id AND t._deleted_at IS NULL)
                    WHEN 'list_items'::text THEN ( SELECT (t.list_id || ':'::text) || t.id
                       FROM mirror.list_items t
                      WHERE t._user_id = q._user_id AND t.list_id = q.id AND t.id = q.key AND t._deleted_at IS NULL)
                    WHEN 'watchlist'::text THEN ( SELECT t.id
                       FROM mirror.watchlist t
                      WHERE t._user_id = q._user_id AND t.id = q.key AND t._deleted_at IS NULL)
                    ELSE NULL::text
                END AS key
           FROM ( SELECT n._user_id,
                    n.collection,
                    n.key,
                    n.first_seen_at AS since,
                    n.reason,
                        CASE
                            WHEN n.number ~ '^-?[0-9]{1,19}$'::text THEN
                            CASE
                                WHEN n.number::numeric >= '-9223372036854775808'::bigint::numeric AND n.number::numeric <= '9223372036854775807'::bigint::numeric THEN n.number::bigint
                                ELSE NULL::bigint
                            END
                            ELSE NULL::bigint
                        END AS id
                   FROM ( SELECT x._user_id,
                            x.collection,
                            x.parent,
                            x.item_hash,
                            x.key,
                            x.reason,
                            x.first_seen_at,
                            x.last_seen_at,
                            x.place,
                            x.bytes,
                            x.kept,
                                CASE
                                    WHEN x.collection = 'list_items'::text THEN x.parent
                                    ELSE x.key
                                END AS number
                           FROM mirror.quarantine x
                          WHERE x.key IS NOT NULL) n) q) s
  WHERE key IS NOT NULL;

create view mirror.watchlist_live with (security_invoker=true) as
 SELECT (_user_id::text || ':'::text) || id AS _key,
    _user_id,
    id,
    _first_seen_at,
    _changed_at,
    _change_id,
    _domain
   FROM mirror.watchlist
  WHERE _deleted_at IS NULL;

create view mirror.watchlist_versions with (security_invoker=true) as
 SELECT watchlist._user_id,
    watchlist.id,
    watchlist._first_seen_at,
    watchlist._changed_at,
    watchlist._change_id,
    watchlist._raw,
    watchlist._changed_at AS _valid_from,
    NULL::timestamp with time zone AS _valid_to,
    true AS _is_current,
    NULL::text AS _op
   FROM mirror.watchlist
  WHERE watchlist._deleted_at IS NULL
UNION ALL
 SELECT watchlist_history._user_id,
    watchlist_history.id,
    watchlist_history._first_seen_at,
    watchlist_history._changed_at,
    watchlist_history._change_id,
    watchlist_history._raw,
    watchlist_history._valid_from,
    watchlist_history._valid_to,
    false AS _is_current,
    watchlist_history._op
   FROM mirror.watchlist_history;

CREATE OR REPLACE FUNCTION mirror._as_of(name text, moment timestamp with time zone)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET standard_conforming_strings TO 'on'
 SET array_nulls TO 'on'
 SET transform_null_equals TO 'off'
 SET quote_all_identifiers TO 'off'
AS $function$
declare
  uncovered bigint;
  unkept bigint;
  covered_from timestamptz;
  live text;
  archived text;
  -- The moment in the query.
  present text := '$1';
begin
  if moment is null then
    raise exception using errcode = 'null_value_not_allowed', message = format('%s_as_of: the moment is null', name);
  end if;
  if moment >= now() then
    moment := 'infinity';
    present := '''infinity''::timestamptz';
  end if;
  select c._user_id into uncovered from "mirror"._collections c
  where c.collection = name and moment >= coalesce(c.mirrored_from, '-infinity')
    and (c.history_from is null or moment < c.history_from)
  order by c._user_id limit 1;
  if uncovered is not null or not exists (
    select 1 from "mirror"._collections c where c.collection = name and moment >= coalesce(c.mirrored_from, '-infinity')
  ) then
    -- From the end of the last gap on: an account has one where it was mirrored before its history begins.
    select min(c._user_id) filter (where c.history_from is null),
      greatest(min(coalesce(c.mirrored_from, '-infinity')),
        max(c.history_from) filter (where c.history_from > coalesce(c.mirrored_from, '-infinity')))
    into unkept, covered_from
    from "mirror"._collections c where c.collection = name;
    raise exception using errcode = 'RM001',
      message = format('mirror.%s is not known as of %s: %s', name, moment, case
        when unkept is not null then format('no history of account %s is kept', unkept)
        when covered_from is not null then format('history covers it from %s on', covered_from)
        else 'nothing of it has been mirrored' end),
      detail = coalesce(
        'Account ' || uncovered || ' was mirrored then, but its superseded versions of that time are not kept.',
        'Nothing of it was mirrored then.'),
      hint = 'MIRROR_HISTORY says whether and for how long superseded versions are kept; mirror._collections has mirrored_from and history_from.';
  end if;

  select string_agg(quote_ident(a.attname), ', ' order by a.attnum),
    string_agg(case when h.attname is null or a.attname = '_deleted_at' then 'null::' || format_type(a.atttypid, a.atttypmod)
      else quote_ident(a.attname) end, ', ' order by a.attnum)
  into live, archived
  from pg_attribute a
    left join pg_attribute h on h.attrelid = format('"mirror".%I', name || '_history')::regclass
      and h.attname = a.attname and h.atttypid = a.atttypid and h.atttypmod = a.atttypmod and not h.attisdropped
  where a.attrelid = format('"mirror".%I', name)::regclass and a.attnum > 0 and not a.attisdropped;
  return format('select %1$s from "mirror".%2$I where _deleted_at is null and _changed_at <= %5$s
    union all select %3$s from "mirror".%4$I where _valid_from <= %5$s and _valid_to > %5$s',
    live, name, archived, name || '_history', present);
end $function$
;

CREATE OR REPLACE FUNCTION mirror._changed_since(name text, keys text[], ordered boolean)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET standard_conforming_strings TO 'on'
 SET array_nulls TO 'on'
 SET transform_null_equals TO 'off'
 SET quote_all_identifiers TO 'off'
AS $function$
declare
  live text;
  archived text;
  same_row text;
  same_version text;
begin
  select string_agg('t.' || quote_ident(a.attname), ', ' order by a.attnum),
    string_agg(case when a.attname = '_deleted_at' then 'h._valid_to'
      when h.attname is null then 'null::' || format_type(a.atttypid, a.atttypmod)
      else 'h.' || quote_ident(a.attname) end, ', ' order by a.attnum)
  into live, archived
  from pg_attribute a
    left join pg_attribute h on h.attrelid = format('"mirror".%I', name || '_history')::regclass
      and h.attname = a.attname and h.atttypid = a.atttypid and h.atttypmod = a.atttypmod and not h.attisdropped
  where a.attrelid = format('"mirror".%I', name)::regclass and a.attnum > 0 and not a.attisdropped;
  select coalesce(string_agg(format(' and l.%1$I = h.%1$I', k), ''), ''), coalesce(string_agg(format(' and n.%1$I = h.%1$I', k), ''), '')
  into same_row, same_version from unnest(keys) k;
  -- Both halves by their index: only one that has its own order and limit is read no further.
  return format('(select %1$s from "mirror".%2$I t where t._user_id = $1 and t._change_id > $2%7$s)
    union all
    (select %3$s from "mirror".%4$I h where h._user_id = $1 and h._change_id > $2 and h._op = ''delete''
      and not exists (select 1 from "mirror".%2$I l where l._user_id = $1%5$s)
      and not exists (select 1 from "mirror".%4$I n where n._user_id = $1%6$s and n._op = ''delete'' and n._change_id > h._change_id)%7$s)%7$s',
    live, name, archived, name || '_history', same_row, same_version,
    case when ordered then ' order by _change_id limit $3' else '' end);
end $function$
;

CREATE OR REPLACE FUNCTION mirror._covered_as_of(name text, moment timestamp with time zone)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET standard_conforming_strings TO 'on'
 SET array_nulls TO 'on'
 SET transform_null_equals TO 'off'
 SET quote_all_identifiers TO 'off'
AS $function$
begin
  perform "mirror"._as_of(name, moment);
  return true;
end $function$
;

CREATE OR REPLACE FUNCTION mirror.account_as_of(moment timestamp with time zone)
 RETURNS SETOF mirror.account
 LANGUAGE sql
 STABLE
AS $function$
select t._user_id, t.email, t.credits, t.subscription, t.org, t._first_seen_at, t._changed_at, t._change_id, t._deleted_at, t._hash, t._raw, t._verbatim from "mirror".account t
where t._deleted_at is null and (t._changed_at <= coalesce(moment, 'infinity') or moment >= pg_catalog.now())
  and "mirror"._covered_as_of('account', moment)
union all
select h._user_id, h.email, h.credits, h.subscription, h.org, h._first_seen_at, h._changed_at, h._change_id, null::timestamp with time zone, h._hash, h._raw, h._verbatim from "mirror".account_history h
where h._valid_from <= moment and h._valid_to > moment and moment < pg_catalog.now()
  and "mirror"._covered_as_of('account', moment)
$function$
;

CREATE OR REPLACE FUNCTION mirror.account_since(marks jsonb DEFAULT '{}'::jsonb, at_most bigint DEFAULT NULL::bigint)
 RETURNS SETOF mirror.account
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET standard_conforming_strings TO 'on'
 SET array_nulls TO 'on'
 SET transform_null_equals TO 'off'
 SET quote_all_identifiers TO 'off'
AS $function$
      declare
        a record;
        r "mirror".account;
        mark bigint;
        batch bigint;
        size bigint;
        taken bigint;
        remaining bigint;
      begin
        if jsonb_typeof(marks) is distinct from 'object' then
          raise exception using errcode = 'invalid_parameter_value',
            message = format('account_since: marks must be a JSON object, not %s', coalesce(jsonb_typeof(marks), 'NULL')),
            hint = 'The greatest _change_id that was taken, by account: ''{"1001": 1785000000000000}''. ''{}'' takes all.';
        end if;
        for a in select c._user_id from "mirror"._collections c where c.collection = 'account' order by c._user_id loop
          mark := coalesce((marks ->> a._user_id::text)::bigint, 0);
          -- An account of which nothing was taken is taken as a whole, in no order.
          batch := case when mark > 0 then 1000 end;
          remaining := at_most;
          loop
            size := least(batch, remaining);
            taken := 0;
            for r in execute "mirror"._changed_since('account', '{}', size is not null) using a._user_id, mark, size loop
              return next r;
              taken := taken + 1;
              mark := r._change_id;
            end loop;
            remaining := remaining - taken;
            exit when size is null or taken < size or remaining = 0;
            batch := batch * 10;
          end loop;
        end loop;
      end $function$
;

CREATE OR REPLACE FUNCTION mirror.bulk_research_jobs_as_of(moment timestamp with time zone)
 RETURNS SETOF mirror.bulk_research_jobs
 LANGUAGE sql
 STABLE
AS $function$
select t._user_id, t.bulk_job_id, t._first_seen_at, t._changed_at, t._change_id, t._deleted_at, t._hash, t._raw, t._verbatim from "mirror".bulk_research_jobs t
where t._deleted_at is null and (t._changed_at <= coalesce(moment, 'infinity') or moment >= pg_catalog.now())
  and "mirror"._covered_as_of('bulk_research_jobs', moment)
union all
select h._user_id, h.bulk_job_id, h._first_seen_at, h._changed_at, h._change_id, null::timestamp with time zone, h._hash, h._raw, h._verbatim from "mirror".bulk_research_jobs_history h
where h._valid_from <= moment and h._valid_to > moment and moment < pg_catalog.now()
  and "mirror"._covered_as_of('bulk_research_jobs', moment)
$function$
;

CREATE OR REPLACE FUNCTION mirror.bulk_research_jobs_since(marks jsonb DEFAULT '{}'::jsonb, at_most bigint DEFAULT NULL::bigint)
 RETURNS SETOF mirror.bulk_research_jobs
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET standard_conforming_strings TO 'on'
 SET array_nulls TO 'on'
 SET transform_null_equals TO 'off'
 SET quote_all_identifiers TO 'off'
AS $function$
      declare
        a record;
        r "mirror".bulk_research_jobs;
        mark bigint;
        batch bigint;
        size bigint;
        taken bigint;
        remaining bigint;
      begin
        if jsonb_typeof(marks) is distinct from 'object' then
          raise exception using errcode = 'invalid_parameter_value',
            message = format('bulk_research_jobs_since: marks must be a JSON object, not %s', coalesce(jsonb_typeof(marks), 'NULL')),
            hint = 'The greatest _change_id that was taken, by account: ''{"1001": 1785000000000000}''. ''{}'' takes all.';
        end if;
        for a in select c._user_id from "mirror"._collections c where c.collection = 'bulk_research_jobs' order by c._user_id loop
          mark := coalesce((marks ->> a._user_id::text)::bigint, 0);
          -- An account of which nothing was taken is taken as a whole, in no order.
          batch := case when mark > 0 then 1000 end;
          remaining := at_most;
          loop
            size := least(batch, remaining);
            taken := 0;
            for r in execute "mirror"._changed_since('bulk_research_jobs', '{bulk_job_id}', size is not null) using a._user_id, mark, size loop
              return next r;
              taken := taken + 1;
              mark := r._change_id;
            end loop;
            remaining := remaining - taken;
            exit when size is null or taken < size or remaining = 0;
            batch := batch * 10;
          end loop;
        end loop;
      end $function$
;

CREATE OR REPLACE FUNCTION mirror.cancel_submission(submission_id bigint)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET standard_conforming_strings TO 'on'
 SET array_nulls TO 'on'
 SET transform_null_equals TO 'off'
 SET quote_all_identifiers TO 'off'
AS $function$
declare
  moment constant timestamptz := clock_timestamp();
  caller constant text := session_user;
  -- Set by the command.
  os_user constant text := nullif(current_setting('research_mirror.os_user', true), '');
  program constant text := nullif(current_setting('research_mirror.program', true), '');
  found_account bigint;
  emptied constant text[] := (select i.emptied_operations from "mirror_sync".installation i);
  found_state text;
begin
  -- "It will not be sent" must outlive a crash of the server.
  if current_setting('synchronous_commit') = 'off' then
    perform set_config('synchronous_commit', 'on', true);
  end if;
  select s._user_id into found_account from "mirror".submissions s where s.submission_id = cancel_submission.submission_id and "mirror_sync".may_use(s._user_id);
  -- Its owner takes it by its state, too: whoever has the lock first has it.
  select s.state into found_state from "mirror".submissions s
  where s._user_id = found_account and s.submission_id = cancel_submission.submission_id for update;
  if found_state is null then
    raise exception using errcode = 'RM017',
      message = format('there is no submission %s', coalesce(cancel_submission.submission_id::text, 'NULL'));
  end if;
  if found_state not in ('queued', 'held', 'cancelled') then
    raise exception using errcode = 'RM017',
      message = format('submission %s is %s: only queued and held ones can be cancelled', cancel_submission.submission_id, found_state);
  end if;
  if found_state = 'cancelled' then
    return true;
  end if;
  update "mirror".submissions s set state = 'cancelled', done_at = moment,
    payload = case when s.operation = any (coalesce(emptied, '{}')) then '{}' else s.payload end
  where s._user_id = found_account and s.submission_id = cancel_submission.submission_id and s.state in ('queued', 'held');
  insert into "mirror".operator_log (_user_id, act, arguments, database_user, os_user, program)
  values (found_account, 'submissions cancel', jsonb_build_object('submission_id', cancel_submission.submission_id),
    caller, os_user, program);
  return true;
end $function$
;

CREATE OR REPLACE FUNCTION mirror.list_items_as_of(moment timestamp with time zone)
 RETURNS SETOF mirror.list_items
 LANGUAGE sql
 STABLE
AS $function$
select t._user_id, t.list_id, t.id, t._first_seen_at, t._changed_at, t._change_id, t._deleted_at, t._hash, t._raw, t._verbatim, t._domain from "mirror".list_items t
where t._deleted_at is null and (t._changed_at <= coalesce(moment, 'infinity') or moment >= pg_catalog.now())
  and "mirror"._covered_as_of('list_items', moment)
union all
select h._user_id, h.list_id, h.id, h._first_seen_at, h._changed_at, h._change_id, null::timestamp with time zone, h._hash, h._raw, h._verbatim, h._domain from "mirror".list_items_history h
where h._valid_from <= moment and h._valid_to > moment and moment < pg_catalog.now()
  and "mirror"._covered_as_of('list_items', moment)
$function$
;

CREATE OR REPLACE FUNCTION mirror.list_items_since(marks jsonb DEFAULT '{}'::jsonb, at_most bigint DEFAULT NULL::bigint)
 RETURNS SETOF mirror.list_items
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET standard_conforming_strings TO 'on'
 SET array_nulls TO 'on'
 SET transform_null_equals TO 'off'
 SET quote_all_identifiers TO 'off'
AS $function$
      declare
        a record;
        r "mirror".list_items;
        mark bigint;
        batch bigint;
        size bigint;
        taken bigint;
        remaining bigint;
      begin
        if jsonb_typeof(marks) is distinct from 'object' then
          raise exception using errcode = 'invalid_parameter_value',
            message = format('list_items_since: marks must be a JSON object, not %s', coalesce(jsonb_typeof(marks), 'NULL')),
            hint = 'The greatest _change_id that was taken, by account: ''{"1001": 1785000000000000}''. ''{}'' takes all.';
        end if;
        for a in select c._user_id from "mirror"._collections c where c.collection = 'list_items' order by c._user_id loop
          mark := coalesce((marks ->> a._user_id::text)::bigint, 0);
          -- An account of which nothing was taken is taken as a whole, in no order.
          batch := case when mark > 0 then 1000 end;
          remaining := at_most;
          loop
            size := least(batch, remaining);
            taken := 0;
            for r in execute "mirror"._changed_since('list_items', '{list_id,id}', size is not null) using a._user_id, mark, size loop
              return next r;
              taken := taken + 1;
              mark := r._change_id;
            end loop;
            remaining := remaining - taken;
            exit when size is null or taken < size or remaining = 0;
            batch := batch * 10;
          end loop;
        end loop;
      end $function$
;

CREATE OR REPLACE FUNCTION mirror.lists_as_of(moment timestamp with time zone)
 RETURNS SETOF mirror.lists
 LANGUAGE sql
 STABLE
AS $function$
select t._user_id, t.list_id, t._first_seen_at, t._changed_at, t._change_id, t._deleted_at, t._hash, t._raw, t._verbatim from "mirror".lists t
where t._deleted_at is null and (t._changed_at <= coalesce(moment, 'infinity') or moment >= pg_catalog.now())
  and "mirror"._covered_as_of('lists', moment)
union all
select h._user_id, h.list_id, h._first_seen_at, h._changed_at, h._change_id, null::timestamp with time zone, h._hash, h._raw, h._verbatim from "mirror".lists_history h
where h._valid_from <= moment and h._valid_to > moment and moment < pg_catalog.now()
  and "mirror"._covered_as_of('lists', moment)
$function$
;

CREATE OR REPLACE FUNCTION mirror.lists_since(marks jsonb DEFAULT '{}'::jsonb, at_most bigint DEFAULT NULL::bigint)
 RETURNS SETOF mirror.lists
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET standard_conforming_strings TO 'on'
 SET array_nulls TO 'on'
 SET transform_null_equals TO 'off'
 SET quote_all_identifiers TO 'off'
AS $function$
      declare
        a record;
        r "mirror".lists;
        mark bigint;
        batch bigint;
        size bigint;
        taken bigint;
        remaining bigint;
      begin
        if jsonb_typeof(marks) is distinct from 'object' then
          raise exception using errcode = 'invalid_parameter_value',
            message = format('lists_since: marks must be a JSON object, not %s', coalesce(jsonb_typeof(marks), 'NULL')),
            hint = 'The greatest _change_id that was taken, by account: ''{"1001": 1785000000000000}''. ''{}'' takes all.';
        end if;
        for a in select c._user_id from "mirror"._collections c where c.collection = 'lists' order by c._user_id loop
          mark := coalesce((marks ->> a._user_id::text)::bigint, 0);
          -- An account of which nothing was taken is taken as a whole, in no order.
          batch := case when mark > 0 then 1000 end;
          remaining := at_most;
          loop
            size := least(batch, remaining);
            taken := 0;
            for r in execute "mirror"._changed_since('lists', '{list_id}', size is not null) using a._user_id, mark, size loop
              return next r;
              taken := taken + 1;
              mark := r._change_id;
            end loop;
            remaining := remaining - taken;
            exit when size is null or taken < size or remaining = 0;
            batch := batch * 10;
          end loop;
        end loop;
      end $function$
;

CREATE OR REPLACE FUNCTION mirror.research_jobs_as_of(moment timestamp with time zone)
 RETURNS SETOF mirror.research_jobs
 LANGUAGE sql
 STABLE
AS $function$
select t._user_id, t.job_id, t.status, t._first_seen_at, t._changed_at, t._change_id, t._deleted_at, t._hash, t._raw, t._verbatim, t._domain from "mirror".research_jobs t
where t._deleted_at is null and (t._changed_at <= coalesce(moment, 'infinity') or moment >= pg_catalog.now())
  and "mirror"._covered_as_of('research_jobs', moment)
union all
select h._user_id, h.job_id, h.status, h._first_seen_at, h._changed_at, h._change_id, null::timestamp with time zone, h._hash, h._raw, h._verbatim, h._domain from "mirror".research_jobs_history h
where h._valid_from <= moment and h._valid_to > moment and moment < pg_catalog.now()
  and "mirror"._covered_as_of('research_jobs', moment)
$function$
;

CREATE OR REPLACE FUNCTION mirror.research_jobs_since(marks jsonb DEFAULT '{}'::jsonb, at_most bigint DEFAULT NULL::bigint)
 RETURNS SETOF mirror.research_jobs
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET standard_conforming_strings TO 'on'
 SET array_nulls TO 'on'
 SET transform_null_equals TO 'off'
 SET quote_all_identifiers TO 'off'
AS $function$
      declare
        a record;
        r "mirror".research_jobs;
        mark bigint;
        batch bigint;
        size bigint;
        taken bigint;
        remaining bigint;
      begin
        if jsonb_typeof(marks) is distinct from 'object' then
          raise exception using errcode = 'invalid_parameter_value',
            message = format('research_jobs_since: marks must be a JSON object, not %s', coalesce(jsonb_typeof(marks), 'NULL')),
            hint = 'The greatest _change_id that was taken, by account: ''{"1001": 1785000000000000}''. ''{}'' takes all.';
        end if;
        for a in select c._user_id from "mirror"._collections c where c.collection = 'research_jobs' order by c._user_id loop
          mark := coalesce((marks ->> a._user_id::text)::bigint, 0);
          -- An account of which nothing was taken is taken as a whole, in no order.
          batch := case when mark > 0 then 1000 end;
          remaining := at_most;
          loop
            size := least(batch, remaining);
            taken := 0;
            for r in execute "mirror"._changed_since('research_jobs', '{job_id}', size is not null) using a._user_id, mark, size loop
              return next r;
              taken := taken + 1;
              mark := r._change_id;
            end loop;
            remaining := remaining - taken;
            exit when size is null or taken < size or remaining = 0;
            batch := batch * 10;
          end loop;
        end loop;
      end $function$
;

CREATE OR REPLACE FUNCTION mirror.row_story(user_id bigint, collection text, key text, at_most bigint DEFAULT NULL::bigint)
 RETURNS TABLE(at timestamp with time zone, what text, field text, before jsonb, after jsonb, by text)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET standard_conforming_strings TO 'on'
 SET array_nulls TO 'on'
 SET transform_null_equals TO 'off'
 SET quote_all_identifiers TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'
AS $function$
#variable_conflict use_column
declare
  key_column constant text := case row_story.collection when 'account' then '_user_id' when 'research_jobs' then 'job_id'
    when 'bulk_research_jobs' then 'bulk_job_id' when 'lists' then 'list_id' when 'list_items' then 'id' when 'watchlist' then 'id' end;
  is_text constant boolean := row_story.collection in ('list_items', 'watchlist');
  list bigint;
  own text := row_story.key;
  same_row text;
  changes bigint[];
  named bigint[];
  first_seen timestamptz;
  is_live boolean;
  said text;
  made timestamptz;
begin
  if row_story.user_id is null then
    raise exception using errcode = 'invalid_parameter_value', message = 'row_story: user_id is NULL',
      hint = 'Say whose row it is: its _user_id.';
  end if;
  if row_story.at_most < 0 then
    raise exception using errcode = 'invalid_parameter_value', message = format('row_story: at_most is %s', row_story.at_most),
      hint = 'It is 0 or more; without it, the whole story is told.';
  end if;
  if key_column is null then
    raise exception using errcode = 'invalid_parameter_value',
      message = format('row_story: there is no collection %s', coalesce(quote_literal(left(row_story.collection, 100)), 'NULL')),
      hint = 'There are account, research_jobs, bulk_research_jobs, lists, list_items and watchlist.';
  end if;
  if (own ~ case row_story.collection when 'list_items' then '^-?[0-9]+:.' when 'watchlist' then '.' else '^-?[0-9]+$' end) is not true then
    raise exception using errcode = 'invalid_parameter_value',
      message = format('row_story: no row of %s can have the key %L', row_story.collection, left(own, 100)),
      hint = 'A key is written as in the view changes: an item''s is <list_id>:<id>, that of account its _user_id.';
  end if;
  if row_story.collection = 'list_items' then
    list := split_part(own, ':', 1)::bigint;
    own := substr(own, strpos(own, ':') + 1);
  elsif not is_text then
    own := (own::bigint)::text;
  end if;
  same_row := format('r._user_id = $1 and r.%I = $3::%s', key_column, case when is_text then 'text' else 'bigint' end)
    || case when list is null then '' else ' and r.list_id = $2' end;

  -- The view changes finds changes by their ID, and by no key.
  execute format($versions$
    select array_agg(v._change_id), min(v._first_seen_at), bool_or(v.is_live), (array_agg(v.made order by v._change_id desc))[1]
    from (
      select r._change_id, r._first_seen_at, r._deleted_at is null as is_live, r._raw ->> 'created_at' as made
      from "mirror".%1$I r where %3$s
      union all
      (select r._change_id, r._first_seen_at, false, r._raw ->> 'created_at'
       from "mirror".%2$I r where %3$s order by r._change_id desc limit $4)) v$versions$,
    row_story.collection, row_story.collection || '_history', same_row)
  into changes, first_seen, is_live, said using row_story.user_id, list, own, row_story.at_most;
  if said ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}T.+(Z|[+-][0-9:]{2,6})$' then
    begin
      made := said::timestamptz;
    exception when data_exception then
      null;
    end;
  end if;

  -- Whose answer names it, by the index of migration 21, which knows no account: any other condition beside it may have
  -- the planner read all of the account's. A job and a list may have the same number, so the field is compared, too.
  if row_story.collection in ('research_jobs', 'bulk_research_jobs', 'lists') then
    named := array(
      select s.submission_id from (
        select s._user_id, s.submission_id, s.response from "mirror".submissions s
        where s.response is not null and (
          (jsonb_path_query_array(s.response, '$.**{0 to 1}."job_id"') || jsonb_path_query_array(s.response, '$.**{0 to 1}."bulk_job_id"')
            || jsonb_path_query_array(s.response, '$.**{0 to 1}."list_id"')) @> jsonb_build_array(own::bigint)
          or (jsonb_path_query_array(s.response, '$.**{0 to 1}."job_id"') || jsonb_path_query_array(s.response, '$.**{0 to 1}."bulk_job_id"')
            || jsonb_path_query_array(s.response, '$.**{0 to 1}."list_id"')) @> jsonb_build_array(own))
        offset 0) s
      where s._user_id = row_story.user_id
        and jsonb_path_query_array(s.response, ('$.**{0 to 1}."' || key_column || '"')::jsonpath) @> any (
          array[jsonb_build_array(own::bigint), jsonb_build_array(own)])
      order by 1 desc limit row_story.at_most)
    || array(
      select s.submission_id from "mirror".submissions s
      where s._user_id = row_story.user_id and s.target_id = own
        and s.operation = case row_story.collection when 'research_jobs' then 'sequence' when 'lists' then 'list_analyze' end
      order by 1 desc limit row_story.at_most);
  end if;

  return query execute $story$
    select s.at, s.what, s.field, s.before, s.after, case
      when s.what in ('mirrored', 'changed', 'deleted', 'undeleted') then (
        select l.kind || ' ' || l.walk_id from "mirror".sync_log l
        where l._user_id = $1 and l.started_at between s.at - interval '1 day' and s.at and l.ended_at >= s.at
          and l.collection = $2 and l.list_id is not distinct from $3
          and case s.what when 'mirrored' then l.inserted when 'deleted' then l.deleted else l.updated end > 0
        order by l.started_at desc limit 1)
      else s.by end
    from (
      select $5::timestamptz as at, 'created' as what, null::text as field, null::jsonb as before, null::jsonb as after, null::text as by
      union all
      select e.at, e.what, null, null, jsonb_build_object('operation', s.operation, 'state', s.state,
        'response_status', s.response_status, 'idempotency_key', s.idempotency_key), 'submission ' || s.submission_id
      from "mirror".submissions s
        cross join lateral (values (s.created_at, 'queued'), (s.sent_at, 'sent'),
          (s.done_at, case when s.response_status is null then 'ended' else 'answered' end)) e (at, what)
      where s._user_id = $1 and s.submission_id = any ($7)
      union all
      (select e.received_at, 'event', null, null, jsonb_build_object('type', e.type, 'created_at', e.created_at), 'event ' || e.id
       from "mirror".events e where e._user_id = $1 and e._collection = $2 and e._key = $4 and $3 is null
       order by e.received_at desc limit $9)
      union all
      select $6, 'mirrored', null, null, null, null
      union all
      select c.changed_at, case c.op when 'insert' then 'mirrored' when 'update' then 'changed' when 'delete' then 'deleted' else 'undeleted' end,
        c.field, c.before, c.after, null
      from "mirror".changes c
      where c._user_id = $1 and c.collection = $2 and c.change_id = any ($8) and c.key = coalesce($3 || ':', '') || $4
        and (c.op <> 'insert' or c.changed_at <> $6)
      union all
      select q.first_seen_at, 'quarantined', null, null, jsonb_build_object('reason', q.reason, 'last_seen_at', q.last_seen_at), null
      from "mirror".quarantine q
      where q._user_id = $1 and q.collection = $2 and q.parent = coalesce($3::text, '')
        and q.key = case $2 when 'account' then '' else $4 end
      union all
      select e.at, e.what, null, null, null, null
      from "mirror"._collections c
        cross join lateral (values (c.polled_at, 'polled'), (c.complete_as_of, 'read')) e (at, what)
      where c._user_id = $1 and c.collection = $2 and $10 and e.at >= $6) s
    where s.at is not null
    order by s.at, array_position(array['created', 'queued', 'sent', 'answered', 'ended', 'event', 'mirrored', 'changed',
      'deleted', 'undeleted', 'quarantined', 'polled', 'read'], s.what), s.field$story$
  using row_story.user_id, row_story.collection, list, own, made, first_seen, named, changes, row_story.at_most, is_live;
end $function$
;

CREATE OR REPLACE FUNCTION mirror.submit(operation text, payload jsonb, target_id text DEFAULT NULL::text, user_id bigint DEFAULT NULL::bigint, idempotency_key text DEFAULT NULL::text)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET standard_conforming_strings TO 'on'
 SET array_nulls TO 'on'
 SET transform_null_equals TO 'off'
 SET quote_all_identifiers TO 'off'
AS $function$
-- The parameters' names are the columns', for callers: within, they are submit.….
#variable_conflict use_column
declare
  operations constant text[] := array['research', 'enrich', 'clay_enrich', 'bulk_research', 'list', 'list_analyze', 'sequence'];
  targeted constant text[] := array['list_analyze', 'sequence'];
  settings constant jsonb := (select i.settings -> 'submit' from "mirror_sync".installation i);
  max_queued constant bigint := coalesce((settings ->> 'maxQueued')::bigint, 10000);
  moment constant timestamptz := clock_timestamp();
  accounts bigint[];
  account_id bigint := submit.user_id;
  span bigint;
  made bigint;
  known bigint;
  same boolean;
begin
  -- Whoever is told its number relies on it: a crash of the server must not take it back.
  if current_setting('synchronous_commit') = 'off' then
    perform set_config('synchronous_commit', 'on', true);
  end if;
  if settings ->> 'enabled' = 'false' then
    raise exception using errcode = 'RM015', message = 'submissions are off: MIRROR_SUBMIT=off';
  end if;
  if submit.operation is null or submit.operation <> all (operations) then
    raise exception using errcode = 'RM010',
      message = format('there is no operation %s: there are %s',
        coalesce(quote_literal(left(submit.operation, 100)), 'NULL'), array_to_string(operations, ', '));
  end if;
  if submit.payload is null or jsonb_typeof(submit.payload) <> 'object' then
    raise exception using errcode = 'RM012',
      message = format('the payload of %s must be a JSON object, not %s', submit.operation, coalesce(jsonb_typeof(submit.payload), 'NULL')),
      hint = 'Where the service needs none: ''{}''.';
  end if;
  if octet_length(submit.payload::text) > 1048576 then
    raise exception using errcode = 'RM012', message = format('the payload of %s has more than 1 MiB', submit.operation);
  end if;
  if submit.operation = any (targeted) and coalesce(submit.target_id, '') !~ '\S' then
    raise exception using errcode = 'RM011',
      message = format('%s needs a target_id: %s', submit.operation,
        case submit.operation when 'sequence' then 'the job_id of a research job' else 'the list_id of a list' end);
  end if;
  if submit.operation <> all (targeted) and submit.target_id is not null then
    raise exception using errcode = 'RM011', message = format('%s takes no target_id', submit.operation);
  end if;
  -- It becomes a part of the request's path.
  if length(submit.target_id) > 200 or submit.target_id ~ '[[:cntrl:]]' or submit.target_id in ('.', '..') then
    raise exception using errcode = 'RM011', message = 'the target_id is no ID: at most 200 characters, no control characters';
  end if;
  if length(submit.idempotency_key) not between 1 and 200 then
    raise exception using errcode = 'RM016', message = 'the idempotency_key must have 1 to 200 characters';
  end if;

  accounts := (
    select coalesce(array_agg(a._user_id order by a._user_id), '{}') from "mirror_sync".account a where a.state <> 'retired' and "mirror_sync".may_use(a._user_id));
  if account_id is null then
    if cardinality(accounts) <> 1 then
      raise exception using errcode = 'RM013', message = case cardinality(accounts)
        when 0 then case when exists (select 1 from "mirror_sync".account)
          then 'no account is mirrored here any more: all are retired'
          else 'no account has been mirrored yet: start the daemon first' end
        else format('there are %s accounts: name one as user_id (%s%s)', cardinality(accounts),
          array_to_string(accounts[1:10], ', '), case when cardinality(accounts) > 10 then ', …' else '' end) end;
    end if;
    account_id := accounts[1];
  elsif account_id <> all (accounts) then
    raise exception using errcode = 'RM013', message = case
      when exists (select 1 from "mirror_sync".account a where a._user_id = account_id and "mirror_sync".may_use(a._user_id))
        then format('account %s is retired: nothing is sent for it', account_id)
      else format('account %s is not mirrored here', account_id) end;
  end if;

  -- Twice at most: the second time somebody else has queued it under this key meanwhile.
  loop
    if submit.idempotency_key is not null then
      select s.submission_id, (s.operation, s.payload, s.target_id) is not distinct from (submit.operation, submit.payload, submit.target_id)
      into known, same
      from "mirror".submissions s
      where s._user_id = account_id and s.idempotency_key = submit.idempotency_key;
      if known is not null and not same then
        raise exception using errcode = 'RM016',
          message = format('idempotency_key %s is that of submission %s, which is another operation, target or payload',
            quote_literal(submit.idempotency_key), known);
      end if;
      if known is not null then
        return known;
      end if;
    end if;
    -- A safeguard, not a promise to the last one: what other sessions have not committed yet is not counted. Numbers
    -- rise, so no more can be open than there are numbers since the oldest that is: counting thousands is slow.
    span := coalesce((
        select max(s.submission_id) from "mirror".submissions s where s._user_id = account_id) - (
        select min(s.submission_id) from "mirror".submissions s
        where s._user_id = account_id and s.state in ('queued', 'sending', 'held')) + 1, 0);
    if span >= max_queued and max_queued <= (
      select count(*) from (
        select 1 from "mirror".submissions s
        where s._user_id = account_id and s.state in ('queued', 'sending', 'held') limit max_queued) as open)
    then
      raise exception using errcode = 'RM014',
        message = format('%s submissions of account %s wait already: MIRROR_SUBMIT_MAX_QUEUED', max_queued, account_id);
    end if;
    insert into "mirror".submissions (_user_id, operation, target_id, payload, idempotency_key, created_at)
    values (account_id, submit.operation, submit.target_id, submit.payload, submit.idempotency_key, moment)
    on conflict (_user_id, idempotency_key) where idempotency_key is not null do nothing
    returning submissions.submission_id into made;
    if made is not null then
      return made;
    end if;
  end loop;
end $function$
;

CREATE OR REPLACE FUNCTION mirror.watchlist_as_of(moment timestamp with time zone)
 RETURNS SETOF mirror.watchlist
 LANGUAGE sql
 STABLE
AS $function$
select t._user_id, t.id, t._first_seen_at, t._changed_at, t._change_id, t._deleted_at, t._hash, t._raw, t._verbatim, t._domain from "mirror".watchlist t
where t._deleted_at is null and (t._changed_at <= coalesce(moment, 'infinity') or moment >= pg_catalog.now())
  and "mirror"._covered_as_of('watchlist', moment)
union all
select h._user_id, h.id, h._first_seen_at, h._changed_at, h._change_id, null::timestamp with time zone, h._hash, h._raw, h._verbatim, h._domain from "mirror".watchlist_history h
where h._valid_from <= moment and h._valid_to > moment and moment < pg_catalog.now()
  and "mirror"._covered_as_of('watchlist', moment)
$function$
;

CREATE OR REPLACE FUNCTION mirror.watchlist_since(marks jsonb DEFAULT '{}'::jsonb, at_most bigint DEFAULT NULL::bigint)
 RETURNS SETOF mirror.watchlist
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET standard_conforming_strings TO 'on'
 SET array_nulls TO 'on'
 SET transform_null_equals TO 'off'
 SET quote_all_identifiers TO 'off'
AS $function$
      declare
        a record;
        r "mirror".watchlist;
        mark bigint;
        batch bigint;
        size bigint;
        taken bigint;
        remaining bigint;
      begin
        if jsonb_typeof(marks) is distinct from 'object' then
          raise exception using errcode = 'invalid_parameter_value',
            message = format('watchlist_since: marks must be a JSON object, not %s', coalesce(jsonb_typeof(marks), 'NULL')),
            hint = 'The greatest _change_id that was taken, by account: ''{"1001": 1785000000000000}''. ''{}'' takes all.';
        end if;
        for a in select c._user_id from "mirror"._collections c where c.collection = 'watchlist' order by c._user_id loop
          mark := coalesce((marks ->> a._user_id::text)::bigint, 0);
          -- An account of which nothing was taken is taken as a whole, in no order.
          batch := case when mark > 0 then 1000 end;
          remaining := at_most;
          loop
            size := least(batch, remaining);
            taken := 0;
            for r in execute "mirror"._changed_since('watchlist', '{id}', size is not null) using a._user_id, mark, size loop
              return next r;
              taken := taken + 1;
              mark := r._change_id;
            end loop;
            remaining := remaining - taken;
            exit when size is null or taken < size or remaining = 0;
            batch := batch * 10;
          end loop;
        end loop;
      end $function$
;

comment on schema mirror is 'An account of the Research & Enrichment Service, mirrored: query it, but do not write to it.';

comment on function mirror._as_of(text,timestamp with time zone) is 'The query behind the functions <table>_as_of; raises RM001 for a moment that history does not cover.';

comment on function mirror._changed_since(text,text[],boolean) is 'The query behind the functions <table>_since.';

comment on table mirror._collections is 'Counters of each account''s collections: read the views freshness and data_quality.';

comment on table mirror._columns is 'Field to column: read the view columns.';

comment on table mirror._conflicts is 'Values that did not fit their column: read the view columns.';

comment on function mirror._covered_as_of(text,timestamp with time zone) is 'True where history covers the moment; else raises RM001. Behind the functions <table>_as_of.';

comment on table mirror.account is 'What the service says of the account: GET /v1/account, one row for each _user_id.';

comment on column mirror.account._user_id is 'By the mirror: owner of the API key, as the service says; first in every primary key.';

comment on column mirror.account.email is 'Field "email" of the items: e-mail address of the user.';

comment on column mirror.account.credits is 'Field "credits" of the items: remaining credits.';

comment on column mirror.account.subscription is 'Field "subscription" of the items: subscription plan.';

comment on column mirror.account.org is 'Field "org" of the items: organisation.';

comment on column mirror.account._first_seen_at is 'By the mirror: when the row came into it.';

comment on column mirror.account._changed_at is 'By the mirror: when the row''s content last changed in it.';

comment on column mirror.account._change_id is 'By the mirror: watermark, rises in commit order and is unique for each _user_id.';

comment on column mirror.account._deleted_at is 'By the mirror: null while the service has the row.';

comment on column mirror.account._hash is 'By the mirror: hash of the content, by which unchanged rows are told.';

comment on column mirror.account._raw is 'The whole item as the service sent it.';

comment on column mirror.account._verbatim is 'The item''s exact text where _raw had to replace characters that jsonb can''t hold; else null.';

comment on function mirror.account_as_of(timestamp with time zone) is 'account as the mirror knew it at that moment; raises RM001 before the first moment that history covers.';

comment on table mirror.account_history is 'Superseded versions of account, and the last ones of deleted rows: each was current in [_valid_from, _valid_to).';

comment on column mirror.account_history._user_id is 'By the mirror: owner of the API key, as the service says; first in every primary key.';

comment on column mirror.account_history.email is 'Field "email" of the items: e-mail address of the user.';

comment on column mirror.account_history.credits is 'Field "credits" of the items: remaining credits.';

comment on column mirror.account_history.subscription is 'Field "subscription" of the items: subscription plan.';

comment on column mirror.account_history.org is 'Field "org" of the items: organisation.';

comment on column mirror.account_history._first_seen_at is 'By the mirror: when the row came into it.';

comment on column mirror.account_history._changed_at is 'By the mirror: when the row''s content last changed in it.';

comment on column mirror.account_history._change_id is 'By the mirror: watermark, rises in commit order and is unique for each _user_id.';

comment on column mirror.account_history._deleted_at is 'By the mirror: null while the service has the row.';

comment on column mirror.account_history._hash is 'By the mirror: hash of the content, by which unchanged rows are told.';

comment on column mirror.account_history._raw is 'The whole item as the service sent it.';

comment on column mirror.account_history._verbatim is 'The item''s exact text where _raw had to replace characters that jsonb can''t hold; else null.';

comment on column mirror.account_history._valid_from is 'When this version came into the mirror.';

comment on column mirror.account_history._valid_to is 'When it was superseded, or deleted: it was current until just before.';

comment on column mirror.account_history._op is 'What ended it: update or delete.';

comment on view mirror.account_live is 'account without deleted rows and _raw, with a single-column key.';

comment on column mirror.account_live._key is 'By the mirror: the whole primary key as one text, for tools that join by one column.';

comment on column mirror.account_live._user_id is 'By the mirror: owner of the API key, as the service says; first in every primary key.';

comment on column mirror.account_live.email is 'Field "email" of the items: e-mail address of the user.';

comment on column mirror.account_live.credits is 'Field "credits" of the items: remaining credits.';

comment on column mirror.account_live.subscription is 'Field "subscription" of the items: subscription plan.';

comment on column mirror.account_live.org is 'Field "org" of the items: organisation.';

comment on column mirror.account_live._first_seen_at is 'By the mirror: when the row came into it.';

comment on column mirror.account_live._changed_at is 'By the mirror: when the row''s content last changed in it.';

comment on column mirror.account_live._change_id is 'By the mirror: watermark, rises in commit order and is unique for each _user_id.';

comment on function mirror.account_since(jsonb,bigint) is 'Rows of account that changed since these marks: the greatest _change_id taken, by account; an account without one is taken whole. Deleted rows come with _deleted_at, those of MIRROR_DELETES=hard by their last image. at_most: so many of an account, the oldest changes first.';

comment on view mirror.account_versions is 'Every known version of the rows of account, superseded and current, half-open: [_valid_from, _valid_to).';

comment on column mirror.account_versions._user_id is 'By the mirror: owner of the API key, as the service says; first in every primary key.';

comment on column mirror.account_versions.email is 'Field "email" of the items: e-mail address of the user.';

comment on column mirror.account_versions.credits is 'Field "credits" of the items: remaining credits.';

comment on column mirror.account_versions.subscription is 'Field "subscription" of the items: subscription plan.';

comment on column mirror.account_versions.org is 'Field "org" of the items: organisation.';

comment on column mirror.account_versions._first_seen_at is 'By the mirror: when the row came into it.';

comment on column mirror.account_versions._changed_at is 'By the mirror: when the row''s content last changed in it.';

comment on column mirror.account_versions._change_id is 'By the mirror: watermark, rises in commit order and is unique for each _user_id.';

comment on column mirror.account_versions._raw is 'The whole item as the service sent it.';

comment on column mirror.account_versions._valid_from is 'When this version came into the mirror.';

comment on column mirror.account_versions._valid_to is 'When it was superseded, or deleted; null for the current version.';

comment on column mirror.account_versions._is_current is 'Whether the row is so now.';

comment on column mirror.account_versions._op is 'What ended it: update or delete; null for the current version.';

comment on table mirror.bulk_research_jobs is 'Bulk research jobs: GET /v1/research/bulk.';

comment on column mirror.bulk_research_jobs._user_id is 'By the mirror: owner of the API key, as the service says; first in every primary key.';

comment on column mirror.bulk_research_jobs.bulk_job_id is 'Field "bulk_job_id" of the items: ID of the bulk research job.';

comment on column mirror.bulk_research_jobs._first_seen_at is 'By the mirror: when the row came into it.';

comment on column mirror.bulk_research_jobs._changed_at is 'By the mirror: when the row''s content last changed in it.';

comment on column mirror.bulk_research_jobs._change_id is 'By the mirror: watermark, rises in commit order and is unique for each _user_id.';

comment on column mirror.bulk_research_jobs._deleted_at is 'By the mirror: null while the service has the row.';

comment on column mirror.bulk_research_jobs._hash is 'By the mirror: hash of the content, by which unchanged rows are told.';

comment on column mirror.bulk_research_jobs._raw is 'The whole item as the service sent it.';

comment on column mirror.bulk_research_jobs._verbatim is 'The item''s exact text where _raw had to replace characters that jsonb can''t hold; else null.';

comment on function mirror.bulk_research_jobs_as_of(timestamp with time zone) is 'bulk_research_jobs as the mirror knew it at that moment; raises RM001 before the first moment that history covers.';

comment on table mirror.bulk_research_jobs_history is 'Superseded versions of bulk_research_jobs, and the last ones of deleted rows: each was current in [_valid_from, _valid_to).';

comment on column mirror.bulk_research_jobs_history._user_id is 'By the mirror: owner of the API key, as the service says; first in every primary key.';

comment on column mirror.bulk_research_jobs_history.bulk_job_id is 'Field "bulk_job_id" of the items: ID of the bulk research job.';

comment on column mirror.bulk_research_jobs_history._first_seen_at is 'By the mirror: when the row came into it.';

comment on column mirror.bulk_research_jobs_history._changed_at is 'By the mirror: when the row''s content last changed in it.';

comment on column mirror.bulk_research_jobs_history._change_id is 'By the mirror: watermark, rises in commit order and is unique for each _user_id.';

comment on column mirror.bulk_research_jobs_history._deleted_at is 'By the mirror: null while the service has the row.';

comment on column mirror.bulk_research_jobs_history._hash is 'By the mirror: hash of the content, by which unchanged rows are told.';

comment on column mirror.bulk_research_jobs_history._raw is 'The whole item as the service sent it.';

comment on column mirror.bulk_research_jobs_history._verbatim is 'The item''s exact text where _raw had to replace characters that jsonb can''t hold; else null.';

comment on column mirror.bulk_research_jobs_history._valid_from is 'When this version came into the mirror.';

comment on column mirror.bulk_research_jobs_history._valid_to is 'When it was superseded, or deleted: it was current until just before.';

comment on column mirror.bulk_research_jobs_history._op is 'What ended it: update or delete.';

comment on view mirror.bulk_research_jobs_live is 'bulk_research_jobs without deleted rows and _raw, with a single-column key.';

comment on column mirror.bulk_research_jobs_live._key is 'By the mirror: the whole primary key as one text, for tools that join by one column.';

comment on column mirror.bulk_research_jobs_live._user_id is 'By the mirror: owner of the API key, as the service says; first in every primary key.';

comment on column mirror.bulk_research_jobs_live.bulk_job_id is 'Field "bulk_job_id" of the items: ID of the bulk research job.';

comment on column mirror.bulk_research_jobs_live._first_seen_at is 'By the mirror: when the row came into it.';

comment on column mirror.bulk_research_jobs_live._changed_at is 'By the mirror: when the row''s content last changed in it.';

comment on column mirror.bulk_research_jobs_live._change_id is 'By the mirror: watermark, rises in commit order and is unique for each _user_id.';

comment on function mirror.bulk_research_jobs_since(jsonb,bigint) is 'Rows of bulk_research_jobs that changed since these marks: the greatest _change_id taken, by account; an account without one is taken whole. Deleted rows come with _deleted_at, those of MIRROR_DELETES=hard by their last image. at_most: so many of an account, the oldest changes first.';

comment on view mirror.bulk_research_jobs_versions is 'Every known version of the rows of bulk_research_jobs, superseded and current, half-open: [_valid_from, _valid_to).';

comment on column mirror.bulk_research_jobs_versions._user_id is 'By the mirror: owner of the API key, as the service says; first in every primary key.';

comment on column mirror.bulk_research_jobs_versions.bulk_job_id is 'Field "bulk_job_id" of the items: ID of the bulk research job.';

comment on column mirror.bulk_research_jobs_versions._first_seen_at is 'By the mirror: when the row came into it.';

comment on column mirror.bulk_research_jobs_versions._changed_at is 'By the mirror: when the row''s content last changed in it.';

comment on column mirror.bulk_research_jobs_versions._change_id is 'By the mirror: watermark, rises in commit order and is unique for each _user_id.';

comment on column mirror.bulk_research_jobs_versions._raw is 'The whole item as the service sent it.';

comment on column mirror.bulk_research_jobs_versions._valid_from is 'When this version came into the mirror.';

comment on column mirror.bulk_research_jobs_versions._valid_to is 'When it was superseded, or deleted; null for the current version.';

comment on column mirror.bulk_research_jobs_versions._is_current is 'Whether the row is so now.';

comment on column mirror.bulk_research_jobs_versions._op is 'What ended it: update or delete; null for the current version.';

comment on function mirror.cancel_submission(bigint) is 'Cancels a submission that is queued or held; an error where it was sent already.';

comment on view mirror.changes is 'What changed: a row for each field of each update, and one for each insert, deletion and return.';

comment on column mirror.changes._user_id is 'Owner of the API key.';

comment on column mirror.changes.collection is 'The table.';

comment on column mirror.changes.key is 'Key of the row in it, after _user_id: key columns joined by a colon; of account: _user_id.';

comment on column mirror.changes.field is 'The field in _raw that is different; null but for update. An update that shows in no field, or whose version before is not kept, has one row with null.';

comment on column mirror.changes.before is 'Its value before; null where the item did not have it.';

comment on column mirror.changes.after is 'Its value from then on; null where the item has it no more.';

comment on column mirror.changes.changed_at is 'When the mirror learnt it.';

comment on column mirror.changes.change_id is 'Watermark: the change ID under which it was written.';

comment on column mirror.changes.op is 'insert, update, delete or undelete.';

comment on view mirror.columns is 'Which field of the service''s items stands in which column, and how many values did not fit it (they are NULL there, whole in _raw).';

comment on view mirror.companies is 'Companies, one row per domain: what research jobs, list items and watchlist (deleted ones left out) say of it.';

comment on column mirror.companies._user_id is 'Owner of the API key.';

comment on column mirror.companies.domain is 'Lower case, without www.: see _domain of the tables.';

comment on column mirror.companies.research_jobs is 'How many research jobs there are.';

comment on column mirror.companies.list_items is 'How many items of lists there are.';

comment on column mirror.companies.lists is 'In how many lists it is.';

comment on column mirror.companies.watched is 'Whether the watchlist has it.';

comment on column mirror.companies.last_job_status is 'Status of the job with the greatest job_id.';

comment on column mirror.companies.last_researched_at is 'When that job ended; where the service does not say, when it was updated, begun or made; else when it came into the mirror.';

comment on column mirror.companies.latest_score is 'The score of that job; where it has none, that of the list item that changed last.';

comment on view mirror.credits_daily is 'Credits of each account, a row for each day (UTC) since the first one that history knows.';

comment on column mirror.credits_daily._user_id is 'Owner of the API key.';

comment on column mirror.credits_daily.day is 'The day, UTC.';

comment on column mirror.credits_daily.opening is 'Credits when it began; on the first day: when the account was first mirrored.';

comment on column mirror.credits_daily.burnt is 'By how much they fell from one reading to the next, in all.';

comment on column mirror.credits_daily.topped_up is 'By how much they rose from one reading to the next, in all.';

comment on column mirror.credits_daily.closing is 'Credits when it ended; today: now.';

comment on view mirror.data_quality is 'Quarantined items, values that did not fit their column, and deletions held back, by collection.';

comment on column mirror.data_quality.quarantined_items is 'Items that the service has and that could not be mirrored: see quarantine.';

comment on column mirror.data_quality.field_conflicts is 'Values that did not fit their column: see columns.';

comment on column mirror.data_quality.held_deletions is 'Rows whose deletion is proven but held, since so many at once look like a fault of the service.';

comment on column mirror.data_quality.waiting_deletions is 'Rows that look deleted and wait for their second proof.';

comment on column mirror.data_quality.quarantined_without_text is 'Those of them whose text is not kept, since the collection has too many or too large ones.';

comment on column mirror.data_quality.forgotten_rows is 'Rows that are kept out since they were forgotten on request: see forgotten.';

comment on column mirror.data_quality.stale_rows is 'Rows whose newest version Postgres refuses, among the quarantined items: see stale_rows.';

comment on table mirror.events is 'Deliveries of the webhook whose signature was right, one row an event, kept for MIRROR_EVENTS_RETENTION.';

comment on column mirror.events._user_id is 'The account to whose address it was delivered.';

comment on column mirror.events.id is 'ID that the service gave the event; the SHA-256 of its body where it gave none. A delivery that reuses the ID of another event has "#" and 16 hex digits of its body''s SHA-256 behind it.';

comment on column mirror.events.type is 'For example research.completed.';

comment on column mirror.events.created_at is 'When the service made the event, as it says.';

comment on column mirror.events.data is 'Payload of the event.';

comment on column mirror.events.received_at is 'When it was received here for the first time.';

comment on column mirror.events._raw is 'The whole body.';

comment on column mirror.events._verbatim is 'The body''s exact text where _raw had to replace characters that jsonb can''t hold; else null.';

comment on column mirror.events._collection is 'Table of the row that the event names, where it names one.';

comment on column mirror.events._key is 'Key of the row that the event names.';

comment on table mirror.forgotten is 'Rows that were erased by research-mirror forget: readers of the watermark erase their copies, too.';

comment on column mirror.forgotten._user_id is 'Owner of the API key.';

comment on column mirror.forgotten.collection is 'The table. A list stands for its items.';

comment on column mirror.forgotten.key_hash is 'SHA-256 of the table''s name, a colon, and the row''s _key: sha256(convert_to(''research_jobs:'' || _user_id || '':'' || job_id, ''UTF8'')).';

comment on column mirror.forgotten._change_id is 'Watermark: rises in commit order with those of the tables.';

comment on column mirror.forgotten.forgotten_at is 'When it was erased.';

comment on view mirror.freshness is 'How current each collection is: polled_at for new and unsettled rows, complete_as_of for everything, deletions included.';

comment on column mirror.freshness.live_rows is 'Rows that the service has, as far as the mirror knows.';

comment on column mirror.freshness.deleted_rows is 'Rows that the service has no more; kept with _deleted_at.';

comment on column mirror.freshness.polled_at is 'New rows and changes of unsettled rows are here as of this moment.';

comment on column mirror.freshness.complete_as_of is 'Everything, deletions included, is here as of this moment.';

comment on column mirror.freshness.next_poll_at is 'When the next poll is due; one in the past is made up as soon as a daemon runs. Null: never.';

comment on column mirror.freshness.next_full_at is 'When the next full walk is due; one in the past is made up as soon as a daemon runs. Null: never.';

comment on column mirror.freshness.state is 'new (the first load is under way), current, failing (then last_error says why), overdue (a poll or full walk that was promised has not begun, or the last poll lies in the future: the database''s clock went back), or paused (no daemon is asked to mirror it).';

comment on column mirror.freshness.failing_since is 'Since when it can not be read; null: it can.';

comment on table mirror.list_items is 'Items of the lists: GET /v1/lists/{id}, one row for an item in a list.';

comment on column mirror.list_items._user_id is 'By the mirror: owner of the API key, as the service says; first in every primary key.';

comment on column mirror.list_items.list_id is 'By the mirror: the list that was asked for the item.';

comment on column mirror.list_items.id is 'Field "id" of the items: ID of the item (the account) in its list.';

comment on column mirror.list_items._first_seen_at is 'By the mirror: when the row came into it.';

comment on column mirror.list_items._changed_at is 'By the mirror: when the row''s content last changed in it.';

comment on column mirror.list_items._change_id is 'By the mirror: watermark, rises in commit order and is unique for each _user_id.';

comment on column mirror.list_items._deleted_at is 'By the mirror: null while the service has the row.';

comment on column mirror.list_items._hash is 'By the mirror: hash of the content, by which unchanged rows are told.';

comment on column mirror.list_items._raw is 'The whole item as the service sent it.';

comment on column mirror.list_items._verbatim is 'The item''s exact text where _raw had to replace characters that jsonb can''t hold; else null.';

comment on column mirror.list_items._domain is 'By the mirror: domain of the company, from the first of the fields domain, company_domain, company_url, url, website that has one: lower case, without www.';

comment on function mirror.list_items_as_of(timestamp with time zone) is 'list_items as the mirror knew it at that moment; raises RM001 before the first moment that history covers.';

comment on table mirror.list_items_history is 'Superseded versions of list_items, and the last ones of deleted rows: each was current in [_valid_from, _valid_to).';

comment on column mirror.list_items_history._user_id is 'By the mirror: owner of the API key, as the service says; first in every primary key.';

comment on column mirror.list_items_history.list_id is 'By the mirror: the list that was asked for the item.';

comment on column mirror.list_items_history.id is 'Field "id" of the items: ID of the item (the account) in its list.';

comment on column mirror.list_items_history._first_seen_at is 'By the mirror: when the row came into it.';

comment on column mirror.list_items_history._changed_at is 'By the mirror: when the row''s content last changed in it.';

comment on column mirror.list_items_history._change_id is 'By the mirror: watermark, rises in commit order and is unique for each _user_id.';

comment on column mirror.list_items_history._deleted_at is 'By the mirror: null while the service has the row.';

comment on column mirror.list_items_history._hash is 'By the mirror: hash of the content, by which unchanged rows are told.';

comment on column mirror.list_items_history._raw is 'The whole item as the service sent it.';

comment on column mirror.list_items_history._verbatim is 'The item''s exact text where _raw had to replace characters that jsonb can''t hold; else null.';

comment on column mirror.list_items_history._valid_from is 'When this version came into the mirror.';

comment on column mirror.list_items_history._valid_to is 'When it was superseded, or deleted: it was current until just before.';

comment on column mirror.list_items_history._op is 'What ended it: update or delete.';

comment on column mirror.list_items_history._domain is 'By the mirror: domain of the company: see list_items.';

comment on view mirror.list_items_live is 'list_items without deleted rows and _raw; _list_key is the _key of lists_live.';

comment on column mirror.list_items_live._key is 'By the mirror: the whole primary key as one text, for tools that join by one column.';

comment on column mirror.list_items_live._list_key is 'By the mirror: the _key of the list in lists_live.';

comment on column mirror.list_items_live._user_id is 'By the mirror: owner of the API key, as the service says; first in every primary key.';

comment on column mirror.list_items_live.list_id is 'By the mirror: the list that was asked for the item.';

comment on column mirror.list_items_live.id is 'Field "id" of the items: ID of the item (the account) in its list.';

comment on column mirror.list_items_live._first_seen_at is 'By the mirror: when the row came into it.';

comment on column mirror.list_items_live._changed_at is 'By the mirror: when the row''s content last changed in it.';

comment on column mirror.list_items_live._change_id is 'By the mirror: watermark, rises in commit order and is unique for each _user_id.';

comment on column mirror.list_items_live._domain is 'By the mirror: domain of the company: see list_items.';

comment on function mirror.list_items_since(jsonb,bigint) is 'Rows of list_items that changed since these marks: the greatest _change_id taken, by account; an account without one is taken whole. Deleted rows come with _deleted_at, those of MIRROR_DELETES=hard by their last image. at_most: so many of an account, the oldest changes first.';

comment on view mirror.list_items_versions is 'Every known version of the rows of list_items, superseded and current, half-open: [_valid_from, _valid_to).';

comment on column mirror.list_items_versions._user_id is 'By the mirror: owner of the API key, as the service says; first in every primary key.';

comment on column mirror.list_items_versions.list_id is 'By the mirror: the list that was asked for the item.';

comment on column mirror.list_items_versions.id is 'Field "id" of the items: ID of the item (the account) in its list.';

comment on column mirror.list_items_versions._first_seen_at is 'By the mirror: when the row came into it.';

comment on column mirror.list_items_versions._changed_at is 'By the mirror: when the row''s content last changed in it.';

comment on column mirror.list_items_versions._change_id is 'By the mirror: watermark, rises in commit order and is unique for each _user_id.';

comment on column mirror.list_items_versions._raw is 'The whole item as the service sent it.';

comment on column mirror.list_items_versions._valid_from is 'When this version came into the mirror.';

comment on column mirror.list_items_versions._valid_to is 'When it was superseded, or deleted; null for the current version.';

comment on column mirror.list_items_versions._is_current is 'Whether the row is so now.';

comment on column mirror.list_items_versions._op is 'What ended it: update or delete; null for the current version.';

comment on table mirror.lists is 'Lists of companies: GET /v1/lists.';

comment on column mirror.lists._user_id is 'By the mirror: owner of the API key, as the service says; first in every primary key.';

comment on column mirror.lists.list_id is 'Field "list_id" of the items: ID of the list.';

comment on column mirror.lists._first_seen_at is 'By the mirror: when the row came into it.';

comment on column mirror.lists._changed_at is 'By the mirror: when the row''s content last changed in it.';

comment on column mirror.lists._change_id is 'By the mirror: watermark, rises in commit order and is unique for each _user_id.';

comment on column mirror.lists._deleted_at is 'By the mirror: null while the service has the row.';

comment on column mirror.lists._hash is 'By the mirror: hash of the content, by which unchanged rows are told.';

comment on column mirror.lists._raw is 'The whole item as the service sent it.';

comment on column mirror.lists._verbatim is 'The item''s exact text where _raw had to replace characters that jsonb can''t hold; else null.';

comment on function mirror.lists_as_of(timestamp with time zone) is 'lists as the mirror knew it at that moment; raises RM001 before the first moment that history covers.';

comment on table mirror.lists_history is 'Superseded versions of lists, and the last ones of deleted rows: each was current in [_valid_from, _valid_to).';

comment on column mirror.lists_history._user_id is 'By the mirror: owner of the API key, as the service says; first in every primary key.';

comment on column mirror.lists_history.list_id is 'Field "list_id" of the items: ID of the list.';

comment on column mirror.lists_history._first_seen_at is 'By the mirror: when the row came into it.';

comment on column mirror.lists_history._changed_at is 'By the mirror: when the row''s content last changed in it.';

comment on column mirror.lists_history._change_id is 'By the mirror: watermark, rises in commit order and is unique for each _user_id.';

comment on column mirror.lists_history._deleted_at is 'By the mirror: null while the service has the row.';

comment on column mirror.lists_history._hash is 'By the mirror: hash of the content, by which unchanged rows are told.';

comment on column mirror.lists_history._raw is 'The whole item as the service sent it.';

comment on column mirror.lists_history._verbatim is 'The item''s exact text where _raw had to replace characters that jsonb can''t hold; else null.';

comment on column mirror.lists_history._valid_from is 'When this version came into the mirror.';

comment on column mirror.lists_history._valid_to is 'When it was superseded, or deleted: it was current until just before.';

comment on column mirror.lists_history._op is 'What ended it: update or delete.';

comment on view mirror.lists_live is 'lists without deleted rows and _raw, with a single-column key.';

comment on column mirror.lists_live._key is 'By the mirror: the whole primary key as one text, for tools that join by one column.';

comment on column mirror.lists_live._user_id is 'By the mirror: owner of the API key, as the service says; first in every primary key.';

comment on column mirror.lists_live.list_id is 'Field "list_id" of the items: ID of the list.';

comment on column mirror.lists_live._first_seen_at is 'By the mirror: when the row came into it.';

comment on column mirror.lists_live._changed_at is 'By the mirror: when the row''s content last changed in it.';

comment on column mirror.lists_live._change_id is 'By the mirror: watermark, rises in commit order and is unique for each _user_id.';

comment on function mirror.lists_since(jsonb,bigint) is 'Rows of lists that changed since these marks: the greatest _change_id taken, by account; an account without one is taken whole. Deleted rows come with _deleted_at, those of MIRROR_DELETES=hard by their last image. at_most: so many of an account, the oldest changes first.';

comment on view mirror.lists_versions is 'Every known version of the rows of lists, superseded and current, half-open: [_valid_from, _valid_to).';

comment on column mirror.lists_versions._user_id is 'By the mirror: owner of the API key, as the service says; first in every primary key.';

comment on column mirror.lists_versions.list_id is 'Field "list_id" of the items: ID of the list.';

comment on column mirror.lists_versions._first_seen_at is 'By the mirror: when the row came into it.';

comment on column mirror.lists_versions._changed_at is 'By the mirror: when the row''s content last changed in it.';

comment on column mirror.lists_versions._change_id is 'By the mirror: watermark, rises in commit order and is unique for each _user_id.';

comment on column mirror.lists_versions._raw is 'The whole item as the service sent it.';

comment on column mirror.lists_versions._valid_from is 'When this version came into the mirror.';

comment on column mirror.lists_versions._valid_to is 'When it was superseded, or deleted; null for the current version.';

comment on column mirror.lists_versions._is_current is 'Whether the row is so now.';

comment on column mirror.lists_versions._op is 'What ended it: update or delete; null for the current version.';

comment on table mirror.operator_log is 'One row for each act of a person: who did what, and when. It is kept for ever. Nobody but its owner can write it.';

comment on column mirror.operator_log._user_id is 'Owner of the API key; 0: the act is about no single account.';

comment on column mirror.operator_log.act_id is 'Number of the act.';

comment on column mirror.operator_log.at is 'When, by the database''s clock.';

comment on column mirror.operator_log.act is 'The command that did it: accounts retire, accounts retire --undo, accounts move, columns set-type, distribute, forget, forget --undo, submissions cancel, submissions release, sync --accept-deletions.';

comment on column mirror.operator_log.arguments is 'What it was told, and what came of it. Of rows that were forgotten: hashes of their keys, as forgotten has them.';

comment on column mirror.operator_log.database_user is 'Login in Postgres of who asked; null: an older program asked.';

comment on column mirror.operator_log.os_user is 'user@host of the process that asked, as it says; null: cancel_submission() was called by SQL.';

comment on column mirror.operator_log.program is 'Version of the program that asked, as it says.';

comment on table mirror.quarantine is 'Items that the service has and that could not be mirrored, verbatim, with the reason.';

comment on column mirror.quarantine._user_id is 'Owner of the API key.';

comment on column mirror.quarantine.collection is 'Collection that the item is of.';

comment on column mirror.quarantine.parent is 'The list that it is an item of; empty outside lists.';

comment on column mirror.quarantine.item_hash is 'SHA-256 of the item''s text.';

comment on column mirror.quarantine.item is 'The item as the service sent it; empty where kept is false.';

comment on column mirror.quarantine.key is 'Its cursor ID, one row for each; null: it has none that can be stored.';

comment on column mirror.quarantine.reason is 'Why it could not be mirrored, to follow "the item".';

comment on column mirror.quarantine.first_seen_at is 'Since when the item, whatever its text, is in quarantine.';

comment on column mirror.quarantine.last_seen_at is 'When it was seen last, at most an hour before it really was.';

comment on column mirror.quarantine.place is 'Where an item without a usable key stands: the key that it follows, empty at the top; null: not known.';

comment on column mirror.quarantine.bytes is 'Bytes of its text; null in rows from before this column.';

comment on column mirror.quarantine.kept is 'false: its text is not kept, since the collection has too many or too large ones.';

comment on table mirror.recoveries is 'One row each time the database was found to have gone back: a failover or crash that lost commits, a restore, a copy. Whoever has read rows by _change_id compares (key, _change_id) once when a row appears here.';

comment on column mirror.recoveries.detected_at is 'When it was noticed, by the database''s clock; full walks of all accounts are due from then on.';

comment on column mirror.recoveries.reason is 'By what it was noticed.';

comment on column mirror.recoveries.last_sign_of_life is 'When a daemon last kept the database company, as far as it still knows: what was committed later may be lost.';

comment on table mirror.research_jobs is 'Single research jobs: GET /v1/research.';

comment on column mirror.research_jobs._user_id is 'By the mirror: owner of the API key, as the service says; first in every primary key.';

comment on column mirror.research_jobs.job_id is 'Field "job_id" of the items: ID of the research job.';

comment on column mirror.research_jobs.status is 'Field "status" of the items: state of the job in the service''s own word, for example completed.';

comment on column mirror.research_jobs._first_seen_at is 'By the mirror: when the row came into it.';

comment on column mirror.research_jobs._changed_at is 'By the mirror: when the row''s content last changed in it.';

comment on column mirror.research_jobs._change_id is 'By the mirror: watermark, rises in commit order and is unique for each _user_id.';

comment on column mirror.research_jobs._deleted_at is 'By the mirror: null while the service has the row.';

comment on column mirror.research_jobs._hash is 'By the mirror: hash of the content, by which unchanged rows are told.';

comment on column mirror.research_jobs._raw is 'The whole item as the service sent it.';

comment on column mirror.research_jobs._verbatim is 'The item''s exact text where _raw had to replace characters that jsonb can''t hold; else null.';

comment on column mirror.research_jobs._domain is 'By the mirror: domain of the company, from the first of the fields domain, company_domain, company_url, url, website that has one: lower case, without www.';

comment on function mirror.research_jobs_as_of(timestamp with time zone) is 'research_jobs as the mirror knew it at that moment; raises RM001 before the first moment that history covers.';

comment on table mirror.research_jobs_history is 'Superseded versions of research_jobs, and the last ones of deleted rows: each was current in [_valid_from, _valid_to).';

comment on column mirror.research_jobs_history._user_id is 'By the mirror: owner of the API key, as the service says; first in every primary key.';

comment on column mirror.research_jobs_history.job_id is 'Field "job_id" of the items: ID of the research job.';

comment on column mirror.research_jobs_history.status is 'Field "status" of the items: state of the job in the service''s own word, for example completed.';

comment on column mirror.research_jobs_history._first_seen_at is 'By the mirror: when the row came into it.';

comment on column mirror.research_jobs_history._changed_at is 'By the mirror: when the row''s content last changed in it.';

comment on column mirror.research_jobs_history._change_id is 'By the mirror: watermark, rises in commit order and is unique for each _user_id.';

comment on column mirror.research_jobs_history._deleted_at is 'By the mirror: null while the service has the row.';

comment on column mirror.research_jobs_history._hash is 'By the mirror: hash of the content, by which unchanged rows are told.';

comment on column mirror.research_jobs_history._raw is 'The whole item as the service sent it.';

comment on column mirror.research_jobs_history._verbatim is 'The item''s exact text where _raw had to replace characters that jsonb can''t hold; else null.';

comment on column mirror.research_jobs_history._valid_from is 'When this version came into the mirror.';

comment on column mirror.research_jobs_history._valid_to is 'When it was superseded, or deleted: it was current until just before.';

comment on column mirror.research_jobs_history._op is 'What ended it: update or delete.';

comment on column mirror.research_jobs_history._domain is 'By the mirror: domain of the company: see research_jobs.';

comment on view mirror.research_jobs_live is 'research_jobs without deleted rows and _raw, with a single-column key.';

comment on column mirror.research_jobs_live._key is 'By the mirror: the whole primary key as one text, for tools that join by one column.';

comment on column mirror.research_jobs_live._user_id is 'By the mirror: owner of the API key, as the service says; first in every primary key.';

comment on column mirror.research_jobs_live.job_id is 'Field "job_id" of the items: ID of the research job.';

comment on column mirror.research_jobs_live.status is 'Field "status" of the items: state of the job in the service''s own word, for example completed.';

comment on column mirror.research_jobs_live._first_seen_at is 'By the mirror: when the row came into it.';

comment on column mirror.research_jobs_live._changed_at is 'By the mirror: when the row''s content last changed in it.';

comment on column mirror.research_jobs_live._change_id is 'By the mirror: watermark, rises in commit order and is unique for each _user_id.';

comment on column mirror.research_jobs_live._domain is 'By the mirror: domain of the company: see research_jobs.';

comment on function mirror.research_jobs_since(jsonb,bigint) is 'Rows of research_jobs that changed since these marks: the greatest _change_id taken, by account; an account without one is taken whole. Deleted rows come with _deleted_at, those of MIRROR_DELETES=hard by their last image. at_most: so many of an account, the oldest changes first.';

comment on view mirror.research_jobs_versions is 'Every known version of the rows of research_jobs, superseded and current, half-open: [_valid_from, _valid_to).';

comment on column mirror.research_jobs_versions._user_id is 'By the mirror: owner of the API key, as the service says; first in every primary key.';

comment on column mirror.research_jobs_versions.job_id is 'Field "job_id" of the items: ID of the research job.';

comment on column mirror.research_jobs_versions.status is 'Field "status" of the items: state of the job in the service''s own word, for example completed.';

comment on column mirror.research_jobs_versions._first_seen_at is 'By the mirror: when the row came into it.';

comment on column mirror.research_jobs_versions._changed_at is 'By the mirror: when the row''s content last changed in it.';

comment on column mirror.research_jobs_versions._change_id is 'By the mirror: watermark, rises in commit order and is unique for each _user_id.';

comment on column mirror.research_jobs_versions._raw is 'The whole item as the service sent it.';

comment on column mirror.research_jobs_versions._valid_from is 'When this version came into the mirror.';

comment on column mirror.research_jobs_versions._valid_to is 'When it was superseded, or deleted; null for the current version.';

comment on column mirror.research_jobs_versions._is_current is 'Whether the row is so now.';

comment on column mirror.research_jobs_versions._op is 'What ended it: update or delete; null for the current version.';

comment on function mirror.row_story(bigint,text,text,bigint) is 'What happened to a row, in the order of time: queued, sent, answered, events, mirrored, changed field by field, deleted, undeleted, quarantined, and when it was read last. key as in changes. at_most: how many superseded versions, events and submissions it tells, the newest of each.';

comment on view mirror.stale_rows is 'Rows that stay as they were, since Postgres refuses their newest version: see quarantine for its text.';

comment on column mirror.stale_rows._user_id is 'Owner of the API key.';

comment on column mirror.stale_rows.collection is 'The table.';

comment on column mirror.stale_rows.key is 'The row''s key after _user_id, its columns joined by a colon; of account the _user_id.';

comment on column mirror.stale_rows.since is 'When a version of it was refused first, since it was last mirrored as it is.';

comment on column mirror.stale_rows.reason is 'Why, to follow "the item".';

comment on table mirror.submissions is 'POST operations of the service that were queued here with submit().';

comment on column mirror.submissions._user_id is 'The account for which it is carried out.';

comment on column mirror.submissions.submission_id is 'What submit() returned.';

comment on column mirror.submissions.operation is 'research, enrich, clay_enrich, bulk_research, list, list_analyze or sequence.';

comment on column mirror.submissions.target_id is 'Of list_analyze the list, of sequence the research job.';

comment on column mirror.submissions.payload is 'Body of the request.';

comment on column mirror.submissions.idempotency_key is 'As given to submit(): the same key gives the same submission. Kept four times MIRROR_LOG_RETENTION and at least 400 days after done_at; submissions without one go after MIRROR_LOG_RETENTION.';

comment on column mirror.submissions.state is 'queued, sending, accepted, rejected, unknown (it may have taken effect, and is never sent again), cancelled, or held (after a restore or copy of the database, until released).';

comment on column mirror.submissions.response_status is 'HTTP status of the answer; null while there is none.';

comment on column mirror.submissions.response is 'Body of the answer, whole; a JSON string where it is no JSON.';

comment on column mirror.submissions.error is 'Why it was rejected, is unknown, or waits.';

comment on column mirror.submissions.created_at is 'When it was queued.';

comment on column mirror.submissions.sent_at is 'When it was sent; null while that has not happened, or has had no effect.';

comment on column mirror.submissions.done_at is 'When it was accepted, rejected or cancelled, or its outcome became unknown.';

comment on column mirror.submissions._request_id is 'Idempotency-Key header of its request.';

comment on column mirror.submissions._send_before is 'Its request is written before this moment or not at all.';

comment on column mirror.submissions._not_before is 'It is not tried before this moment.';

comment on column mirror.submissions._conclusive_at is 'Where the outcome is unknown: from then on the service''s own lists tell whether it took effect.';

comment on column mirror.submissions._verbatim is 'The response as exact JSON text where it had to replace characters that jsonb can''t hold; else null.';

comment on function mirror.submit(text,jsonb,text,bigint,text) is 'Queues a POST operation of the service and returns its submission_id; the same idempotency_key gives the same one. Watch the table submissions for what becomes of it.';

comment on table mirror.sync_log is 'One row a walk: what was read, what it changed, how it ended.';

comment on table mirror.watchlist is 'Watched companies: GET /v1/watchlist.';

comment on column mirror.watchlist._user_id is 'By the mirror: owner of the API key, as the service says; first in every primary key.';

comment on column mirror.watchlist.id is 'Field "id" of the items: ID of the watchlist entry.';

comment on column mirror.watchlist._first_seen_at is 'By the mirror: when the row came into it.';

comment on column mirror.watchlist._changed_at is 'By the mirror: when the row''s content last changed in it.';

comment on column mirror.watchlist._change_id is 'By the mirror: watermark, rises in commit order and is unique for each _user_id.';

comment on column mirror.watchlist._deleted_at is 'By the mirror: null while the service has the row.';

comment on column mirror.watchlist._hash is 'By the mirror: hash of the content, by which unchanged rows are told.';

comment on column mirror.watchlist._raw is 'The whole item as the service sent it.';

comment on column mirror.watchlist._verbatim is 'The item''s exact text where _raw had to replace characters that jsonb can''t hold; else null.';

comment on column mirror.watchlist._domain is 'By the mirror: domain of the company, from the first of the fields domain, company_domain, company_url, url, website that has one: lower case, without www.';

comment on function mirror.watchlist_as_of(timestamp with time zone) is 'watchlist as the mirror knew it at that moment; raises RM001 before the first moment that history covers.';

comment on table mirror.watchlist_history is 'Superseded versions of watchlist, and the last ones of deleted rows: each was current in [_valid_from, _valid_to).';

comment on column mirror.watchlist_history._user_id is 'By the mirror: owner of the API key, as the service says; first in every primary key.';

comment on column mirror.watchlist_history.id is 'Field "id" of the items: ID of the watchlist entry.';

comment on column mirror.watchlist_history._first_seen_at is 'By the mirror: when the row came into it.';

comment on column mirror.watchlist_history._changed_at is 'By the mirror: when the row''s content last changed in it.';

comment on column mirror.watchlist_history._change_id is 'By the mirror: watermark, rises in commit order and is unique for each _user_id.';

comment on column mirror.watchlist_history._deleted_at is 'By the mirror: null while the service has the row.';

comment on column mirror.watchlist_history._hash is 'By the mirror: hash of the content, by which unchanged rows are told.';

comment on column mirror.watchlist_history._raw is 'The whole item as the service sent it.';

comment on column mirror.watchlist_history._verbatim is 'The item''s exact text where _raw had to replace characters that jsonb can''t hold; else null.';

comment on column mirror.watchlist_history._valid_from is 'When this version came into the mirror.';

comment on column mirror.watchlist_history._valid_to is 'When it was superseded, or deleted: it was current until just before.';

comment on column mirror.watchlist_history._op is 'What ended it: update or delete.';

comment on column mirror.watchlist_history._domain is 'By the mirror: domain of the company: see watchlist.';

comment on view mirror.watchlist_live is 'watchlist without deleted rows and _raw, with a single-column key.';

comment on column mirror.watchlist_live._key is 'By the mirror: the whole primary key as one text, for tools that join by one column.';

comment on column mirror.watchlist_live._user_id is 'By the mirror: owner of the API key, as the service says; first in every primary key.';

comment on column mirror.watchlist_live.id is 'Field "id" of the items: ID of the watchlist entry.';

comment on column mirror.watchlist_live._first_seen_at is 'By the mirror: when the row came into it.';

comment on column mirror.watchlist_live._changed_at is 'By the mirror: when the row''s content last changed in it.';

comment on column mirror.watchlist_live._change_id is 'By the mirror: watermark, rises in commit order and is unique for each _user_id.';

comment on column mirror.watchlist_live._domain is 'By the mirror: domain of the company: see watchlist.';

comment on function mirror.watchlist_since(jsonb,bigint) is 'Rows of watchlist that changed since these marks: the greatest _change_id taken, by account; an account without one is taken whole. Deleted rows come with _deleted_at, those of MIRROR_DELETES=hard by their last image. at_most: so many of an account, the oldest changes first.';

comment on view mirror.watchlist_versions is 'Every known version of the rows of watchlist, superseded and current, half-open: [_valid_from, _valid_to).';

comment on column mirror.watchlist_versions._user_id is 'By the mirror: owner of the API key, as the service says; first in every primary key.';

comment on column mirror.watchlist_versions.id is 'Field "id" of the items: ID of the watchlist entry.';

comment on column mirror.watchlist_versions._first_seen_at is 'By the mirror: when the row came into it.';

comment on column mirror.watchlist_versions._changed_at is 'By the mirror: when the row''s content last changed in it.';

comment on column mirror.watchlist_versions._change_id is 'By the mirror: watermark, rises in commit order and is unique for each _user_id.';

comment on column mirror.watchlist_versions._raw is 'The whole item as the service sent it.';

comment on column mirror.watchlist_versions._valid_from is 'When this version came into the mirror.';

comment on column mirror.watchlist_versions._valid_to is 'When it was superseded, or deleted; null for the current version.';

comment on column mirror.watchlist_versions._is_current is 'Whether the row is so now.';

comment on column mirror.watchlist_versions._op is 'What ended it: update or delete; null for the current version.';

comment on table mirror.webhook is 'The account''s webhook as the service says: GET /v1/webhooks, without the secret.';

comment on column mirror.webhook._user_id is 'Owner of the API key.';

comment on column mirror.webhook.url is 'Where the service delivers events.';

comment on column mirror.webhook.active is 'Whether it does.';

comment on column mirror.webhook.event_types is 'Subscribed event types; null means all.';

comment on column mirror.webhook._first_seen_at is 'When the row came into this mirror.';

comment on column mirror.webhook._changed_at is 'When the row''s content last changed in this mirror.';

comment on column mirror.webhook._change_id is 'Watermark: rises in commit order and is unique for each _user_id.';

comment on column mirror.webhook._deleted_at is 'Null while a webhook is registered.';

comment on column mirror.webhook._raw is 'The whole object as the service sent it, without a secret.';

-- Schema mirror_sync

create table mirror_sync.account (
  _user_id bigint not null,
  owner text,
  token bigint default 0 not null,
  change_id bigint default 0 not null,
  walk_id bigint default 0 not null,
  state text default 'active'::text not null,
  error text,
  created_at timestamp with time zone not null,
  recheck boolean default false not null,
  origin text,
  constraint account_pkey PRIMARY KEY (_user_id)
);

create table mirror_sync.api_key (
  key_hash text not null,
  _user_id bigint,
  pinged_at timestamp with time zone not null,
  error text,
  answered_for bigint,
  constraint api_key_pkey PRIMARY KEY (key_hash)
);

create table mirror_sync.backfill (
  _user_id bigint not null,
  collection text not null,
  field text not null,
  done_through bigint not null,
  until bigint not null,
  history_through timestamp with time zone,
  constraint backfill_pkey PRIMARY KEY (_user_id, collection, field)
);

create table mirror_sync.candidate (
  _user_id bigint not null,
  collection text not null,
  parent text default ''::text not null,
  key text collate "C" not null,
  kind text not null,
  obs bigint not null,
  at timestamp with time zone not null,
  proven_at timestamp with time zone,
  served_at timestamp with time zone,
  refused text,
  refused_at timestamp with time zone,
  constraint candidate_pkey PRIMARY KEY (_user_id, collection, parent, key)
);

create table mirror_sync.command (
  command_id uuid not null,
  kind text not null,
  arguments jsonb not null,
  state text default 'queued'::text not null,
  created_at timestamp with time zone not null,
  wanted_until timestamp with time zone not null,
  owner text,
  progress jsonb,
  result jsonb,
  error text,
  done_at timestamp with time zone,
  constraint command_pkey PRIMARY KEY (command_id)
);

create table mirror_sync.deletions (
  _user_id bigint not null,
  collection text not null,
  hour timestamp with time zone not null,
  deleted bigint not null,
  constraint deletions_pkey PRIMARY KEY (_user_id, collection, hour)
);

create table mirror_sync.event_seen (
  _user_id bigint not null,
  id text collate "C" not null,
  received_at timestamp with time zone not null,
  content text,
  constraint event_seen_pkey PRIMARY KEY (_user_id, id)
);
CREATE INDEX event_seen_received ON mirror_sync.event_seen USING btree (_user_id, received_at);

create table mirror_sync.first_ping (
  key_hash text not null,
  sent_at timestamp with time zone not null,
  constraint first_ping_pkey PRIMARY KEY (key_hash, sent_at)
);

create table mirror_sync.granted (
  role text not null,
  object text not null,
  role_id text,
  constraint granted_pkey PRIMARY KEY (role, object)
);

create table mirror_sync.hint (
  _user_id bigint not null,
  collection text not null,
  parent text default ''::text not null,
  key text collate "C" default ''::text not null,
  seq bigint default 1 not null,
  hinted_at timestamp with time zone not null,
  due_at timestamp with time zone not null,
  step smallint default 0 not null,
  constraint hint_pkey PRIMARY KEY (_user_id, collection, parent, key)
);
CREATE INDEX hint_due ON mirror_sync.hint USING btree (due_at);

create table mirror_sync.installation (
  singleton boolean default true not null,
  created_at timestamp with time zone not null,
  settings jsonb default '{}'::jsonb not null,
  fingerprint jsonb,
  alive_at timestamp with time zone,
  held_at timestamp with time zone,
  held_why text,
  nodes jsonb default '{}'::jsonb not null,
  change_floor bigint default 0 not null,
  hash_key text,
  privacy_told text,
  emptied_operations text[],
  constraint installation_pkey PRIMARY KEY (singleton),
  constraint installation_singleton_check CHECK (singleton)
);

create table mirror_sync.migration (
  name text not null,
  checksum text not null,
  applied_at timestamp with time zone not null,
  oldest_program text,
  constraint migration_pkey PRIMARY KEY (name)
);

create table mirror_sync.own_url (
  _user_id bigint not null,
  url text not null,
  registered_at timestamp with time zone not null,
  constraint own_url_pkey PRIMARY KEY (_user_id, url)
);

create table mirror_sync.problem (
  problem_id text not null,
  name text not null,
  problem jsonb not null,
  found_at timestamp with time zone not null,
  seen_at timestamp with time zone not null,
  over_at timestamp with time zone,
  told_at timestamp with time zone,
  over_told_at timestamp with time zone,
  tries integer default 0 not null,
  retry_at timestamp with time zone,
  constraint problem_pkey PRIMARY KEY (problem_id)
);
CREATE UNIQUE INDEX problem_open ON mirror_sync.problem USING btree (name) WHERE (over_at IS NULL);

create table mirror_sync.process (
  process_id text not null,
  command text not null,
  version text not null,
  host text not null,
  machine text not null,
  pid integer not null,
  started_ticks text not null,
  started_at timestamp with time zone not null,
  alive_until timestamp with time zone not null,
  asked jsonb,
  serves bigint[],
  constraint process_pkey PRIMARY KEY (process_id),
  constraint process_version CHECK ((version !~ '^0[.][0-2][.]'::text))
);

create table mirror_sync.rate_group (
  _user_id bigint not null,
  key_hash text not null,
  rate_group text not null,
  learnt jsonb not null,
  constraint rate_group_pkey PRIMARY KEY (_user_id, key_hash, rate_group)
);

create table mirror_sync.registration (
  _user_id bigint not null,
  state text default 'none'::text not null,
  url text,
  secret text,
  secret_at timestamp with time zone,
  previous_secret text,
  previous_until timestamp with time zone,
  registering_at timestamp with time zone,
  registered_at timestamp with time zone,
  checked_at timestamp with time zone,
  replaced_at timestamp with time zone[] default '{}'::timestamp with time zone[] not null,
  verified_at timestamp with time zone,
  mismatches integer default 0 not null,
  error text,
  constraint registration_pkey PRIMARY KEY (_user_id)
);

create table mirror_sync.scope (
  _user_id bigint not null,
  collection text not null,
  parent text default ''::text not null,
  memory jsonb default '{}'::jsonb not null,
  due_at timestamp with time zone,
  last_read_at timestamp with time zone,
  polled_at timestamp with time zone,
  full_at timestamp with time zone,
  live_rows bigint default 0 not null,
  last_error text,
  last_error_at timestamp with time zone,
  failures integer default 0 not null,
  full_walk jsonb,
  last_obs bigint default 0 not null,
  complete_as_of timestamp with time zone,
  gone_at timestamp with time zone,
  last_due_at timestamp with time zone,
  constraint scope_pkey PRIMARY KEY (_user_id, collection, parent)
) with (fillfactor=50);

create table mirror_sync.slot_block (
  _user_id bigint not null,
  key_hash text not null,
  rate_group text not null,
  block_id bigint not null,
  size integer not null,
  valid_until timestamp with time zone not null,
  freed timestamp with time zone[] default '{}'::timestamp with time zone[] not null,
  constraint slot_block_pkey PRIMARY KEY (_user_id, key_hash, rate_group, block_id)
) with (fillfactor=50);

create table mirror_sync.unsettled (
  _user_id bigint not null,
  collection text not null,
  parent text default ''::text not null,
  key text collate "C" not null,
  since timestamp with time zone not null,
  finished boolean not null,
  constraint unsettled_pkey PRIMARY KEY (_user_id, collection, parent, key)
);

CREATE OR REPLACE FUNCTION mirror_sync.bind_reader(reader name, user_id bigint)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET standard_conforming_strings TO 'on'
 SET array_nulls TO 'on'
 SET transform_null_equals TO 'off'
 SET quote_all_identifiers TO 'off'
AS $function$
declare
  login constant oid := to_regrole(quote_ident(reader));
  other name;
begin
  if login is null or bind_reader.user_id is null then
    raise exception 'there is no role %, or no account is named', reader;
  end if;
  select r.rolname into other from pg_roles r
  where pg_has_role(login, r.oid, 'member') and (r.rolsuper or r.rolbypassrls or r.rolcreaterole or r.rolreplication
    or r.oid <> login and exists (
      select from pg_class c where c.relnamespace = '"mirror"'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')
        and has_any_column_privilege(r.oid, c.oid, 'select'))
    or exists (select from pg_class c where c.relnamespace = '"mirror"'::regnamespace and c.relowner = r.oid))
  order by r.oid <> login, r.rolname limit 1;
  if other is not null then
    raise exception '% reads more than one account as %', reader, other
      using hint = case when other = reader then 'Take another role: this one owns tables here, or passes by policies.'
        else format('revoke %I from %I;', other, reader) end;
  end if;
  select v.oid::regclass::text into other from pg_class v
  where v.relkind in ('v', 'm') and not coalesce('security_invoker=true' = any (v.reloptions), false)
    and has_any_column_privilege(login, v.oid, 'select') and exists (
      select from pg_rewrite w join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid
        join pg_class t on d.refclassid = 'pg_class'::regclass and t.oid = d.refobjid
      where w.ev_class = v.oid and t.oid <> v.oid and t.relnamespace = '"mirror"'::regnamespace)
  limit 1;
  if other is not null then
    raise exception '% reads more than one account by the view %', reader, other
      using hint = format('It reads with its owner''s rights: revoke select on it from %I and from public.', reader);
  end if;
  perform "mirror_sync".bind_tables(login, user_id);
end $function$
;

CREATE OR REPLACE FUNCTION mirror_sync.bind_readers()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET standard_conforming_strings TO 'on'
 SET array_nulls TO 'on'
 SET transform_null_equals TO 'off'
 SET quote_all_identifiers TO 'off'
AS $function$
begin
  perform "mirror_sync".bind_tables(b.reader, b.user_id) from "mirror_sync".bound_readers() b;
end $function$
;

CREATE OR REPLACE FUNCTION mirror_sync.bind_tables(reader oid, user_id bigint)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET standard_conforming_strings TO 'on'
 SET array_nulls TO 'on'
 SET transform_null_equals TO 'off'
 SET quote_all_identifiers TO 'off'
AS $function$
declare
  each record;
  old name;
  readers constant oid := to_regrole('"mirror_reader"');
  login constant text := quote_ident(pg_get_userbyid(reader));
begin
  if not has_schema_privilege(reader, '"mirror"'::regnamespace, 'usage') then
    execute format('grant usage on schema "mirror" to %s', login);
  end if;
  for each in
    select t.oid, t.oid::regclass as name, t.relrowsecurity, t.relkind, exists (
        select from pg_attribute a where a.attrelid = t.oid and a.attname = '_user_id') as of_account
    from pg_class t
    where t.relnamespace = '"mirror"'::regnamespace and pg_has_role(t.relowner, 'usage') and (t.relkind in ('r', 'p')
      or t.relkind = 'v' and coalesce('security_invoker=true' = any (t.reloptions), false))
  loop
    if each.relkind <> 'v' and each.of_account then
      if not exists (select from pg_policy p where p.polrelid = each.oid and p.polname = 'everybody') then
        execute format('create policy everybody on %s using (true) with check (true)', each.name);
      end if;
      if not exists (
        select from pg_policy p where p.polrelid = each.oid and p.polname like 'one\_account\_%' and p.polroles = array[reader]
          and pg_get_expr(p.polqual, p.polrelid) = format('(_user_id = %L::bigint)', user_id)) then
        for old in
          select p.polname from pg_policy p where p.polrelid = each.oid and p.polname like 'one\_account\_%' and p.polroles = array[reader]
        loop
          execute format('drop policy %I on %s', old, each.name);
        end loop;
        execute format('create policy %I on %s as restrictive for select to %s using (_user_id = %L::bigint)',
          'one_account_' || gen_random_uuid(), each.name, login, user_id);
      end if;
      if not each.relrowsecurity then
        execute format('alter table %s enable row level security', each.name);
      end if;
    end if;
    if (each.relkind = 'v' or each.of_account or each.oid in ('"mirror"._columns'::regclass, '"mirror".recoveries'::regclass))
      and coalesce(has_table_privilege(readers, each.oid, 'select'), true) and not has_table_privilege(reader, each.oid, 'select')
    then
      execute format('grant select on %s to %s', each.name, login);
    end if;
  end loop;
  for each in
    select p.oid::regprocedure as name from pg_proc p
    where p.pronamespace = '"mirror"'::regnamespace and pg_has_role(p.proowner, 'usage') and not p.prosecdef
      and has_function_privilege(readers, p.oid, 'execute') and not has_function_privilege(reader, p.oid, 'execute')
  loop
    execute format('grant execute on function %s to %s', each.name, login);
  end loop;
end $function$
;

CREATE OR REPLACE FUNCTION mirror_sync.bound_readers()
 RETURNS TABLE(reader oid, user_id bigint)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET standard_conforming_strings TO 'on'
 SET array_nulls TO 'on'
 SET transform_null_equals TO 'off'
 SET quote_all_identifiers TO 'off'
AS $function$
begin
  return query select p.polroles[1], substring(pg_get_expr(p.polqual, p.polrelid) from '-?[0-9]+')::bigint
  from pg_policy p where p.polrelid = '"mirror".account'::regclass and p.polname like 'one\_account\_%';
end $function$
;

CREATE OR REPLACE FUNCTION mirror_sync.give_view_columns()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET standard_conforming_strings TO 'on'
 SET array_nulls TO 'on'
 SET transform_null_equals TO 'off'
 SET quote_all_identifiers TO 'off'
AS $function$
declare
  given record;
begin
  for given in
    with recursive reads as (
      select distinct w.ev_class as view, d.refobjid as relation, d.refobjsubid as attnum
      from pg_depend d join pg_rewrite w on w.oid = d.objid
      where d.classid = 'pg_rewrite'::regclass and d.refclassid = 'pg_class'::regclass and d.refobjid <> w.ev_class
    ), named as (
      select r.view, r.relation, a.attnum, a.attname
      from reads r join pg_class v on v.oid = r.view join pg_class t on t.oid = r.relation and t.relnamespace = v.relnamespace
        join pg_attribute a on a.attrelid = t.oid and a.attnum = r.attnum
      where v.relnamespace = '"mirror"'::regnamespace and 'security_invoker=true' = any (v.reloptions)
        and pg_has_role(v.relowner, 'usage') and pg_has_role(t.relowner, 'usage')
    ), tops as (
      select distinct view as top, view from named
      union select r.view, t.view from tops t join reads r on r.relation = t.top
    ), needed as (
      select t.top, n.* from tops t join named n on n.view = t.view
    )
    select n.relation::regclass as relation, string_agg(distinct quote_ident(n.attname), ', ') as columns,
      case g.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(g.grantee)) end as reader
    from needed n join pg_class v on v.oid = n.top cross join aclexplode(v.relacl) g
    where g.privilege_type = 'SELECT' and g.grantee <> v.relowner
      and not case g.grantee when 0 then has_column_privilege('public', n.relation, n.attnum, 'select')
        else has_column_privilege(g.grantee, n.relation, n.attnum, 'select') end
      and not exists (
        select from needed c where c.top = n.top and c.attname in ('_raw', '_verbatim', 'item') and not exists (
          select from pg_attribute s where s.attrelid = c.top and s.attname = c.attname))
    group by 1, 3
  loop
    execute format('grant select (%s) on %s to %s', given.columns, given.relation, given.reader);
  end loop;
end $function$
;

CREATE OR REPLACE FUNCTION mirror_sync.make_as_of()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET standard_conforming_strings TO 'on'
 SET array_nulls TO 'on'
 SET transform_null_equals TO 'off'
 SET quote_all_identifiers TO 'off'
AS $function$
declare
  t text;
  live text;
  archived text;
  made text;
  distributed boolean;
begin
  foreach t in array array['account', 'research_jobs', 'bulk_research_jobs', 'lists', 'list_items', 'watchlist'] loop
    continue when exists (
      select from pg_proc where oid = to_regprocedure(format('"mirror".%I(timestamptz)', t || '_as_of'))
        and not pg_has_role(proowner, 'usage'));
    distributed := false;
    if to_regclass('pg_dist_partition') is not null then
      execute 'select exists (select from pg_dist_partition where logicalrelid = $1)' into distributed
        using format('"mirror".%I', t)::regclass;
    end if;
    if distributed then
      made := format('
begin
  return query execute "mirror"._as_of(%L, moment) using moment;
end ', t);
    else
      select string_agg('t.' || quote_ident(a.attname), ', ' order by a.attnum),
        string_agg(case when h.attname is null or a.attname = '_deleted_at'
          then 'null::' || format_type(a.atttypid, a.atttypmod) else 'h.' || quote_ident(a.attname) end, ', ' order by a.attnum)
      into live, archived
      from pg_attribute a
        left join pg_attribute h on h.attrelid = format('"mirror".%I', t || '_history')::regclass
          and h.attname = a.attname and h.atttypid = a.atttypid and h.atttypmod = a.atttypmod and not h.attisdropped
      where a.attrelid = format('"mirror".%I', t)::regclass and a.attnum > 0 and not a.attisdropped;
      -- Of a moment that has come, the table is what is there now, also where the clock went back since. Null reaches
      -- the check, which refuses it.
      made := format('
select %1$s from "mirror".%2$I t
where t._deleted_at is null and (t._changed_at <= coalesce(moment, ''infinity'') or moment >= pg_catalog.now())
  and "mirror"._covered_as_of(%3$L, moment)
union all
select %4$s from "mirror".%5$I h
where h._valid_from <= moment and h._valid_to > moment and moment < pg_catalog.now()
  and "mirror"._covered_as_of(%3$L, moment)
', live, t, t, archived, t || '_history');
    end if;
    continue when exists (
      select from pg_proc where oid = to_regprocedure(format('"mirror".%I(timestamptz)', t || '_as_of')) and prosrc = made);
    execute format('create or replace function "mirror".%I(moment timestamptz) returns setof "mirror".%I language %s as %L',
      t || '_as_of', t,
      case when distributed then 'plpgsql stable set search_path = pg_catalog, pg_temp' else 'sql stable' end, made);
  end loop;
end $function$
;

CREATE OR REPLACE FUNCTION mirror_sync.make_changes()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET standard_conforming_strings TO 'on'
 SET array_nulls TO 'on'
 SET transform_null_equals TO 'off'
 SET quote_all_identifiers TO 'off'
AS $function$
declare
  tables constant text[] := array['account', 'research_jobs', 'bulk_research_jobs', 'lists', 'list_items', 'watchlist'];
  t text;
  source text;
  keys text[];
  same_key text;
  shown_key text;
  branches text[] := '{}';
  gate constant text := "mirror_sync".readable_gate();
begin
  if exists (
    select from pg_class v where v.oid = to_regclass('"mirror".changes') and (
      not pg_has_role(v.relowner, 'usage')
      or pg_get_viewdef(v.oid) !~ 'jsonb_each'
        and pg_get_viewdef(v.oid) ~ '\( SELECT has_table_privilege' = (gate like '(select%'))
  ) then
    return;
  end if;
  foreach t in array tables loop
    keys := case t
      when 'research_jobs' then array['job_id']
      when 'bulk_research_jobs' then array['bulk_job_id']
      when 'lists' then array['list_id']
      when 'list_items' then array['list_id', 'id']
      when 'watchlist' then array['id']
      else '{}' end;
    shown_key := coalesce(
      (select string_agg(format('s.%I::text', k), ' || '':'' || ' order by n) from unnest(keys) with ordinality as x(k, n)),
      's._user_id::text');
    foreach source in array array[t, t || '_history'] loop
      same_key := coalesce((select string_agg(format(' and h.%1$I = s.%1$I', k), '') from unnest(keys) as k), '');
      branches := branches || format($branch$
        select s._user_id, %1$L::text as collection, %2$s as key, d.field, d.before, d.after,
          e.changed_at, s._change_id as change_id, e.op
        from "mirror".%3$I s
          left join "mirror".%4$I p on p._user_id = s._user_id%5$s and p._change_id = (
            select max(h._change_id) from "mirror".%4$I h
            where h._user_id = s._user_id%6$s and h._change_id < s._change_id)
          left join "mirror"._collections c on c._user_id = s._user_id and c.collection = %1$L
          cross join lateral unnest(
            case when p._op = 'delete' and s._deleted_at is null then array['delete'] else '{}' end
              || case when s._deleted_at is not null then 'delete'
                when p._op = 'delete' and p._valid_to >= c.history_from then 'undelete'
                when s._changed_at = s._first_seen_at and p._op is distinct from 'update' then 'insert'
                else 'update' end,
            case when p._op = 'delete' and s._deleted_at is null then array[p._valid_to, s._changed_at]
              else array[s._changed_at] end) as e(op, changed_at)
          left join lateral (
            select k.field, p._raw -> k.field as before, s._raw -> k.field as after
            from jsonb_object_keys(p._raw || s._raw) as k(field)
            where e.op = 'update' and p._op = 'update' and p._valid_to = s._changed_at
              and (p._raw -> k.field)::text is distinct from (s._raw -> k.field)::text) d on true
        where %7$s and %8$s$branch$,
        t, shown_key, source, t || '_history', replace(same_key, 'h.', 'p.'), same_key,
        format(gate, format('"mirror".%I', t), 's'), format(gate, format('"mirror".%I', t || '_history'), 's'));
    end loop;
    -- Removed rows (MIRROR_DELETES=hard): their last version has the deletion's change ID, and nothing follows it.
    branches := branches || format($branch$
        select s._user_id, %1$L::text, %2$s, null::text, null::jsonb, null::jsonb, s._valid_to, s._change_id, 'delete'
        from "mirror".%3$I s
        where s._op = 'delete'
          and not exists (select 1 from "mirror".%4$I h where h._user_id = s._user_id%5$s)
          and not exists (
            select 1 from "mirror".%3$I h where h._user_id = s._user_id%5$s and h._change_id > s._change_id)
          and %6$s and %7$s$branch$,
      t, shown_key, t || '_history', t, same_key,
      format(gate, format('"mirror".%I', t), 's'), format(gate, format('"mirror".%I', t || '_history'), 's'));
  end loop;
  execute 'create or replace view "mirror".changes ' || "mirror_sync".view_options('changes') || ' as ' || array_to_string(branches, ' union all ');
end $function$
;

CREATE OR REPLACE FUNCTION mirror_sync.make_companies()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET standard_conforming_strings TO 'on'
 SET array_nulls TO 'on'
 SET transform_null_equals TO 'off'
 SET quote_all_identifiers TO 'off'
AS $function$
declare
  -- The first of these that has a value says when a job was researched.
  named constant text[] := array['completed_at', 'finished_at', 'ended_at', 'researched_at', 'updated_at', 'started_at', 'created_at'];
  moments text;
  job_score text := 'null::numeric';
  item_score text := 'null::numeric';
  gate constant text := "mirror_sync".readable_gate();
begin
  if exists (
    select from pg_class v where v.oid = to_regclass('"mirror".companies') and (
      not pg_has_role(v.relowner, 'usage')
      or pg_get_viewdef(v.oid) ~ '\( SELECT has_table_privilege' = (gate like '(select%') and not exists (
        select from pg_attribute a
        where a.attnum > 0 and not a.attisdropped and (
            a.attrelid = '"mirror".research_jobs'::regclass and a.attname = any(named) and a.atttypid = 'timestamptz'::regtype
            or a.attrelid in ('"mirror".research_jobs'::regclass, '"mirror".list_items'::regclass)
              and a.attname = 'score' and a.atttypid in ('numeric'::regtype, 'bigint'::regtype))
          and not exists (
            select from pg_depend d join pg_rewrite r on r.oid = d.objid and d.classid = 'pg_rewrite'::regclass
            where r.ev_class = v.oid and d.refobjid = a.attrelid and d.refobjsubid = a.attnum)))
  ) then
    return;
  end if;
  select string_agg(format('j.%I', a.attname), ', ' order by array_position(named, a.attname::text)) into moments
  from pg_attribute a
  where a.attname = any(named) and a.attrelid = '"mirror".research_jobs'::regclass and a.attnum > 0 and not a.attisdropped
    and a.atttypid = 'timestamptz'::regtype;
  if exists (
    select from pg_attribute where attrelid = '"mirror".research_jobs'::regclass and attname = 'score'
      and atttypid in ('numeric'::regtype, 'bigint'::regtype) and not attisdropped
  ) then
    job_score := 'j.score::numeric';
  end if;
  if exists (
    select from pg_attribute where attrelid = '"mirror".list_items'::regclass and attname = 'score'
      and atttypid in ('numeric'::regtype, 'bigint'::regtype) and not attisdropped
  ) then
    item_score := format('(
      select i.score::numeric from "mirror".list_items i
      where i._user_id = c._user_id and i._domain = c._domain and i._deleted_at is null and i.score is not null
        and %s
      order by i._change_id desc limit 1)', format(gate, '"mirror".list_items', 'i'));
  end if;
  execute format($view$
    create or replace view "mirror".companies %7$s as
    select c._user_id, c._domain as domain, c.jobs::bigint as research_jobs, c.items::bigint as list_items,
      c.lists::bigint as lists, c.watched > 0 as watched, j.status as last_job_status,
      coalesce(%1$s) as last_researched_at, coalesce(%2$s, %3$s) as latest_score
    from (
      select b._user_id, b._domain, sum(b.jobs) as jobs, max(b.last_job) as last_job, sum(b.items) as items,
        sum(b.lists) as lists, sum(b.watched) as watched
      from (
        select _user_id, _domain, count(*) as jobs, max(job_id) as last_job, 0 as items, 0 as lists, 0 as watched
        from "mirror".research_jobs
        where _deleted_at is null and _domain is not null and %4$s
        group by _user_id, _domain
        union all
        select _user_id, _domain, 0, null, count(*), count(distinct list_id), 0
        from "mirror".list_items
        where _deleted_at is null and _domain is not null and %5$s
        group by _user_id, _domain
        union all
        select _user_id, _domain, 0, null, 0, 0, count(*)
        from "mirror".watchlist
        where _deleted_at is null and _domain is not null and %6$s
        group by _user_id, _domain) b
      group by b._user_id, b._domain) c
    left join "mirror".research_jobs j on j._user_id = c._user_id and j.job_id = c.last_job$view$,
    coalesce(moments || ', ', '') || 'j._first_seen_at', job_score, item_score,
    format(gate, '"mirror".research_jobs', 'research_jobs'), format(gate, '"mirror".list_items', 'list_items'),
    format(gate, '"mirror".watchlist', 'watchlist'), "mirror_sync".view_options('companies'));
end $function$
;

CREATE OR REPLACE FUNCTION mirror_sync.may_use(account bigint)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET standard_conforming_strings TO 'on'
 SET array_nulls TO 'on'
 SET transform_null_equals TO 'off'
 SET quote_all_identifiers TO 'off'
AS $function$
begin
  return not exists (
    select from "mirror_sync".bound_readers() b, pg_roles r
    where r.rolname = case current_setting('role') when 'none' then session_user else current_setting('role') end
      and not r.rolsuper and not r.rolbypassrls and pg_has_role(r.oid, b.reader, 'usage') and b.user_id is distinct from account);
end $function$
;

CREATE OR REPLACE FUNCTION mirror_sync.readable_gate()
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET standard_conforming_strings TO 'on'
 SET array_nulls TO 'on'
 SET transform_null_equals TO 'off'
 SET quote_all_identifiers TO 'off'
AS $function$
declare
  distributed boolean := false;
begin
  if to_regclass('pg_dist_partition') is not null and current_setting('server_version_num')::int < 170000 then
    execute 'select exists (select from pg_dist_partition where logicalrelid = $1)' into distributed
      using '"mirror".account'::regclass;
  end if;
  return case when distributed then '(select has_table_privilege(%1$L, ''select'')) = (%2$s._user_id is not null)'
    else 'has_table_privilege(%1$L, ''select'')' end;
end $function$
;

CREATE OR REPLACE FUNCTION mirror_sync.view_options(name text)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET standard_conforming_strings TO 'on'
 SET array_nulls TO 'on'
 SET transform_null_equals TO 'off'
 SET quote_all_identifiers TO 'off'
AS $function$
begin
  return coalesce((
    select coalesce('with (' || array_to_string(v.reloptions, ', ') || ')', '') from pg_class v
    where v.oid = to_regclass(format('"mirror".%I', view_options.name))), 'with (security_invoker = true)');
end $function$
;

comment on schema mirror_sync is 'State of the research-mirror daemon. Nothing here is meant for readers.';

comment on function mirror_sync.bind_reader(name,bigint) is 'Has a login read the rows of one account alone, in every table and view of the mirror.';

comment on column mirror_sync.candidate.refused is 'Why Postgres refused to delete the row, by its message; null: it has not.';

comment on column mirror_sync.candidate.refused_at is 'When it did so last.';

comment on function mirror_sync.give_view_columns() is 'Gives who may read a view, and not its tables, the columns that it needs.';

comment on function mirror_sync.make_as_of() is 'Makes the functions <table>_as_of anew, with the columns that the tables have.';

comment on function mirror_sync.make_changes() is 'Makes the view changes anew, for tables that are distributed or not.';

comment on function mirror_sync.make_companies() is 'Makes the view companies anew, with the columns that the tables have.';

comment on function mirror_sync.readable_gate() is 'How the views changes and companies ask whether their reader may read a table.';

comment on function mirror_sync.view_options(text) is 'Options that are set on a view of the mirror, for replacing it.';
