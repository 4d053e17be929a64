-- What all migrations make, for reading. Made by: node test/support/dump-schema.ts

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
  constraint list_items_pkey PRIMARY KEY (_user_id, list_id, id)
);
CREATE INDEX list_items_change ON mirror.list_items USING btree (_user_id, _change_id);
CREATE INDEX list_items_order ON mirror.list_items USING btree (_user_id, list_id, octet_length(id), id);

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
  constraint quarantine_pkey PRIMARY KEY (_user_id, collection, parent, item_hash)
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
  constraint research_jobs_pkey PRIMARY KEY (_user_id, job_id)
);
CREATE INDEX research_jobs_change ON mirror.research_jobs USING btree (_user_id, _change_id);

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
  constraint watchlist_pkey PRIMARY KEY (_user_id, id)
);
CREATE INDEX watchlist_change ON mirror.watchlist USING btree (_user_id, _change_id);
CREATE INDEX watchlist_order ON mirror.watchlist USING btree (_user_id, octet_length(id), id);

create view mirror.account_live as
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

create view mirror.bulk_research_jobs_live as
 SELECT (_user_id || ':'::text) || bulk_job_id AS _key,
    _user_id,
    bulk_job_id,
    _first_seen_at,
    _changed_at,
    _change_id
   FROM mirror.bulk_research_jobs
  WHERE _deleted_at IS NULL;

create view mirror.columns as
 SELECT collection,
    field,
    column_name,
    type,
    documented,
    first_seen_at,
    COALESCE(( SELECT sum(x.conflicts) AS sum
           FROM mirror._conflicts x
          WHERE x.collection = c.collection AND x.field = c.field), 0::numeric)::bigint AS conflicts
   FROM mirror._columns c;

create view mirror.data_quality as
 SELECT _user_id,
    collection,
    ( SELECT count(*) AS count
           FROM mirror.quarantine q
          WHERE q._user_id = c._user_id AND q.collection = c.collection) AS quarantined_items,
    COALESCE(( SELECT sum(x.conflicts) AS sum
           FROM mirror._conflicts x
          WHERE x._user_id = c._user_id AND x.collection = c.collection), 0::numeric)::bigint AS field_conflicts,
    held_deletions
   FROM mirror._collections c;

create view mirror.freshness as
 SELECT _user_id,
    collection,
    live_rows,
    deleted_rows,
    polled_at,
    complete_as_of,
    next_poll_at,
    next_full_at,
    state,
    last_error,
    last_error_at
   FROM mirror._collections;

create view mirror.list_items_live as
 SELECT (((_user_id || ':'::text) || list_id) || ':'::text) || id AS _key,
    (_user_id || ':'::text) || list_id AS _list_key,
    _user_id,
    list_id,
    id,
    _first_seen_at,
    _changed_at,
    _change_id
   FROM mirror.list_items
  WHERE _deleted_at IS NULL;

create view mirror.lists_live as
 SELECT (_user_id || ':'::text) || list_id AS _key,
    _user_id,
    list_id,
    _first_seen_at,
    _changed_at,
    _change_id
   FROM mirror.lists
  WHERE _deleted_at IS NULL;

create view mirror.research_jobs_live as
 SELECT (_user_id || ':'::text) || job_id AS _key,
    _user_id,
    job_id,
    status,
    _first_seen_at,
    _changed_at,
    _change_id
   FROM mirror.research_jobs
  WHERE _deleted_at IS NULL;

create view mirror.watchlist_live as
 SELECT (_user_id || ':'::text) || id AS _key,
    _user_id,
    id,
    _first_seen_at,
    _changed_at,
    _change_id
   FROM mirror.watchlist
  WHERE _deleted_at IS NULL;

comment on schema mirror is 'An account of the Research & Enrichment Service, mirrored: query it, but do not write to it.';

comment on table mirror._collections is 'Counters of each account''s collections: read the views freshness and data_quality.';

comment on table mirror._columns is 'Field to column: read the view columns.';

comment on table mirror._conflicts is 'Values that did not fit their column: read the view columns.';

comment on table mirror.account is 'What the service says of the account: GET /v1/account, one row for each _user_id.';

comment on column mirror.account._user_id is 'Owner of the API key; first in every primary key.';

comment on column mirror.account.email is 'E-mail address of the user.';

comment on column mirror.account.credits is 'Remaining credits.';

comment on column mirror.account.subscription is 'Subscription plan.';

comment on column mirror.account.org is 'Organisation.';

