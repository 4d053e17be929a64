-- The mirror's tables, and the daemon's own state beside them.
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction, run by src/db/migrate.ts.

create schema if not exists "{schema}";
create schema if not exists "{schema}_sync";

comment on schema "{schema}" is 'An account of the Research & Enrichment Service, mirrored: query it, but do not write to it.';
comment on schema "{schema}_sync" is 'State of the research-mirror daemon. Nothing here is meant for readers.';

-- Mirrored tables --------------------------------------------------------------------------------------------

create table "{schema}".account (
  _user_id bigint not null,
  email text,
  credits numeric,
  subscription text,
  org text,
  _first_seen_at timestamptz not null,
  _changed_at timestamptz not null,
  _change_id bigint not null,
  _deleted_at timestamptz,
  _hash bytea not null,
  _raw jsonb not null,
  _verbatim text,
  primary key (_user_id)
);
create index account_change on "{schema}".account (_user_id, _change_id);

create table "{schema}".research_jobs (
  _user_id bigint not null,
  job_id bigint not null,
  status text,
  _first_seen_at timestamptz not null,
  _changed_at timestamptz not null,
  _change_id bigint not null,
  _deleted_at timestamptz,
  _hash bytea not null,
  _raw jsonb not null,
  _verbatim text,
  primary key (_user_id, job_id)
);
create index research_jobs_change on "{schema}".research_jobs (_user_id, _change_id);

create table "{schema}".bulk_research_jobs (
  _user_id bigint not null,
  bulk_job_id bigint not null,
  _first_seen_at timestamptz not null,
  _changed_at timestamptz not null,
  _change_id bigint not null,
  _deleted_at timestamptz,
  _hash bytea not null,
  _raw jsonb not null,
  _verbatim text,
  primary key (_user_id, bulk_job_id)
);
create index bulk_research_jobs_change on "{schema}".bulk_research_jobs (_user_id, _change_id);

create table "{schema}".lists (
  _user_id bigint not null,
  list_id bigint not null,
  _first_seen_at timestamptz not null,
  _changed_at timestamptz not null,
  _change_id bigint not null,
  _deleted_at timestamptz,
  _hash bytea not null,
  _raw jsonb not null,
  _verbatim text,
  primary key (_user_id, list_id)
);
create index lists_change on "{schema}".lists (_user_id, _change_id);

create table "{schema}".list_items (
  _user_id bigint not null,
  list_id bigint not null,
  id text collate "C" not null,
  _first_seen_at timestamptz not null,
  _changed_at timestamptz not null,
  _change_id bigint not null,
  _deleted_at timestamptz,
  _hash bytea not null,
  _raw jsonb not null,
  _verbatim text,
  primary key (_user_id, list_id, id)
);
create index list_items_change on "{schema}".list_items (_user_id, _change_id);
create index list_items_order on "{schema}".list_items (_user_id, list_id, octet_length(id), id);

create table "{schema}".watchlist (
  _user_id bigint not null,
  id text collate "C" not null,
  _first_seen_at timestamptz not null,
  _changed_at timestamptz not null,
  _change_id bigint not null,
  _deleted_at timestamptz,
  _hash bytea not null,
  _raw jsonb not null,
  _verbatim text,
  primary key (_user_id, id)
);
create index watchlist_change on "{schema}".watchlist (_user_id, _change_id);
create index watchlist_order on "{schema}".watchlist (_user_id, octet_length(id), id);

-- Views for BI tools: live rows only, a single-column key. Columns for new fields are appended by the daemon.

create view "{schema}".account_live as
  select _user_id::text as _key, _user_id, email, credits, subscription, org, _first_seen_at, _changed_at, _change_id
  from "{schema}".account where _deleted_at is null;
create view "{schema}".research_jobs_live as
  select _user_id || ':' || job_id as _key, _user_id, job_id, status, _first_seen_at, _changed_at, _change_id
  from "{schema}".research_jobs where _deleted_at is null;
create view "{schema}".bulk_research_jobs_live as
  select _user_id || ':' || bulk_job_id as _key, _user_id, bulk_job_id, _first_seen_at, _changed_at, _change_id
  from "{schema}".bulk_research_jobs where _deleted_at is null;
create view "{schema}".lists_live as
  select _user_id || ':' || list_id as _key, _user_id, list_id, _first_seen_at, _changed_at, _change_id
  from "{schema}".lists where _deleted_at is null;
