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
  waiting_deletions bigint default 0 not null,
  mirrored_from timestamp with time zone,
  history_from timestamp with time zone,
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
CREATE INDEX bulk_research_jobs_history_deletes ON mirror.bulk_research_jobs_history USING btree (_user_id, _change_id) WHERE (_op = 'delete'::text);

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
  constraint list_items_history_pkey PRIMARY KEY (_user_id, list_id, id, _change_id)
);
CREATE INDEX list_items_history_age ON mirror.list_items_history USING btree (_user_id, _valid_to, _change_id);
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
CREATE INDEX lists_history_deletes ON mirror.lists_history USING btree (_user_id, _change_id) WHERE (_op = 'delete'::text);

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
  constraint research_jobs_history_pkey PRIMARY KEY (_user_id, job_id, _change_id)
);
CREATE INDEX research_jobs_history_age ON mirror.research_jobs_history USING btree (_user_id, _valid_to, _change_id);
CREATE INDEX research_jobs_history_deletes ON mirror.research_jobs_history USING btree (_user_id, _change_id) WHERE (_op = 'delete'::text);

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
  constraint watchlist_history_pkey PRIMARY KEY (_user_id, id, _change_id)
);
CREATE INDEX watchlist_history_age ON mirror.watchlist_history USING btree (_user_id, _valid_to, _change_id);
CREATE INDEX watchlist_history_deletes ON mirror.watchlist_history USING btree (_user_id, _change_id) WHERE (_op = 'delete'::text);

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

create view mirror.account_versions as
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

create view mirror.bulk_research_jobs_live as
 SELECT (_user_id || ':'::text) || bulk_job_id AS _key,
    _user_id,
    bulk_job_id,
    _first_seen_at,
    _changed_at,
    _change_id
   FROM mirror.bulk_research_jobs
  WHERE _deleted_at IS NULL;

create view mirror.bulk_research_jobs_versions as
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
    held_deletions,
    waiting_deletions
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

create view mirror.list_items_versions as
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

create view mirror.lists_live as
 SELECT (_user_id || ':'::text) || list_id AS _key,
    _user_id,
    list_id,
    _first_seen_at,
    _changed_at,
    _change_id
   FROM mirror.lists
  WHERE _deleted_at IS NULL;

create view mirror.lists_versions as
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

create view mirror.research_jobs_versions as
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

create view mirror.watchlist_live as
 SELECT (_user_id || ':'::text) || id AS _key,
    _user_id,
    id,
    _first_seen_at,
    _changed_at,
    _change_id
   FROM mirror.watchlist
  WHERE _deleted_at IS NULL;

create view mirror.watchlist_versions as
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
AS $function$
declare
  uncovered bigint;
  unkept bigint;
  covered_from timestamptz;
  live text;
  archived text;