comment on column mirror.account._first_seen_at is 'When the row came into this mirror.';

comment on column mirror.account._changed_at is 'When the row''s content last changed in this mirror.';

comment on column mirror.account._change_id is 'Watermark: rises in commit order and is unique for each _user_id.';

comment on column mirror.account._deleted_at is 'Null while the service has the row.';

comment on column mirror.account._hash is 'Hash of the content, by which unchanged rows are told.';

comment on column mirror.account._raw is 'The whole item as the service sent it.';

comment on column mirror.account._verbatim is 'The item''s exact text where _raw had to replace characters that jsonb can''t hold; else null.';

comment on view mirror.account_live is 'account without deleted rows and _raw, with a single-column key.';

comment on table mirror.bulk_research_jobs is 'Bulk research jobs: GET /v1/research/bulk.';

comment on column mirror.bulk_research_jobs._user_id is 'Owner of the API key; first in every primary key.';

comment on column mirror.bulk_research_jobs.bulk_job_id is 'ID of the bulk research job.';

comment on column mirror.bulk_research_jobs._first_seen_at is 'When the row came into this mirror.';

comment on column mirror.bulk_research_jobs._changed_at is 'When the row''s content last changed in this mirror.';

comment on column mirror.bulk_research_jobs._change_id is 'Watermark: rises in commit order and is unique for each _user_id.';

comment on column mirror.bulk_research_jobs._deleted_at is 'Null while the service has the row.';

comment on column mirror.bulk_research_jobs._hash is 'Hash of the content, by which unchanged rows are told.';

comment on column mirror.bulk_research_jobs._raw is 'The whole item as the service sent it.';

comment on column mirror.bulk_research_jobs._verbatim is 'The item''s exact text where _raw had to replace characters that jsonb can''t hold; else null.';

comment on view mirror.bulk_research_jobs_live is 'bulk_research_jobs without deleted rows and _raw, with a single-column key.';

comment on view mirror.columns is 'Which field of the service''s items stands in which column, and how many values did not fit it (they are NULL there, whole in _raw).';

comment on view mirror.data_quality is 'Quarantined items, values that did not fit their column, and deletions held back, by collection.';

comment on view mirror.freshness is 'How current each collection is: polled_at for new and unsettled rows, complete_as_of for everything, deletions included.';

comment on column mirror.freshness.live_rows is 'Rows that the service has, as far as the mirror knows.';

comment on column mirror.freshness.deleted_rows is 'Rows that the service has no more; kept with _deleted_at.';

comment on column mirror.freshness.polled_at is 'New rows and changes of unsettled rows are here as of this moment.';

comment on column mirror.freshness.complete_as_of is 'Everything, deletions included, is here as of this moment.';

comment on column mirror.freshness.next_poll_at is 'When the next poll is due.';

comment on column mirror.freshness.next_full_at is 'When the next full walk is due.';

comment on column mirror.freshness.state is 'new, reading, current, waiting, or failing (then last_error says why).';

comment on table mirror.list_items is 'Items of the lists: GET /v1/lists/{id}, one row for an item in a list.';

comment on column mirror.list_items._user_id is 'Owner of the API key; first in every primary key.';

comment on column mirror.list_items.list_id is 'The list that the item is in.';

comment on column mirror.list_items.id is 'ID of the item (the account) in its list.';

comment on column mirror.list_items._first_seen_at is 'When the row came into this mirror.';

comment on column mirror.list_items._changed_at is 'When the row''s content last changed in this mirror.';

comment on column mirror.list_items._change_id is 'Watermark: rises in commit order and is unique for each _user_id.';

comment on column mirror.list_items._deleted_at is 'Null while the service has the row.';

comment on column mirror.list_items._hash is 'Hash of the content, by which unchanged rows are told.';

comment on column mirror.list_items._raw is 'The whole item as the service sent it.';

comment on column mirror.list_items._verbatim is 'The item''s exact text where _raw had to replace characters that jsonb can''t hold; else null.';

comment on view mirror.list_items_live is 'list_items without deleted rows and _raw; _list_key is the _key of lists_live.';

comment on table mirror.lists is 'Lists of companies: GET /v1/lists.';

comment on column mirror.lists._user_id is 'Owner of the API key; first in every primary key.';

comment on column mirror.lists.list_id is 'ID of the list.';

comment on column mirror.lists._first_seen_at is 'When the row came into this mirror.';

comment on column mirror.lists._changed_at is 'When the row''s content last changed in this mirror.';