create view "{schema}".list_items_live as
  select _user_id || ':' || list_id || ':' || id as _key, _user_id || ':' || list_id as _list_key,
    _user_id, list_id, id, _first_seen_at, _changed_at, _change_id
  from "{schema}".list_items where _deleted_at is null;
create view "{schema}".watchlist_live as
  select _user_id || ':' || id as _key, _user_id, id, _first_seen_at, _changed_at, _change_id
  from "{schema}".watchlist where _deleted_at is null;

-- What readers may know of the mirror itself ------------------------------------------------------------------

-- One row for an account's collection. Base of the views freshness and data_quality.
create table "{schema}"._collections (
  _user_id bigint not null,
  collection text not null,
  live_rows bigint not null default 0,
  deleted_rows bigint not null default 0,
  held_deletions bigint not null default 0,
  polled_at timestamptz,
  complete_as_of timestamptz,
  next_poll_at timestamptz,
  next_full_at timestamptz,
  state text not null default 'new',
  last_error text,
  last_error_at timestamptz,
  primary key (_user_id, collection)
);

create view "{schema}".freshness as
  select _user_id, collection, live_rows, deleted_rows, polled_at, complete_as_of, next_poll_at, next_full_at,
    state, last_error, last_error_at
  from "{schema}"._collections;

create table "{schema}".sync_log (
  _user_id bigint not null,
  walk_id bigint not null,
  collection text not null,
  list_id bigint,
  kind text not null,
  started_at timestamptz not null,
  ended_at timestamptz not null,
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
  primary key (_user_id, walk_id)
);
create index sync_log_started on "{schema}".sync_log (_user_id, started_at);

create table "{schema}".quarantine (
  _user_id bigint not null,
  collection text not null,
  parent text not null default '',
  -- SHA-256 of the item's text: the same item is quarantined once.
  item_hash bytea not null,
  item text not null,
  key text,
  reason text not null,
  first_seen_at timestamptz not null,
  last_seen_at timestamptz not null,
  primary key (_user_id, collection, parent, item_hash)
);

-- Columns are a property of the table, conflicts of the account's data. Base of the view columns.
create table "{schema}"._columns (
  collection text not null,
  field text not null,
  -- Null: the field stays in _raw only (the limit of 300 columns, or MIRROR_SCHEMA_DRIFT=raw).
  column_name text,
  type text not null,
  documented boolean not null,
  first_seen_at timestamptz not null,
  primary key (collection, field)
);
create table "{schema}"._conflicts (
  _user_id bigint not null,
  collection text not null,
  field text not null,
  conflicts bigint not null,
  last_at timestamptz not null,
  primary key (_user_id, collection, field)
);

create view "{schema}".columns as
  select c.collection, c.field, c.column_name, c.type, c.documented, c.first_seen_at,
    coalesce((select sum(x.conflicts) from "{schema}"._conflicts x
              where x.collection = c.collection and x.field = c.field), 0)::bigint as conflicts
  from "{schema}"._columns c;

create view "{schema}".data_quality as
  select c._user_id, c.collection,
    (select count(*) from "{schema}".quarantine q
     where q._user_id = c._user_id and q.collection = c.collection) as quarantined_items,
    coalesce((select sum(x.conflicts) from "{schema}"._conflicts x
              where x._user_id = c._user_id and x.collection = c.collection), 0)::bigint as field_conflicts,
    c.held_deletions
  from "{schema}"._collections c;

insert into "{schema}"._columns (collection, field, column_name, type, documented, first_seen_at) values
  ('account', 'user_id', '_user_id', 'bigint', true, now()),
  ('account', 'email', 'email', 'text', true, now()),
  ('account', 'credits', 'credits', 'numeric', true, now()),
  ('account', 'subscription', 'subscription', 'text', true, now()),
  ('account', 'org', 'org', 'text', true, now()),
  ('research_jobs', 'job_id', 'job_id', 'bigint', true, now()),
  ('research_jobs', 'status', 'status', 'text', true, now()),
  ('bulk_research_jobs', 'bulk_job_id', 'bulk_job_id', 'bigint', true, now()),
  ('lists', 'list_id', 'list_id', 'bigint', true, now()),
  ('list_items', 'id', 'id', 'text', true, now()),
  ('watchlist', 'id', 'id', 'text', true, now());

-- State of the daemon -----------------------------------------------------------------------------------------

-- A running program: heartbeat each 4 s, valid 12 s. machine and started_ticks tell a dead process on the same machine at once.
create table "{schema}_sync".process (
  process_id text primary key,
  command text not null,
  version text not null,
  -- Host name, for people.
  host text not null,
  machine text not null,
  pid integer not null,
  started_ticks text not null,
  started_at timestamptz not null,
  alive_until timestamptz not null
);