begin
  if moment is null then
    raise exception using errcode = 'null_value_not_allowed', message = format('%s_as_of: the moment is null', name);
  end if;
  select c._user_id into uncovered from "mirror"._collections c
  where c.collection = name and moment >= coalesce(c.mirrored_from, '-infinity')
    and (c.history_from is null or moment < c.history_from)
  order by c._user_id limit 1;
  if uncovered is not null or not exists (
    select from "mirror"._collections c where c.collection = name and moment >= coalesce(c.mirrored_from, '-infinity')
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
  return format('select %s from "mirror".%I where _deleted_at is null and _changed_at <= $1
    union all select %s from "mirror".%I where _valid_from <= $1 and _valid_to > $1', live, name, archived, name || '_history');
end $function$
;

CREATE OR REPLACE FUNCTION mirror.account_as_of(moment timestamp with time zone)
 RETURNS SETOF mirror.account
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return query execute "mirror"._as_of('account', moment) using moment;
end $function$
;

CREATE OR REPLACE FUNCTION mirror.bulk_research_jobs_as_of(moment timestamp with time zone)
 RETURNS SETOF mirror.bulk_research_jobs
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return query execute "mirror"._as_of('bulk_research_jobs', moment) using moment;
end $function$
;

CREATE OR REPLACE FUNCTION mirror.list_items_as_of(moment timestamp with time zone)
 RETURNS SETOF mirror.list_items
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return query execute "mirror"._as_of('list_items', moment) using moment;
end $function$
;

CREATE OR REPLACE FUNCTION mirror.lists_as_of(moment timestamp with time zone)
 RETURNS SETOF mirror.lists
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return query execute "mirror"._as_of('lists', moment) using moment;
end $function$
;

CREATE OR REPLACE FUNCTION mirror.research_jobs_as_of(moment timestamp with time zone)
 RETURNS SETOF mirror.research_jobs
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return query execute "mirror"._as_of('research_jobs', moment) using moment;
end $function$
;

CREATE OR REPLACE FUNCTION mirror.watchlist_as_of(moment timestamp with time zone)
 RETURNS SETOF mirror.watchlist
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return query execute "mirror"._as_of('watchlist', moment) using moment;
end $function$
;

comment on schema mirror is 'An account of the Research & Enrichment Service, mirrored: query it, but do not write to it.';

comment on function mirror._as_of(text,timestamp with time zone) is 'The query behind the functions <table>_as_of; raises RM001 for a moment that history does not cover.';

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

comment on function mirror.account_as_of(timestamp with time zone) is 'account as the mirror knew it at that moment; raises RM001 before the first moment that history covers.';

comment on table mirror.account_history is 'Superseded versions of account, and the last ones of deleted rows: each was current in [_valid_from, _valid_to).';

comment on column mirror.account_history._user_id is 'Owner of the API key; first in every primary key.';

comment on column mirror.account_history.email is 'E-mail address of the user.';

comment on column mirror.account_history.credits is 'Remaining credits.';

comment on column mirror.account_history.subscription is 'Subscription plan.';

comment on column mirror.account_history.org is 'Organisation.';

comment on column mirror.account_history._first_seen_at is 'When the row came into this mirror.';

comment on column mirror.account_history._changed_at is 'When the row''s content last changed in this mirror.';

comment on column mirror.account_history._change_id is 'Watermark: rises in commit order and is unique for each _user_id.';

comment on column mirror.account_history._deleted_at is 'Null while the service has the row.';

comment on column mirror.account_history._hash is 'Hash of the content, by which unchanged rows are told.';

comment on column mirror.account_history._raw is 'The whole item as the service sent it.';

comment on column mirror.account_history._verbatim is 'The item''s exact text where _raw had to replace characters that jsonb can''t hold; else null.';

comment on column mirror.account_history._valid_from is 'When this version came into the mirror.';

comment on column mirror.account_history._valid_to is 'When it was superseded, or deleted: it was current until just before.';

comment on column mirror.account_history._op is 'What ended it: update or delete.';

comment on view mirror.account_live is 'account without deleted rows and _raw, with a single-column key.';

comment on view mirror.account_versions is 'Every known version of the rows of account, superseded and current, half-open: [_valid_from, _valid_to).';

comment on column mirror.account_versions._user_id is 'Owner of the API key; first in every primary key.';

comment on column mirror.account_versions.email is 'E-mail address of the user.';

comment on column mirror.account_versions.credits is 'Remaining credits.';

comment on column mirror.account_versions.subscription is 'Subscription plan.';

comment on column mirror.account_versions.org is 'Organisation.';

comment on column mirror.account_versions._first_seen_at is 'When the row came into this mirror.';

comment on column mirror.account_versions._changed_at is 'When the row''s content last changed in this mirror.';

comment on column mirror.account_versions._change_id is 'Watermark: rises in commit order and is unique for each _user_id.';

comment on column mirror.account_versions._raw is 'The whole item as the service sent it.';

comment on column mirror.account_versions._valid_from is 'When this version came into the mirror.';

comment on column mirror.account_versions._valid_to is 'When it was superseded, or deleted; null for the current version.';

comment on column mirror.account_versions._is_current is 'Whether the row is so now.';

comment on column mirror.account_versions._op is 'What ended it: update or delete; null for the current version.';

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

comment on function mirror.bulk_research_jobs_as_of(timestamp with time zone) is 'bulk_research_jobs as the mirror knew it at that moment; raises RM001 before the first moment that history covers.';

comment on table mirror.bulk_research_jobs_history is 'Superseded versions of bulk_research_jobs, and the last ones of deleted rows: each was current in [_valid_from, _valid_to).';

comment on column mirror.bulk_research_jobs_history._user_id is 'Owner of the API key; first in every primary key.';

comment on column mirror.bulk_research_jobs_history.bulk_job_id is 'ID of the bulk research job.';

comment on column mirror.bulk_research_jobs_history._first_seen_at is 'When the row came into this mirror.';

comment on column mirror.bulk_research_jobs_history._changed_at is 'When the row''s content last changed in this mirror.';

comment on column mirror.bulk_research_jobs_history._change_id is 'Watermark: rises in commit order and is unique for each _user_id.';

comment on column mirror.bulk_research_jobs_history._deleted_at is 'Null while the service has the row.';

comment on column mirror.bulk_research_jobs_history._hash is 'Hash of the content, by which unchanged rows are told.';

comment on column mirror.bulk_research_jobs_history._raw is 'The whole item as the service sent it.';

comment on column mirror.bulk_research_jobs_history._verbatim is 'The item''s exact text where _raw had to replace characters that jsonb can''t hold; else null.';

comment on column mirror.bulk_research_jobs_history._valid_from is 'When this version came into the mirror.';

comment on column mirror.bulk_research_jobs_history._valid_to is 'When it was superseded, or deleted: it was current until just before.';

comment on column mirror.bulk_research_jobs_history._op is 'What ended it: update or delete.';

comment on view mirror.bulk_research_jobs_live is 'bulk_research_jobs without deleted rows and _raw, with a single-column key.';

comment on view mirror.bulk_research_jobs_versions is 'Every known version of the rows of bulk_research_jobs, superseded and current, half-open: [_valid_from, _valid_to).';

comment on column mirror.bulk_research_jobs_versions._user_id is 'Owner of the API key; first in every primary key.';

comment on column mirror.bulk_research_jobs_versions.bulk_job_id is 'ID of the bulk research job.';

comment on column mirror.bulk_research_jobs_versions._first_seen_at is 'When the row came into this mirror.';

comment on column mirror.bulk_research_jobs_versions._changed_at is 'When the row''s content last changed in this mirror.';

comment on column mirror.bulk_research_jobs_versions._change_id is 'Watermark: rises in commit order and is unique for each _user_id.';

comment on column mirror.bulk_research_jobs_versions._raw is 'The whole item as the service sent it.';

comment on column mirror.bulk_research_jobs_versions._valid_from is 'When this version came into the mirror.';

comment on column mirror.bulk_research_jobs_versions._valid_to is 'When it was superseded, or deleted; null for the current version.';

comment on column mirror.bulk_research_jobs_versions._is_current is 'Whether the row is so now.';

comment on column mirror.bulk_research_jobs_versions._op is 'What ended it: update or delete; null for the current version.';

comment on view mirror.columns is 'Which field of the service''s items stands in which column, and how many values did not fit it (they are NULL there, whole in _raw).';

comment on view mirror.data_quality is 'Quarantined items, values that did not fit their column, and deletions held back, by collection.';

comment on column mirror.data_quality.quarantined_items is 'Items that could not be mirrored: see quarantine.';

comment on column mirror.data_quality.field_conflicts is 'Values that did not fit their column: see columns.';

comment on column mirror.data_quality.held_deletions is 'Rows whose deletion is proven but held, since so many at once look like a fault of the service.';

comment on column mirror.data_quality.waiting_deletions is 'Rows that look deleted and wait for their second proof.';

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

comment on function mirror.list_items_as_of(timestamp with time zone) is 'list_items as the mirror knew it at that moment; raises RM001 before the first moment that history covers.';

comment on table mirror.list_items_history is 'Superseded versions of list_items, and the last ones of deleted rows: each was current in [_valid_from, _valid_to).';

comment on column mirror.list_items_history._user_id is 'Owner of the API key; first in every primary key.';

comment on column mirror.list_items_history.list_id is 'The list that the item is in.';

comment on column mirror.list_items_history.id is 'ID of the item (the account) in its list.';

comment on column mirror.list_items_history._first_seen_at is 'When the row came into this mirror.';

comment on column mirror.list_items_history._changed_at is 'When the row''s content last changed in this mirror.';

comment on column mirror.list_items_history._change_id is 'Watermark: rises in commit order and is unique for each _user_id.';

comment on column mirror.list_items_history._deleted_at is 'Null while the service has the row.';

comment on column mirror.list_items_history._hash is 'Hash of the content, by which unchanged rows are told.';

comment on column mirror.list_items_history._raw is 'The whole item as the service sent it.';

comment on column mirror.list_items_history._verbatim is 'The item''s exact text where _raw had to replace characters that jsonb can''t hold; else null.';

comment on column mirror.list_items_history._valid_from is 'When this version came into the mirror.';

comment on column mirror.list_items_history._valid_to is 'When it was superseded, or deleted: it was current until just before.';

comment on column mirror.list_items_history._op is 'What ended it: update or delete.';

comment on view mirror.list_items_live is 'list_items without deleted rows and _raw; _list_key is the _key of lists_live.';

comment on view mirror.list_items_versions is 'Every known version of the rows of list_items, superseded and current, half-open: [_valid_from, _valid_to).';

comment on column mirror.list_items_versions._user_id is 'Owner of the API key; first in every primary key.';

comment on column mirror.list_items_versions.list_id is 'The list that the item is in.';

comment on column mirror.list_items_versions.id is 'ID of the item (the account) in its list.';

comment on column mirror.list_items_versions._first_seen_at is 'When the row came into this mirror.';

comment on column mirror.list_items_versions._changed_at is 'When the row''s content last changed in this mirror.';

comment on column mirror.list_items_versions._change_id is 'Watermark: rises in commit order and is unique for each _user_id.';

comment on column mirror.list_items_versions._raw is 'The whole item as the service sent it.';

comment on column mirror.list_items_versions._valid_from is 'When this version came into the mirror.';

comment on column mirror.list_items_versions._valid_to is 'When it was superseded, or deleted; null for the current version.';

comment on column mirror.list_items_versions._is_current is 'Whether the row is so now.';

comment on column mirror.list_items_versions._op is 'What ended it: update or delete; null for the current version.';

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

comment on function mirror.lists_as_of(timestamp with time zone) is 'lists as the mirror knew it at that moment; raises RM001 before the first moment that history covers.';

comment on table mirror.lists_history is 'Superseded versions of lists, and the last ones of deleted rows: each was current in [_valid_from, _valid_to).';

comment on column mirror.lists_history._user_id is 'Owner of the API key; first in every primary key.';

comment on column mirror.lists_history.list_id is 'ID of the list.';

comment on column mirror.lists_history._first_seen_at is 'When the row came into this mirror.';

comment on column mirror.lists_history._changed_at is 'When the row''s content last changed in this mirror.';

comment on column mirror.lists_history._change_id is 'Watermark: rises in commit order and is unique for each _user_id.';

comment on column mirror.lists_history._deleted_at is 'Null while the service has the row.';

comment on column mirror.lists_history._hash is 'Hash of the content, by which unchanged rows are told.';

comment on column mirror.lists_history._raw is 'The whole item as the service sent it.';

comment on column mirror.lists_history._verbatim is 'The item''s exact text where _raw had to replace characters that jsonb can''t hold; else null.';

comment on column mirror.lists_history._valid_from is 'When this version came into the mirror.';

comment on column mirror.lists_history._valid_to is 'When it was superseded, or deleted: it was current until just before.';

comment on column mirror.lists_history._op is 'What ended it: update or delete.';

comment on view mirror.lists_live is 'lists without deleted rows and _raw, with a single-column key.';

comment on view mirror.lists_versions is 'Every known version of the rows of lists, superseded and current, half-open: [_valid_from, _valid_to).';

comment on column mirror.lists_versions._user_id is 'Owner of the API key; first in every primary key.';

comment on column mirror.lists_versions.list_id is 'ID of the list.';

comment on column mirror.lists_versions._first_seen_at is 'When the row came into this mirror.';

comment on column mirror.lists_versions._changed_at is 'When the row''s content last changed in this mirror.';

comment on column mirror.lists_versions._change_id is 'Watermark: rises in commit order and is unique for each _user_id.';

comment on column mirror.lists_versions._raw is 'The whole item as the service sent it.';

comment on column mirror.lists_versions._valid_from is 'When this version came into the mirror.';

comment on column mirror.lists_versions._valid_to is 'When it was superseded, or deleted; null for the current version.';

comment on column mirror.lists_versions._is_current is 'Whether the row is so now.';

comment on column mirror.lists_versions._op is 'What ended it: update or delete; null for the current version.';

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

comment on function mirror.research_jobs_as_of(timestamp with time zone) is 'research_jobs as the mirror knew it at that moment; raises RM001 before the first moment that history covers.';

comment on table mirror.research_jobs_history is 'Superseded versions of research_jobs, and the last ones of deleted rows: each was current in [_valid_from, _valid_to).';

comment on column mirror.research_jobs_history._user_id is 'Owner of the API key; first in every primary key.';

comment on column mirror.research_jobs_history.job_id is 'ID of the research job.';

comment on column mirror.research_jobs_history.status is 'State of the job in the service''s own word, for example completed.';

comment on column mirror.research_jobs_history._first_seen_at is 'When the row came into this mirror.';

comment on column mirror.research_jobs_history._changed_at is 'When the row''s content last changed in this mirror.';

comment on column mirror.research_jobs_history._change_id is 'Watermark: rises in commit order and is unique for each _user_id.';

comment on column mirror.research_jobs_history._deleted_at is 'Null while the service has the row.';

comment on column mirror.research_jobs_history._hash is 'Hash of the content, by which unchanged rows are told.';

comment on column mirror.research_jobs_history._raw is 'The whole item as the service sent it.';

comment on column mirror.research_jobs_history._verbatim is 'The item''s exact text where _raw had to replace characters that jsonb can''t hold; else null.';

comment on column mirror.research_jobs_history._valid_from is 'When this version came into the mirror.';

comment on column mirror.research_jobs_history._valid_to is 'When it was superseded, or deleted: it was current until just before.';

comment on column mirror.research_jobs_history._op is 'What ended it: update or delete.';

comment on view mirror.research_jobs_live is 'research_jobs without deleted rows and _raw, with a single-column key.';

comment on view mirror.research_jobs_versions is 'Every known version of the rows of research_jobs, superseded and current, half-open: [_valid_from, _valid_to).';

comment on column mirror.research_jobs_versions._user_id is 'Owner of the API key; first in every primary key.';

comment on column mirror.research_jobs_versions.job_id is 'ID of the research job.';

comment on column mirror.research_jobs_versions.status is 'State of the job in the service''s own word, for example completed.';

comment on column mirror.research_jobs_versions._first_seen_at is 'When the row came into this mirror.';

comment on column mirror.research_jobs_versions._changed_at is 'When the row''s content last changed in this mirror.';

comment on column mirror.research_jobs_versions._change_id is 'Watermark: rises in commit order and is unique for each _user_id.';

comment on column mirror.research_jobs_versions._raw is 'The whole item as the service sent it.';

comment on column mirror.research_jobs_versions._valid_from is 'When this version came into the mirror.';

comment on column mirror.research_jobs_versions._valid_to is 'When it was superseded, or deleted; null for the current version.';

comment on column mirror.research_jobs_versions._is_current is 'Whether the row is so now.';

comment on column mirror.research_jobs_versions._op is 'What ended it: update or delete; null for the current version.';

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

comment on function mirror.watchlist_as_of(timestamp with time zone) is 'watchlist as the mirror knew it at that moment; raises RM001 before the first moment that history covers.';

comment on table mirror.watchlist_history is 'Superseded versions of watchlist, and the last ones of deleted rows: each was current in [_valid_from, _valid_to).';

comment on column mirror.watchlist_history._user_id is 'Owner of the API key; first in every primary key.';

comment on column mirror.watchlist_history.id is 'ID of the watchlist entry.';

comment on column mirror.watchlist_history._first_seen_at is 'When the row came into this mirror.';

comment on column mirror.watchlist_history._changed_at is 'When the row''s content last changed in this mirror.';

comment on column mirror.watchlist_history._change_id is 'Watermark: rises in commit order and is unique for each _user_id.';

comment on column mirror.watchlist_history._deleted_at is 'Null while the service has the row.';

comment on column mirror.watchlist_history._hash is 'Hash of the content, by which unchanged rows are told.';

comment on column mirror.watchlist_history._raw is 'The whole item as the service sent it.';

comment on column mirror.watchlist_history._verbatim is 'The item''s exact text where _raw had to replace characters that jsonb can''t hold; else null.';

comment on column mirror.watchlist_history._valid_from is 'When this version came into the mirror.';

comment on column mirror.watchlist_history._valid_to is 'When it was superseded, or deleted: it was current until just before.';

comment on column mirror.watchlist_history._op is 'What ended it: update or delete.';

comment on view mirror.watchlist_live is 'watchlist without deleted rows and _raw, with a single-column key.';

comment on view mirror.watchlist_versions is 'Every known version of the rows of watchlist, superseded and current, half-open: [_valid_from, _valid_to).';

comment on column mirror.watchlist_versions._user_id is 'Owner of the API key; first in every primary key.';

comment on column mirror.watchlist_versions.id is 'ID of the watchlist entry.';

comment on column mirror.watchlist_versions._first_seen_at is 'When the row came into this mirror.';

comment on column mirror.watchlist_versions._changed_at is 'When the row''s content last changed in this mirror.';

comment on column mirror.watchlist_versions._change_id is 'Watermark: rises in commit order and is unique for each _user_id.';

comment on column mirror.watchlist_versions._raw is 'The whole item as the service sent it.';

comment on column mirror.watchlist_versions._valid_from is 'When this version came into the mirror.';

comment on column mirror.watchlist_versions._valid_to is 'When it was superseded, or deleted; null for the current version.';

comment on column mirror.watchlist_versions._is_current is 'Whether the row is so now.';

comment on column mirror.watchlist_versions._op is 'What ended it: update or delete; null for the current version.';

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
  complete_as_of timestamp with time zone,
  gone_at timestamp with time zone,
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