comment on column mirror.lists._change_id is 'Watermark: rises in commit order and is unique for each _user_id.';

comment on column mirror.lists._deleted_at is 'Null while the service has the row.';

comment on column mirror.lists._hash is 'Hash of the content, by which unchanged rows are told.';

comment on column mirror.lists._raw is 'The whole item as the service sent it.';

comment on column mirror.lists._verbatim is 'The item''s exact text where _raw had to replace characters that jsonb can''t hold; else null.';

comment on view mirror.lists_live is 'lists without deleted rows and _raw, with a single-column key.';

comment on table mirror.quarantine is 'Items that could not be mirrored, verbatim, with the reason.';

comment on table mirror.research_jobs is 'Single research jobs: GET /v1/research.';

comment on column mirror.research_jobs._user_id is 'Owner of the API key; first in every primary key.';

comment on column mirror.research_jobs.job_id is 'ID of the research job.';

comment on column mirror.research_jobs.status is 'State of the job in the service''s own word, for example completed.';

comment on column mirror.research_jobs._first_seen_at is 'When the row came into this mirror.';

comment on column mirror.research_jobs._changed_at is 'When the row''s content last changed in this mirror.';

comment on column mirror.research_jobs._change_id is 'Watermark: rises in commit order and is unique for each _user_id.';

comment on column mirror.research_jobs._deleted_at is 'Null while the service has the row.';

comment on column mirror.research_jobs._hash is 'Hash of the content, by which unchanged rows are told.';

comment on column mirror.research_jobs._raw is 'The whole item as the service sent it.';

comment on column mirror.research_jobs._verbatim is 'The item''s exact text where _raw had to replace characters that jsonb can''t hold; else null.';

comment on view mirror.research_jobs_live is 'research_jobs without deleted rows and _raw, with a single-column key.';

comment on table mirror.sync_log is 'One row a walk: what was read, what it changed, how it ended.';

comment on table mirror.watchlist is 'Watched companies: GET /v1/watchlist.';

comment on column mirror.watchlist._user_id is 'Owner of the API key; first in every primary key.';

comment on column mirror.watchlist.id is 'ID of the watchlist entry.';

comment on column mirror.watchlist._first_seen_at is 'When the row came into this mirror.';

comment on column mirror.watchlist._changed_at is 'When the row''s content last changed in this mirror.';

comment on column mirror.watchlist._change_id is 'Watermark: rises in commit order and is unique for each _user_id.';

comment on column mirror.watchlist._deleted_at is 'Null while the service has the row.';

comment on column mirror.watchlist._hash is 'Hash of the content, by which unchanged rows are told.';

comment on column mirror.watchlist._raw is 'The whole item as the service sent it.';

comment on column mirror.watchlist._verbatim is 'The item''s exact text where _raw had to replace characters that jsonb can''t hold; else null.';

comment on view mirror.watchlist_live is 'watchlist without deleted rows and _raw, with a single-column key.';

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
  constraint account_pkey PRIMARY KEY (_user_id)
);

create table mirror_sync.api_key (
  key_hash text not null,
  _user_id bigint,
  pinged_at timestamp with time zone not null,
  error text,
  constraint api_key_pkey PRIMARY KEY (key_hash)
);

create table mirror_sync.backfill (
  _user_id bigint not null,
  collection text not null,
  field text not null,
  done_through bigint not null,
  until bigint not null,
  constraint backfill_pkey PRIMARY KEY (_user_id, collection, field)
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

create table mirror_sync.first_ping (
  key_hash text not null,
  sent_at timestamp with time zone not null,
  constraint first_ping_pkey PRIMARY KEY (key_hash, sent_at)
);

create table mirror_sync.installation (
  singleton boolean default true not null,
  created_at timestamp with time zone not null,
  settings jsonb default '{}'::jsonb not null,
  constraint installation_pkey PRIMARY KEY (singleton),
  constraint installation_singleton_check CHECK (singleton)
);

create table mirror_sync.migration (
  name text not null,
  checksum text not null,
  applied_at timestamp with time zone not null,
  constraint migration_pkey PRIMARY KEY (name)
);

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
  constraint process_pkey PRIMARY KEY (process_id)
);

create table mirror_sync.rate_group (
  _user_id bigint not null,
  key_hash text not null,
  rate_group text not null,
  learnt jsonb not null,
  constraint rate_group_pkey PRIMARY KEY (_user_id, key_hash, rate_group)
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

comment on schema mirror_sync is 'State of the research-mirror daemon. Nothing here is meant for readers.';