-- An account: who may write for it (owner and fencing token change only at takeover), and its counters.
create table "{schema}_sync".account (
  _user_id bigint primary key,
  owner text,
  token bigint not null default 0,
  change_id bigint not null default 0,
  walk_id bigint not null default 0,
  state text not null default 'active',
  error text,
  created_at timestamptz not null
);

-- What one list walk covers. The columns that every page changes stand last: their update is the page's WAL.
create table "{schema}_sync".scope (
  _user_id bigint not null,
  collection text not null,
  parent text not null default '',
  -- Order evidence, frontier and what was learnt of the endpoint (src/walk).
  memory jsonb not null default '{}',
  -- Changed, new or hinted: to be read as soon as possible. Null: not before the next cron run.
  due_at timestamptz,
  last_read_at timestamptz,
  polled_at timestamptz,
  full_at timestamptz,
  live_rows bigint not null default 0,
  last_error text,
  last_error_at timestamptz,
  failures integer not null default 0,
  -- Checkpoint of an unfinished full walk: null where none is.
  full_walk jsonb,
  last_obs bigint not null default 0,
  primary key (_user_id, collection, parent)
) with (fillfactor = 50);

-- Rows that may still change, by what their state says; kept apart so that an unchanged row costs no write.
create table "{schema}_sync".unsettled (
  _user_id bigint not null,
  collection text not null,
  parent text not null default '',
  key text collate "C" not null,
  -- When the row last changed: it cools from then on.
  since timestamptz not null,
  -- true: finished by a word that services take back (failed): warm for an hour.
  finished boolean not null,
  primary key (_user_id, collection, parent, key)
);

-- Columns that were added after their field had been stored, to be filled from _raw. Rows up to done_through are filled,
-- those after until came with the column.
create table "{schema}_sync".backfill (
  _user_id bigint not null,
  collection text not null,
  field text not null,
  done_through bigint not null,
  until bigint not null,
  primary key (_user_id, collection, field)
);

-- Slots of the rate limit that are, or may be, in use. One row a reserved block of requests (design 5).
create table "{schema}_sync".slot_block (
  _user_id bigint not null,
  key_hash text not null,
  rate_group text not null,
  block_id bigint not null,
  size integer not null,
  -- Until when requests may be sent on this block. A slot not in freed counts as sent then.
  valid_until timestamptz not null,
  -- When the slot of each answered request comes free again.
  freed timestamptz[] not null default '{}',
  primary key (_user_id, key_hash, rate_group, block_id)
) with (fillfactor = 50);

-- What was learnt of a rate limit: size, pace after a 429.
create table "{schema}_sync".rate_group (
  _user_id bigint not null,
  key_hash text not null,
  rate_group text not null,
  learnt jsonb not null,
  primary key (_user_id, key_hash, rate_group)
);

-- First pings, before a key's owner is known (outside the fence).
create table "{schema}_sync".first_ping (
  key_hash text not null,
  sent_at timestamptz not null,
  primary key (key_hash, sent_at)
);

-- Whose a key was when it was last pinged: a restart needs no ping to know which rows of slot_block are its own.
create table "{schema}_sync".api_key (
  key_hash text primary key,
  _user_id bigint,
  pinged_at timestamptz not null,
  error text
);

-- Commands that a program beside the daemon leaves for it.
create table "{schema}_sync".command (
  command_id uuid primary key,
  kind text not null,
  arguments jsonb not null,
  state text not null default 'queued',
  created_at timestamptz not null,
  -- The program that asked is alive until then: a command whose asker is gone is not begun.
  wanted_until timestamptz not null,
  owner text,
  progress jsonb,
  result jsonb,
  error text,
  done_at timestamptz
);

-- The installation: one row.
create table "{schema}_sync".installation (
  singleton boolean primary key default true check (singleton),
  created_at timestamptz not null,
  settings jsonb not null default '{}'
);

-- Comments ----------------------------------------------------------------------------------------------------

comment on table "{schema}".account is 'What the service says of the account: GET /v1/account, one row for each _user_id.';
comment on table "{schema}".research_jobs is 'Single research jobs: GET /v1/research.';
comment on table "{schema}".bulk_research_jobs is 'Bulk research jobs: GET /v1/research/bulk.';
comment on table "{schema}".lists is 'Lists of companies: GET /v1/lists.';
comment on table "{schema}".list_items is 'Items of the lists: GET /v1/lists/{id}, one row for an item in a list.';
comment on table "{schema}".watchlist is 'Watched companies: GET /v1/watchlist.';
comment on table "{schema}"._collections is 'Counters of each account''s collections: read the views freshness and data_quality.';
comment on table "{schema}"._columns is 'Field to column: read the view columns.';
comment on table "{schema}"._conflicts is 'Values that did not fit their column: read the view columns.';
comment on table "{schema}".sync_log is 'One row a walk: what was read, what it changed, how it ended.';
comment on table "{schema}".quarantine is 'Items that could not be mirrored, verbatim, with the reason.';
comment on view "{schema}".freshness is 'How current each collection is: polled_at for new and unsettled rows, complete_as_of for everything, deletions included.';
comment on view "{schema}".columns is 'Which field of the service''s items stands in which column, and how many values did not fit it (they are NULL there, whole in _raw).';
comment on view "{schema}".data_quality is 'Quarantined items, values that did not fit their column, and deletions held back, by collection.';
comment on view "{schema}".account_live is 'account without deleted rows and _raw, with a single-column key.';
comment on view "{schema}".research_jobs_live is 'research_jobs without deleted rows and _raw, with a single-column key.';
comment on view "{schema}".bulk_research_jobs_live is 'bulk_research_jobs without deleted rows and _raw, with a single-column key.';
comment on view "{schema}".lists_live is 'lists without deleted rows and _raw, with a single-column key.';
comment on view "{schema}".list_items_live is 'list_items without deleted rows and _raw; _list_key is the _key of lists_live.';
comment on view "{schema}".watchlist_live is 'watchlist without deleted rows and _raw, with a single-column key.';

do $$
declare t text;
begin
  foreach t in array array['account', 'research_jobs', 'bulk_research_jobs', 'lists', 'list_items', 'watchlist'] loop
    execute format('comment on column "{schema}".%I._user_id is %L', t, 'Owner of the API key; first in every primary key.');
    execute format('comment on column "{schema}".%I._first_seen_at is %L', t, 'When the row came into this mirror.');
    execute format('comment on column "{schema}".%I._changed_at is %L', t, 'When the row''s content last changed in this mirror.');
    execute format('comment on column "{schema}".%I._change_id is %L', t, 'Watermark: rises in commit order and is unique for each _user_id.');
    execute format('comment on column "{schema}".%I._deleted_at is %L', t, 'Null while the service has the row.');
    execute format('comment on column "{schema}".%I._hash is %L', t, 'Hash of the content, by which unchanged rows are told.');
    execute format('comment on column "{schema}".%I._raw is %L', t, 'The whole item as the service sent it.');
    execute format('comment on column "{schema}".%I._verbatim is %L', t, 'The item''s exact text where _raw had to replace characters that jsonb can''t hold; else null.');
  end loop;
end $$;
comment on column "{schema}".account.email is 'E-mail address of the user.';
comment on column "{schema}".account.credits is 'Remaining credits.';
comment on column "{schema}".account.subscription is 'Subscription plan.';
comment on column "{schema}".account.org is 'Organisation.';
comment on column "{schema}".research_jobs.job_id is 'ID of the research job.';
comment on column "{schema}".research_jobs.status is 'State of the job in the service''s own word, for example completed.';
comment on column "{schema}".bulk_research_jobs.bulk_job_id is 'ID of the bulk research job.';
comment on column "{schema}".lists.list_id is 'ID of the list.';
comment on column "{schema}".list_items.list_id is 'The list that the item is in.';
comment on column "{schema}".list_items.id is 'ID of the item (the account) in its list.';
comment on column "{schema}".watchlist.id is 'ID of the watchlist entry.';
comment on column "{schema}".freshness.live_rows is 'Rows that the service has, as far as the mirror knows.';
comment on column "{schema}".freshness.deleted_rows is 'Rows that the service has no more; kept with _deleted_at.';
comment on column "{schema}".freshness.polled_at is 'New rows and changes of unsettled rows are here as of this moment.';
comment on column "{schema}".freshness.complete_as_of is 'Everything, deletions included, is here as of this moment.';
comment on column "{schema}".freshness.next_poll_at is 'When the next poll is due.';
comment on column "{schema}".freshness.next_full_at is 'When the next full walk is due.';
comment on column "{schema}".freshness.state is 'new, reading, current, waiting, or failing (then last_error says why).';

revoke all on schema "{schema}_sync" from public;
