-- A mirror as research-mirror 0.2.0 left it. Made by make-mirror-of-0.2.0.ts; never to be edited.


-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

CREATE SCHEMA mirror;

CREATE SCHEMA mirror_sync;

CREATE FUNCTION mirror._as_of(name text, moment timestamp with time zone) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
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
end $_$;

CREATE FUNCTION mirror._covered_as_of(name text, moment timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  perform "mirror"._as_of(name, moment);
  return true;
end $$;

SET default_tablespace = '';

SET default_table_access_method = heap;

CREATE TABLE mirror.account (
    _user_id bigint NOT NULL,
    email text,
    credits numeric,
    subscription text,
    org text,
    _first_seen_at timestamp with time zone NOT NULL,
    _changed_at timestamp with time zone NOT NULL,
    _change_id bigint NOT NULL,
    _deleted_at timestamp with time zone,
    _hash bytea NOT NULL,
    _raw jsonb NOT NULL,
    _verbatim text,
    object text
);

CREATE FUNCTION mirror.account_as_of(moment timestamp with time zone) RETURNS SETOF mirror.account
    LANGUAGE sql STABLE
    AS $$
select t._user_id, t.email, t.credits, t.subscription, t.org, t._first_seen_at, t._changed_at, t._change_id, t._deleted_at, t._hash, t._raw, t._verbatim, t.object from "mirror".account t
where t._deleted_at is null and (t._changed_at <= coalesce(moment, 'infinity') or moment >= pg_catalog.now())
  and "mirror"._covered_as_of('account', moment)
union all
select h._user_id, h.email, h.credits, h.subscription, h.org, h._first_seen_at, h._changed_at, h._change_id, null::timestamp with time zone, h._hash, h._raw, h._verbatim, h.object from "mirror".account_history h
where h._valid_from <= moment and h._valid_to > moment and moment < pg_catalog.now()
  and "mirror"._covered_as_of('account', moment)
$$;

CREATE TABLE mirror.bulk_research_jobs (
    _user_id bigint NOT NULL,
    bulk_job_id bigint NOT NULL,
    _first_seen_at timestamp with time zone NOT NULL,
    _changed_at timestamp with time zone NOT NULL,
    _change_id bigint NOT NULL,
    _deleted_at timestamp with time zone,
    _hash bytea NOT NULL,
    _raw jsonb NOT NULL,
    _verbatim text,
    completed_at timestamp with time zone,
    completed_count bigint,
    created_at timestamp with time zone,
    failed_count bigint,
    name text,
    object text,
    options jsonb,
    score numeric,
    started_at timestamp with time zone,
    status text,
    total_count bigint,
    updated_at timestamp with time zone
);

CREATE FUNCTION mirror.bulk_research_jobs_as_of(moment timestamp with time zone) RETURNS SETOF mirror.bulk_research_jobs
    LANGUAGE sql STABLE
    AS $$
select t._user_id, t.bulk_job_id, t._first_seen_at, t._changed_at, t._change_id, t._deleted_at, t._hash, t._raw, t._verbatim, t.completed_at, t.completed_count, t.created_at, t.failed_count, t.name, t.object, t.options, t.score, t.started_at, t.status, t.total_count, t.updated_at from "mirror".bulk_research_jobs t
where t._deleted_at is null and (t._changed_at <= coalesce(moment, 'infinity') or moment >= pg_catalog.now())
  and "mirror"._covered_as_of('bulk_research_jobs', moment)
union all
select h._user_id, h.bulk_job_id, h._first_seen_at, h._changed_at, h._change_id, null::timestamp with time zone, h._hash, h._raw, h._verbatim, h.completed_at, h.completed_count, h.created_at, h.failed_count, h.name, h.object, h.options, h.score, h.started_at, h.status, h.total_count, h.updated_at from "mirror".bulk_research_jobs_history h
where h._valid_from <= moment and h._valid_to > moment and moment < pg_catalog.now()
  and "mirror"._covered_as_of('bulk_research_jobs', moment)
$$;

CREATE FUNCTION mirror.cancel_submission(submission_id bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  moment constant timestamptz := clock_timestamp();
  found_account bigint;
  found_state text;
begin
  -- "It will not be sent" must outlive a crash of the server.
  if current_setting('synchronous_commit') = 'off' then
    perform set_config('synchronous_commit', 'on', true);
  end if;
  select s._user_id into found_account from "mirror".submissions s where s.submission_id = cancel_submission.submission_id;
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
  update "mirror".submissions s set state = 'cancelled', done_at = moment
  where s._user_id = found_account and s.submission_id = cancel_submission.submission_id and s.state in ('queued', 'held');
  return true;
end $$;

CREATE TABLE mirror.list_items (
    _user_id bigint NOT NULL,
    list_id bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    _first_seen_at timestamp with time zone NOT NULL,
    _changed_at timestamp with time zone NOT NULL,
    _change_id bigint NOT NULL,
    _deleted_at timestamp with time zone,
    _hash bytea NOT NULL,
    _raw jsonb NOT NULL,
    _verbatim text,
    _domain text COLLATE pg_catalog."C",
    added_at timestamp with time zone,
    country text,
    domain text,
    employee_count bigint,
    industry text,
    location jsonb,
    name text,
    notes text,
    object text,
    score numeric,
    tags jsonb,
    updated_at timestamp with time zone,
    url text
);

CREATE FUNCTION mirror.list_items_as_of(moment timestamp with time zone) RETURNS SETOF mirror.list_items
    LANGUAGE sql STABLE
    AS $$
select t._user_id, t.list_id, t.id, t._first_seen_at, t._changed_at, t._change_id, t._deleted_at, t._hash, t._raw, t._verbatim, t._domain, t.added_at, t.country, t.domain, t.employee_count, t.industry, t.location, t.name, t.notes, t.object, t.score, t.tags, t.updated_at, t.url from "mirror".list_items t
where t._deleted_at is null and (t._changed_at <= coalesce(moment, 'infinity') or moment >= pg_catalog.now())
  and "mirror"._covered_as_of('list_items', moment)
union all
select h._user_id, h.list_id, h.id, h._first_seen_at, h._changed_at, h._change_id, null::timestamp with time zone, h._hash, h._raw, h._verbatim, h._domain, h.added_at, h.country, h.domain, h.employee_count, h.industry, h.location, h.name, h.notes, h.object, h.score, h.tags, h.updated_at, h.url from "mirror".list_items_history h
where h._valid_from <= moment and h._valid_to > moment and moment < pg_catalog.now()
  and "mirror"._covered_as_of('list_items', moment)
$$;

CREATE TABLE mirror.lists (
    _user_id bigint NOT NULL,
    list_id bigint NOT NULL,
    _first_seen_at timestamp with time zone NOT NULL,
    _changed_at timestamp with time zone NOT NULL,
    _change_id bigint NOT NULL,
    _deleted_at timestamp with time zone,
    _hash bytea NOT NULL,
    _raw jsonb NOT NULL,
    _verbatim text,
    created_at timestamp with time zone,
    description text,
    filters jsonb,
    item_count bigint,
    name text,
    object text,
    score numeric,
    status text,
    updated_at timestamp with time zone
);

CREATE FUNCTION mirror.lists_as_of(moment timestamp with time zone) RETURNS SETOF mirror.lists
    LANGUAGE sql STABLE
    AS $$
select t._user_id, t.list_id, t._first_seen_at, t._changed_at, t._change_id, t._deleted_at, t._hash, t._raw, t._verbatim, t.created_at, t.description, t.filters, t.item_count, t.name, t.object, t.score, t.status, t.updated_at from "mirror".lists t
where t._deleted_at is null and (t._changed_at <= coalesce(moment, 'infinity') or moment >= pg_catalog.now())
  and "mirror"._covered_as_of('lists', moment)
union all
select h._user_id, h.list_id, h._first_seen_at, h._changed_at, h._change_id, null::timestamp with time zone, h._hash, h._raw, h._verbatim, h.created_at, h.description, h.filters, h.item_count, h.name, h.object, h.score, h.status, h.updated_at from "mirror".lists_history h
where h._valid_from <= moment and h._valid_to > moment and moment < pg_catalog.now()
  and "mirror"._covered_as_of('lists', moment)
$$;

CREATE TABLE mirror.research_jobs (
    _user_id bigint NOT NULL,
    job_id bigint NOT NULL,
    status text,
    _first_seen_at timestamp with time zone NOT NULL,
    _changed_at timestamp with time zone NOT NULL,
    _change_id bigint NOT NULL,
    _deleted_at timestamp with time zone,
    _hash bytea NOT NULL,
    _raw jsonb NOT NULL,
    _verbatim text,
    _domain text COLLATE pg_catalog."C",
    completed_at timestamp with time zone,
    contacts jsonb,
    country text,
    created_at timestamp with time zone,
    document_id bigint,
    domain text,
    employee_count bigint,
    error jsonb,
    founded numeric,
    growth_rate numeric,
    industry text,
    location jsonb,
    name text,
    object text,
    public boolean,
    revenue_usd numeric,
    score numeric,
    sources jsonb,
    started_at timestamp with time zone,
    summary text,
    technologies jsonb,
    updated_at timestamp with time zone,
    url text,
    cost numeric,
    note text,
    note_d8da2c text
);

CREATE FUNCTION mirror.research_jobs_as_of(moment timestamp with time zone) RETURNS SETOF mirror.research_jobs
    LANGUAGE sql STABLE
    AS $$
select t._user_id, t.job_id, t.status, t._first_seen_at, t._changed_at, t._change_id, t._deleted_at, t._hash, t._raw, t._verbatim, t._domain, t.completed_at, t.contacts, t.country, t.created_at, t.document_id, t.domain, t.employee_count, t.error, t.founded, t.growth_rate, t.industry, t.location, t.name, t.object, t.public, t.revenue_usd, t.score, t.sources, t.started_at, t.summary, t.technologies, t.updated_at, t.url, t.cost, t.note, t.note_d8da2c from "mirror".research_jobs t
where t._deleted_at is null and (t._changed_at <= coalesce(moment, 'infinity') or moment >= pg_catalog.now())
  and "mirror"._covered_as_of('research_jobs', moment)
union all
select h._user_id, h.job_id, h.status, h._first_seen_at, h._changed_at, h._change_id, null::timestamp with time zone, h._hash, h._raw, h._verbatim, h._domain, h.completed_at, h.contacts, h.country, h.created_at, h.document_id, h.domain, h.employee_count, h.error, h.founded, h.growth_rate, h.industry, h.location, h.name, h.object, h.public, h.revenue_usd, h.score, h.sources, h.started_at, h.summary, h.technologies, h.updated_at, h.url, h.cost, h.note, h.note_d8da2c from "mirror".research_jobs_history h
where h._valid_from <= moment and h._valid_to > moment and moment < pg_catalog.now()
  and "mirror"._covered_as_of('research_jobs', moment)
$$;

CREATE FUNCTION mirror.submit(operation text, payload jsonb, target_id text DEFAULT NULL::text, user_id bigint DEFAULT NULL::bigint, idempotency_key text DEFAULT NULL::text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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
    select coalesce(array_agg(a._user_id order by a._user_id), '{}') from "mirror_sync".account a where a.state <> 'retired');
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
      when exists (select 1 from "mirror_sync".account a where a._user_id = account_id)
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
end $$;

CREATE TABLE mirror.watchlist (
    _user_id bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    _first_seen_at timestamp with time zone NOT NULL,
    _changed_at timestamp with time zone NOT NULL,
    _change_id bigint NOT NULL,
    _deleted_at timestamp with time zone,
    _hash bytea NOT NULL,
    _raw jsonb NOT NULL,
    _verbatim text,
    _domain text COLLATE pg_catalog."C",
    country text,
    created_at timestamp with time zone,
    domain text,
    employee_count bigint,
    industry text,
    location jsonb,
    name text,
    object text,
    score numeric,
    signals jsonb,
    threshold numeric,
    updated_at timestamp with time zone,
    url text
);

CREATE FUNCTION mirror.watchlist_as_of(moment timestamp with time zone) RETURNS SETOF mirror.watchlist
    LANGUAGE sql STABLE
    AS $$
select t._user_id, t.id, t._first_seen_at, t._changed_at, t._change_id, t._deleted_at, t._hash, t._raw, t._verbatim, t._domain, t.country, t.created_at, t.domain, t.employee_count, t.industry, t.location, t.name, t.object, t.score, t.signals, t.threshold, t.updated_at, t.url from "mirror".watchlist t
where t._deleted_at is null and (t._changed_at <= coalesce(moment, 'infinity') or moment >= pg_catalog.now())
  and "mirror"._covered_as_of('watchlist', moment)
union all
select h._user_id, h.id, h._first_seen_at, h._changed_at, h._change_id, null::timestamp with time zone, h._hash, h._raw, h._verbatim, h._domain, h.country, h.created_at, h.domain, h.employee_count, h.industry, h.location, h.name, h.object, h.score, h.signals, h.threshold, h.updated_at, h.url from "mirror".watchlist_history h
where h._valid_from <= moment and h._valid_to > moment and moment < pg_catalog.now()
  and "mirror"._covered_as_of('watchlist', moment)
$$;

CREATE FUNCTION mirror_sync.make_as_of() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
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
end $_$;

CREATE FUNCTION mirror_sync.make_changes() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
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
end $_$;

CREATE FUNCTION mirror_sync.make_companies() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
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
end $_$;

CREATE FUNCTION mirror_sync.readable_gate() RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
declare
  distributed boolean := false;
begin
  if to_regclass('pg_dist_partition') is not null and current_setting('server_version_num')::int < 170000 then
    execute 'select exists (select from pg_dist_partition where logicalrelid = $1)' into distributed
      using '"mirror".account'::regclass;
  end if;
  return case when distributed then '(select has_table_privilege(%1$L, ''select'')) = (%2$s._user_id is not null)'
    else 'has_table_privilege(%1$L, ''select'')' end;
end $_$;

CREATE FUNCTION mirror_sync.view_options(name text) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  return coalesce((
    select 'with (' || array_to_string(v.reloptions, ', ') || ')' from pg_class v
    where v.oid = to_regclass(format('"mirror".%I', view_options.name))), '');
end $$;

CREATE TABLE mirror._collections (
    _user_id bigint NOT NULL,
    collection text NOT NULL,
    live_rows bigint DEFAULT 0 NOT NULL,
    deleted_rows bigint DEFAULT 0 NOT NULL,
    held_deletions bigint DEFAULT 0 NOT NULL,
    polled_at timestamp with time zone,
    complete_as_of timestamp with time zone,
    next_poll_at timestamp with time zone,
    next_full_at timestamp with time zone,
    state text DEFAULT 'new'::text NOT NULL,
    last_error text,
    last_error_at timestamp with time zone,
    waiting_deletions bigint DEFAULT 0 NOT NULL,
    mirrored_from timestamp with time zone,
    history_from timestamp with time zone,
    reading_at timestamp with time zone,
    paused_at timestamp with time zone,
    failing_since timestamp with time zone
);

CREATE TABLE mirror._columns (
    collection text NOT NULL,
    field text NOT NULL,
    column_name text,
    type text NOT NULL,
    documented boolean NOT NULL,
    first_seen_at timestamp with time zone NOT NULL
);

CREATE TABLE mirror._conflicts (
    _user_id bigint NOT NULL,
    collection text NOT NULL,
    field text NOT NULL,
    conflicts bigint NOT NULL,
    last_at timestamp with time zone NOT NULL
);

CREATE TABLE mirror.account_history (
    _user_id bigint NOT NULL,
    email text,
    credits numeric,
    subscription text,
    org text,
    _first_seen_at timestamp with time zone NOT NULL,
    _changed_at timestamp with time zone NOT NULL,
    _change_id bigint NOT NULL,
    _deleted_at timestamp with time zone,
    _hash bytea NOT NULL,
    _raw jsonb NOT NULL,
    _verbatim text,
    _valid_from timestamp with time zone NOT NULL,
    _valid_to timestamp with time zone NOT NULL,
    _op text NOT NULL,
    object text
);

CREATE VIEW mirror.account_live AS
 SELECT (account._user_id)::text AS _key,
    account._user_id,
    account.email,
    account.credits,
    account.subscription,
    account.org,
    account.object,
    account._first_seen_at,
    account._changed_at,
    account._change_id
   FROM mirror.account
  WHERE (account._deleted_at IS NULL);

CREATE VIEW mirror.account_versions AS
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
    NULL::text AS _op,
    account.object
   FROM mirror.account
  WHERE (account._deleted_at IS NULL)
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
    account_history._op,
    account_history.object
   FROM mirror.account_history;

CREATE TABLE mirror.bulk_research_jobs_history (
    _user_id bigint NOT NULL,
    bulk_job_id bigint NOT NULL,
    _first_seen_at timestamp with time zone NOT NULL,
    _changed_at timestamp with time zone NOT NULL,
    _change_id bigint NOT NULL,
    _deleted_at timestamp with time zone,
    _hash bytea NOT NULL,
    _raw jsonb NOT NULL,
    _verbatim text,
    _valid_from timestamp with time zone NOT NULL,
    _valid_to timestamp with time zone NOT NULL,
    _op text NOT NULL,
    completed_at timestamp with time zone,
    completed_count bigint,
    created_at timestamp with time zone,
    failed_count bigint,
    name text,
    object text,
    options jsonb,
    score numeric,
    started_at timestamp with time zone,
    status text,
    total_count bigint,
    updated_at timestamp with time zone
);

CREATE VIEW mirror.bulk_research_jobs_live AS
 SELECT (((bulk_research_jobs._user_id)::text || ':'::text) || (bulk_research_jobs.bulk_job_id)::text) AS _key,
    bulk_research_jobs._user_id,
    bulk_research_jobs.bulk_job_id,
    bulk_research_jobs.completed_count,
    bulk_research_jobs.failed_count,
    bulk_research_jobs.name,
    bulk_research_jobs.object,
    bulk_research_jobs.score,
    bulk_research_jobs.status,
    bulk_research_jobs.total_count,
    bulk_research_jobs.created_at,
    bulk_research_jobs.started_at,
    bulk_research_jobs.completed_at,
    bulk_research_jobs.updated_at,
    bulk_research_jobs.options,
    bulk_research_jobs._first_seen_at,
    bulk_research_jobs._changed_at,
    bulk_research_jobs._change_id
   FROM mirror.bulk_research_jobs
  WHERE (bulk_research_jobs._deleted_at IS NULL);

CREATE VIEW mirror.bulk_research_jobs_versions AS
 SELECT bulk_research_jobs._user_id,
    bulk_research_jobs.bulk_job_id,
    bulk_research_jobs._first_seen_at,
    bulk_research_jobs._changed_at,
    bulk_research_jobs._change_id,
    bulk_research_jobs._raw,
    bulk_research_jobs._changed_at AS _valid_from,
    NULL::timestamp with time zone AS _valid_to,
    true AS _is_current,
    NULL::text AS _op,
    bulk_research_jobs.completed_at,
    bulk_research_jobs.completed_count,
    bulk_research_jobs.created_at,
    bulk_research_jobs.failed_count,
    bulk_research_jobs.name,
    bulk_research_jobs.object,
    bulk_research_jobs.options,
    bulk_research_jobs.score,
    bulk_research_jobs.started_at,
    bulk_research_jobs.status,
    bulk_research_jobs.total_count,
    bulk_research_jobs.updated_at
   FROM mirror.bulk_research_jobs
  WHERE (bulk_research_jobs._deleted_at IS NULL)
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
    bulk_research_jobs_history._op,
    bulk_research_jobs_history.completed_at,
    bulk_research_jobs_history.completed_count,
    bulk_research_jobs_history.created_at,
    bulk_research_jobs_history.failed_count,
    bulk_research_jobs_history.name,
    bulk_research_jobs_history.object,
    bulk_research_jobs_history.options,
    bulk_research_jobs_history.score,
    bulk_research_jobs_history.started_at,
    bulk_research_jobs_history.status,
    bulk_research_jobs_history.total_count,
    bulk_research_jobs_history.updated_at
   FROM mirror.bulk_research_jobs_history;

CREATE TABLE mirror.list_items_history (
    _user_id bigint NOT NULL,
    list_id bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    _first_seen_at timestamp with time zone NOT NULL,
    _changed_at timestamp with time zone NOT NULL,
    _change_id bigint NOT NULL,
    _deleted_at timestamp with time zone,
    _hash bytea NOT NULL,
    _raw jsonb NOT NULL,
    _verbatim text,
    _valid_from timestamp with time zone NOT NULL,
    _valid_to timestamp with time zone NOT NULL,
    _op text NOT NULL,
    _domain text COLLATE pg_catalog."C",
    added_at timestamp with time zone,
    country text,
    domain text,
    employee_count bigint,
    industry text,
    location jsonb,
    name text,
    notes text,
    object text,
    score numeric,
    tags jsonb,
    updated_at timestamp with time zone,
    url text
);

CREATE TABLE mirror.lists_history (
    _user_id bigint NOT NULL,
    list_id bigint NOT NULL,
    _first_seen_at timestamp with time zone NOT NULL,
    _changed_at timestamp with time zone NOT NULL,
    _change_id bigint NOT NULL,
    _deleted_at timestamp with time zone,
    _hash bytea NOT NULL,
    _raw jsonb NOT NULL,
    _verbatim text,
    _valid_from timestamp with time zone NOT NULL,
    _valid_to timestamp with time zone NOT NULL,
    _op text NOT NULL,
    created_at timestamp with time zone,
    description text,
    filters jsonb,
    item_count bigint,
    name text,
    object text,
    score numeric,
    status text,
    updated_at timestamp with time zone
);

CREATE TABLE mirror.research_jobs_history (
    _user_id bigint NOT NULL,
    job_id bigint NOT NULL,
    status text,
    _first_seen_at timestamp with time zone NOT NULL,
    _changed_at timestamp with time zone NOT NULL,
    _change_id bigint NOT NULL,
    _deleted_at timestamp with time zone,
    _hash bytea NOT NULL,
    _raw jsonb NOT NULL,
    _verbatim text,
    _valid_from timestamp with time zone NOT NULL,
    _valid_to timestamp with time zone NOT NULL,
    _op text NOT NULL,
    _domain text COLLATE pg_catalog."C",
    completed_at timestamp with time zone,
    contacts jsonb,
    country text,
    created_at timestamp with time zone,
    document_id bigint,
    domain text,
    employee_count bigint,
    error jsonb,
    founded numeric,
    growth_rate numeric,
    industry text,
    location jsonb,
    name text,
    object text,
    public boolean,
    revenue_usd numeric,
    score numeric,
    sources jsonb,
    started_at timestamp with time zone,
    summary text,
    technologies jsonb,
    updated_at timestamp with time zone,
    url text,
    cost numeric,
    note text,
    note_d8da2c text
);

CREATE TABLE mirror.watchlist_history (
    _user_id bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    _first_seen_at timestamp with time zone NOT NULL,
    _changed_at timestamp with time zone NOT NULL,
    _change_id bigint NOT NULL,
    _deleted_at timestamp with time zone,
    _hash bytea NOT NULL,
    _raw jsonb NOT NULL,
    _verbatim text,
    _valid_from timestamp with time zone NOT NULL,
    _valid_to timestamp with time zone NOT NULL,
    _op text NOT NULL,
    _domain text COLLATE pg_catalog."C",
    country text,
    created_at timestamp with time zone,
    domain text,
    employee_count bigint,
    industry text,
    location jsonb,
    name text,
    object text,
    score numeric,
    signals jsonb,
    threshold numeric,
    updated_at timestamp with time zone,
    url text
);

CREATE VIEW mirror.changes AS
 SELECT s._user_id,
    'account'::text AS collection,
    (s._user_id)::text AS key,
    d.field,
    d.before,
    d.after,
    e.changed_at,
    s._change_id AS change_id,
    e.op
   FROM ((((mirror.account s
     LEFT JOIN mirror.account_history p ON (((p._user_id = s._user_id) AND (p._change_id = ( SELECT max(h._change_id) AS max
           FROM mirror.account_history h
          WHERE ((h._user_id = s._user_id) AND (h._change_id < s._change_id)))))))
     LEFT JOIN mirror._collections c ON (((c._user_id = s._user_id) AND (c.collection = 'account'::text))))
     CROSS JOIN LATERAL UNNEST((
        CASE
            WHEN ((p._op = 'delete'::text) AND (s._deleted_at IS NULL)) THEN ARRAY['delete'::text]
            ELSE '{}'::text[]
        END ||
        CASE
            WHEN (s._deleted_at IS NOT NULL) THEN 'delete'::text
            WHEN ((p._op = 'delete'::text) AND (p._valid_to >= c.history_from)) THEN 'undelete'::text
            WHEN ((s._changed_at = s._first_seen_at) AND (p._op IS DISTINCT FROM 'update'::text)) THEN 'insert'::text
            ELSE 'update'::text
        END),
        CASE
            WHEN ((p._op = 'delete'::text) AND (s._deleted_at IS NULL)) THEN ARRAY[p._valid_to, s._changed_at]
            ELSE ARRAY[s._changed_at]
        END) e(op, changed_at))
     LEFT JOIN LATERAL ( SELECT k.field,
            (p._raw -> k.field) AS before,
            (s._raw -> k.field) AS after
           FROM jsonb_object_keys((p._raw || s._raw)) k(field)
          WHERE ((e.op = 'update'::text) AND (p._op = 'update'::text) AND (p._valid_to = s._changed_at) AND (((p._raw -> k.field))::text IS DISTINCT FROM ((s._raw -> k.field))::text))) d ON (true))
  WHERE (has_table_privilege('"mirror".account'::text, 'select'::text) AND has_table_privilege('"mirror".account_history'::text, 'select'::text))
UNION ALL
 SELECT s._user_id,
    'account'::text AS collection,
    (s._user_id)::text AS key,
    d.field,
    d.before,
    d.after,
    e.changed_at,
    s._change_id AS change_id,
    e.op
   FROM ((((mirror.account_history s
     LEFT JOIN mirror.account_history p ON (((p._user_id = s._user_id) AND (p._change_id = ( SELECT max(h._change_id) AS max
           FROM mirror.account_history h
          WHERE ((h._user_id = s._user_id) AND (h._change_id < s._change_id)))))))
     LEFT JOIN mirror._collections c ON (((c._user_id = s._user_id) AND (c.collection = 'account'::text))))
     CROSS JOIN LATERAL UNNEST((
        CASE
            WHEN ((p._op = 'delete'::text) AND (s._deleted_at IS NULL)) THEN ARRAY['delete'::text]
            ELSE '{}'::text[]
        END ||
        CASE
            WHEN (s._deleted_at IS NOT NULL) THEN 'delete'::text
            WHEN ((p._op = 'delete'::text) AND (p._valid_to >= c.history_from)) THEN 'undelete'::text
            WHEN ((s._changed_at = s._first_seen_at) AND (p._op IS DISTINCT FROM 'update'::text)) THEN 'insert'::text
            ELSE 'update'::text
        END),
        CASE
            WHEN ((p._op = 'delete'::text) AND (s._deleted_at IS NULL)) THEN ARRAY[p._valid_to, s._changed_at]
            ELSE ARRAY[s._changed_at]
        END) e(op, changed_at))
     LEFT JOIN LATERAL ( SELECT k.field,
            (p._raw -> k.field) AS before,
            (s._raw -> k.field) AS after
           FROM jsonb_object_keys((p._raw || s._raw)) k(field)
          WHERE ((e.op = 'update'::text) AND (p._op = 'update'::text) AND (p._valid_to = s._changed_at) AND (((p._raw -> k.field))::text IS DISTINCT FROM ((s._raw -> k.field))::text))) d ON (true))
  WHERE (has_table_privilege('"mirror".account'::text, 'select'::text) AND has_table_privilege('"mirror".account_history'::text, 'select'::text))
UNION ALL
 SELECT s._user_id,
    'account'::text AS collection,
    (s._user_id)::text AS key,
    NULL::text AS field,
    NULL::jsonb AS before,
    NULL::jsonb AS after,
    s._valid_to AS changed_at,
    s._change_id AS change_id,
    'delete'::text AS op
   FROM mirror.account_history s
  WHERE ((s._op = 'delete'::text) AND (NOT (EXISTS ( SELECT 1
           FROM mirror.account h
          WHERE (h._user_id = s._user_id)))) AND (NOT (EXISTS ( SELECT 1
           FROM mirror.account_history h
          WHERE ((h._user_id = s._user_id) AND (h._change_id > s._change_id))))) AND has_table_privilege('"mirror".account'::text, 'select'::text) AND has_table_privilege('"mirror".account_history'::text, 'select'::text))
UNION ALL
 SELECT s._user_id,
    'research_jobs'::text AS collection,
    (s.job_id)::text AS key,
    d.field,
    d.before,
    d.after,
    e.changed_at,
    s._change_id AS change_id,
    e.op
   FROM ((((mirror.research_jobs s
     LEFT JOIN mirror.research_jobs_history p ON (((p._user_id = s._user_id) AND (p.job_id = s.job_id) AND (p._change_id = ( SELECT max(h._change_id) AS max
           FROM mirror.research_jobs_history h
          WHERE ((h._user_id = s._user_id) AND (h.job_id = s.job_id) AND (h._change_id < s._change_id)))))))
     LEFT JOIN mirror._collections c ON (((c._user_id = s._user_id) AND (c.collection = 'research_jobs'::text))))
     CROSS JOIN LATERAL UNNEST((
        CASE
            WHEN ((p._op = 'delete'::text) AND (s._deleted_at IS NULL)) THEN ARRAY['delete'::text]
            ELSE '{}'::text[]
        END ||
        CASE
            WHEN (s._deleted_at IS NOT NULL) THEN 'delete'::text
            WHEN ((p._op = 'delete'::text) AND (p._valid_to >= c.history_from)) THEN 'undelete'::text
            WHEN ((s._changed_at = s._first_seen_at) AND (p._op IS DISTINCT FROM 'update'::text)) THEN 'insert'::text
            ELSE 'update'::text
        END),
        CASE
            WHEN ((p._op = 'delete'::text) AND (s._deleted_at IS NULL)) THEN ARRAY[p._valid_to, s._changed_at]
            ELSE ARRAY[s._changed_at]
        END) e(op, changed_at))
     LEFT JOIN LATERAL ( SELECT k.field,
            (p._raw -> k.field) AS before,
            (s._raw -> k.field) AS after
           FROM jsonb_object_keys((p._raw || s._raw)) k(field)
          WHERE ((e.op = 'update'::text) AND (p._op = 'update'::text) AND (p._valid_to = s._changed_at) AND (((p._raw -> k.field))::text IS DISTINCT FROM ((s._raw -> k.field))::text))) d ON (true))
  WHERE (has_table_privilege('"mirror".research_jobs'::text, 'select'::text) AND has_table_privilege('"mirror".research_jobs_history'::text, 'select'::text))
UNION ALL
 SELECT s._user_id,
    'research_jobs'::text AS collection,
    (s.job_id)::text AS key,
    d.field,
    d.before,
    d.after,
    e.changed_at,
    s._change_id AS change_id,
    e.op
   FROM ((((mirror.research_jobs_history s
     LEFT JOIN mirror.research_jobs_history p ON (((p._user_id = s._user_id) AND (p.job_id = s.job_id) AND (p._change_id = ( SELECT max(h._change_id) AS max
           FROM mirror.research_jobs_history h
          WHERE ((h._user_id = s._user_id) AND (h.job_id = s.job_id) AND (h._change_id < s._change_id)))))))
     LEFT JOIN mirror._collections c ON (((c._user_id = s._user_id) AND (c.collection = 'research_jobs'::text))))
     CROSS JOIN LATERAL UNNEST((
        CASE
            WHEN ((p._op = 'delete'::text) AND (s._deleted_at IS NULL)) THEN ARRAY['delete'::text]
            ELSE '{}'::text[]
        END ||
        CASE
            WHEN (s._deleted_at IS NOT NULL) THEN 'delete'::text
            WHEN ((p._op = 'delete'::text) AND (p._valid_to >= c.history_from)) THEN 'undelete'::text
            WHEN ((s._changed_at = s._first_seen_at) AND (p._op IS DISTINCT FROM 'update'::text)) THEN 'insert'::text
            ELSE 'update'::text
        END),
        CASE
            WHEN ((p._op = 'delete'::text) AND (s._deleted_at IS NULL)) THEN ARRAY[p._valid_to, s._changed_at]
            ELSE ARRAY[s._changed_at]
        END) e(op, changed_at))
     LEFT JOIN LATERAL ( SELECT k.field,
            (p._raw -> k.field) AS before,
            (s._raw -> k.field) AS after
           FROM jsonb_object_keys((p._raw || s._raw)) k(field)
          WHERE ((e.op = 'update'::text) AND (p._op = 'update'::text) AND (p._valid_to = s._changed_at) AND (((p._raw -> k.field))::text IS DISTINCT FROM ((s._raw -> k.field))::text))) d ON (true))
  WHERE (has_table_privilege('"mirror".research_jobs'::text, 'select'::text) AND has_table_privilege('"mirror".research_jobs_history'::text, 'select'::text))
UNION ALL
 SELECT s._user_id,
    'research_jobs'::text AS collection,
    (s.job_id)::text AS key,
    NULL::text AS field,
    NULL::jsonb AS before,
    NULL::jsonb AS after,
    s._valid_to AS changed_at,
    s._change_id AS change_id,
    'delete'::text AS op
   FROM mirror.research_jobs_history s
  WHERE ((s._op = 'delete'::text) AND (NOT (EXISTS ( SELECT 1
           FROM mirror.research_jobs h
          WHERE ((h._user_id = s._user_id) AND (h.job_id = s.job_id))))) AND (NOT (EXISTS ( SELECT 1
           FROM mirror.research_jobs_history h
          WHERE ((h._user_id = s._user_id) AND (h.job_id = s.job_id) AND (h._change_id > s._change_id))))) AND has_table_privilege('"mirror".research_jobs'::text, 'select'::text) AND has_table_privilege('"mirror".research_jobs_history'::text, 'select'::text))
UNION ALL
 SELECT s._user_id,
    'bulk_research_jobs'::text AS collection,
    (s.bulk_job_id)::text AS key,
    d.field,
    d.before,
    d.after,
    e.changed_at,
    s._change_id AS change_id,
    e.op
   FROM ((((mirror.bulk_research_jobs s
     LEFT JOIN mirror.bulk_research_jobs_history p ON (((p._user_id = s._user_id) AND (p.bulk_job_id = s.bulk_job_id) AND (p._change_id = ( SELECT max(h._change_id) AS max
           FROM mirror.bulk_research_jobs_history h
          WHERE ((h._user_id = s._user_id) AND (h.bulk_job_id = s.bulk_job_id) AND (h._change_id < s._change_id)))))))
     LEFT JOIN mirror._collections c ON (((c._user_id = s._user_id) AND (c.collection = 'bulk_research_jobs'::text))))
     CROSS JOIN LATERAL UNNEST((
        CASE
            WHEN ((p._op = 'delete'::text) AND (s._deleted_at IS NULL)) THEN ARRAY['delete'::text]
            ELSE '{}'::text[]
        END ||
        CASE
            WHEN (s._deleted_at IS NOT NULL) THEN 'delete'::text
            WHEN ((p._op = 'delete'::text) AND (p._valid_to >= c.history_from)) THEN 'undelete'::text
            WHEN ((s._changed_at = s._first_seen_at) AND (p._op IS DISTINCT FROM 'update'::text)) THEN 'insert'::text
            ELSE 'update'::text
        END),
        CASE
            WHEN ((p._op = 'delete'::text) AND (s._deleted_at IS NULL)) THEN ARRAY[p._valid_to, s._changed_at]
            ELSE ARRAY[s._changed_at]
        END) e(op, changed_at))
     LEFT JOIN LATERAL ( SELECT k.field,
            (p._raw -> k.field) AS before,
            (s._raw -> k.field) AS after
           FROM jsonb_object_keys((p._raw || s._raw)) k(field)
          WHERE ((e.op = 'update'::text) AND (p._op = 'update'::text) AND (p._valid_to = s._changed_at) AND (((p._raw -> k.field))::text IS DISTINCT FROM ((s._raw -> k.field))::text))) d ON (true))
  WHERE (has_table_privilege('"mirror".bulk_research_jobs'::text, 'select'::text) AND has_table_privilege('"mirror".bulk_research_jobs_history'::text, 'select'::text))
UNION ALL
 SELECT s._user_id,
    'bulk_research_jobs'::text AS collection,
    (s.bulk_job_id)::text AS key,
    d.field,
    d.before,
    d.after,
    e.changed_at,
    s._change_id AS change_id,
    e.op
   FROM ((((mirror.bulk_research_jobs_history s
     LEFT JOIN mirror.bulk_research_jobs_history p ON (((p._user_id = s._user_id) AND (p.bulk_job_id = s.bulk_job_id) AND (p._change_id = ( SELECT max(h._change_id) AS max
           FROM mirror.bulk_research_jobs_history h
          WHERE ((h._user_id = s._user_id) AND (h.bulk_job_id = s.bulk_job_id) AND (h._change_id < s._change_id)))))))
     LEFT JOIN mirror._collections c ON (((c._user_id = s._user_id) AND (c.collection = 'bulk_research_jobs'::text))))
     CROSS JOIN LATERAL UNNEST((
        CASE
            WHEN ((p._op = 'delete'::text) AND (s._deleted_at IS NULL)) THEN ARRAY['delete'::text]
            ELSE '{}'::text[]
        END ||
        CASE
            WHEN (s._deleted_at IS NOT NULL) THEN 'delete'::text
            WHEN ((p._op = 'delete'::text) AND (p._valid_to >= c.history_from)) THEN 'undelete'::text
            WHEN ((s._changed_at = s._first_seen_at) AND (p._op IS DISTINCT FROM 'update'::text)) THEN 'insert'::text
            ELSE 'update'::text
        END),
        CASE
            WHEN ((p._op = 'delete'::text) AND (s._deleted_at IS NULL)) THEN ARRAY[p._valid_to, s._changed_at]
            ELSE ARRAY[s._changed_at]
        END) e(op, changed_at))
     LEFT JOIN LATERAL ( SELECT k.field,
            (p._raw -> k.field) AS before,
            (s._raw -> k.field) AS after
           FROM jsonb_object_keys((p._raw || s._raw)) k(field)
          WHERE ((e.op = 'update'::text) AND (p._op = 'update'::text) AND (p._valid_to = s._changed_at) AND (((p._raw -> k.field))::text IS DISTINCT FROM ((s._raw -> k.field))::text))) d ON (true))
  WHERE (has_table_privilege('"mirror".bulk_research_jobs'::text, 'select'::text) AND has_table_privilege('"mirror".bulk_research_jobs_history'::text, 'select'::text))
UNION ALL
 SELECT s._user_id,
    'bulk_research_jobs'::text AS collection,
    (s.bulk_job_id)::text AS key,
    NULL::text AS field,
    NULL::jsonb AS before,
    NULL::jsonb AS after,
    s._valid_to AS changed_at,
    s._change_id AS change_id,
    'delete'::text AS op
   FROM mirror.bulk_research_jobs_history s
  WHERE ((s._op = 'delete'::text) AND (NOT (EXISTS ( SELECT 1
           FROM mirror.bulk_research_jobs h
          WHERE ((h._user_id = s._user_id) AND (h.bulk_job_id = s.bulk_job_id))))) AND (NOT (EXISTS ( SELECT 1
           FROM mirror.bulk_research_jobs_history h
          WHERE ((h._user_id = s._user_id) AND (h.bulk_job_id = s.bulk_job_id) AND (h._change_id > s._change_id))))) AND has_table_privilege('"mirror".bulk_research_jobs'::text, 'select'::text) AND has_table_privilege('"mirror".bulk_research_jobs_history'::text, 'select'::text))
UNION ALL
 SELECT s._user_id,
    'lists'::text AS collection,
    (s.list_id)::text AS key,
    d.field,
    d.before,
    d.after,
    e.changed_at,
    s._change_id AS change_id,
    e.op
   FROM ((((mirror.lists s
     LEFT JOIN mirror.lists_history p ON (((p._user_id = s._user_id) AND (p.list_id = s.list_id) AND (p._change_id = ( SELECT max(h._change_id) AS max
           FROM mirror.lists_history h
          WHERE ((h._user_id = s._user_id) AND (h.list_id = s.list_id) AND (h._change_id < s._change_id)))))))
     LEFT JOIN mirror._collections c ON (((c._user_id = s._user_id) AND (c.collection = 'lists'::text))))
     CROSS JOIN LATERAL UNNEST((
        CASE
            WHEN ((p._op = 'delete'::text) AND (s._deleted_at IS NULL)) THEN ARRAY['delete'::text]
            ELSE '{}'::text[]
        END ||
        CASE
            WHEN (s._deleted_at IS NOT NULL) THEN 'delete'::text
            WHEN ((p._op = 'delete'::text) AND (p._valid_to >= c.history_from)) THEN 'undelete'::text
            WHEN ((s._changed_at = s._first_seen_at) AND (p._op IS DISTINCT FROM 'update'::text)) THEN 'insert'::text
            ELSE 'update'::text
        END),
        CASE
            WHEN ((p._op = 'delete'::text) AND (s._deleted_at IS NULL)) THEN ARRAY[p._valid_to, s._changed_at]
            ELSE ARRAY[s._changed_at]
        END) e(op, changed_at))
     LEFT JOIN LATERAL ( SELECT k.field,
            (p._raw -> k.field) AS before,
            (s._raw -> k.field) AS after
           FROM jsonb_object_keys((p._raw || s._raw)) k(field)
          WHERE ((e.op = 'update'::text) AND (p._op = 'update'::text) AND (p._valid_to = s._changed_at) AND (((p._raw -> k.field))::text IS DISTINCT FROM ((s._raw -> k.field))::text))) d ON (true))
  WHERE (has_table_privilege('"mirror".lists'::text, 'select'::text) AND has_table_privilege('"mirror".lists_history'::text, 'select'::text))
UNION ALL
 SELECT s._user_id,
    'lists'::text AS collection,
    (s.list_id)::text AS key,
    d.field,
    d.before,
    d.after,
    e.changed_at,
    s._change_id AS change_id,
    e.op
   FROM ((((mirror.lists_history s
     LEFT JOIN mirror.lists_history p ON (((p._user_id = s._user_id) AND (p.list_id = s.list_id) AND (p._change_id = ( SELECT max(h._change_id) AS max
           FROM mirror.lists_history h
          WHERE ((h._user_id = s._user_id) AND (h.list_id = s.list_id) AND (h._change_id < s._change_id)))))))
     LEFT JOIN mirror._collections c ON (((c._user_id = s._user_id) AND (c.collection = 'lists'::text))))
     CROSS JOIN LATERAL UNNEST((
        CASE
            WHEN ((p._op = 'delete'::text) AND (s._deleted_at IS NULL)) THEN ARRAY['delete'::text]
            ELSE '{}'::text[]
        END ||
        CASE
            WHEN (s._deleted_at IS NOT NULL) THEN 'delete'::text
            WHEN ((p._op = 'delete'::text) AND (p._valid_to >= c.history_from)) THEN 'undelete'::text
            WHEN ((s._changed_at = s._first_seen_at) AND (p._op IS DISTINCT FROM 'update'::text)) THEN 'insert'::text
            ELSE 'update'::text
        END),
        CASE
            WHEN ((p._op = 'delete'::text) AND (s._deleted_at IS NULL)) THEN ARRAY[p._valid_to, s._changed_at]
            ELSE ARRAY[s._changed_at]
        END) e(op, changed_at))
     LEFT JOIN LATERAL ( SELECT k.field,
            (p._raw -> k.field) AS before,
            (s._raw -> k.field) AS after
           FROM jsonb_object_keys((p._raw || s._raw)) k(field)
          WHERE ((e.op = 'update'::text) AND (p._op = 'update'::text) AND (p._valid_to = s._changed_at) AND (((p._raw -> k.field))::text IS DISTINCT FROM ((s._raw -> k.field))::text))) d ON (true))
  WHERE (has_table_privilege('"mirror".lists'::text, 'select'::text) AND has_table_privilege('"mirror".lists_history'::text, 'select'::text))
UNION ALL
 SELECT s._user_id,
    'lists'::text AS collection,
    (s.list_id)::text AS key,
    NULL::text AS field,
    NULL::jsonb AS before,
    NULL::jsonb AS after,
    s._valid_to AS changed_at,
    s._change_id AS change_id,
    'delete'::text AS op
   FROM mirror.lists_history s
  WHERE ((s._op = 'delete'::text) AND (NOT (EXISTS ( SELECT 1
           FROM mirror.lists h
          WHERE ((h._user_id = s._user_id) AND (h.list_id = s.list_id))))) AND (NOT (EXISTS ( SELECT 1
           FROM mirror.lists_history h
          WHERE ((h._user_id = s._user_id) AND (h.list_id = s.list_id) AND (h._change_id > s._change_id))))) AND has_table_privilege('"mirror".lists'::text, 'select'::text) AND has_table_privilege('"mirror".lists_history'::text, 'select'::text))
UNION ALL
 SELECT s._user_id,
    'list_items'::text AS collection,
    (((s.list_id)::text || ':'::text) || s.id) AS key,
    d.field,
    d.before,
    d.after,
    e.changed_at,
    s._change_id AS change_id,
    e.op
   FROM ((((mirror.list_items s
     LEFT JOIN mirror.list_items_history p ON (((p._user_id = s._user_id) AND (p.list_id = s.list_id) AND (p.id = s.id) AND (p._change_id = ( SELECT max(h._change_id) AS max
           FROM mirror.list_items_history h
          WHERE ((h._user_id = s._user_id) AND (h.list_id = s.list_id) AND (h.id = s.id) AND (h._change_id < s._change_id)))))))
     LEFT JOIN mirror._collections c ON (((c._user_id = s._user_id) AND (c.collection = 'list_items'::text))))
     CROSS JOIN LATERAL UNNEST((
        CASE
            WHEN ((p._op = 'delete'::text) AND (s._deleted_at IS NULL)) THEN ARRAY['delete'::text]
            ELSE '{}'::text[]
        END ||
        CASE
            WHEN (s._deleted_at IS NOT NULL) THEN 'delete'::text
            WHEN ((p._op = 'delete'::text) AND (p._valid_to >= c.history_from)) THEN 'undelete'::text
            WHEN ((s._changed_at = s._first_seen_at) AND (p._op IS DISTINCT FROM 'update'::text)) THEN 'insert'::text
            ELSE 'update'::text
        END),
        CASE
            WHEN ((p._op = 'delete'::text) AND (s._deleted_at IS NULL)) THEN ARRAY[p._valid_to, s._changed_at]
            ELSE ARRAY[s._changed_at]
        END) e(op, changed_at))
     LEFT JOIN LATERAL ( SELECT k.field,
            (p._raw -> k.field) AS before,
            (s._raw -> k.field) AS after
           FROM jsonb_object_keys((p._raw || s._raw)) k(field)
          WHERE ((e.op = 'update'::text) AND (p._op = 'update'::text) AND (p._valid_to = s._changed_at) AND (((p._raw -> k.field))::text IS DISTINCT FROM ((s._raw -> k.field))::text))) d ON (true))
  WHERE (has_table_privilege('"mirror".list_items'::text, 'select'::text) AND has_table_privilege('"mirror".list_items_history'::text, 'select'::text))
UNION ALL
 SELECT s._user_id,
    'list_items'::text AS collection,
    (((s.list_id)::text || ':'::text) || s.id) AS key,
    d.field,
    d.before,
    d.after,
    e.changed_at,
    s._change_id AS change_id,
    e.op
   FROM ((((mirror.list_items_history s
     LEFT JOIN mirror.list_items_history p ON (((p._user_id = s._user_id) AND (p.list_id = s.list_id) AND (p.id = s.id) AND (p._change_id = ( SELECT max(h._change_id) AS max
           FROM mirror.list_items_history h
          WHERE ((h._user_id = s._user_id) AND (h.list_id = s.list_id) AND (h.id = s.id) AND (h._change_id < s._change_id)))))))
     LEFT JOIN mirror._collections c ON (((c._user_id = s._user_id) AND (c.collection = 'list_items'::text))))
     CROSS JOIN LATERAL UNNEST((
        CASE
            WHEN ((p._op = 'delete'::text) AND (s._deleted_at IS NULL)) THEN ARRAY['delete'::text]
            ELSE '{}'::text[]
        END ||
        CASE
            WHEN (s._deleted_at IS NOT NULL) THEN 'delete'::text
            WHEN ((p._op = 'delete'::text) AND (p._valid_to >= c.history_from)) THEN 'undelete'::text
            WHEN ((s._changed_at = s._first_seen_at) AND (p._op IS DISTINCT FROM 'update'::text)) THEN 'insert'::text
            ELSE 'update'::text
        END),
        CASE
            WHEN ((p._op = 'delete'::text) AND (s._deleted_at IS NULL)) THEN ARRAY[p._valid_to, s._changed_at]
            ELSE ARRAY[s._changed_at]
        END) e(op, changed_at))
     LEFT JOIN LATERAL ( SELECT k.field,
            (p._raw -> k.field) AS before,
            (s._raw -> k.field) AS after
           FROM jsonb_object_keys((p._raw || s._raw)) k(field)
          WHERE ((e.op = 'update'::text) AND (p._op = 'update'::text) AND (p._valid_to = s._changed_at) AND (((p._raw -> k.field))::text IS DISTINCT FROM ((s._raw -> k.field))::text))) d ON (true))
  WHERE (has_table_privilege('"mirror".list_items'::text, 'select'::text) AND has_table_privilege('"mirror".list_items_history'::text, 'select'::text))
UNION ALL
 SELECT s._user_id,
    'list_items'::text AS collection,
    (((s.list_id)::text || ':'::text) || s.id) AS key,
    NULL::text AS field,
    NULL::jsonb AS before,
    NULL::jsonb AS after,
    s._valid_to AS changed_at,
    s._change_id AS change_id,
    'delete'::text AS op
   FROM mirror.list_items_history s
  WHERE ((s._op = 'delete'::text) AND (NOT (EXISTS ( SELECT 1
           FROM mirror.list_items h
          WHERE ((h._user_id = s._user_id) AND (h.list_id = s.list_id) AND (h.id = s.id))))) AND (NOT (EXISTS ( SELECT 1
           FROM mirror.list_items_history h
          WHERE ((h._user_id = s._user_id) AND (h.list_id = s.list_id) AND (h.id = s.id) AND (h._change_id > s._change_id))))) AND has_table_privilege('"mirror".list_items'::text, 'select'::text) AND has_table_privilege('"mirror".list_items_history'::text, 'select'::text))
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
   FROM ((((mirror.watchlist s
     LEFT JOIN mirror.watchlist_history p ON (((p._user_id = s._user_id) AND (p.id = s.id) AND (p._change_id = ( SELECT max(h._change_id) AS max
           FROM mirror.watchlist_history h
          WHERE ((h._user_id = s._user_id) AND (h.id = s.id) AND (h._change_id < s._change_id)))))))
     LEFT JOIN mirror._collections c ON (((c._user_id = s._user_id) AND (c.collection = 'watchlist'::text))))
     CROSS JOIN LATERAL UNNEST((
        CASE
            WHEN ((p._op = 'delete'::text) AND (s._deleted_at IS NULL)) THEN ARRAY['delete'::text]
            ELSE '{}'::text[]
        END ||
        CASE
            WHEN (s._deleted_at IS NOT NULL) THEN 'delete'::text
            WHEN ((p._op = 'delete'::text) AND (p._valid_to >= c.history_from)) THEN 'undelete'::text
            WHEN ((s._changed_at = s._first_seen_at) AND (p._op IS DISTINCT FROM 'update'::text)) THEN 'insert'::text
            ELSE 'update'::text
        END),
        CASE
            WHEN ((p._op = 'delete'::text) AND (s._deleted_at IS NULL)) THEN ARRAY[p._valid_to, s._changed_at]
            ELSE ARRAY[s._changed_at]
        END) e(op, changed_at))
     LEFT JOIN LATERAL ( SELECT k.field,
            (p._raw -> k.field) AS before,
            (s._raw -> k.field) AS after
           FROM jsonb_object_keys((p._raw || s._raw)) k(field)
          WHERE ((e.op = 'update'::text) AND (p._op = 'update'::text) AND (p._valid_to = s._changed_at) AND (((p._raw -> k.field))::text IS DISTINCT FROM ((s._raw -> k.field))::text))) d ON (true))
  WHERE (has_table_privilege('"mirror".watchlist'::text, 'select'::text) AND has_table_privilege('"mirror".watchlist_history'::text, 'select'::text))
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
   FROM ((((mirror.watchlist_history s
     LEFT JOIN mirror.watchlist_history p ON (((p._user_id = s._user_id) AND (p.id = s.id) AND (p._change_id = ( SELECT max(h._change_id) AS max
           FROM mirror.watchlist_history h
          WHERE ((h._user_id = s._user_id) AND (h.id = s.id) AND (h._change_id < s._change_id)))))))
     LEFT JOIN mirror._collections c ON (((c._user_id = s._user_id) AND (c.collection = 'watchlist'::text))))
     CROSS JOIN LATERAL UNNEST((
        CASE
            WHEN ((p._op = 'delete'::text) AND (s._deleted_at IS NULL)) THEN ARRAY['delete'::text]
            ELSE '{}'::text[]
        END ||
        CASE
            WHEN (s._deleted_at IS NOT NULL) THEN 'delete'::text
            WHEN ((p._op = 'delete'::text) AND (p._valid_to >= c.history_from)) THEN 'undelete'::text
            WHEN ((s._changed_at = s._first_seen_at) AND (p._op IS DISTINCT FROM 'update'::text)) THEN 'insert'::text
            ELSE 'update'::text
        END),
        CASE
            WHEN ((p._op = 'delete'::text) AND (s._deleted_at IS NULL)) THEN ARRAY[p._valid_to, s._changed_at]
            ELSE ARRAY[s._changed_at]
        END) e(op, changed_at))
     LEFT JOIN LATERAL ( SELECT k.field,
            (p._raw -> k.field) AS before,
            (s._raw -> k.field) AS after
           FROM jsonb_object_keys((p._raw || s._raw)) k(field)
          WHERE ((e.op = 'update'::text) AND (p._op = 'update'::text) AND (p._valid_to = s._changed_at) AND (((p._raw -> k.field))::text IS DISTINCT FROM ((s._raw -> k.field))::text))) d ON (true))
  WHERE (has_table_privilege('"mirror".watchlist'::text, 'select'::text) AND has_table_privilege('"mirror".watchlist_history'::text, 'select'::text))
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
  WHERE ((s._op = 'delete'::text) AND (NOT (EXISTS ( SELECT 1
           FROM mirror.watchlist h
          WHERE ((h._user_id = s._user_id) AND (h.id = s.id))))) AND (NOT (EXISTS ( SELECT 1
           FROM mirror.watchlist_history h
          WHERE ((h._user_id = s._user_id) AND (h.id = s.id) AND (h._change_id > s._change_id))))) AND has_table_privilege('"mirror".watchlist'::text, 'select'::text) AND has_table_privilege('"mirror".watchlist_history'::text, 'select'::text));

CREATE VIEW mirror.columns AS
 SELECT c.collection,
    c.field,
    c.column_name,
    c.type,
    c.documented,
    c.first_seen_at,
    (COALESCE(x.conflicts, (0)::numeric))::bigint AS conflicts
   FROM (mirror._columns c
     LEFT JOIN ( SELECT _conflicts.collection,
            _conflicts.field,
            sum(_conflicts.conflicts) AS conflicts
           FROM mirror._conflicts
          GROUP BY _conflicts.collection, _conflicts.field) x ON (((x.collection = c.collection) AND (x.field = c.field))));

CREATE VIEW mirror.companies AS
 SELECT c._user_id,
    c._domain AS domain,
    (c.jobs)::bigint AS research_jobs,
    (c.items)::bigint AS list_items,
    (c.lists)::bigint AS lists,
    (c.watched > (0)::numeric) AS watched,
    j.status AS last_job_status,
    COALESCE(j.completed_at, j.updated_at, j.started_at, j.created_at, j._first_seen_at) AS last_researched_at,
    COALESCE(j.score, ( SELECT i.score
           FROM mirror.list_items i
          WHERE ((i._user_id = c._user_id) AND (i._domain = c._domain) AND (i._deleted_at IS NULL) AND (i.score IS NOT NULL) AND has_table_privilege('"mirror".list_items'::text, 'select'::text))
          ORDER BY i._change_id DESC
         LIMIT 1)) AS latest_score
   FROM (( SELECT b._user_id,
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
                  WHERE ((research_jobs._deleted_at IS NULL) AND (research_jobs._domain IS NOT NULL) AND has_table_privilege('"mirror".research_jobs'::text, 'select'::text))
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
                  WHERE ((list_items._deleted_at IS NULL) AND (list_items._domain IS NOT NULL) AND has_table_privilege('"mirror".list_items'::text, 'select'::text))
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
                  WHERE ((watchlist._deleted_at IS NULL) AND (watchlist._domain IS NOT NULL) AND has_table_privilege('"mirror".watchlist'::text, 'select'::text))
                  GROUP BY watchlist._user_id, watchlist._domain) b
          GROUP BY b._user_id, b._domain) c
     LEFT JOIN mirror.research_jobs j ON (((j._user_id = c._user_id) AND (j.job_id = c.last_job))));

CREATE VIEW mirror.credits_daily AS
 SELECT filled._user_id,
    filled.day,
    ((filled.closing + filled.burnt) - filled.topped_up) AS opening,
    filled.burnt,
    filled.topped_up,
    filled.closing
   FROM ( SELECT daily._user_id,
            daily.day,
            daily.burnt,
            daily.topped_up,
            max(daily.closing) OVER (PARTITION BY daily._user_id, daily.known) AS closing
           FROM ( SELECT d._user_id,
                    d.day,
                    COALESCE(v.burnt, (0)::numeric) AS burnt,
                    COALESCE(v.topped_up, (0)::numeric) AS topped_up,
                    v.closing,
                    count(v.closing) OVER (PARTITION BY d._user_id ORDER BY d.day) AS known
                   FROM (( SELECT a._user_id,
                            (generate_series((((min(a._valid_from) AT TIME ZONE 'UTC'::text))::date)::timestamp with time zone, (((now() AT TIME ZONE 'UTC'::text))::date)::timestamp with time zone, '1 day'::interval))::date AS day
                           FROM mirror.account_versions a
                          WHERE (a.credits IS NOT NULL)
                          GROUP BY a._user_id) d
                     LEFT JOIN ( SELECT s._user_id,
                            ((s._valid_from AT TIME ZONE 'UTC'::text))::date AS day,
                            COALESCE(sum((s.before - s.credits)) FILTER (WHERE (s.credits < s.before)), (0)::numeric) AS burnt,
                            COALESCE(sum((s.credits - s.before)) FILTER (WHERE (s.credits > s.before)), (0)::numeric) AS topped_up,
                            (array_agg(s.credits ORDER BY s._valid_from DESC, s._change_id DESC))[1] AS closing
                           FROM ( SELECT a._user_id,
                                    a._valid_from,
                                    a._change_id,
                                    a.credits,
                                    lag(a.credits) OVER (PARTITION BY a._user_id ORDER BY a._valid_from, a._change_id) AS before
                                   FROM mirror.account_versions a
                                  WHERE (a.credits IS NOT NULL)) s
                          GROUP BY s._user_id, (((s._valid_from AT TIME ZONE 'UTC'::text))::date)) v ON (((v._user_id = d._user_id) AND (v.day = d.day))))) daily) filled
  WHERE (has_table_privilege('"mirror".account'::text, 'select'::text) AND has_table_privilege('"mirror".account_versions'::text, 'select'::text));

CREATE TABLE mirror.forgotten (
    _user_id bigint NOT NULL,
    collection text NOT NULL,
    key_hash bytea NOT NULL,
    _change_id bigint NOT NULL,
    forgotten_at timestamp with time zone NOT NULL
);

CREATE TABLE mirror.quarantine (
    _user_id bigint NOT NULL,
    collection text NOT NULL,
    parent text DEFAULT ''::text NOT NULL,
    item_hash bytea NOT NULL,
    item text NOT NULL,
    key text,
    reason text NOT NULL,
    first_seen_at timestamp with time zone NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    place text,
    bytes bigint,
    kept boolean DEFAULT true NOT NULL
);

CREATE VIEW mirror.data_quality AS
 SELECT c._user_id,
    c.collection,
    ( SELECT count(*) AS count
           FROM mirror.quarantine q
          WHERE ((q._user_id = c._user_id) AND (q.collection = c.collection))) AS quarantined_items,
    (COALESCE(( SELECT sum(x.conflicts) AS sum
           FROM mirror._conflicts x
          WHERE ((x._user_id = c._user_id) AND (x.collection = c.collection))), (0)::numeric))::bigint AS field_conflicts,
    c.held_deletions,
    c.waiting_deletions,
    ( SELECT count(*) AS count
           FROM mirror.quarantine q
          WHERE ((q._user_id = c._user_id) AND (q.collection = c.collection) AND (NOT q.kept))) AS quarantined_without_text,
    ( SELECT count(*) AS count
           FROM mirror.forgotten f
          WHERE ((f._user_id = c._user_id) AND (f.collection = c.collection))) AS forgotten_rows
   FROM mirror._collections c;

CREATE TABLE mirror.events (
    _user_id bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    type text,
    created_at timestamp with time zone,
    data jsonb,
    received_at timestamp with time zone NOT NULL,
    _raw jsonb NOT NULL,
    _verbatim text,
    _collection text,
    _key text COLLATE pg_catalog."C"
);

CREATE VIEW mirror.freshness AS
 SELECT _collections._user_id,
    _collections.collection,
    _collections.live_rows,
    _collections.deleted_rows,
    _collections.polled_at,
    _collections.complete_as_of,
        CASE
            WHEN (_collections.paused_at IS NULL) THEN _collections.next_poll_at
            ELSE NULL::timestamp with time zone
        END AS next_poll_at,
        CASE
            WHEN (_collections.paused_at IS NULL) THEN _collections.next_full_at
            ELSE NULL::timestamp with time zone
        END AS next_full_at,
        CASE
            WHEN (_collections.paused_at IS NOT NULL) THEN 'paused'::text
            WHEN (_collections.state = 'failing'::text) THEN _collections.state
            WHEN (_collections.reading_at >= (now() - '00:02:30'::interval)) THEN _collections.state
            WHEN ((_collections.next_poll_at < (now() - '00:05:00'::interval)) OR (_collections.next_full_at < (now() - '00:15:00'::interval))) THEN 'overdue'::text
            ELSE _collections.state
        END AS state,
    _collections.last_error,
    _collections.last_error_at,
        CASE
            WHEN ((_collections.state = 'failing'::text) AND (_collections.paused_at IS NULL)) THEN _collections.failing_since
            ELSE NULL::timestamp with time zone
        END AS failing_since
   FROM mirror._collections;

CREATE VIEW mirror.list_items_live AS
 SELECT (((((list_items._user_id)::text || ':'::text) || (list_items.list_id)::text) || ':'::text) || list_items.id) AS _key,
    (((list_items._user_id)::text || ':'::text) || (list_items.list_id)::text) AS _list_key,
    list_items._user_id,
    list_items.list_id,
    list_items.id,
    list_items.country,
    list_items.domain,
    list_items.employee_count,
    list_items.industry,
    list_items.name,
    list_items.notes,
    list_items.object,
    list_items.score,
    list_items.url,
    list_items._domain,
    list_items.added_at,
    list_items.updated_at,
    list_items.location,
    list_items.tags,
    list_items._first_seen_at,
    list_items._changed_at,
    list_items._change_id
   FROM mirror.list_items
  WHERE (list_items._deleted_at IS NULL);

CREATE VIEW mirror.list_items_versions AS
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
    NULL::text AS _op,
    list_items.added_at,
    list_items.country,
    list_items.domain,
    list_items.employee_count,
    list_items.industry,
    list_items.location,
    list_items.name,
    list_items.notes,
    list_items.object,
    list_items.score,
    list_items.tags,
    list_items.updated_at,
    list_items.url
   FROM mirror.list_items
  WHERE (list_items._deleted_at IS NULL)
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
    list_items_history._op,
    list_items_history.added_at,
    list_items_history.country,
    list_items_history.domain,
    list_items_history.employee_count,
    list_items_history.industry,
    list_items_history.location,
    list_items_history.name,
    list_items_history.notes,
    list_items_history.object,
    list_items_history.score,
    list_items_history.tags,
    list_items_history.updated_at,
    list_items_history.url
   FROM mirror.list_items_history;

CREATE VIEW mirror.lists_live AS
 SELECT (((lists._user_id)::text || ':'::text) || (lists.list_id)::text) AS _key,
    lists._user_id,
    lists.list_id,
    lists.description,
    lists.item_count,
    lists.name,
    lists.object,
    lists.score,
    lists.status,
    lists.created_at,
    lists.updated_at,
    lists.filters,
    lists._first_seen_at,
    lists._changed_at,
    lists._change_id
   FROM mirror.lists
  WHERE (lists._deleted_at IS NULL);

CREATE VIEW mirror.lists_versions AS
 SELECT lists._user_id,
    lists.list_id,
    lists._first_seen_at,
    lists._changed_at,
    lists._change_id,
    lists._raw,
    lists._changed_at AS _valid_from,
    NULL::timestamp with time zone AS _valid_to,
    true AS _is_current,
    NULL::text AS _op,
    lists.created_at,
    lists.description,
    lists.filters,
    lists.item_count,
    lists.name,
    lists.object,
    lists.score,
    lists.status,
    lists.updated_at
   FROM mirror.lists
  WHERE (lists._deleted_at IS NULL)
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
    lists_history._op,
    lists_history.created_at,
    lists_history.description,
    lists_history.filters,
    lists_history.item_count,
    lists_history.name,
    lists_history.object,
    lists_history.score,
    lists_history.status,
    lists_history.updated_at
   FROM mirror.lists_history;

CREATE TABLE mirror.recoveries (
    detected_at timestamp with time zone NOT NULL,
    reason text NOT NULL,
    last_sign_of_life timestamp with time zone
);

CREATE VIEW mirror.research_jobs_live AS
 SELECT (((research_jobs._user_id)::text || ':'::text) || (research_jobs.job_id)::text) AS _key,
    research_jobs._user_id,
    research_jobs.job_id,
    research_jobs.status,
    research_jobs.country,
    research_jobs.document_id,
    research_jobs.domain,
    research_jobs.employee_count,
    research_jobs.founded,
    research_jobs.growth_rate,
    research_jobs.industry,
    research_jobs.name,
    research_jobs.object,
    research_jobs.public,
    research_jobs.revenue_usd,
    research_jobs.score,
    research_jobs.summary,
    research_jobs.url,
    research_jobs._domain,
    research_jobs.created_at,
    research_jobs.started_at,
    research_jobs.completed_at,
    research_jobs.updated_at,
    research_jobs.contacts,
    research_jobs.error,
    research_jobs.location,
    research_jobs.sources,
    research_jobs.technologies,
    research_jobs._first_seen_at,
    research_jobs._changed_at,
    research_jobs._change_id,
    research_jobs.cost,
    research_jobs.note,
    research_jobs.note_d8da2c
   FROM mirror.research_jobs
  WHERE (research_jobs._deleted_at IS NULL);

CREATE VIEW mirror.research_jobs_versions AS
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
    NULL::text AS _op,
    research_jobs.completed_at,
    research_jobs.contacts,
    research_jobs.country,
    research_jobs.created_at,
    research_jobs.document_id,
    research_jobs.domain,
    research_jobs.employee_count,
    research_jobs.error,
    research_jobs.founded,
    research_jobs.growth_rate,
    research_jobs.industry,
    research_jobs.location,
    research_jobs.name,
    research_jobs.object,
    research_jobs.public,
    research_jobs.revenue_usd,
    research_jobs.score,
    research_jobs.sources,
    research_jobs.started_at,
    research_jobs.summary,
    research_jobs.technologies,
    research_jobs.updated_at,
    research_jobs.url,
    research_jobs.cost,
    research_jobs.note,
    research_jobs.note_d8da2c
   FROM mirror.research_jobs
  WHERE (research_jobs._deleted_at IS NULL)
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
    research_jobs_history._op,
    research_jobs_history.completed_at,
    research_jobs_history.contacts,
    research_jobs_history.country,
    research_jobs_history.created_at,
    research_jobs_history.document_id,
    research_jobs_history.domain,
    research_jobs_history.employee_count,
    research_jobs_history.error,
    research_jobs_history.founded,
    research_jobs_history.growth_rate,
    research_jobs_history.industry,
    research_jobs_history.location,
    research_jobs_history.name,
    research_jobs_history.object,
    research_jobs_history.public,
    research_jobs_history.revenue_usd,
    research_jobs_history.score,
    research_jobs_history.sources,
    research_jobs_history.started_at,
    research_jobs_history.summary,
    research_jobs_history.technologies,
    research_jobs_history.updated_at,
    research_jobs_history.url,
    research_jobs_history.cost,
    research_jobs_history.note,
    research_jobs_history.note_d8da2c
   FROM mirror.research_jobs_history;

CREATE TABLE mirror.submissions (
    _user_id bigint NOT NULL,
    submission_id bigint NOT NULL,
    operation text NOT NULL,
    target_id text,
    payload jsonb NOT NULL,
    idempotency_key text,
    state text DEFAULT 'queued'::text NOT NULL,
    response_status integer,
    response jsonb,
    error text,
    created_at timestamp with time zone NOT NULL,
    sent_at timestamp with time zone,
    done_at timestamp with time zone,
    _request_id uuid DEFAULT gen_random_uuid() NOT NULL,
    _send_before timestamp with time zone,
    _not_before timestamp with time zone,
    _conclusive_at timestamp with time zone,
    _verbatim text,
    CONSTRAINT submissions_state_check CHECK ((state = ANY (ARRAY['queued'::text, 'sending'::text, 'accepted'::text, 'rejected'::text, 'unknown'::text, 'cancelled'::text, 'held'::text])))
);

ALTER TABLE mirror.submissions ALTER COLUMN submission_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME mirror.submissions_submission_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE mirror.sync_log (
    _user_id bigint NOT NULL,
    walk_id bigint NOT NULL,
    collection text NOT NULL,
    list_id bigint,
    kind text NOT NULL,
    started_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone NOT NULL,
    outcome text NOT NULL,
    pages bigint NOT NULL,
    items bigint NOT NULL,
    inserted bigint NOT NULL,
    updated bigint NOT NULL,
    deleted bigint NOT NULL,
    unchanged bigint NOT NULL,
    quarantined bigint NOT NULL,
    requests bigint NOT NULL,
    rate_limited bigint NOT NULL,
    error text
);

CREATE VIEW mirror.watchlist_live AS
 SELECT (((watchlist._user_id)::text || ':'::text) || watchlist.id) AS _key,
    watchlist._user_id,
    watchlist.id,
    watchlist.country,
    watchlist.domain,
    watchlist.employee_count,
    watchlist.industry,
    watchlist.name,
    watchlist.object,
    watchlist.score,
    watchlist.threshold,
    watchlist.url,
    watchlist._domain,
    watchlist.created_at,
    watchlist.updated_at,
    watchlist.location,
    watchlist.signals,
    watchlist._first_seen_at,
    watchlist._changed_at,
    watchlist._change_id
   FROM mirror.watchlist
  WHERE (watchlist._deleted_at IS NULL);

CREATE VIEW mirror.watchlist_versions AS
 SELECT watchlist._user_id,
    watchlist.id,
    watchlist._first_seen_at,
    watchlist._changed_at,
    watchlist._change_id,
    watchlist._raw,
    watchlist._changed_at AS _valid_from,
    NULL::timestamp with time zone AS _valid_to,
    true AS _is_current,
    NULL::text AS _op,
    watchlist.country,
    watchlist.created_at,
    watchlist.domain,
    watchlist.employee_count,
    watchlist.industry,
    watchlist.location,
    watchlist.name,
    watchlist.object,
    watchlist.score,
    watchlist.signals,
    watchlist.threshold,
    watchlist.updated_at,
    watchlist.url
   FROM mirror.watchlist
  WHERE (watchlist._deleted_at IS NULL)
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
    watchlist_history._op,
    watchlist_history.country,
    watchlist_history.created_at,
    watchlist_history.domain,
    watchlist_history.employee_count,
    watchlist_history.industry,
    watchlist_history.location,
    watchlist_history.name,
    watchlist_history.object,
    watchlist_history.score,
    watchlist_history.signals,
    watchlist_history.threshold,
    watchlist_history.updated_at,
    watchlist_history.url
   FROM mirror.watchlist_history;

CREATE TABLE mirror.webhook (
    _user_id bigint NOT NULL,
    url text,
    active boolean,
    event_types jsonb,
    _first_seen_at timestamp with time zone NOT NULL,
    _changed_at timestamp with time zone NOT NULL,
    _change_id bigint NOT NULL,
    _deleted_at timestamp with time zone,
    _raw jsonb NOT NULL
);

CREATE TABLE mirror_sync.account (
    _user_id bigint NOT NULL,
    owner text,
    token bigint DEFAULT 0 NOT NULL,
    change_id bigint DEFAULT 0 NOT NULL,
    walk_id bigint DEFAULT 0 NOT NULL,
    state text DEFAULT 'active'::text NOT NULL,
    error text,
    created_at timestamp with time zone NOT NULL,
    recheck boolean DEFAULT false NOT NULL,
    origin text
);

CREATE TABLE mirror_sync.activity (
    _user_id bigint NOT NULL,
    part_of_day bigint NOT NULL,
    begins_at timestamp with time zone NOT NULL,
    age_seconds bigint,
    live_rows bigint NOT NULL,
    changes bigint NOT NULL,
    requests bigint NOT NULL
)
WITH (fillfactor='50');

CREATE TABLE mirror_sync.api_key (
    key_hash text NOT NULL,
    _user_id bigint,
    pinged_at timestamp with time zone NOT NULL,
    error text,
    proven_change_id bigint,
    answered_for bigint,
    answered_at timestamp with time zone
);

CREATE TABLE mirror_sync.backfill (
    _user_id bigint NOT NULL,
    collection text NOT NULL,
    field text NOT NULL,
    done_through bigint NOT NULL,
    until bigint NOT NULL,
    history_through timestamp with time zone
);

CREATE TABLE mirror_sync.candidate (
    _user_id bigint NOT NULL,
    collection text NOT NULL,
    parent text DEFAULT ''::text NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL,
    obs bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    proven_at timestamp with time zone,
    served_at timestamp with time zone
);

CREATE TABLE mirror_sync.command (
    command_id uuid NOT NULL,
    kind text NOT NULL,
    arguments jsonb NOT NULL,
    state text DEFAULT 'queued'::text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    wanted_until timestamp with time zone NOT NULL,
    owner text,
    progress jsonb,
    result jsonb,
    error text,
    done_at timestamp with time zone
);

CREATE TABLE mirror_sync.deletions (
    _user_id bigint NOT NULL,
    collection text NOT NULL,
    hour timestamp with time zone NOT NULL,
    deleted bigint NOT NULL
);

CREATE TABLE mirror_sync.event_seen (
    _user_id bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    received_at timestamp with time zone NOT NULL,
    content text
);

CREATE TABLE mirror_sync.first_ping (
    key_hash text NOT NULL,
    sent_at timestamp with time zone NOT NULL
);

CREATE TABLE mirror_sync.granted (
    role text NOT NULL,
    object text NOT NULL,
    role_id text
);

CREATE TABLE mirror_sync.hint (
    _user_id bigint NOT NULL,
    collection text NOT NULL,
    parent text DEFAULT ''::text NOT NULL,
    key text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    seq bigint DEFAULT 1 NOT NULL,
    hinted_at timestamp with time zone NOT NULL,
    due_at timestamp with time zone NOT NULL,
    step smallint DEFAULT 0 NOT NULL
);

CREATE TABLE mirror_sync.installation (
    singleton boolean DEFAULT true NOT NULL,
    created_at timestamp with time zone NOT NULL,
    settings jsonb DEFAULT '{}'::jsonb NOT NULL,
    fingerprint jsonb,
    alive_at timestamp with time zone,
    held_at timestamp with time zone,
    held_why text,
    nodes jsonb DEFAULT '{}'::jsonb NOT NULL,
    change_floor bigint DEFAULT 0 NOT NULL,
    CONSTRAINT installation_singleton_check CHECK (singleton)
);

CREATE TABLE mirror_sync.migration (
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone NOT NULL,
    oldest_program text
);

CREATE TABLE mirror_sync.own_url (
    _user_id bigint NOT NULL,
    url text NOT NULL,
    registered_at timestamp with time zone NOT NULL
);

CREATE TABLE mirror_sync.process (
    process_id text NOT NULL,
    command text NOT NULL,
    version text NOT NULL,
    host text NOT NULL,
    machine text NOT NULL,
    pid integer NOT NULL,
    started_ticks text NOT NULL,
    started_at timestamp with time zone NOT NULL,
    alive_until timestamp with time zone NOT NULL,
    asked jsonb,
    serves bigint[]
);

CREATE TABLE mirror_sync.rate_group (
    _user_id bigint NOT NULL,
    key_hash text NOT NULL,
    rate_group text NOT NULL,
    learnt jsonb NOT NULL
);

CREATE TABLE mirror_sync.registration (
    _user_id bigint NOT NULL,
    state text DEFAULT 'none'::text NOT NULL,
    url text,
    event_types jsonb,
    secret text,
    secret_at timestamp with time zone,
    scheme text,
    previous_secret text,
    previous_until timestamp with time zone,
    previous_scheme text,
    registering_at timestamp with time zone,
    registered_at timestamp with time zone,
    checked_at timestamp with time zone,
    replaced_at timestamp with time zone[] DEFAULT '{}'::timestamp with time zone[] NOT NULL,
    verified_at timestamp with time zone,
    mismatches integer DEFAULT 0 NOT NULL,
    suspect_at timestamp with time zone,
    error text
);

CREATE TABLE mirror_sync.scope (
    _user_id bigint NOT NULL,
    collection text NOT NULL,
    parent text DEFAULT ''::text NOT NULL,
    memory jsonb DEFAULT '{}'::jsonb NOT NULL,
    due_at timestamp with time zone,
    last_read_at timestamp with time zone,
    polled_at timestamp with time zone,
    full_at timestamp with time zone,
    live_rows bigint DEFAULT 0 NOT NULL,
    last_error text,
    last_error_at timestamp with time zone,
    failures integer DEFAULT 0 NOT NULL,
    full_walk jsonb,
    last_obs bigint DEFAULT 0 NOT NULL,
    complete_as_of timestamp with time zone,
    gone_at timestamp with time zone,
    last_due_at timestamp with time zone,
    changes double precision DEFAULT 0 NOT NULL,
    announced double precision DEFAULT 0 NOT NULL,
    watched_ms double precision DEFAULT 0 NOT NULL,
    cost double precision DEFAULT 1 NOT NULL,
    finish_ms double precision,
    true_alarms double precision DEFAULT 0 NOT NULL,
    false_alarms double precision DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');

CREATE TABLE mirror_sync.slot_block (
    _user_id bigint NOT NULL,
    key_hash text NOT NULL,
    rate_group text NOT NULL,
    block_id bigint NOT NULL,
    size integer NOT NULL,
    valid_until timestamp with time zone NOT NULL,
    freed timestamp with time zone[] DEFAULT '{}'::timestamp with time zone[] NOT NULL
)
WITH (fillfactor='50');

CREATE TABLE mirror_sync.unsettled (
    _user_id bigint NOT NULL,
    collection text NOT NULL,
    parent text DEFAULT ''::text NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    since timestamp with time zone NOT NULL,
    finished boolean NOT NULL
);

CREATE TABLE mirror_sync.wanted_index (
    name text NOT NULL,
    wanted boolean NOT NULL,
    since timestamp with time zone NOT NULL
);

INSERT INTO mirror._collections VALUES
	(1002, 'account', 1, 0, 0, '2026-11-27 04:49:22.814+00', '2026-11-27 04:49:22.06+00', NULL, '2026-11-28 00:41:50.251+00', 'current', NULL, NULL, 0, '2026-11-27 04:48:45.975+00', '2026-11-27 04:48:45.975+00', NULL, NULL, NULL),
	(1001, 'account', 1, 0, 0, '2026-11-27 04:49:22.866+00', '2026-11-27 04:49:22.122+00', NULL, '2026-11-28 00:59:37.553+00', 'current', NULL, NULL, 0, '2026-11-27 04:48:40.839+00', '2026-11-27 04:48:40.839+00', NULL, NULL, NULL),
	(1002, 'lists', 2, 1, 0, '2026-11-27 04:49:22.954+00', '2026-11-27 04:49:14.729+00', NULL, '2026-11-28 00:41:50.251+00', 'current', NULL, NULL, 0, '2026-11-27 04:48:45.975+00', '2026-11-27 04:48:45.975+00', '2026-11-27 04:49:15.279+00', NULL, NULL),
	(1001, 'lists', 2, 1, 0, '2026-11-27 04:49:23.004+00', '2026-11-27 04:49:12.519+00', NULL, '2026-11-28 00:59:37.553+00', 'current', NULL, NULL, 0, '2026-11-27 04:48:40.839+00', '2026-11-27 04:48:40.839+00', '2026-11-27 04:49:12.974+00', NULL, NULL),
	(1001, 'watchlist', 4, 1, 0, '2026-11-27 04:49:23.039+00', '2026-11-27 04:49:12.525+00', NULL, '2026-11-28 00:59:37.553+00', 'current', NULL, NULL, 0, '2026-11-27 04:48:40.839+00', '2026-11-27 04:48:40.839+00', '2026-11-27 04:49:12.974+00', NULL, NULL),
	(1001, 'bulk_research_jobs', 2, 0, 0, '2026-11-27 04:49:22.95+00', '2026-11-27 04:49:12.487+00', NULL, '2026-11-28 00:59:37.553+00', 'current', NULL, NULL, 0, '2026-11-27 04:48:40.839+00', '2026-11-27 04:48:40.839+00', '2026-11-27 04:49:12.974+00', NULL, NULL),
	(1002, 'bulk_research_jobs', 2, 0, 0, '2026-11-27 04:49:23.009+00', '2026-11-27 04:49:14.725+00', NULL, '2026-11-28 00:41:50.251+00', 'current', NULL, NULL, 0, '2026-11-27 04:48:45.975+00', '2026-11-27 04:48:45.975+00', '2026-11-27 04:49:15.279+00', NULL, NULL),
	(1002, 'watchlist', 4, 1, 0, '2026-11-27 04:49:23.002+00', '2026-11-27 04:49:14.731+00', NULL, '2026-11-28 00:41:50.251+00', 'current', NULL, NULL, 0, '2026-11-27 04:48:45.975+00', '2026-11-27 04:48:45.975+00', '2026-11-27 04:49:15.279+00', NULL, NULL),
	(1001, 'list_items', 7, 5, 0, '2026-11-27 04:49:23.004+00', '2026-11-27 04:49:12.519+00', NULL, '2026-11-28 00:59:37.553+00', 'current', NULL, NULL, 0, '2026-11-27 04:48:40.839+00', '2026-11-27 04:48:40.839+00', '2026-11-27 04:49:14.412+00', NULL, NULL),
	(1002, 'list_items', 7, 5, 0, '2026-11-27 04:49:22.938+00', '2026-11-27 04:49:14.729+00', NULL, '2026-11-28 00:41:50.251+00', 'current', NULL, NULL, 0, '2026-11-27 04:48:45.975+00', '2026-11-27 04:48:45.975+00', '2026-11-27 04:49:16.435+00', NULL, NULL),
	(1001, 'research_jobs', 15, 1, 0, '2026-11-27 04:49:22.948+00', '2026-11-27 04:49:12.478+00', NULL, '2026-11-28 00:59:37.553+00', 'current', NULL, NULL, 0, '2026-11-27 04:48:40.839+00', '2026-11-27 04:48:40.839+00', '2026-11-27 04:49:12.968+00', NULL, NULL),
	(1002, 'research_jobs', 15, 1, 0, '2026-11-27 04:49:22.825+00', '2026-11-27 04:49:14.705+00', NULL, '2026-11-28 00:41:50.251+00', 'current', NULL, NULL, 0, '2026-11-27 04:48:45.975+00', '2026-11-27 04:48:45.975+00', '2026-11-27 04:49:15.279+00', NULL, NULL);

INSERT INTO mirror._columns VALUES
	('account', 'user_id', '_user_id', 'bigint', true, '2026-11-27 04:48:35.839415+00'),
	('account', 'email', 'email', 'text', true, '2026-11-27 04:48:35.839415+00'),
	('account', 'credits', 'credits', 'numeric', true, '2026-11-27 04:48:35.839415+00'),
	('account', 'subscription', 'subscription', 'text', true, '2026-11-27 04:48:35.839415+00'),
	('account', 'org', 'org', 'text', true, '2026-11-27 04:48:35.839415+00'),
	('research_jobs', 'job_id', 'job_id', 'bigint', true, '2026-11-27 04:48:35.839415+00'),
	('research_jobs', 'status', 'status', 'text', true, '2026-11-27 04:48:35.839415+00'),
	('bulk_research_jobs', 'bulk_job_id', 'bulk_job_id', 'bigint', true, '2026-11-27 04:48:35.839415+00'),
	('lists', 'list_id', 'list_id', 'bigint', true, '2026-11-27 04:48:35.839415+00'),
	('list_items', 'id', 'id', 'text', true, '2026-11-27 04:48:35.839415+00'),
	('watchlist', 'id', 'id', 'text', true, '2026-11-27 04:48:35.839415+00'),
	('research_jobs', 'completed_at', 'completed_at', 'timestamptz', false, '2026-11-27 04:48:42.646355+00'),
	('research_jobs', 'contacts', 'contacts', 'jsonb', false, '2026-11-27 04:48:42.646355+00'),
	('research_jobs', 'country', 'country', 'text', false, '2026-11-27 04:48:42.646355+00'),
	('research_jobs', 'created_at', 'created_at', 'timestamptz', false, '2026-11-27 04:48:42.646355+00'),
	('research_jobs', 'document_id', 'document_id', 'bigint', false, '2026-11-27 04:48:42.646355+00'),
	('research_jobs', 'domain', 'domain', 'text', false, '2026-11-27 04:48:42.646355+00'),
	('research_jobs', 'employee_count', 'employee_count', 'bigint', false, '2026-11-27 04:48:42.646355+00'),
	('research_jobs', 'error', 'error', 'jsonb', false, '2026-11-27 04:48:42.646355+00'),
	('research_jobs', 'founded', 'founded', 'numeric', false, '2026-11-27 04:48:42.646355+00'),
	('research_jobs', 'growth_rate', 'growth_rate', 'numeric', false, '2026-11-27 04:48:42.646355+00'),
	('research_jobs', 'industry', 'industry', 'text', false, '2026-11-27 04:48:42.646355+00'),
	('research_jobs', 'location', 'location', 'jsonb', false, '2026-11-27 04:48:42.646355+00'),
	('research_jobs', 'name', 'name', 'text', false, '2026-11-27 04:48:42.646355+00'),
	('research_jobs', 'object', 'object', 'text', false, '2026-11-27 04:48:42.646355+00'),
	('research_jobs', 'public', 'public', 'boolean', false, '2026-11-27 04:48:42.646355+00'),
	('research_jobs', 'revenue_usd', 'revenue_usd', 'numeric', false, '2026-11-27 04:48:42.646355+00'),
	('research_jobs', 'score', 'score', 'numeric', false, '2026-11-27 04:48:42.646355+00'),
	('research_jobs', 'sources', 'sources', 'jsonb', false, '2026-11-27 04:48:42.646355+00'),
	('research_jobs', 'started_at', 'started_at', 'timestamptz', false, '2026-11-27 04:48:42.646355+00'),
	('research_jobs', 'summary', 'summary', 'text', false, '2026-11-27 04:48:42.646355+00'),
	('research_jobs', 'technologies', 'technologies', 'jsonb', false, '2026-11-27 04:48:42.646355+00'),
	('research_jobs', 'updated_at', 'updated_at', 'timestamptz', false, '2026-11-27 04:48:42.646355+00'),
	('research_jobs', 'url', 'url', 'text', false, '2026-11-27 04:48:42.646355+00'),
	('lists', 'created_at', 'created_at', 'timestamptz', false, '2026-11-27 04:48:43.191593+00'),
	('lists', 'description', 'description', 'text', false, '2026-11-27 04:48:43.191593+00'),
	('lists', 'filters', 'filters', 'jsonb', false, '2026-11-27 04:48:43.191593+00'),
	('lists', 'item_count', 'item_count', 'bigint', false, '2026-11-27 04:48:43.191593+00'),
	('lists', 'name', 'name', 'text', false, '2026-11-27 04:48:43.191593+00'),
	('lists', 'object', 'object', 'text', false, '2026-11-27 04:48:43.191593+00'),
	('lists', 'score', 'score', 'numeric', false, '2026-11-27 04:48:43.191593+00'),
	('lists', 'status', 'status', 'text', false, '2026-11-27 04:48:43.191593+00'),
	('lists', 'updated_at', 'updated_at', 'timestamptz', false, '2026-11-27 04:48:43.191593+00'),
	('account', 'object', 'object', 'text', false, '2026-11-27 04:48:43.555805+00'),
	('watchlist', 'country', 'country', 'text', false, '2026-11-27 04:48:44.13532+00'),
	('watchlist', 'created_at', 'created_at', 'timestamptz', false, '2026-11-27 04:48:44.13532+00'),
	('watchlist', 'domain', 'domain', 'text', false, '2026-11-27 04:48:44.13532+00'),
	('watchlist', 'employee_count', 'employee_count', 'bigint', false, '2026-11-27 04:48:44.13532+00'),
	('watchlist', 'industry', 'industry', 'text', false, '2026-11-27 04:48:44.13532+00'),
	('watchlist', 'location', 'location', 'jsonb', false, '2026-11-27 04:48:44.13532+00'),
	('watchlist', 'name', 'name', 'text', false, '2026-11-27 04:48:44.13532+00'),
	('watchlist', 'object', 'object', 'text', false, '2026-11-27 04:48:44.13532+00'),
	('watchlist', 'score', 'score', 'numeric', false, '2026-11-27 04:48:44.13532+00'),
	('watchlist', 'signals', 'signals', 'jsonb', false, '2026-11-27 04:48:44.13532+00'),
	('watchlist', 'threshold', 'threshold', 'numeric', false, '2026-11-27 04:48:44.13532+00'),
	('watchlist', 'updated_at', 'updated_at', 'timestamptz', false, '2026-11-27 04:48:44.13532+00'),
	('watchlist', 'url', 'url', 'text', false, '2026-11-27 04:48:44.13532+00'),
	('bulk_research_jobs', 'completed_at', 'completed_at', 'timestamptz', false, '2026-11-27 04:48:44.844312+00'),
	('bulk_research_jobs', 'completed_count', 'completed_count', 'bigint', false, '2026-11-27 04:48:44.844312+00'),
	('bulk_research_jobs', 'created_at', 'created_at', 'timestamptz', false, '2026-11-27 04:48:44.844312+00'),
	('bulk_research_jobs', 'failed_count', 'failed_count', 'bigint', false, '2026-11-27 04:48:44.844312+00'),
	('bulk_research_jobs', 'name', 'name', 'text', false, '2026-11-27 04:48:44.844312+00'),
	('bulk_research_jobs', 'object', 'object', 'text', false, '2026-11-27 04:48:44.844312+00'),
	('bulk_research_jobs', 'options', 'options', 'jsonb', false, '2026-11-27 04:48:44.844312+00'),
	('bulk_research_jobs', 'score', 'score', 'numeric', false, '2026-11-27 04:48:44.844312+00'),
	('bulk_research_jobs', 'started_at', 'started_at', 'timestamptz', false, '2026-11-27 04:48:44.844312+00'),
	('bulk_research_jobs', 'status', 'status', 'text', false, '2026-11-27 04:48:44.844312+00'),
	('bulk_research_jobs', 'total_count', 'total_count', 'bigint', false, '2026-11-27 04:48:44.844312+00'),
	('bulk_research_jobs', 'updated_at', 'updated_at', 'timestamptz', false, '2026-11-27 04:48:44.844312+00'),
	('list_items', 'added_at', 'added_at', 'timestamptz', false, '2026-11-27 04:48:45.454653+00'),
	('list_items', 'country', 'country', 'text', false, '2026-11-27 04:48:45.454653+00'),
	('list_items', 'domain', 'domain', 'text', false, '2026-11-27 04:48:45.454653+00'),
	('list_items', 'employee_count', 'employee_count', 'bigint', false, '2026-11-27 04:48:45.454653+00'),
	('list_items', 'industry', 'industry', 'text', false, '2026-11-27 04:48:45.454653+00'),
	('list_items', 'location', 'location', 'jsonb', false, '2026-11-27 04:48:45.454653+00'),
	('list_items', 'name', 'name', 'text', false, '2026-11-27 04:48:45.454653+00'),
	('list_items', 'notes', 'notes', 'text', false, '2026-11-27 04:48:45.454653+00'),
	('list_items', 'object', 'object', 'text', false, '2026-11-27 04:48:45.454653+00'),
	('list_items', 'score', 'score', 'numeric', false, '2026-11-27 04:48:45.454653+00'),
	('list_items', 'tags', 'tags', 'jsonb', false, '2026-11-27 04:48:45.454653+00'),
	('list_items', 'updated_at', 'updated_at', 'timestamptz', false, '2026-11-27 04:48:45.454653+00'),
	('list_items', 'url', 'url', 'text', false, '2026-11-27 04:48:45.454653+00'),
	('research_jobs', 'cost', 'cost', 'numeric', false, '2026-11-27 04:48:50.016782+00'),
	('research_jobs', 'note', 'note', 'text', false, '2026-11-27 04:48:50.016782+00'),
	('research_jobs', 'Note', 'note_d8da2c', 'text', false, '2026-11-27 04:48:50.016782+00');

INSERT INTO mirror.account VALUES
	(1001, 'user1001@research.example', 36611.71, 'enterprise', 'Blue Harbour Ltd', '2026-11-27 04:48:43.609+00', '2026-11-27 04:48:43.609+00', 1795754923609166, NULL, '\xa33f3ac8da9d289907e8624861ac1e86', '{"org": "Blue Harbour Ltd", "email": "user1001@research.example", "object": "account", "credits": 36611.71, "user_id": 1001, "subscription": "enterprise"}', NULL, 'account'),
	(1002, 'user1002@research.example', 15230.39, 'starter', '株式会社 Hayabusa', '2026-11-27 04:48:46.2+00', '2026-11-27 04:48:46.2+00', 1795754926200636, NULL, '\x48418e0727ea9a1b27b459693f60f923', '{"org": "株式会社 Hayabusa", "email": "user1002@research.example", "object": "account", "credits": 15230.39, "user_id": 1002, "subscription": "starter"}', NULL, 'account');

INSERT INTO mirror.bulk_research_jobs VALUES
	(1001, 1000, '2026-11-27 04:48:44.882+00', '2026-11-27 04:48:44.882+00', 1795754924882453, NULL, '\x9a99afd74fcc7dedd6ba5ef1891e6f63', '{"name": "Batch 1 – 115 companies", "score": 80.16, "object": "bulk_research_job", "status": "completed", "options": {"depth": "quick", "webhook": null, "languages": ["en", "de"]}, "created_at": "2026-11-27T03:33:44Z", "started_at": "2026-11-27T03:33:59Z", "updated_at": "2026-11-27T03:34:56Z", "bulk_job_id": 1000, "total_count": 115, "completed_at": "2026-11-27T03:34:56Z", "failed_count": 3, "completed_count": 112}', NULL, '2026-11-27 03:34:56+00', 112, '2026-11-27 03:33:44+00', 3, 'Batch 1 – 115 companies', 'bulk_research_job', '{"depth": "quick", "webhook": null, "languages": ["en", "de"]}', 80.16, '2026-11-27 03:33:59+00', 'completed', 115, '2026-11-27 03:34:56+00'),
	(1002, 1005, '2026-11-27 04:48:46.241+00', '2026-11-27 04:48:46.241+00', 1795754926241564, NULL, '\xecb2007d8aa8bcb649de790dba2adda0', '{"name": "Batch 2 – 131 companies", "score": null, "object": "bulk_research_job", "status": "processing", "options": {"depth": "quick", "webhook": null, "languages": ["en", "de"]}, "created_at": "2026-11-27T04:47:57Z", "started_at": "2026-11-27T04:47:59Z", "updated_at": "2026-11-27T04:47:59Z", "bulk_job_id": 1005, "total_count": 131, "completed_at": null, "failed_count": 0, "completed_count": 0}', NULL, NULL, 0, '2026-11-27 04:47:57+00', 0, 'Batch 2 – 131 companies', 'bulk_research_job', '{"depth": "quick", "webhook": null, "languages": ["en", "de"]}', NULL, '2026-11-27 04:47:59+00', 'processing', 131, '2026-11-27 04:47:59+00'),
	(1002, 1002, '2026-11-27 04:48:46.241+00', '2026-11-27 04:48:46.241+00', 1795754926241565, NULL, '\x43db90077c0d1809069f62441b46f0be', '{"name": "Batch 1 – 50 companies", "score": 26.21, "object": "bulk_research_job", "status": "completed", "options": {"depth": "deep", "webhook": null, "languages": ["en", "de"]}, "created_at": "2026-11-27T03:36:27Z", "started_at": "2026-11-27T03:36:37Z", "updated_at": "2026-11-27T03:37:57Z", "bulk_job_id": 1002, "total_count": 50, "completed_at": "2026-11-27T03:37:57Z", "failed_count": 2, "completed_count": 48}', NULL, '2026-11-27 03:37:57+00', 48, '2026-11-27 03:36:27+00', 2, 'Batch 1 – 50 companies', 'bulk_research_job', '{"depth": "deep", "webhook": null, "languages": ["en", "de"]}', 26.21, '2026-11-27 03:36:37+00', 'completed', 50, '2026-11-27 03:37:57+00'),
	(1001, 1004, '2026-11-27 04:48:44.882+00', '2026-11-27 04:49:04.235+00', 1795754944235748, NULL, '\x2c2427d79e0af3f4a600190c7c6cdbf8', '{"name": "Batch 2 – 168 companies", "score": 15.04, "object": "bulk_research_job", "status": "completed", "options": {"depth": "deep", "webhook": null, "languages": ["en", "de"]}, "created_at": "2026-11-27T04:46:54Z", "started_at": "2026-11-27T04:47:07Z", "updated_at": "2026-11-27T04:48:56Z", "bulk_job_id": 1004, "total_count": 168, "completed_at": "2026-11-27T04:48:56Z", "failed_count": 0, "completed_count": 168}', NULL, '2026-11-27 04:48:56+00', 168, '2026-11-27 04:46:54+00', 0, 'Batch 2 – 168 companies', 'bulk_research_job', '{"depth": "deep", "webhook": null, "languages": ["en", "de"]}', 15.04, '2026-11-27 04:47:07+00', 'completed', 168, '2026-11-27 04:48:56+00');

INSERT INTO mirror.bulk_research_jobs_history VALUES
	(1001, 1004, '2026-11-27 04:48:44.882+00', '2026-11-27 04:48:44.882+00', 1795754924882452, NULL, '\x8dfc9126531c5cfadd1aabcef5b2b117', '{"name": "Batch 2 – 168 companies", "score": null, "object": "bulk_research_job", "status": "processing", "options": {"depth": "deep", "webhook": null, "languages": ["en", "de"]}, "created_at": "2026-11-27T04:46:54Z", "started_at": "2026-11-27T04:47:07Z", "updated_at": "2026-11-27T04:47:07Z", "bulk_job_id": 1004, "total_count": 168, "completed_at": null, "failed_count": 0, "completed_count": 0}', NULL, '2026-11-27 04:48:44.882+00', '2026-11-27 04:49:04.235+00', 'update', NULL, 0, '2026-11-27 04:46:54+00', 0, 'Batch 2 – 168 companies', 'bulk_research_job', '{"depth": "deep", "webhook": null, "languages": ["en", "de"]}', NULL, '2026-11-27 04:47:07+00', 'processing', 168, '2026-11-27 04:47:07+00');

INSERT INTO mirror.events VALUES
	(1001, 'evt_125f59107436e883e7ab8592', 'research.failed', '2026-11-27 04:49:24.808+00', '{"job_id": 1053, "company_url": "https://www.arbolmedia7454.jp/", "document_id": 2375033968}', '2026-11-27 04:49:25.204+00', '{"id": "evt_125f59107436e883e7ab8592", "data": {"job_id": 1053, "company_url": "https://www.arbolmedia7454.jp/", "document_id": 2375033968}, "type": "research.failed", "created_at": "2026-11-27T04:49:24.808Z"}', NULL, 'research_jobs', '1053'),
	(1001, 'evt_d38d7fc03b2990e42ab07e0c', 'research.failed', '2026-11-27 04:49:24.843+00', '{"job_id": 1046, "company_url": "https://www.falkeenergie315.net/", "document_id": 3707125333}', '2026-11-27 04:49:25.344+00', '{"id": "evt_d38d7fc03b2990e42ab07e0c", "data": {"job_id": 1046, "company_url": "https://www.falkeenergie315.net/", "document_id": 3707125333}, "type": "research.failed", "created_at": "2026-11-27T04:49:24.843Z"}', NULL, 'research_jobs', '1046'),
	(1001, 'evt_ea192bb81414d52f3bb04e12', 'research.failed', '2026-11-27 04:49:24.839+00', '{"job_id": 1048, "company_url": "https://www.mirobank1306.nl/", "document_id": 2792622170}', '2026-11-27 04:49:25.342+00', '{"id": "evt_ea192bb81414d52f3bb04e12", "data": {"job_id": 1048, "company_url": "https://www.mirobank1306.nl/", "document_id": 2792622170}, "type": "research.failed", "created_at": "2026-11-27T04:49:24.839Z"}', NULL, 'research_jobs', '1048'),
	(1002, 'evt_cab869f16313a0362495864f', 'research.failed', '2026-11-27 04:49:32.569+00', '{"job_id": 1052, "company_url": "https://www.keplermarine96.fi/", "document_id": 2391811587}', '2026-11-27 04:49:32.623+00', '{"id": "evt_cab869f16313a0362495864f", "data": {"job_id": 1052, "company_url": "https://www.keplermarine96.fi/", "document_id": 2391811587}, "type": "research.failed", "created_at": "2026-11-27T04:49:32.569Z"}', NULL, 'research_jobs', '1052'),
	(1002, 'evt_809516fad572f9d164efd2bc', 'research.failed', '2026-11-27 04:49:32.622+00', '{"job_id": 1044, "company_url": "https://www.lotusmetrics3636.com/", "document_id": 3377132057}', '2026-11-27 04:49:32.65+00', '{"id": "evt_809516fad572f9d164efd2bc", "data": {"job_id": 1044, "company_url": "https://www.lotusmetrics3636.com/", "document_id": 3377132057}, "type": "research.failed", "created_at": "2026-11-27T04:49:32.622Z"}', NULL, 'research_jobs', '1044'),
	(1002, 'evt_9788cb8c7337dc7606642a74', 'research.failed', '2026-11-27 04:49:32.595+00', '{"job_id": 1048, "company_url": "https://www.skodafarm8791.net/", "document_id": 157235245}', '2026-11-27 04:49:32.637+00', '{"id": "evt_9788cb8c7337dc7606642a74", "data": {"job_id": 1048, "company_url": "https://www.skodafarm8791.net/", "document_id": 157235245}, "type": "research.failed", "created_at": "2026-11-27T04:49:32.595Z"}', NULL, 'research_jobs', '1048');

INSERT INTO mirror.list_items VALUES
	(1001, 1009, '1021', '2026-11-27 04:48:45.54+00', '2026-11-27 04:48:45.54+00', 1795754925540878, NULL, '\xe777804f2b6e68cac276ccad600eb609', '{"id": 1021, "url": "https://www.iriscargo8871.de/", "name": "Iriscargo Group", "tags": ["tier-2"], "notes": null, "score": 4.4, "domain": "iriscargo8871.de", "object": "account", "country": "FR", "added_at": "2026-11-27T04:34:36Z", "industry": "Construction", "location": {"lat": 47.902964, "lon": 1.909251, "city": "Orléans", "country": "FR"}, "updated_at": "2026-11-27T04:34:36Z", "employee_count": 623, "previous_score": null}', NULL, 'iriscargo8871.de', '2026-11-27 04:34:36+00', 'FR', 'iriscargo8871.de', 623, 'Construction', '{"lat": 47.902964, "lon": 1.909251, "city": "Orléans", "country": "FR"}', 'Iriscargo Group', NULL, 'account', 4.4, '["tier-2"]', '2026-11-27 04:34:36+00', 'https://www.iriscargo8871.de/'),
	(1001, 1009, '1017', '2026-11-27 04:48:45.54+00', '2026-11-27 04:48:45.54+00', 1795754925540879, NULL, '\x53523209294a57acb520c3423b705c08', '{"id": 1017, "url": "https://www.lotuscargo7692.de/", "name": "Lotuscargo AG", "tags": ["tier-2"], "notes": null, "score": 41.65, "domain": "lotuscargo7692.de", "object": "account", "country": "IN", "added_at": "2026-11-27T04:34:36Z", "industry": "Education", "location": {"lat": 18.52043, "lon": 73.856744, "city": "Pune", "country": "IN"}, "updated_at": "2026-11-27T04:34:36Z", "employee_count": 6149, "previous_score": null}', NULL, 'lotuscargo7692.de', '2026-11-27 04:34:36+00', 'IN', 'lotuscargo7692.de', 6149, 'Education', '{"lat": 18.52043, "lon": 73.856744, "city": "Pune", "country": "IN"}', 'Lotuscargo AG', NULL, 'account', 41.65, '["tier-2"]', '2026-11-27 04:34:36+00', 'https://www.lotuscargo7692.de/'),
	(1001, 1009, '1008', '2026-11-27 04:48:45.54+00', '2026-11-27 04:48:45.54+00', 1795754925540881, NULL, '\xd3198aacfa77b66f0f372244e824c078', '{"id": 1008, "url": "https://www.arbolcloud7376.co.uk/", "name": "Árbolcloud GmbH", "tags": ["tier-1"], "notes": null, "score": 82.93, "domain": "arbolcloud7376.co.uk", "object": "account", "country": "PL", "added_at": "2026-11-27T04:34:36Z", "industry": "Textiles", "location": {"lat": 51.759249, "lon": 19.455983, "city": "Łódź", "country": "PL"}, "updated_at": "2026-11-27T04:34:36Z", "employee_count": 13637, "previous_score": null}', NULL, 'arbolcloud7376.co.uk', '2026-11-27 04:34:36+00', 'PL', 'arbolcloud7376.co.uk', 13637, 'Textiles', '{"lat": 51.759249, "lon": 19.455983, "city": "Łódź", "country": "PL"}', 'Árbolcloud GmbH', NULL, 'account', 82.93, '["tier-1"]', '2026-11-27 04:34:36+00', 'https://www.arbolcloud7376.co.uk/'),
	(1001, 1000, '1873', '2026-11-27 04:48:45.59+00', '2026-11-27 04:48:45.59+00', 1795754925590169, NULL, '\x2de2cb8cc88a3d99105d3c676e7ad117', '{"id": 1873, "url": "https://www.solarfleet71.net/", "name": "Solarfleet B.V.", "tags": ["tier-2"], "notes": "Rückruf, später ✅", "score": 80.15, "domain": "solarfleet71.net", "object": "account", "country": "JP", "added_at": "2026-11-26T23:46:07Z", "industry": "Medical Devices", "location": {"lat": 34.693738, "lon": 135.502165, "city": "大阪", "country": "JP"}, "updated_at": "2026-11-26T23:46:07Z", "employee_count": 17715, "previous_score": null}', NULL, 'solarfleet71.net', '2026-11-26 23:46:07+00', 'JP', 'solarfleet71.net', 17715, 'Medical Devices', '{"lat": 34.693738, "lon": 135.502165, "city": "大阪", "country": "JP"}', 'Solarfleet B.V.', 'Rückruf, später ✅', 'account', 80.15, '["tier-2"]', '2026-11-26 23:46:07+00', 'https://www.solarfleet71.net/'),
	(1001, 1009, '1014', '2026-11-27 04:48:45.54+00', '2026-11-27 04:48:53.086+00', 1795754933086574, '2026-11-27 04:48:53.086+00', '\xe258245b6cbf9cf008bfe52d93e11629', '{"id": 1014, "url": "https://www.rhonemetrics8241.eu/", "name": "Rhônemetrics B.V.", "tags": ["tier-3"], "notes": null, "score": 5.59, "domain": "rhonemetrics8241.eu", "object": "account", "country": "PL", "added_at": "2026-11-27T04:34:36Z", "industry": "Logistics", "location": {"lat": 51.759249, "lon": 19.455983, "city": "Łódź", "country": "PL"}, "updated_at": "2026-11-27T04:34:36Z", "employee_count": 230, "previous_score": null}', NULL, 'rhonemetrics8241.eu', '2026-11-27 04:34:36+00', 'PL', 'rhonemetrics8241.eu', 230, 'Logistics', '{"lat": 51.759249, "lon": 19.455983, "city": "Łódź", "country": "PL"}', 'Rhônemetrics B.V.', NULL, 'account', 5.59, '["tier-3"]', '2026-11-27 04:34:36+00', 'https://www.rhonemetrics8241.eu/'),
	(1001, 1000, '1870', '2026-11-27 04:48:45.59+00', '2026-11-27 04:48:45.59+00', 1795754925590170, NULL, '\x6d24c1e9be266281d020ff5214af84be', '{"id": 1870, "url": "https://www.alpencare533.cz/", "name": "Alpencare Group", "tags": ["tier-3"], "notes": "Rückruf, später ✅", "score": 28.31, "domain": "alpencare533.cz", "object": "account", "country": "JP", "added_at": "2026-11-26T23:46:07Z", "industry": "Construction", "location": {"lat": 34.693738, "lon": 135.502165, "city": "大阪", "country": "JP"}, "updated_at": "2026-11-26T23:46:07Z", "employee_count": null, "previous_score": null}', NULL, 'alpencare533.cz', '2026-11-26 23:46:07+00', 'JP', 'alpencare533.cz', NULL, 'Construction', '{"lat": 34.693738, "lon": 135.502165, "city": "大阪", "country": "JP"}', 'Alpencare Group', 'Rückruf, später ✅', 'account', 28.31, '["tier-3"]', '2026-11-26 23:46:07+00', 'https://www.alpencare533.cz/'),
	(1001, 1000, '1865', '2026-11-27 04:48:45.59+00', '2026-11-27 04:48:45.59+00', 1795754925590171, NULL, '\xef1d2942c92475b47984aafb769fe136', '{"id": 1865, "url": "https://www.lumenpaper1550.fr/", "name": "Lumenpaper Oy", "tags": ["tier-2"], "notes": null, "score": 76.44, "domain": "lumenpaper1550.fr", "object": "account", "country": "IN", "added_at": "2026-11-26T23:46:07Z", "industry": "Food & Beverage", "location": {"lat": 18.52043, "lon": 73.856744, "city": "Pune", "country": "IN"}, "updated_at": "2026-11-26T23:46:07Z", "employee_count": 6586, "previous_score": null}', NULL, 'lumenpaper1550.fr', '2026-11-26 23:46:07+00', 'IN', 'lumenpaper1550.fr', 6586, 'Food & Beverage', '{"lat": 18.52043, "lon": 73.856744, "city": "Pune", "country": "IN"}', 'Lumenpaper Oy', NULL, 'account', 76.44, '["tier-2"]', '2026-11-26 23:46:07+00', 'https://www.lumenpaper1550.fr/'),
	(1001, 1000, '1862', '2026-11-27 04:48:45.59+00', '2026-11-27 04:48:45.59+00', 1795754925590172, NULL, '\x3a0f1084d404a03f47babaf64531a00e', '{"id": 1862, "url": "https://www.zenitmetrics7104.eu/", "name": "Zenitmetrics Group", "tags": ["tier-3"], "notes": null, "score": 75.12, "domain": "zenitmetrics7104.eu", "object": "account", "country": "SE", "added_at": "2026-11-26T23:46:07Z", "industry": "Media", "location": {"lat": 55.604981, "lon": 13.003822, "city": "Malmö", "country": "SE"}, "updated_at": "2026-11-26T23:46:07Z", "employee_count": 3, "previous_score": null}', NULL, 'zenitmetrics7104.eu', '2026-11-26 23:46:07+00', 'SE', 'zenitmetrics7104.eu', 3, 'Media', '{"lat": 55.604981, "lon": 13.003822, "city": "Malmö", "country": "SE"}', 'Zenitmetrics Group', NULL, 'account', 75.12, '["tier-3"]', '2026-11-26 23:46:07+00', 'https://www.zenitmetrics7104.eu/'),
	(1002, 1002, '3416', '2026-11-27 04:48:46.627+00', '2026-11-27 04:48:46.627+00', 1795754926627288, NULL, '\x0a23dcf144fd97d885e5e8ae98973ed0', '{"id": 3416, "url": "https://www.alpengrid9845.nl/", "name": "Alpengrid Ltd", "tags": ["tier-1"], "notes": null, "score": 49.52, "domain": "alpengrid9845.nl", "object": "account", "country": "GR", "added_at": "2026-11-26T23:42:39Z", "industry": "Agriculture", "location": {"lat": 37.98381, "lon": 23.727539, "city": "Αθήνα", "country": "GR"}, "updated_at": "2026-11-26T23:42:39Z", "employee_count": 1105, "previous_score": null}', NULL, 'alpengrid9845.nl', '2026-11-26 23:42:39+00', 'GR', 'alpengrid9845.nl', 1105, 'Agriculture', '{"lat": 37.98381, "lon": 23.727539, "city": "Αθήνα", "country": "GR"}', 'Alpengrid Ltd', NULL, 'account', 49.52, '["tier-1"]', '2026-11-26 23:42:39+00', 'https://www.alpengrid9845.nl/'),
	(1002, 1002, '3413', '2026-11-27 04:48:46.627+00', '2026-11-27 04:48:46.627+00', 1795754926627289, NULL, '\xaa1ca4f94f6a0ccd3d44cf54a9af446d', '{"id": 3413, "url": "https://www.novamedia2114.nl/", "name": "Novamedia s.r.o.", "tags": ["tier-2"], "notes": null, "score": 56.01, "domain": "novamedia2114.nl", "object": "account", "country": "FI", "added_at": "2026-11-26T23:42:39Z", "industry": "Medical Devices", "location": {"lat": 60.20549, "lon": 24.655899, "city": "Espoo", "country": "FI"}, "updated_at": "2026-11-26T23:42:39Z", "employee_count": 14355, "previous_score": null}', NULL, 'novamedia2114.nl', '2026-11-26 23:42:39+00', 'FI', 'novamedia2114.nl', 14355, 'Medical Devices', '{"lat": 60.20549, "lon": 24.655899, "city": "Espoo", "country": "FI"}', 'Novamedia s.r.o.', NULL, 'account', 56.01, '["tier-2"]', '2026-11-26 23:42:39+00', 'https://www.novamedia2114.nl/'),
	(1002, 1002, '3409', '2026-11-27 04:48:46.627+00', '2026-11-27 04:48:46.627+00', 1795754926627290, NULL, '\x11f14ca5cd63574ec25758e57aa50bd9', '{"id": 3409, "url": "https://www.deltafoods8734.io/", "name": "Deltafoods Group", "tags": ["tier-2"], "notes": null, "score": 52.28, "domain": "deltafoods8734.io", "object": "account", "country": "NL", "added_at": "2026-11-26T23:42:39Z", "industry": "Chemicals", "location": {"lat": 52.090737, "lon": 5.12142, "city": "Utrecht", "country": "NL"}, "updated_at": "2026-11-26T23:42:39Z", "employee_count": 11641, "previous_score": null}', NULL, 'deltafoods8734.io', '2026-11-26 23:42:39+00', 'NL', 'deltafoods8734.io', 11641, 'Chemicals', '{"lat": 52.090737, "lon": 5.12142, "city": "Utrecht", "country": "NL"}', 'Deltafoods Group', NULL, 'account', 52.28, '["tier-2"]', '2026-11-26 23:42:39+00', 'https://www.deltafoods8734.io/'),
	(1002, 1002, '3406', '2026-11-27 04:48:46.627+00', '2026-11-27 04:48:46.627+00', 1795754926627291, NULL, '\x59eba81c5a15856a91f2a51116201af0', '{"id": 3406, "url": "https://www.lumenpaper8779.nl/", "name": "Lumenpaper Oy", "tags": ["tier-3"], "notes": null, "score": 98.31, "domain": "lumenpaper8779.nl", "object": "account", "country": "KR", "added_at": "2026-11-26T23:42:39Z", "industry": "Construction", "location": {"lat": 35.179554, "lon": 129.075642, "city": "부산", "country": "KR"}, "updated_at": "2026-11-26T23:42:39Z", "employee_count": 1353, "previous_score": null}', NULL, 'lumenpaper8779.nl', '2026-11-26 23:42:39+00', 'KR', 'lumenpaper8779.nl', 1353, 'Construction', '{"lat": 35.179554, "lon": 129.075642, "city": "부산", "country": "KR"}', 'Lumenpaper Oy', NULL, 'account', 98.31, '["tier-3"]', '2026-11-26 23:42:39+00', 'https://www.lumenpaper8779.nl/'),
	(1002, 1009, '2576', '2026-11-27 04:48:46.704+00', '2026-11-27 04:48:46.704+00', 1795754926704452, NULL, '\xdc41959bdf440ee127837d6590134a8a', '{"id": 2576, "url": "https://www.kronapaper8542.cz/", "name": "Kronapaper & Söhne KG", "tags": ["tier-1"], "notes": null, "score": 11.66, "domain": "kronapaper8542.cz", "object": "account", "country": "ES", "added_at": "2026-11-27T04:40:23Z", "industry": "Construction", "location": {"lat": 36.527061, "lon": -6.288596, "city": "Cádiz", "country": "ES"}, "updated_at": "2026-11-27T04:40:23Z", "employee_count": 8319, "previous_score": null}', NULL, 'kronapaper8542.cz', '2026-11-27 04:40:23+00', 'ES', 'kronapaper8542.cz', 8319, 'Construction', '{"lat": 36.527061, "lon": -6.288596, "city": "Cádiz", "country": "ES"}', 'Kronapaper & Söhne KG', NULL, 'account', 11.66, '["tier-1"]', '2026-11-27 04:40:23+00', 'https://www.kronapaper8542.cz/'),
	(1002, 1009, '2574', '2026-11-27 04:48:46.704+00', '2026-11-27 04:48:46.704+00', 1795754926704453, NULL, '\x097afb68c7589df4a0252c0dcf6e7864', '{"id": 2574, "url": "https://www.solarmotors6154.cz/", "name": "Solarmotors", "tags": ["tier-3"], "notes": "Rückruf, später ✅", "score": 27.38, "domain": "solarmotors6154.cz", "object": "account", "country": "CA", "added_at": "2026-11-27T04:40:23Z", "industry": "Automotive", "location": {"lat": 45.501689, "lon": -73.567256, "city": "Montréal", "country": "CA"}, "updated_at": "2026-11-27T04:40:23Z", "employee_count": 757, "previous_score": null}', NULL, 'solarmotors6154.cz', '2026-11-27 04:40:23+00', 'CA', 'solarmotors6154.cz', 757, 'Automotive', '{"lat": 45.501689, "lon": -73.567256, "city": "Montréal", "country": "CA"}', 'Solarmotors', 'Rückruf, später ✅', 'account', 27.38, '["tier-3"]', '2026-11-27 04:40:23+00', 'https://www.solarmotors6154.cz/'),
	(1002, 1009, '2566', '2026-11-27 04:48:46.704+00', '2026-11-27 04:48:46.704+00', 1795754926704455, NULL, '\x4d51a93cb302e4801af9ed836f39e80c', '{"id": 2566, "url": "https://www.alpenfleet6279.fr/", "name": "Alpenfleet 株式会社", "tags": ["tier-3"], "notes": "Rückruf, später ✅", "score": 17.26, "domain": "alpenfleet6279.fr", "object": "account", "country": "NL", "added_at": "2026-11-27T04:40:23Z", "industry": "Textiles", "location": {"lat": 52.090737, "lon": 5.12142, "city": "Utrecht", "country": "NL"}, "updated_at": "2026-11-27T04:40:23Z", "employee_count": 17515, "previous_score": null}', NULL, 'alpenfleet6279.fr', '2026-11-27 04:40:23+00', 'NL', 'alpenfleet6279.fr', 17515, 'Textiles', '{"lat": 52.090737, "lon": 5.12142, "city": "Utrecht", "country": "NL"}', 'Alpenfleet 株式会社', 'Rückruf, später ✅', 'account', 17.26, '["tier-3"]', '2026-11-27 04:40:23+00', 'https://www.alpenfleet6279.fr/'),
	(1001, 1004, '11770', '2026-11-27 04:48:45.5+00', '2026-11-27 04:48:51.282+00', 1795754931282474, '2026-11-27 04:48:51.282+00', '\xfc887868993a7602f5feefb96b26cf5a', '{"id": 11770, "url": "https://www.novafleet7165.de/", "name": "Novafleet Oy", "tags": ["tier-3"], "notes": "Rückruf, später ✅", "score": 11.4, "domain": "novafleet7165.de", "object": "account", "country": "KR", "added_at": "2026-11-27T03:14:23Z", "industry": "Agriculture", "location": {"lat": 35.179554, "lon": 129.075642, "city": "부산", "country": "KR"}, "updated_at": "2026-11-27T03:14:23Z", "employee_count": 4719, "previous_score": null}', NULL, 'novafleet7165.de', '2026-11-27 03:14:23+00', 'KR', 'novafleet7165.de', 4719, 'Agriculture', '{"lat": 35.179554, "lon": 129.075642, "city": "부산", "country": "KR"}', 'Novafleet Oy', 'Rückruf, später ✅', 'account', 11.4, '["tier-3"]', '2026-11-27 03:14:23+00', 'https://www.novafleet7165.de/'),
	(1001, 1004, '11774', '2026-11-27 04:48:45.5+00', '2026-11-27 04:48:51.282+00', 1795754931282475, '2026-11-27 04:48:51.282+00', '\x1dd2bcabdf01c05081a9fe2bd5f6343e', '{"id": 11774, "url": "https://www.omoricare1179.co.uk/", "name": "Ōmoricare B.V.", "tags": ["tier-3"], "notes": null, "score": 2.69, "domain": "omoricare1179.co.uk", "object": "account", "country": "CA", "added_at": "2026-11-27T03:14:23Z", "industry": "Education", "location": {"lat": 45.501689, "lon": -73.567256, "city": "Montréal", "country": "CA"}, "updated_at": "2026-11-27T03:14:23Z", "employee_count": 3261, "previous_score": null}', NULL, 'omoricare1179.co.uk', '2026-11-27 03:14:23+00', 'CA', 'omoricare1179.co.uk', 3261, 'Education', '{"lat": 45.501689, "lon": -73.567256, "city": "Montréal", "country": "CA"}', 'Ōmoricare B.V.', NULL, 'account', 2.69, '["tier-3"]', '2026-11-27 03:14:23+00', 'https://www.omoricare1179.co.uk/'),
	(1001, 1004, '11777', '2026-11-27 04:48:45.5+00', '2026-11-27 04:48:51.282+00', 1795754931282476, '2026-11-27 04:48:51.282+00', '\xa07d32eba42dbdff6c7796aa8d5d28a5', '{"id": 11777, "url": "https://www.zenitbau9094.ai/", "name": "Zenitbau Group", "tags": ["tier-2"], "notes": null, "score": 78.94, "domain": "zenitbau9094.ai", "object": "account", "country": "DE", "added_at": "2026-11-27T03:14:23Z", "industry": "Insurance", "location": {"lat": 48.137154, "lon": 11.576124, "city": "München", "country": "DE"}, "updated_at": "2026-11-27T03:14:23Z", "employee_count": 12917, "previous_score": null}', NULL, 'zenitbau9094.ai', '2026-11-27 03:14:23+00', 'DE', 'zenitbau9094.ai', 12917, 'Insurance', '{"lat": 48.137154, "lon": 11.576124, "city": "München", "country": "DE"}', 'Zenitbau Group', NULL, 'account', 78.94, '["tier-2"]', '2026-11-27 03:14:23+00', 'https://www.zenitbau9094.ai/'),
	(1002, 1009, '2570', '2026-11-27 04:48:46.704+00', '2026-11-27 04:48:57.211+00', 1795754937211354, '2026-11-27 04:48:57.211+00', '\xc6d0e5d641e4b0843c9abaa2c4eb602b', '{"id": 2570, "url": "https://www.emberbank9460.de/", "name": "Emberbank", "tags": ["tier-3"], "notes": null, "score": 87.08, "domain": "emberbank9460.de", "object": "account", "country": "DE", "added_at": "2026-11-27T04:40:23Z", "industry": "Logistics", "location": {"lat": 48.137154, "lon": 11.576124, "city": "München", "country": "DE"}, "updated_at": "2026-11-27T04:40:23Z", "employee_count": 15039, "previous_score": null}', NULL, 'emberbank9460.de', '2026-11-27 04:40:23+00', 'DE', 'emberbank9460.de', 15039, 'Logistics', '{"lat": 48.137154, "lon": 11.576124, "city": "München", "country": "DE"}', 'Emberbank', NULL, 'account', 87.08, '["tier-3"]', '2026-11-27 04:40:23+00', 'https://www.emberbank9460.de/'),
	(1001, 1004, '11780', '2026-11-27 04:48:45.5+00', '2026-11-27 04:48:51.282+00', 1795754931282477, '2026-11-27 04:48:51.282+00', '\x009253de5c66df100a0150a38a625b38', '{"id": 11780, "url": "https://www.miromotors6583.fi/", "name": "Mirómotors S.A.", "tags": ["tier-1"], "notes": "Rückruf, später ✅", "score": 58.92, "domain": "miromotors6583.fi", "object": "account", "country": "IN", "added_at": "2026-11-27T03:14:23Z", "industry": "Software", "location": {"lat": 18.52043, "lon": 73.856744, "city": "Pune", "country": "IN"}, "updated_at": "2026-11-27T03:14:23Z", "employee_count": 11931, "previous_score": null}', NULL, 'miromotors6583.fi', '2026-11-27 03:14:23+00', 'IN', 'miromotors6583.fi', 11931, 'Software', '{"lat": 18.52043, "lon": 73.856744, "city": "Pune", "country": "IN"}', 'Mirómotors S.A.', 'Rückruf, später ✅', 'account', 58.92, '["tier-1"]', '2026-11-27 03:14:23+00', 'https://www.miromotors6583.fi/'),
	(1002, 1006, '14269', '2026-11-27 04:48:46.693+00', '2026-11-27 04:48:55.134+00', 1795754935134752, '2026-11-27 04:48:55.134+00', '\xe4dfa0ca5591cd704f656635b9ae8e28', '{"id": 14269, "url": "https://www.orbitglass5943.net/", "name": "Orbitglass Inc.", "tags": ["tier-2"], "notes": null, "score": 23.4, "domain": "orbitglass5943.net", "object": "account", "country": "ES", "added_at": "2026-11-27T03:06:11Z", "industry": "Renewable Energy", "location": {"lat": 36.527061, "lon": -6.288596, "city": "Cádiz", "country": "ES"}, "updated_at": "2026-11-27T03:06:11Z", "employee_count": 13552, "previous_score": null}', NULL, 'orbitglass5943.net', '2026-11-27 03:06:11+00', 'ES', 'orbitglass5943.net', 13552, 'Renewable Energy', '{"lat": 36.527061, "lon": -6.288596, "city": "Cádiz", "country": "ES"}', 'Orbitglass Inc.', NULL, 'account', 23.4, '["tier-2"]', '2026-11-27 03:06:11+00', 'https://www.orbitglass5943.net/'),
	(1002, 1006, '14273', '2026-11-27 04:48:46.693+00', '2026-11-27 04:48:55.134+00', 1795754935134753, '2026-11-27 04:48:55.134+00', '\x5d438ac83b01911736370f1c550fddc5', '{"id": 14273, "url": "https://www.skodaware5788.ai/", "name": "Škodaware B.V.", "tags": ["tier-2"], "notes": null, "score": 68.37, "domain": "skodaware5788.ai", "object": "account", "country": "CA", "added_at": "2026-11-27T03:06:11Z", "industry": "Software", "location": {"lat": 45.501689, "lon": -73.567256, "city": "Montréal", "country": "CA"}, "updated_at": "2026-11-27T03:06:11Z", "employee_count": 57, "previous_score": null}', NULL, 'skodaware5788.ai', '2026-11-27 03:06:11+00', 'CA', 'skodaware5788.ai', 57, 'Software', '{"lat": 45.501689, "lon": -73.567256, "city": "Montréal", "country": "CA"}', 'Škodaware B.V.', NULL, 'account', 68.37, '["tier-2"]', '2026-11-27 03:06:11+00', 'https://www.skodaware5788.ai/'),
	(1002, 1006, '14278', '2026-11-27 04:48:46.693+00', '2026-11-27 04:48:55.134+00', 1795754935134754, '2026-11-27 04:48:55.134+00', '\x167d8bcdcf8a01f0992cb791b16279f6', '{"id": 14278, "url": "https://www.omorimedia2103.net/", "name": "Ōmorimedia 株式会社", "tags": ["tier-3"], "notes": null, "score": 59.73, "domain": "omorimedia2103.net", "object": "account", "country": "DE", "added_at": "2026-11-27T03:06:11Z", "industry": "E-Commerce", "location": {"lat": 48.137154, "lon": 11.576124, "city": "München", "country": "DE"}, "updated_at": "2026-11-27T03:06:11Z", "employee_count": 510, "previous_score": null}', NULL, 'omorimedia2103.net', '2026-11-27 03:06:11+00', 'DE', 'omorimedia2103.net', 510, 'E-Commerce', '{"lat": 48.137154, "lon": 11.576124, "city": "München", "country": "DE"}', 'Ōmorimedia 株式会社', NULL, 'account', 59.73, '["tier-3"]', '2026-11-27 03:06:11+00', 'https://www.omorimedia2103.net/'),
	(1002, 1006, '14281', '2026-11-27 04:48:46.693+00', '2026-11-27 04:48:55.134+00', 1795754935134755, '2026-11-27 04:48:55.134+00', '\x7319e4aec7c5744712ef7da8c94ce2cb', '{"id": 14281, "url": "https://www.omoricare2638.eu/", "name": "Ōmoricare & Söhne KG", "tags": ["tier-2"], "notes": null, "score": 8.12, "domain": "omoricare2638.eu", "object": "account", "country": "GR", "added_at": "2026-11-27T03:06:11Z", "industry": "Media", "location": {"lat": 37.98381, "lon": 23.727539, "city": "Αθήνα", "country": "GR"}, "updated_at": "2026-11-27T03:06:11Z", "employee_count": 9978, "previous_score": null}', NULL, 'omoricare2638.eu', '2026-11-27 03:06:11+00', 'GR', 'omoricare2638.eu', 9978, 'Media', '{"lat": 37.98381, "lon": 23.727539, "city": "Αθήνα", "country": "GR"}', 'Ōmoricare & Söhne KG', NULL, 'account', 8.12, '["tier-2"]', '2026-11-27 03:06:11+00', 'https://www.omoricare2638.eu/');

INSERT INTO mirror.list_items_history VALUES
	(1001, 1004, '11770', '2026-11-27 04:48:45.5+00', '2026-11-27 04:48:45.5+00', 1795754925500539, NULL, '\xfc887868993a7602f5feefb96b26cf5a', '{"id": 11770, "url": "https://www.novafleet7165.de/", "name": "Novafleet Oy", "tags": ["tier-3"], "notes": "Rückruf, später ✅", "score": 11.4, "domain": "novafleet7165.de", "object": "account", "country": "KR", "added_at": "2026-11-27T03:14:23Z", "industry": "Agriculture", "location": {"lat": 35.179554, "lon": 129.075642, "city": "부산", "country": "KR"}, "updated_at": "2026-11-27T03:14:23Z", "employee_count": 4719, "previous_score": null}', NULL, '2026-11-27 04:48:45.5+00', '2026-11-27 04:48:51.282+00', 'delete', 'novafleet7165.de', '2026-11-27 03:14:23+00', 'KR', 'novafleet7165.de', 4719, 'Agriculture', '{"lat": 35.179554, "lon": 129.075642, "city": "부산", "country": "KR"}', 'Novafleet Oy', 'Rückruf, später ✅', 'account', 11.4, '["tier-3"]', '2026-11-27 03:14:23+00', 'https://www.novafleet7165.de/'),
	(1001, 1004, '11774', '2026-11-27 04:48:45.5+00', '2026-11-27 04:48:45.5+00', 1795754925500538, NULL, '\x1dd2bcabdf01c05081a9fe2bd5f6343e', '{"id": 11774, "url": "https://www.omoricare1179.co.uk/", "name": "Ōmoricare B.V.", "tags": ["tier-3"], "notes": null, "score": 2.69, "domain": "omoricare1179.co.uk", "object": "account", "country": "CA", "added_at": "2026-11-27T03:14:23Z", "industry": "Education", "location": {"lat": 45.501689, "lon": -73.567256, "city": "Montréal", "country": "CA"}, "updated_at": "2026-11-27T03:14:23Z", "employee_count": 3261, "previous_score": null}', NULL, '2026-11-27 04:48:45.5+00', '2026-11-27 04:48:51.282+00', 'delete', 'omoricare1179.co.uk', '2026-11-27 03:14:23+00', 'CA', 'omoricare1179.co.uk', 3261, 'Education', '{"lat": 45.501689, "lon": -73.567256, "city": "Montréal", "country": "CA"}', 'Ōmoricare B.V.', NULL, 'account', 2.69, '["tier-3"]', '2026-11-27 03:14:23+00', 'https://www.omoricare1179.co.uk/'),
	(1001, 1004, '11777', '2026-11-27 04:48:45.5+00', '2026-11-27 04:48:45.5+00', 1795754925500537, NULL, '\xa07d32eba42dbdff6c7796aa8d5d28a5', '{"id": 11777, "url": "https://www.zenitbau9094.ai/", "name": "Zenitbau Group", "tags": ["tier-2"], "notes": null, "score": 78.94, "domain": "zenitbau9094.ai", "object": "account", "country": "DE", "added_at": "2026-11-27T03:14:23Z", "industry": "Insurance", "location": {"lat": 48.137154, "lon": 11.576124, "city": "München", "country": "DE"}, "updated_at": "2026-11-27T03:14:23Z", "employee_count": 12917, "previous_score": null}', NULL, '2026-11-27 04:48:45.5+00', '2026-11-27 04:48:51.282+00', 'delete', 'zenitbau9094.ai', '2026-11-27 03:14:23+00', 'DE', 'zenitbau9094.ai', 12917, 'Insurance', '{"lat": 48.137154, "lon": 11.576124, "city": "München", "country": "DE"}', 'Zenitbau Group', NULL, 'account', 78.94, '["tier-2"]', '2026-11-27 03:14:23+00', 'https://www.zenitbau9094.ai/'),
	(1001, 1004, '11780', '2026-11-27 04:48:45.5+00', '2026-11-27 04:48:45.5+00', 1795754925500536, NULL, '\x009253de5c66df100a0150a38a625b38', '{"id": 11780, "url": "https://www.miromotors6583.fi/", "name": "Mirómotors S.A.", "tags": ["tier-1"], "notes": "Rückruf, später ✅", "score": 58.92, "domain": "miromotors6583.fi", "object": "account", "country": "IN", "added_at": "2026-11-27T03:14:23Z", "industry": "Software", "location": {"lat": 18.52043, "lon": 73.856744, "city": "Pune", "country": "IN"}, "updated_at": "2026-11-27T03:14:23Z", "employee_count": 11931, "previous_score": null}', NULL, '2026-11-27 04:48:45.5+00', '2026-11-27 04:48:51.282+00', 'delete', 'miromotors6583.fi', '2026-11-27 03:14:23+00', 'IN', 'miromotors6583.fi', 11931, 'Software', '{"lat": 18.52043, "lon": 73.856744, "city": "Pune", "country": "IN"}', 'Mirómotors S.A.', 'Rückruf, später ✅', 'account', 58.92, '["tier-1"]', '2026-11-27 03:14:23+00', 'https://www.miromotors6583.fi/'),
	(1001, 1009, '1014', '2026-11-27 04:48:45.54+00', '2026-11-27 04:48:45.54+00', 1795754925540880, NULL, '\xe258245b6cbf9cf008bfe52d93e11629', '{"id": 1014, "url": "https://www.rhonemetrics8241.eu/", "name": "Rhônemetrics B.V.", "tags": ["tier-3"], "notes": null, "score": 5.59, "domain": "rhonemetrics8241.eu", "object": "account", "country": "PL", "added_at": "2026-11-27T04:34:36Z", "industry": "Logistics", "location": {"lat": 51.759249, "lon": 19.455983, "city": "Łódź", "country": "PL"}, "updated_at": "2026-11-27T04:34:36Z", "employee_count": 230, "previous_score": null}', NULL, '2026-11-27 04:48:45.54+00', '2026-11-27 04:48:53.086+00', 'delete', 'rhonemetrics8241.eu', '2026-11-27 04:34:36+00', 'PL', 'rhonemetrics8241.eu', 230, 'Logistics', '{"lat": 51.759249, "lon": 19.455983, "city": "Łódź", "country": "PL"}', 'Rhônemetrics B.V.', NULL, 'account', 5.59, '["tier-3"]', '2026-11-27 04:34:36+00', 'https://www.rhonemetrics8241.eu/'),
	(1002, 1006, '14269', '2026-11-27 04:48:46.693+00', '2026-11-27 04:48:46.693+00', 1795754926693418, NULL, '\xe4dfa0ca5591cd704f656635b9ae8e28', '{"id": 14269, "url": "https://www.orbitglass5943.net/", "name": "Orbitglass Inc.", "tags": ["tier-2"], "notes": null, "score": 23.4, "domain": "orbitglass5943.net", "object": "account", "country": "ES", "added_at": "2026-11-27T03:06:11Z", "industry": "Renewable Energy", "location": {"lat": 36.527061, "lon": -6.288596, "city": "Cádiz", "country": "ES"}, "updated_at": "2026-11-27T03:06:11Z", "employee_count": 13552, "previous_score": null}', NULL, '2026-11-27 04:48:46.693+00', '2026-11-27 04:48:55.134+00', 'delete', 'orbitglass5943.net', '2026-11-27 03:06:11+00', 'ES', 'orbitglass5943.net', 13552, 'Renewable Energy', '{"lat": 36.527061, "lon": -6.288596, "city": "Cádiz", "country": "ES"}', 'Orbitglass Inc.', NULL, 'account', 23.4, '["tier-2"]', '2026-11-27 03:06:11+00', 'https://www.orbitglass5943.net/'),
	(1002, 1006, '14273', '2026-11-27 04:48:46.693+00', '2026-11-27 04:48:46.693+00', 1795754926693417, NULL, '\x5d438ac83b01911736370f1c550fddc5', '{"id": 14273, "url": "https://www.skodaware5788.ai/", "name": "Škodaware B.V.", "tags": ["tier-2"], "notes": null, "score": 68.37, "domain": "skodaware5788.ai", "object": "account", "country": "CA", "added_at": "2026-11-27T03:06:11Z", "industry": "Software", "location": {"lat": 45.501689, "lon": -73.567256, "city": "Montréal", "country": "CA"}, "updated_at": "2026-11-27T03:06:11Z", "employee_count": 57, "previous_score": null}', NULL, '2026-11-27 04:48:46.693+00', '2026-11-27 04:48:55.134+00', 'delete', 'skodaware5788.ai', '2026-11-27 03:06:11+00', 'CA', 'skodaware5788.ai', 57, 'Software', '{"lat": 45.501689, "lon": -73.567256, "city": "Montréal", "country": "CA"}', 'Škodaware B.V.', NULL, 'account', 68.37, '["tier-2"]', '2026-11-27 03:06:11+00', 'https://www.skodaware5788.ai/'),
	(1002, 1006, '14278', '2026-11-27 04:48:46.693+00', '2026-11-27 04:48:46.693+00', 1795754926693416, NULL, '\x167d8bcdcf8a01f0992cb791b16279f6', '{"id": 14278, "url": "https://www.omorimedia2103.net/", "name": "Ōmorimedia 株式会社", "tags": ["tier-3"], "notes": null, "score": 59.73, "domain": "omorimedia2103.net", "object": "account", "country": "DE", "added_at": "2026-11-27T03:06:11Z", "industry": "E-Commerce", "location": {"lat": 48.137154, "lon": 11.576124, "city": "München", "country": "DE"}, "updated_at": "2026-11-27T03:06:11Z", "employee_count": 510, "previous_score": null}', NULL, '2026-11-27 04:48:46.693+00', '2026-11-27 04:48:55.134+00', 'delete', 'omorimedia2103.net', '2026-11-27 03:06:11+00', 'DE', 'omorimedia2103.net', 510, 'E-Commerce', '{"lat": 48.137154, "lon": 11.576124, "city": "München", "country": "DE"}', 'Ōmorimedia 株式会社', NULL, 'account', 59.73, '["tier-3"]', '2026-11-27 03:06:11+00', 'https://www.omorimedia2103.net/'),
	(1002, 1006, '14281', '2026-11-27 04:48:46.693+00', '2026-11-27 04:48:46.693+00', 1795754926693415, NULL, '\x7319e4aec7c5744712ef7da8c94ce2cb', '{"id": 14281, "url": "https://www.omoricare2638.eu/", "name": "Ōmoricare & Söhne KG", "tags": ["tier-2"], "notes": null, "score": 8.12, "domain": "omoricare2638.eu", "object": "account", "country": "GR", "added_at": "2026-11-27T03:06:11Z", "industry": "Media", "location": {"lat": 37.98381, "lon": 23.727539, "city": "Αθήνα", "country": "GR"}, "updated_at": "2026-11-27T03:06:11Z", "employee_count": 9978, "previous_score": null}', NULL, '2026-11-27 04:48:46.693+00', '2026-11-27 04:48:55.134+00', 'delete', 'omoricare2638.eu', '2026-11-27 03:06:11+00', 'GR', 'omoricare2638.eu', 9978, 'Media', '{"lat": 37.98381, "lon": 23.727539, "city": "Αθήνα", "country": "GR"}', 'Ōmoricare & Söhne KG', NULL, 'account', 8.12, '["tier-2"]', '2026-11-27 03:06:11+00', 'https://www.omoricare2638.eu/'),
	(1002, 1009, '2570', '2026-11-27 04:48:46.704+00', '2026-11-27 04:48:46.704+00', 1795754926704454, NULL, '\xc6d0e5d641e4b0843c9abaa2c4eb602b', '{"id": 2570, "url": "https://www.emberbank9460.de/", "name": "Emberbank", "tags": ["tier-3"], "notes": null, "score": 87.08, "domain": "emberbank9460.de", "object": "account", "country": "DE", "added_at": "2026-11-27T04:40:23Z", "industry": "Logistics", "location": {"lat": 48.137154, "lon": 11.576124, "city": "München", "country": "DE"}, "updated_at": "2026-11-27T04:40:23Z", "employee_count": 15039, "previous_score": null}', NULL, '2026-11-27 04:48:46.704+00', '2026-11-27 04:48:57.211+00', 'delete', 'emberbank9460.de', '2026-11-27 04:40:23+00', 'DE', 'emberbank9460.de', 15039, 'Logistics', '{"lat": 48.137154, "lon": 11.576124, "city": "München", "country": "DE"}', 'Emberbank', NULL, 'account', 87.08, '["tier-3"]', '2026-11-27 04:40:23+00', 'https://www.emberbank9460.de/');

INSERT INTO mirror.lists VALUES
	(1001, 1000, '2026-11-27 04:48:43.208+00', '2026-11-27 04:48:43.208+00', 1795754923208577, NULL, '\x9952ef8d2d96ed7a4021af7067458a0f', '{"name": "Trade fair – été 1", "score": 0.4, "object": "company_list", "status": "completed", "filters": {"tags": [], "countries": ["DE", "FR"], "min_employees": 298}, "list_id": 1000, "created_at": "2026-11-26T23:46:07Z", "item_count": 4, "updated_at": "2026-11-26T23:46:37Z", "description": "Imported from the CRM, checked quarterly"}', NULL, '2026-11-26 23:46:07+00', 'Imported from the CRM, checked quarterly', '{"tags": [], "countries": ["DE", "FR"], "min_employees": 298}', 4, 'Trade fair – été 1', 'company_list', 0.4, 'completed', '2026-11-26 23:46:37+00'),
	(1002, 1002, '2026-11-27 04:48:46.399+00', '2026-11-27 04:48:46.399+00', 1795754926399181, NULL, '\xbe728f3073c4b85a242d78ec4f72c9ca', '{"name": "Neukunden 1", "score": 65, "object": "company_list", "status": "completed", "filters": {"tags": [], "countries": ["DE", "FR"], "min_employees": 321}, "list_id": 1002, "created_at": "2026-11-26T23:42:39Z", "item_count": 4, "updated_at": "2026-11-26T23:43:09Z", "description": "Imported from the CRM, checked quarterly"}', NULL, '2026-11-26 23:42:39+00', 'Imported from the CRM, checked quarterly', '{"tags": [], "countries": ["DE", "FR"], "min_employees": 321}', 4, 'Neukunden 1', 'company_list', 65, 'completed', '2026-11-26 23:43:09+00'),
	(1001, 1009, '2026-11-27 04:48:43.208+00', '2026-11-27 04:48:49.679+00', 1795754929679439, NULL, '\x354cd22c4af5a31804a2b1b6a1067199', '{"name": "Trade fair – été 3", "score": 48.8, "object": "company_list", "status": "completed", "filters": {"tags": [], "countries": ["DE", "FR"], "min_employees": 390}, "list_id": 1009, "created_at": "2026-11-27T04:34:36Z", "item_count": 3, "updated_at": "2026-11-27T04:48:47Z", "description": "Imported from the CRM, checked quarterly"}', NULL, '2026-11-27 04:34:36+00', 'Imported from the CRM, checked quarterly', '{"tags": [], "countries": ["DE", "FR"], "min_employees": 390}', 3, 'Trade fair – été 3', 'company_list', 48.8, 'completed', '2026-11-27 04:48:47+00'),
	(1001, 1004, '2026-11-27 04:48:43.208+00', '2026-11-27 04:48:51.282+00', 1795754931282478, '2026-11-27 04:48:51.282+00', '\x96a0c6828c60c90eec4f466630670190', '{"name": "Trade fair – été 2", "score": 72.3, "object": "company_list", "status": "completed", "filters": {"tags": [], "countries": ["DE", "FR"], "min_employees": 49}, "list_id": 1004, "created_at": "2026-11-27T03:14:23Z", "item_count": 4, "updated_at": "2026-11-27T03:14:53Z", "description": "Imported from the CRM, checked quarterly"}', NULL, '2026-11-27 03:14:23+00', 'Imported from the CRM, checked quarterly', '{"tags": [], "countries": ["DE", "FR"], "min_employees": 49}', 4, 'Trade fair – été 2', 'company_list', 72.3, 'completed', '2026-11-27 03:14:53+00'),
	(1002, 1009, '2026-11-27 04:48:46.399+00', '2026-11-27 04:48:53.883+00', 1795754933883914, NULL, '\x507f69693f14164be60340a063f0b159', '{"name": "Ex-customers 3", "score": 44.5, "object": "company_list", "status": "completed", "filters": {"tags": [], "countries": ["DE", "FR"], "min_employees": 498}, "list_id": 1009, "created_at": "2026-11-27T04:40:23Z", "item_count": 3, "updated_at": "2026-11-27T04:48:47Z", "description": "Imported from the CRM, checked quarterly"}', NULL, '2026-11-27 04:40:23+00', 'Imported from the CRM, checked quarterly', '{"tags": [], "countries": ["DE", "FR"], "min_employees": 498}', 3, 'Ex-customers 3', 'company_list', 44.5, 'completed', '2026-11-27 04:48:47+00'),
	(1002, 1006, '2026-11-27 04:48:46.399+00', '2026-11-27 04:48:55.134+00', 1795754935134756, '2026-11-27 04:48:55.134+00', '\x967ba8f8a451a6f532cca2e5f87ec032', '{"name": "Key accounts 2", "score": 8.9, "object": "company_list", "status": "completed", "filters": {"tags": [], "countries": ["DE", "FR"], "min_employees": 476}, "list_id": 1006, "created_at": "2026-11-27T03:06:11Z", "item_count": 4, "updated_at": "2026-11-27T03:06:41Z", "description": null}', NULL, '2026-11-27 03:06:11+00', NULL, '{"tags": [], "countries": ["DE", "FR"], "min_employees": 476}', 4, 'Key accounts 2', 'company_list', 8.9, 'completed', '2026-11-27 03:06:41+00');

INSERT INTO mirror.lists_history VALUES
	(1001, 1009, '2026-11-27 04:48:43.208+00', '2026-11-27 04:48:43.208+00', 1795754923208575, NULL, '\xc30b9bd613a4984c02741878ea31c45b', '{"name": "Trade fair – été 3", "score": 48.8, "object": "company_list", "status": "completed", "filters": {"tags": [], "countries": ["DE", "FR"], "min_employees": 390}, "list_id": 1009, "created_at": "2026-11-27T04:34:36Z", "item_count": 4, "updated_at": "2026-11-27T04:35:06Z", "description": "Imported from the CRM, checked quarterly"}', NULL, '2026-11-27 04:48:43.208+00', '2026-11-27 04:48:49.679+00', 'update', '2026-11-27 04:34:36+00', 'Imported from the CRM, checked quarterly', '{"tags": [], "countries": ["DE", "FR"], "min_employees": 390}', 4, 'Trade fair – été 3', 'company_list', 48.8, 'completed', '2026-11-27 04:35:06+00'),
	(1001, 1004, '2026-11-27 04:48:43.208+00', '2026-11-27 04:48:43.208+00', 1795754923208576, NULL, '\x96a0c6828c60c90eec4f466630670190', '{"name": "Trade fair – été 2", "score": 72.3, "object": "company_list", "status": "completed", "filters": {"tags": [], "countries": ["DE", "FR"], "min_employees": 49}, "list_id": 1004, "created_at": "2026-11-27T03:14:23Z", "item_count": 4, "updated_at": "2026-11-27T03:14:53Z", "description": "Imported from the CRM, checked quarterly"}', NULL, '2026-11-27 04:48:43.208+00', '2026-11-27 04:48:51.282+00', 'delete', '2026-11-27 03:14:23+00', 'Imported from the CRM, checked quarterly', '{"tags": [], "countries": ["DE", "FR"], "min_employees": 49}', 4, 'Trade fair – été 2', 'company_list', 72.3, 'completed', '2026-11-27 03:14:53+00'),
	(1002, 1009, '2026-11-27 04:48:46.399+00', '2026-11-27 04:48:46.399+00', 1795754926399179, NULL, '\xd3b934712bb7cc2bf418d21c419d9a5c', '{"name": "Ex-customers 3", "score": 44.5, "object": "company_list", "status": "completed", "filters": {"tags": [], "countries": ["DE", "FR"], "min_employees": 498}, "list_id": 1009, "created_at": "2026-11-27T04:40:23Z", "item_count": 4, "updated_at": "2026-11-27T04:40:53Z", "description": "Imported from the CRM, checked quarterly"}', NULL, '2026-11-27 04:48:46.399+00', '2026-11-27 04:48:53.883+00', 'update', '2026-11-27 04:40:23+00', 'Imported from the CRM, checked quarterly', '{"tags": [], "countries": ["DE", "FR"], "min_employees": 498}', 4, 'Ex-customers 3', 'company_list', 44.5, 'completed', '2026-11-27 04:40:53+00'),
	(1002, 1006, '2026-11-27 04:48:46.399+00', '2026-11-27 04:48:46.399+00', 1795754926399180, NULL, '\x967ba8f8a451a6f532cca2e5f87ec032', '{"name": "Key accounts 2", "score": 8.9, "object": "company_list", "status": "completed", "filters": {"tags": [], "countries": ["DE", "FR"], "min_employees": 476}, "list_id": 1006, "created_at": "2026-11-27T03:06:11Z", "item_count": 4, "updated_at": "2026-11-27T03:06:41Z", "description": null}', NULL, '2026-11-27 04:48:46.399+00', '2026-11-27 04:48:55.134+00', 'delete', '2026-11-27 03:06:11+00', NULL, '{"tags": [], "countries": ["DE", "FR"], "min_employees": 476}', 4, 'Key accounts 2', 'company_list', 8.9, 'completed', '2026-11-27 03:06:41+00');

INSERT INTO mirror.quarantine VALUES
	(1001, 'research_jobs', '', '\x519641d2ba50fe0f26048ef63572412800ca9506197a9938b8f89c74cce1bff6', '{"job_id":7,"status":"odd","cost":1e999999}', '7', 'is refused by Postgres: value overflows numeric format (22003)', '2026-11-27 04:48:49.257+00', '2026-11-27 04:48:49.257+00', NULL, 43, true),
	(1002, 'research_jobs', '', '\x519641d2ba50fe0f26048ef63572412800ca9506197a9938b8f89c74cce1bff6', '{"job_id":7,"status":"odd","cost":1e999999}', '7', 'is refused by Postgres: value overflows numeric format (22003)', '2026-11-27 04:48:53.599+00', '2026-11-27 04:48:53.599+00', NULL, 43, true);

INSERT INTO mirror.research_jobs VALUES
	(1001, 1032, 'failed', '2026-11-27 04:48:42.681+00', '2026-11-27 04:48:42.681+00', 1795754922681864, NULL, '\x1dea075d4e469d217dac339b37e176ab', '{"url": "https://www.pixelfoods5586.net/", "name": "Pixelfoods Group", "error": {"code": "site_unreachable", "message": "No page could be read", "retryable": true}, "score": null, "domain": "pixelfoods5586.net", "job_id": 1032, "object": "research_job", "status": "failed", "country": "FR", "industry": "Renewable Energy", "location": {"lat": 47.902964, "lon": 1.909251, "city": "Orléans", "country": "FR"}, "created_at": "2026-11-26T03:46:51Z", "started_at": "2026-11-26T03:47:01Z", "updated_at": "2026-11-26T03:47:41Z", "document_id": null, "completed_at": "2026-11-26T03:47:41Z", "employee_count": 9940}', NULL, 'pixelfoods5586.net', '2026-11-26 03:47:41+00', NULL, 'FR', '2026-11-26 03:46:51+00', NULL, 'pixelfoods5586.net', 9940, '{"code": "site_unreachable", "message": "No page could be read", "retryable": true}', NULL, NULL, 'Renewable Energy', '{"lat": 47.902964, "lon": 1.909251, "city": "Orléans", "country": "FR"}', 'Pixelfoods Group', 'research_job', NULL, NULL, NULL, NULL, '2026-11-26 03:47:01+00', NULL, NULL, '2026-11-26 03:47:41+00', 'https://www.pixelfoods5586.net/', NULL, NULL, NULL),
	(1001, 1029, 'completed', '2026-11-27 04:48:42.681+00', '2026-11-27 04:48:42.681+00', 1795754922681865, NULL, '\x1ccc0496fe17fb73305628a4c469fadd', '{"url": "https://www.omorilabs8246.fr/", "name": "Ōmorilabs B.V.", "error": null, "score": 48.92, "domain": "omorilabs8246.fr", "job_id": 1029, "object": "research_job", "public": false, "status": "completed", "country": "DE", "founded": 1950, "sources": [{"url": "https://omorilabs8246.fr/about", "weight": 0.75}, {"url": "https://register.example/2336173710", "weight": 0.25}], "summary": "A supplier to universities and retail chains: hiring slowed in the last two quarters, and a new plant opens next spring\nin the second region.", "contacts": [{"name": null, "role": "CEO", "email": "ceo@omorilabs8246.fr"}, {"name": "A. Ōmori", "role": "CFO", "email": null}], "industry": "Insurance", "location": {"lat": 48.137154, "lon": 11.576124, "city": "München", "country": "DE"}, "created_at": "2026-11-25T16:46:28Z", "started_at": "2026-11-25T16:46:38Z", "updated_at": "2026-11-25T16:48:50Z", "document_id": 3126854259, "growth_rate": -0.7351, "revenue_usd": 86273710.70, "completed_at": "2026-11-25T16:48:50Z", "technologies": ["Salesforce", "Rust", "Snowflake"], "employee_count": 1902}', NULL, 'omorilabs8246.fr', '2026-11-25 16:48:50+00', '[{"name": null, "role": "CEO", "email": "ceo@omorilabs8246.fr"}, {"name": "A. Ōmori", "role": "CFO", "email": null}]', 'DE', '2026-11-25 16:46:28+00', 3126854259, 'omorilabs8246.fr', 1902, NULL, 1950, -0.7351, 'Insurance', '{"lat": 48.137154, "lon": 11.576124, "city": "München", "country": "DE"}', 'Ōmorilabs B.V.', 'research_job', false, 86273710.70, 48.92, '[{"url": "https://omorilabs8246.fr/about", "weight": 0.75}, {"url": "https://register.example/2336173710", "weight": 0.25}]', '2026-11-25 16:46:38+00', 'A supplier to universities and retail chains: hiring slowed in the last two quarters, and a new plant opens next spring
in the second region.', '["Salesforce", "Rust", "Snowflake"]', '2026-11-25 16:48:50+00', 'https://www.omorilabs8246.fr/', NULL, NULL, NULL),
	(1001, 1024, 'completed', '2026-11-27 04:48:42.681+00', '2026-11-27 04:48:42.681+00', 1795754922681866, NULL, '\xfc1ec48fa14c46cf6df264fc9a80eedf', '{"url": "https://www.skodaoptics9060.de/", "name": "Škodaoptics Oy", "error": null, "score": 75.07, "domain": "skodaoptics9060.de", "job_id": 1024, "object": "research_job", "public": false, "status": "completed", "country": "CA", "founded": 1999, "sources": [{"url": "https://skodaoptics9060.de/about", "weight": 0.75}, {"url": "https://register.example/3492099379", "weight": 0.25}], "summary": "A supplier to public utilities and public utilities: customers praise the onboarding “within a day”, and service contracts make up most of the revenue.", "contacts": [{"name": null, "role": "CEO", "email": "ceo@skodaoptics9060.de"}, {"name": "A. Kepler", "role": "CFO", "email": null}], "industry": "Education", "location": {"lat": 45.501689, "lon": -73.567256, "city": "Montréal", "country": "CA"}, "created_at": "2026-11-25T03:46:03Z", "started_at": "2026-11-25T03:46:13Z", "updated_at": "2026-11-25T03:47:39Z", "document_id": 3650836493, "growth_rate": 0.8624, "revenue_usd": 72199379.29, "completed_at": "2026-11-25T03:47:39Z", "technologies": ["Airflow", "React", "Go"], "employee_count": null}', NULL, 'skodaoptics9060.de', '2026-11-25 03:47:39+00', '[{"name": null, "role": "CEO", "email": "ceo@skodaoptics9060.de"}, {"name": "A. Kepler", "role": "CFO", "email": null}]', 'CA', '2026-11-25 03:46:03+00', 3650836493, 'skodaoptics9060.de', NULL, NULL, 1999, 0.8624, 'Education', '{"lat": 45.501689, "lon": -73.567256, "city": "Montréal", "country": "CA"}', 'Škodaoptics Oy', 'research_job', false, 72199379.29, 75.07, '[{"url": "https://skodaoptics9060.de/about", "weight": 0.75}, {"url": "https://register.example/3492099379", "weight": 0.25}]', '2026-11-25 03:46:13+00', 'A supplier to public utilities and public utilities: customers praise the onboarding “within a day”, and service contracts make up most of the revenue.', '["Airflow", "React", "Go"]', '2026-11-25 03:47:39+00', 'https://www.skodaoptics9060.de/', NULL, NULL, NULL),
	(1001, 1020, 'completed', '2026-11-27 04:48:42.681+00', '2026-11-27 04:48:42.681+00', 1795754922681867, NULL, '\x36bc5b2dd20259c2c025e239ae54b272', '{"url": "https://www.quantrobotics1323.de/", "name": "Quantrobotics AG", "error": null, "score": 75.84, "domain": "quantrobotics1323.de", "job_id": 1020, "object": "research_job", "public": false, "status": "completed", "country": "FR", "founded": 1986, "sources": [{"url": "https://quantrobotics1323.de/about", "weight": 0.75}, {"url": "https://register.example/3939580221", "weight": 0.25}], "summary": "A supplier to public utilities and public utilities: a patented process keeps waste below two percent, and its planning platform cuts lead times by a third.", "contacts": [{"name": null, "role": "CEO", "email": "ceo@quantrobotics1323.de"}, {"name": "A. Škoda", "role": "CFO", "email": null}], "industry": "Medical Devices", "location": {"lat": 47.902964, "lon": 1.909251, "city": "Orléans", "country": "FR"}, "created_at": "2026-11-24T12:45:43Z", "started_at": "2026-11-24T12:45:51Z", "updated_at": "2026-11-24T12:47:58Z", "document_id": 2848012229, "growth_rate": 0.4219, "revenue_usd": 69680221.61, "completed_at": "2026-11-24T12:47:58Z", "technologies": ["Figma", "React", "Kafka"], "employee_count": 17033}', NULL, 'quantrobotics1323.de', '2026-11-24 12:47:58+00', '[{"name": null, "role": "CEO", "email": "ceo@quantrobotics1323.de"}, {"name": "A. Škoda", "role": "CFO", "email": null}]', 'FR', '2026-11-24 12:45:43+00', 2848012229, 'quantrobotics1323.de', 17033, NULL, 1986, 0.4219, 'Medical Devices', '{"lat": 47.902964, "lon": 1.909251, "city": "Orléans", "country": "FR"}', 'Quantrobotics AG', 'research_job', false, 69680221.61, 75.84, '[{"url": "https://quantrobotics1323.de/about", "weight": 0.75}, {"url": "https://register.example/3939580221", "weight": 0.25}]', '2026-11-24 12:45:51+00', 'A supplier to public utilities and public utilities: a patented process keeps waste below two percent, and its planning platform cuts lead times by a third.', '["Figma", "React", "Kafka"]', '2026-11-24 12:47:58+00', 'https://www.quantrobotics1323.de/', NULL, NULL, NULL),
	(1001, 1014, 'completed', '2026-11-27 04:48:42.681+00', '2026-11-27 04:48:42.681+00', 1795754922681869, NULL, '\x09e5b34726253794bafd6bd012a8fe48', '{"url": "https://www.rhonebank9082.net/", "name": "Rhônebank S.A.", "error": null, "score": 18.3, "domain": "rhonebank9082.net", "job_id": 1014, "object": "research_job", "public": false, "status": "completed", "country": "CZ", "founded": 1899, "sources": [{"url": "https://rhonebank9082.net/about", "weight": 0.75}, {"url": "https://register.example/1063880064", "weight": 0.25}], "summary": "A supplier to universities and universities: customers praise the onboarding “within a day”, and the founders still own the majority.", "contacts": [{"name": null, "role": "CEO", "email": "ceo@rhonebank9082.net"}, {"name": "A. Iris", "role": "CFO", "email": null}], "industry": "Medical Devices", "location": {"lat": 49.747741, "lon": 13.377525, "city": "Plzeň", "country": "CZ"}, "created_at": "2026-11-23T00:45:13Z", "started_at": "2026-11-23T00:45:14Z", "updated_at": "2026-11-23T00:47:28Z", "document_id": 2858860639, "growth_rate": -0.6463, "revenue_usd": 73980064.64, "completed_at": "2026-11-23T00:47:28Z", "technologies": ["PostgreSQL", "Go", "PostgreSQL"], "employee_count": null}', NULL, 'rhonebank9082.net', '2026-11-23 00:47:28+00', '[{"name": null, "role": "CEO", "email": "ceo@rhonebank9082.net"}, {"name": "A. Iris", "role": "CFO", "email": null}]', 'CZ', '2026-11-23 00:45:13+00', 2858860639, 'rhonebank9082.net', NULL, NULL, 1899, -0.6463, 'Medical Devices', '{"lat": 49.747741, "lon": 13.377525, "city": "Plzeň", "country": "CZ"}', 'Rhônebank S.A.', 'research_job', false, 73980064.64, 18.3, '[{"url": "https://rhonebank9082.net/about", "weight": 0.75}, {"url": "https://register.example/1063880064", "weight": 0.25}]', '2026-11-23 00:45:14+00', 'A supplier to universities and universities: customers praise the onboarding “within a day”, and the founders still own the majority.', '["PostgreSQL", "Go", "PostgreSQL"]', '2026-11-23 00:47:28+00', 'https://www.rhonebank9082.net/', NULL, NULL, NULL),
	(1001, 1009, 'completed', '2026-11-27 04:48:42.681+00', '2026-11-27 04:48:42.681+00', 1795754922681870, NULL, '\xa86dfb21263c6d8518fbf1097ac91d2f', '{"url": "https://www.quantdata9857.de/", "name": "Quantdata s.r.o.", "error": null, "score": 87.4, "domain": "quantdata9857.de", "job_id": 1009, "object": "research_job", "public": false, "status": "completed", "country": "CA", "founded": 1948, "sources": [{"url": "https://quantdata9857.de/about", "weight": 0.75}, {"url": "https://register.example/1502738113", "weight": 0.25}], "summary": "A supplier to online shops and game developers 🎮: hiring slowed in the last two quarters, and its planning platform cuts lead times by a third.", "contacts": [{"name": null, "role": "CEO", "email": "ceo@quantdata9857.de"}, {"name": "A. Lotus", "role": "CFO", "email": null}], "industry": "Aerospace", "location": {"lat": 45.501689, "lon": -73.567256, "city": "Montréal", "country": "CA"}, "created_at": "2026-11-22T03:44:47Z", "started_at": "2026-11-22T03:44:54Z", "updated_at": "2026-11-22T03:46:33Z", "document_id": 2573264613, "growth_rate": 0.8402, "revenue_usd": 62838113.23, "completed_at": "2026-11-22T03:46:33Z", "technologies": ["PostgreSQL", "Shopify", "Django"], "employee_count": 4228}', NULL, 'quantdata9857.de', '2026-11-22 03:46:33+00', '[{"name": null, "role": "CEO", "email": "ceo@quantdata9857.de"}, {"name": "A. Lotus", "role": "CFO", "email": null}]', 'CA', '2026-11-22 03:44:47+00', 2573264613, 'quantdata9857.de', 4228, NULL, 1948, 0.8402, 'Aerospace', '{"lat": 45.501689, "lon": -73.567256, "city": "Montréal", "country": "CA"}', 'Quantdata s.r.o.', 'research_job', false, 62838113.23, 87.4, '[{"url": "https://quantdata9857.de/about", "weight": 0.75}, {"url": "https://register.example/1502738113", "weight": 0.25}]', '2026-11-22 03:44:54+00', 'A supplier to online shops and game developers 🎮: hiring slowed in the last two quarters, and its planning platform cuts lead times by a third.', '["PostgreSQL", "Shopify", "Django"]', '2026-11-22 03:46:33+00', 'https://www.quantdata9857.de/', NULL, NULL, NULL),
	(1002, 1016, 'completed', '2026-11-27 04:48:46.297+00', '2026-11-27 04:48:55.778+00', 1795754935778086, '2026-11-27 04:48:55.778+00', '\x764bdc377548feca2b3ba9e46161ed6f', '{"url": "https://www.verdepharma9608.ai/", "name": "Verdepharma Ltd", "error": null, "score": 3.74, "domain": "verdepharma9608.ai", "job_id": 1016, "object": "research_job", "public": false, "status": "completed", "country": "FI", "founded": 1988, "sources": [{"url": "https://verdepharma9608.ai/about", "weight": 0.75}, {"url": "https://register.example/4262664383", "weight": 0.25}], "summary": "A supplier to municipalities and hospitals across Europe: its planning platform cuts lead times by a third, and a patented process keeps waste below two percent.", "contacts": [{"name": null, "role": "CEO", "email": "ceo@verdepharma9608.ai"}, {"name": "A. Blue", "role": "CFO", "email": null}], "industry": "Medical Devices", "location": {"lat": 60.20549, "lon": 24.655899, "city": "Espoo", "country": "FI"}, "created_at": "2026-11-23T19:45:32Z", "started_at": "2026-11-23T19:45:45Z", "updated_at": "2026-11-23T19:46:32Z", "document_id": 1374848846, "growth_rate": 0.693, "revenue_usd": 32764383.63, "completed_at": "2026-11-23T19:46:32Z", "technologies": ["Figma", "SAP", "Salesforce"], "employee_count": 11843}', NULL, 'verdepharma9608.ai', '2026-11-23 19:46:32+00', '[{"name": null, "role": "CEO", "email": "ceo@verdepharma9608.ai"}, {"name": "A. Blue", "role": "CFO", "email": null}]', 'FI', '2026-11-23 19:45:32+00', 1374848846, 'verdepharma9608.ai', 11843, NULL, 1988, 0.693, 'Medical Devices', '{"lat": 60.20549, "lon": 24.655899, "city": "Espoo", "country": "FI"}', 'Verdepharma Ltd', 'research_job', false, 32764383.63, 3.74, '[{"url": "https://verdepharma9608.ai/about", "weight": 0.75}, {"url": "https://register.example/4262664383", "weight": 0.25}]', '2026-11-23 19:45:45+00', 'A supplier to municipalities and hospitals across Europe: its planning platform cuts lead times by a third, and a patented process keeps waste below two percent.', '["Figma", "SAP", "Salesforce"]', '2026-11-23 19:46:32+00', 'https://www.verdepharma9608.ai/', NULL, NULL, NULL),
	(1001, 1005, 'completed', '2026-11-27 04:48:42.681+00', '2026-11-27 04:48:42.681+00', 1795754922681871, NULL, '\xdfe55fee65e3aebc6aa1c9f735c2118c', '{"url": "https://www.rioenergie74.co.uk/", "name": "Rioenergie GmbH", "error": null, "score": 23.17, "domain": "rioenergie74.co.uk", "job_id": 1005, "object": "research_job", "public": false, "status": "completed", "country": "FI", "founded": 1906, "sources": [{"url": "https://rioenergie74.co.uk/about", "weight": 0.75}, {"url": "https://register.example/1303862416", "weight": 0.25}], "summary": "A supplier to ship owners and airlines: the founders still own the majority, and it grew through four acquisitions since 2019.", "contacts": [{"name": null, "role": "CEO", "email": "ceo@rioenergie74.co.uk"}, {"name": "A. Nova", "role": "CFO", "email": null}], "industry": "Media", "location": {"lat": 60.20549, "lon": 24.655899, "city": "Espoo", "country": "FI"}, "created_at": "2026-11-21T04:44:26Z", "started_at": "2026-11-21T04:44:42Z", "updated_at": "2026-11-21T04:46:05Z", "document_id": 1014804039, "growth_rate": -0.2816, "revenue_usd": 43962416.26, "completed_at": "2026-11-21T04:46:05Z", "technologies": ["React", "SAP", "Shopify"], "employee_count": null}', NULL, 'rioenergie74.co.uk', '2026-11-21 04:46:05+00', '[{"name": null, "role": "CEO", "email": "ceo@rioenergie74.co.uk"}, {"name": "A. Nova", "role": "CFO", "email": null}]', 'FI', '2026-11-21 04:44:26+00', 1014804039, 'rioenergie74.co.uk', NULL, NULL, 1906, -0.2816, 'Media', '{"lat": 60.20549, "lon": 24.655899, "city": "Espoo", "country": "FI"}', 'Rioenergie GmbH', 'research_job', false, 43962416.26, 23.17, '[{"url": "https://rioenergie74.co.uk/about", "weight": 0.75}, {"url": "https://register.example/1303862416", "weight": 0.25}]', '2026-11-21 04:44:42+00', 'A supplier to ship owners and airlines: the founders still own the majority, and it grew through four acquisitions since 2019.', '["React", "SAP", "Shopify"]', '2026-11-21 04:46:05+00', 'https://www.rioenergie74.co.uk/', NULL, NULL, NULL),
	(1001, 1002, 'completed', '2026-11-27 04:48:42.681+00', '2026-11-27 04:48:42.681+00', 1795754922681872, NULL, '\x802e0b140f850fe2d9a8b30078dca263', '{"url": "https://www.riomotors6465.de/", "name": "Riomotors Group", "error": null, "score": 15.28, "domain": "riomotors6465.de", "job_id": 1002, "object": "research_job", "public": false, "status": "completed", "country": "ES", "founded": 1951, "sources": [{"url": "https://riomotors6465.de/about", "weight": 0.75}, {"url": "https://register.example/1827049696", "weight": 0.25}], "summary": "A supplier to insurers and ship owners: its planning platform cuts lead times by a third, and it grew through four acquisitions since 2019.", "contacts": [{"name": null, "role": "CEO", "email": "ceo@riomotors6465.de"}, {"name": "A. Verde", "role": "CFO", "email": null}], "industry": "Software", "location": {"lat": 36.527061, "lon": -6.288596, "city": "Cádiz", "country": "ES"}, "created_at": "2026-11-20T03:44:04Z", "started_at": "2026-11-20T03:44:06Z", "updated_at": "2026-11-20T03:45:38Z", "document_id": 1768978663, "growth_rate": -0.2420, "revenue_usd": 27149696.26, "completed_at": "2026-11-20T03:45:38Z", "technologies": ["HubSpot", "Salesforce", "SAP"], "employee_count": null}', NULL, 'riomotors6465.de', '2026-11-20 03:45:38+00', '[{"name": null, "role": "CEO", "email": "ceo@riomotors6465.de"}, {"name": "A. Verde", "role": "CFO", "email": null}]', 'ES', '2026-11-20 03:44:04+00', 1768978663, 'riomotors6465.de', NULL, NULL, 1951, -0.2420, 'Software', '{"lat": 36.527061, "lon": -6.288596, "city": "Cádiz", "country": "ES"}', 'Riomotors Group', 'research_job', false, 27149696.26, 15.28, '[{"url": "https://riomotors6465.de/about", "weight": 0.75}, {"url": "https://register.example/1827049696", "weight": 0.25}]', '2026-11-20 03:44:06+00', 'A supplier to insurers and ship owners: its planning platform cuts lead times by a third, and it grew through four acquisitions since 2019.', '["HubSpot", "Salesforce", "SAP"]', '2026-11-20 03:45:38+00', 'https://www.riomotors6465.de/', NULL, NULL, NULL),
	(1002, 1034, 'completed', '2026-11-27 04:48:46.297+00', '2026-11-27 04:48:46.297+00', 1795754926297457, NULL, '\x5d595b2e1b1c729c10eac2f3143ba1f5', '{"url": "https://www.nordpay1812.io/", "name": "Nordpay GmbH", "error": null, "score": 90.46, "domain": "nordpay1812.io", "job_id": 1034, "object": "research_job", "public": false, "status": "completed", "country": "JP", "founded": 1916, "sources": [{"url": "https://nordpay1812.io/about", "weight": 0.75}, {"url": "https://register.example/4026834431", "weight": 0.25}], "summary": "A supplier to game developers 🎮 and ship owners: customers praise the onboarding “within a day”, and service contracts make up most of the revenue.", "contacts": [{"name": null, "role": "CEO", "email": "ceo@nordpay1812.io"}, {"name": "A. Nord", "role": "CFO", "email": null}], "industry": "Agriculture", "location": {"lat": 34.693738, "lon": 135.502165, "city": "大阪", "country": "JP"}, "created_at": "2026-11-26T03:46:49Z", "started_at": "2026-11-26T03:46:51Z", "updated_at": "2026-11-26T03:48:36Z", "document_id": 1790814880, "growth_rate": 0.7155, "revenue_usd": 66934431.81, "completed_at": "2026-11-26T03:48:36Z", "technologies": ["Figma", "Kafka", "Salesforce"], "employee_count": 21739}', NULL, 'nordpay1812.io', '2026-11-26 03:48:36+00', '[{"name": null, "role": "CEO", "email": "ceo@nordpay1812.io"}, {"name": "A. Nord", "role": "CFO", "email": null}]', 'JP', '2026-11-26 03:46:49+00', 1790814880, 'nordpay1812.io', 21739, NULL, 1916, 0.7155, 'Agriculture', '{"lat": 34.693738, "lon": 135.502165, "city": "大阪", "country": "JP"}', 'Nordpay GmbH', 'research_job', false, 66934431.81, 90.46, '[{"url": "https://nordpay1812.io/about", "weight": 0.75}, {"url": "https://register.example/4026834431", "weight": 0.25}]', '2026-11-26 03:46:51+00', 'A supplier to game developers 🎮 and ship owners: customers praise the onboarding “within a day”, and service contracts make up most of the revenue.', '["Figma", "Kafka", "Salesforce"]', '2026-11-26 03:48:36+00', 'https://www.nordpay1812.io/', NULL, NULL, NULL),
	(1002, 1029, 'failed', '2026-11-27 04:48:46.297+00', '2026-11-27 04:48:46.297+00', 1795754926297458, NULL, '\xb3f1c92aec0ba18cd44036b2e19d1a8b', '{"url": "https://www.solardata3893.nl/", "name": "Solardata 株式会社", "error": {"code": "site_unreachable", "message": "No page could be read", "retryable": true}, "score": null, "domain": "solardata3893.nl", "job_id": 1029, "object": "research_job", "status": "failed", "country": "BR", "industry": "Chemicals", "location": {"lat": -23.55052, "lon": -46.633308, "city": "São Paulo", "country": "BR"}, "created_at": "2026-11-25T16:46:26Z", "started_at": "2026-11-25T16:46:43Z", "updated_at": "2026-11-25T16:48:23Z", "document_id": null, "completed_at": "2026-11-25T16:48:23Z", "employee_count": 4557}', NULL, 'solardata3893.nl', '2026-11-25 16:48:23+00', NULL, 'BR', '2026-11-25 16:46:26+00', NULL, 'solardata3893.nl', 4557, '{"code": "site_unreachable", "message": "No page could be read", "retryable": true}', NULL, NULL, 'Chemicals', '{"lat": -23.55052, "lon": -46.633308, "city": "São Paulo", "country": "BR"}', 'Solardata 株式会社', 'research_job', NULL, NULL, NULL, NULL, '2026-11-25 16:46:43+00', NULL, NULL, '2026-11-25 16:48:23+00', 'https://www.solardata3893.nl/', NULL, NULL, NULL),
	(1002, 1024, 'failed', '2026-11-27 04:48:46.297+00', '2026-11-27 04:48:46.297+00', 1795754926297459, NULL, '\xa6ee702616451edd2b79ea1ff6c4c4e0', '{"url": "https://www.quantrobotics8154.fr/", "name": "Quantrobotics Oy", "error": {"code": "site_unreachable", "message": "No page could be read", "retryable": true}, "score": null, "domain": "quantrobotics8154.fr", "job_id": 1024, "object": "research_job", "status": "failed", "country": "FI", "industry": "Software", "location": {"lat": 60.20549, "lon": 24.655899, "city": "Espoo", "country": "FI"}, "created_at": "2026-11-25T03:46:04Z", "started_at": "2026-11-25T03:46:23Z", "updated_at": "2026-11-25T03:46:51Z", "document_id": null, "completed_at": "2026-11-25T03:46:51Z", "employee_count": 1753}', NULL, 'quantrobotics8154.fr', '2026-11-25 03:46:51+00', NULL, 'FI', '2026-11-25 03:46:04+00', NULL, 'quantrobotics8154.fr', 1753, '{"code": "site_unreachable", "message": "No page could be read", "retryable": true}', NULL, NULL, 'Software', '{"lat": 60.20549, "lon": 24.655899, "city": "Espoo", "country": "FI"}', 'Quantrobotics Oy', 'research_job', NULL, NULL, NULL, NULL, '2026-11-25 03:46:23+00', NULL, NULL, '2026-11-25 03:46:51+00', 'https://www.quantrobotics8154.fr/', NULL, NULL, NULL),
	(1002, 1021, 'completed', '2026-11-27 04:48:46.297+00', '2026-11-27 04:48:46.297+00', 1795754926297460, NULL, '\x49b04aa8fe3ef4ac737de16f6a532592', '{"url": "https://www.solartextil962.de/", "name": "Solartextil Ltd", "error": null, "score": 64.81, "domain": "solartextil962.de", "job_id": 1021, "object": "research_job", "public": false, "status": "completed", "country": "CZ", "founded": 1917, "sources": [{"url": "https://solartextil962.de/about", "weight": 0.75}, {"url": "https://register.example/2584358082", "weight": 0.25}], "summary": "A supplier to online shops and retail chains: the founders still own the majority, and customers praise the onboarding “within a day”.", "contacts": [{"name": null, "role": "CEO", "email": "ceo@solartextil962.de"}, {"name": "A. Nord", "role": "CFO", "email": null}], "industry": "Chemicals", "location": {"lat": 49.747741, "lon": 13.377525, "city": "Plzeň", "country": "CZ"}, "created_at": "2026-11-24T12:45:44Z", "started_at": "2026-11-24T12:46:01Z", "updated_at": "2026-11-24T12:47:54Z", "document_id": 3232012260, "growth_rate": -0.6544, "revenue_usd": 64458082.82, "completed_at": "2026-11-24T12:47:54Z", "technologies": ["PostgreSQL", "Salesforce", "Snowflake"], "employee_count": 3291}', NULL, 'solartextil962.de', '2026-11-24 12:47:54+00', '[{"name": null, "role": "CEO", "email": "ceo@solartextil962.de"}, {"name": "A. Nord", "role": "CFO", "email": null}]', 'CZ', '2026-11-24 12:45:44+00', 3232012260, 'solartextil962.de', 3291, NULL, 1917, -0.6544, 'Chemicals', '{"lat": 49.747741, "lon": 13.377525, "city": "Plzeň", "country": "CZ"}', 'Solartextil Ltd', 'research_job', false, 64458082.82, 64.81, '[{"url": "https://solartextil962.de/about", "weight": 0.75}, {"url": "https://register.example/2584358082", "weight": 0.25}]', '2026-11-24 12:46:01+00', 'A supplier to online shops and retail chains: the founders still own the majority, and customers praise the onboarding “within a day”.', '["PostgreSQL", "Salesforce", "Snowflake"]', '2026-11-24 12:47:54+00', 'https://www.solartextil962.de/', NULL, NULL, NULL),
	(1002, 1014, 'completed', '2026-11-27 04:48:46.297+00', '2026-11-27 04:48:46.297+00', 1795754926297462, NULL, '\x98a936661b5b241faef5dc59e47910f1', '{"url": "https://www.skodatech6130.fr/", "name": "Škodatech B.V.", "error": null, "score": 86.61, "domain": "skodatech6130.fr", "job_id": 1014, "object": "research_job", "public": false, "status": "completed", "country": "JP", "founded": 1965, "sources": [{"url": "https://skodatech6130.fr/about", "weight": 0.75}, {"url": "https://register.example/4278385110", "weight": 0.25}], "summary": "A supplier to grain traders and game developers 🎮: a patented process keeps waste below two percent, and a patented process keeps waste below two percent.", "contacts": [{"name": null, "role": "CEO", "email": "ceo@skodatech6130.fr"}, {"name": "A. Zenit", "role": "CFO", "email": null}], "industry": "Software", "location": {"lat": 34.693738, "lon": 135.502165, "city": "大阪", "country": "JP"}, "created_at": "2026-11-23T00:45:04Z", "started_at": "2026-11-23T00:45:06Z", "updated_at": "2026-11-23T00:47:20Z", "document_id": 3736142605, "growth_rate": -0.2992, "revenue_usd": 48485110.40, "completed_at": "2026-11-23T00:47:20Z", "technologies": ["Snowflake", "Kafka", "Figma"], "employee_count": 5051}', NULL, 'skodatech6130.fr', '2026-11-23 00:47:20+00', '[{"name": null, "role": "CEO", "email": "ceo@skodatech6130.fr"}, {"name": "A. Zenit", "role": "CFO", "email": null}]', 'JP', '2026-11-23 00:45:04+00', 3736142605, 'skodatech6130.fr', 5051, NULL, 1965, -0.2992, 'Software', '{"lat": 34.693738, "lon": 135.502165, "city": "大阪", "country": "JP"}', 'Škodatech B.V.', 'research_job', false, 48485110.40, 86.61, '[{"url": "https://skodatech6130.fr/about", "weight": 0.75}, {"url": "https://register.example/4278385110", "weight": 0.25}]', '2026-11-23 00:45:06+00', 'A supplier to grain traders and game developers 🎮: a patented process keeps waste below two percent, and a patented process keeps waste below two percent.', '["Snowflake", "Kafka", "Figma"]', '2026-11-23 00:47:20+00', 'https://www.skodatech6130.fr/', NULL, NULL, NULL),
	(1002, 1008, 'completed', '2026-11-27 04:48:46.297+00', '2026-11-27 04:48:46.297+00', 1795754926297463, NULL, '\xb0f0a12ccd881c9c30eeae9a0048950b', '{"url": "https://www.polarfoods3028.de/", "name": "Polarfoods Ltd", "error": null, "score": 61.93, "domain": "polarfoods3028.de", "job_id": 1008, "object": "research_job", "public": true, "status": "completed", "country": "JP", "founded": 1907, "sources": [{"url": "https://polarfoods3028.de/about", "weight": 0.75}, {"url": "https://register.example/4146403382", "weight": 0.25}], "summary": "A supplier to public utilities and hospitals across Europe: its planning platform cuts lead times by a third, and service contracts make up most of the revenue.", "contacts": [{"name": null, "role": "CEO", "email": "ceo@polarfoods3028.de"}, {"name": "A. Hanse", "role": "CFO", "email": null}], "industry": "Logistics", "location": {"lat": 34.693738, "lon": 135.502165, "city": "大阪", "country": "JP"}, "created_at": "2026-11-22T03:44:48Z", "started_at": "2026-11-22T03:44:59Z", "updated_at": "2026-11-22T03:46:51Z", "document_id": 1396872623, "growth_rate": -0.8064, "revenue_usd": 6503382.72, "completed_at": "2026-11-22T03:46:51Z", "technologies": ["Elixir", "PostgreSQL", "Salesforce"], "employee_count": 215}', NULL, 'polarfoods3028.de', '2026-11-22 03:46:51+00', '[{"name": null, "role": "CEO", "email": "ceo@polarfoods3028.de"}, {"name": "A. Hanse", "role": "CFO", "email": null}]', 'JP', '2026-11-22 03:44:48+00', 1396872623, 'polarfoods3028.de', 215, NULL, 1907, -0.8064, 'Logistics', '{"lat": 34.693738, "lon": 135.502165, "city": "大阪", "country": "JP"}', 'Polarfoods Ltd', 'research_job', true, 6503382.72, 61.93, '[{"url": "https://polarfoods3028.de/about", "weight": 0.75}, {"url": "https://register.example/4146403382", "weight": 0.25}]', '2026-11-22 03:44:59+00', 'A supplier to public utilities and hospitals across Europe: its planning platform cuts lead times by a third, and service contracts make up most of the revenue.', '["Elixir", "PostgreSQL", "Salesforce"]', '2026-11-22 03:46:51+00', 'https://www.polarfoods3028.de/', NULL, NULL, NULL),
	(1002, 1006, 'failed', '2026-11-27 04:48:46.297+00', '2026-11-27 04:48:46.297+00', 1795754926297464, NULL, '\x4f8c6ecbbed7143c07fe7ccb22205fb7', '{"url": "https://www.zenittech7539.de/", "name": "Zenittech Ltd", "error": {"code": "site_unreachable", "message": "No page could be read", "retryable": true}, "score": null, "domain": "zenittech7539.de", "job_id": 1006, "object": "research_job", "status": "failed", "country": "SE", "industry": "Chemicals", "location": {"lat": 55.604981, "lon": 13.003822, "city": "Malmö", "country": "SE"}, "created_at": "2026-11-21T04:44:29Z", "started_at": "2026-11-21T04:44:35Z", "updated_at": "2026-11-21T04:45:14Z", "document_id": null, "completed_at": "2026-11-21T04:45:14Z", "employee_count": 10195}', NULL, 'zenittech7539.de', '2026-11-21 04:45:14+00', NULL, 'SE', '2026-11-21 04:44:29+00', NULL, 'zenittech7539.de', 10195, '{"code": "site_unreachable", "message": "No page could be read", "retryable": true}', NULL, NULL, 'Chemicals', '{"lat": 55.604981, "lon": 13.003822, "city": "Malmö", "country": "SE"}', 'Zenittech Ltd', 'research_job', NULL, NULL, NULL, NULL, '2026-11-21 04:44:35+00', NULL, NULL, '2026-11-21 04:45:14+00', 'https://www.zenittech7539.de/', NULL, NULL, NULL),
	(1002, 1001, 'completed', '2026-11-27 04:48:46.297+00', '2026-11-27 04:48:46.297+00', 1795754926297465, NULL, '\xcb1adce398ae8ba35e8df3790d166acd', '{"url": "https://www.kronalabs7997.nl/", "name": "Kronalabs S.A.", "error": null, "score": 86.38, "domain": "kronalabs7997.nl", "job_id": 1001, "object": "research_job", "public": false, "status": "completed", "country": "FR", "founded": 1964, "sources": [{"url": "https://kronalabs7997.nl/about", "weight": 0.75}, {"url": "https://register.example/1386717914", "weight": 0.25}], "summary": "A supplier to grain traders and film studios: service contracts make up most of the revenue, and it grew through four acquisitions since 2019.", "contacts": [{"name": null, "role": "CEO", "email": "ceo@kronalabs7997.nl"}, {"name": "A. Lumen", "role": "CFO", "email": null}], "industry": "Medical Devices", "location": {"lat": 47.902964, "lon": 1.909251, "city": "Orléans", "country": "FR"}, "created_at": "2026-11-20T03:44:11Z", "started_at": "2026-11-20T03:44:26Z", "updated_at": "2026-11-20T03:45:13Z", "document_id": 3959858808, "growth_rate": -0.6600, "revenue_usd": 36817914.84, "completed_at": "2026-11-20T03:45:13Z", "technologies": ["Go", "Shopify", "React"], "employee_count": 1731}', NULL, 'kronalabs7997.nl', '2026-11-20 03:45:13+00', '[{"name": null, "role": "CEO", "email": "ceo@kronalabs7997.nl"}, {"name": "A. Lumen", "role": "CFO", "email": null}]', 'FR', '2026-11-20 03:44:11+00', 3959858808, 'kronalabs7997.nl', 1731, NULL, 1964, -0.6600, 'Medical Devices', '{"lat": 47.902964, "lon": 1.909251, "city": "Orléans", "country": "FR"}', 'Kronalabs S.A.', 'research_job', false, 36817914.84, 86.38, '[{"url": "https://kronalabs7997.nl/about", "weight": 0.75}, {"url": "https://register.example/1386717914", "weight": 0.25}]', '2026-11-20 03:44:26+00', 'A supplier to grain traders and film studios: service contracts make up most of the revenue, and it grew through four acquisitions since 2019.', '["Go", "Shopify", "React"]', '2026-11-20 03:45:13+00', 'https://www.kronalabs7997.nl/', NULL, NULL, NULL),
	(1001, 1041, 'completed', '2026-11-27 04:48:42.681+00', '2026-11-27 04:48:50.118+00', 1795754930118190, NULL, '\xab97de04b8646ac42d491cdf8099c67a', '{"url": "https://www.junologic8000.ai/", "name": "Junologic 株式会社", "note": "first 1041", "error": null, "score": 2.14, "domain": "junologic8000.ai", "job_id": 1041, "object": "research_job", "public": false, "status": "completed", "country": "FI", "founded": 1929, "sources": [{"url": "https://junologic8000.ai/about", "weight": 0.75}, {"url": "https://register.example/2885920014", "weight": 0.25}], "summary": "A supplier to mid-sized manufacturers and film studios: customers praise the onboarding “within a day”, and a patented process keeps waste below two percent.", "contacts": [{"name": null, "role": "CEO", "email": "ceo@junologic8000.ai"}, {"name": "A. Nord", "role": "CFO", "email": null}], "industry": "Insurance", "location": {"lat": 60.20549, "lon": 24.655899, "city": "Espoo", "country": "FI"}, "created_at": "2026-11-26T19:47:24Z", "started_at": "2026-11-26T19:47:30Z", "updated_at": "2026-11-27T04:48:47Z", "document_id": 165770583, "growth_rate": -0.8635, "revenue_usd": 6020014.94, "completed_at": "2026-11-26T19:49:19Z", "technologies": ["Salesforce", "React", "React"], "employee_count": 15811}', NULL, 'junologic8000.ai', '2026-11-26 19:49:19+00', '[{"name": null, "role": "CEO", "email": "ceo@junologic8000.ai"}, {"name": "A. Nord", "role": "CFO", "email": null}]', 'FI', '2026-11-26 19:47:24+00', 165770583, 'junologic8000.ai', 15811, NULL, 1929, -0.8635, 'Insurance', '{"lat": 60.20549, "lon": 24.655899, "city": "Espoo", "country": "FI"}', 'Junologic 株式会社', 'research_job', false, 6020014.94, 2.14, '[{"url": "https://junologic8000.ai/about", "weight": 0.75}, {"url": "https://register.example/2885920014", "weight": 0.25}]', '2026-11-26 19:47:30+00', 'A supplier to mid-sized manufacturers and film studios: customers praise the onboarding “within a day”, and a patented process keeps waste below two percent.', '["Salesforce", "React", "React"]', '2026-11-27 04:48:47+00', 'https://www.junologic8000.ai/', NULL, 'first 1041', NULL),
	(1001, 1037, 'completed', '2026-11-27 04:48:42.681+00', '2026-11-27 04:48:50.118+00', 1795754930118191, NULL, '\x46fceebdd3f8b33603945c9037cc4b1d', '{"url": "https://www.keplerwind5165.jp/", "name": "Keplerwind & Söhne KG", "note": "first 1037", "error": null, "score": 2.58, "domain": "keplerwind5165.jp", "job_id": 1037, "object": "research_job", "public": false, "status": "completed", "country": "ES", "founded": 1959, "sources": [{"url": "https://keplerwind5165.jp/about", "weight": 0.75}, {"url": "https://register.example/2271498459", "weight": 0.25}], "summary": "A supplier to grain traders and airlines: its planning platform cuts lead times by a third, and service contracts make up most of the revenue.", "contacts": [{"name": null, "role": "CEO", "email": "ceo@keplerwind5165.jp"}, {"name": "A. Iris", "role": "CFO", "email": null}], "industry": "Software", "location": {"lat": 36.527061, "lon": -6.288596, "city": "Cádiz", "country": "ES"}, "created_at": "2026-11-26T12:47:06Z", "started_at": "2026-11-26T12:47:09Z", "updated_at": "2026-11-27T04:48:47Z", "document_id": 108383106, "growth_rate": 0.5632, "revenue_usd": 21598459.79, "completed_at": "2026-11-26T12:48:20Z", "technologies": ["Go", "Salesforce", "Rust"], "employee_count": 3307}', NULL, 'keplerwind5165.jp', '2026-11-26 12:48:20+00', '[{"name": null, "role": "CEO", "email": "ceo@keplerwind5165.jp"}, {"name": "A. Iris", "role": "CFO", "email": null}]', 'ES', '2026-11-26 12:47:06+00', 108383106, 'keplerwind5165.jp', 3307, NULL, 1959, 0.5632, 'Software', '{"lat": 36.527061, "lon": -6.288596, "city": "Cádiz", "country": "ES"}', 'Keplerwind & Söhne KG', 'research_job', false, 21598459.79, 2.58, '[{"url": "https://keplerwind5165.jp/about", "weight": 0.75}, {"url": "https://register.example/2271498459", "weight": 0.25}]', '2026-11-26 12:47:09+00', 'A supplier to grain traders and airlines: its planning platform cuts lead times by a third, and service contracts make up most of the revenue.', '["Go", "Salesforce", "Rust"]', '2026-11-27 04:48:47+00', 'https://www.keplerwind5165.jp/', NULL, 'first 1037', NULL),
	(1001, 8, 'odd', '2026-11-27 04:48:50.118+00', '2026-11-27 04:48:50.118+00', 1795754930118192, NULL, '\x2fb806529cb789564ca300bb3ad94500', '{"Note": "a", "cost": 12345678901234567890.125, "job_id": 8, "status": "odd"}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 12345678901234567890.125, NULL, 'a'),
	(1001, 1017, 'completed', '2026-11-27 04:48:42.681+00', '2026-11-27 04:48:51.219+00', 1795754931219799, '2026-11-27 04:48:51.219+00', '\x7ee5fd26ba411f1a7e86d4144435506f', '{"url": "https://www.ubermarine1402.fr/", "name": "Übermarine S.A.", "error": null, "score": 28.89, "domain": "ubermarine1402.fr", "job_id": 1017, "object": "research_job", "public": false, "status": "completed", "country": "SE", "founded": 1891, "sources": [{"url": "https://ubermarine1402.fr/about", "weight": 0.75}, {"url": "https://register.example/2062528921", "weight": 0.25}], "summary": "A supplier to ship owners and municipalities: a patented process keeps waste below two percent, and a new plant opens next spring\nin the second region.", "contacts": [{"name": null, "role": "CEO", "email": "ceo@ubermarine1402.fr"}, {"name": "A. Verde", "role": "CFO", "email": null}], "industry": "Textiles", "location": {"lat": 55.604981, "lon": 13.003822, "city": "Malmö", "country": "SE"}, "created_at": "2026-11-23T19:45:28Z", "started_at": "2026-11-23T19:45:46Z", "updated_at": "2026-11-23T19:47:46Z", "document_id": 722117763, "growth_rate": 0.5195, "revenue_usd": 82628921.11, "completed_at": "2026-11-23T19:47:46Z", "technologies": ["Go", "Go", "Go"], "employee_count": 553}', NULL, 'ubermarine1402.fr', '2026-11-23 19:47:46+00', '[{"name": null, "role": "CEO", "email": "ceo@ubermarine1402.fr"}, {"name": "A. Verde", "role": "CFO", "email": null}]', 'SE', '2026-11-23 19:45:28+00', 722117763, 'ubermarine1402.fr', 553, NULL, 1891, 0.5195, 'Textiles', '{"lat": 55.604981, "lon": 13.003822, "city": "Malmö", "country": "SE"}', 'Übermarine S.A.', 'research_job', false, 82628921.11, 28.89, '[{"url": "https://ubermarine1402.fr/about", "weight": 0.75}, {"url": "https://register.example/2062528921", "weight": 0.25}]', '2026-11-23 19:45:46+00', 'A supplier to ship owners and municipalities: a patented process keeps waste below two percent, and a new plant opens next spring
in the second region.', '["Go", "Go", "Go"]', '2026-11-23 19:47:46+00', 'https://www.ubermarine1402.fr/', NULL, NULL, NULL),
	(1002, 1040, 'completed', '2026-11-27 04:48:46.297+00', '2026-11-27 04:48:54.202+00', 1795754934202212, NULL, '\x29fea433c1acead9e1f5f59221639f2f', '{"url": "https://www.emberenergie9779.fi/", "name": "Emberenergie B.V.", "note": "first 1040", "error": null, "score": 70.68, "domain": "emberenergie9779.fi", "job_id": 1040, "object": "research_job", "public": false, "status": "completed", "country": "GB", "founded": 1897, "sources": [{"url": "https://emberenergie9779.fi/about", "weight": 0.75}, {"url": "https://register.example/3431035402", "weight": 0.25}], "summary": "A supplier to mid-sized manufacturers and fintech start-ups: service contracts make up most of the revenue, and its planning platform cuts lead times by a third.", "contacts": [{"name": null, "role": "CEO", "email": "ceo@emberenergie9779.fi"}, {"name": "A. Søren", "role": "CFO", "email": null}], "industry": "Aerospace", "location": {"lat": 53.800755, "lon": -1.549077, "city": "Leeds", "country": "GB"}, "created_at": "2026-11-26T19:47:28Z", "started_at": "2026-11-26T19:47:41Z", "updated_at": "2026-11-27T04:48:47Z", "document_id": 1389629003, "growth_rate": -0.8540, "revenue_usd": 11135402.62, "completed_at": "2026-11-26T19:48:10Z", "technologies": ["SAP", "HubSpot", "Django"], "employee_count": null}', NULL, 'emberenergie9779.fi', '2026-11-26 19:48:10+00', '[{"name": null, "role": "CEO", "email": "ceo@emberenergie9779.fi"}, {"name": "A. Søren", "role": "CFO", "email": null}]', 'GB', '2026-11-26 19:47:28+00', 1389629003, 'emberenergie9779.fi', NULL, NULL, 1897, -0.8540, 'Aerospace', '{"lat": 53.800755, "lon": -1.549077, "city": "Leeds", "country": "GB"}', 'Emberenergie B.V.', 'research_job', false, 11135402.62, 70.68, '[{"url": "https://emberenergie9779.fi/about", "weight": 0.75}, {"url": "https://register.example/3431035402", "weight": 0.25}]', '2026-11-26 19:47:41+00', 'A supplier to mid-sized manufacturers and fintech start-ups: service contracts make up most of the revenue, and its planning platform cuts lead times by a third.', '["SAP", "HubSpot", "Django"]', '2026-11-27 04:48:47+00', 'https://www.emberenergie9779.fi/', NULL, 'first 1040', NULL),
	(1002, 1052, 'failed', '2026-11-27 04:48:46.297+00', '2026-11-27 04:49:32.947+00', 1795754972947841, NULL, '\x88c183a6d83542e0630b27d81933baa9', '{"url": "https://www.keplermarine96.fi/", "name": "Keplermarine 株式会社", "note": "second 1052", "error": null, "score": null, "domain": "keplermarine96.fi", "job_id": 1052, "object": "research_job", "status": "failed", "country": "IN", "industry": "Food & Beverage", "location": {"lat": 18.52043, "lon": 73.856744, "city": "Pune", "country": "IN"}, "created_at": "2026-11-27T04:48:29Z", "started_at": "2026-11-27T04:48:30Z", "updated_at": "2026-11-27T04:49:32Z", "document_id": null, "completed_at": null, "employee_count": 3183}', NULL, 'keplermarine96.fi', NULL, NULL, 'IN', '2026-11-27 04:48:29+00', NULL, 'keplermarine96.fi', 3183, NULL, NULL, NULL, 'Food & Beverage', '{"lat": 18.52043, "lon": 73.856744, "city": "Pune", "country": "IN"}', 'Keplermarine 株式会社', 'research_job', NULL, NULL, NULL, NULL, '2026-11-27 04:48:30+00', NULL, NULL, '2026-11-27 04:49:32+00', 'https://www.keplermarine96.fi/', NULL, 'second 1052', NULL),
	(1002, 1038, 'completed', '2026-11-27 04:48:46.297+00', '2026-11-27 04:48:54.202+00', 1795754934202213, NULL, '\xb666f1b54183a7834b72437ea8164401', '{"url": "https://www.quarzcare7668.fr/", "name": "Quarzcare", "note": "first 1038", "error": null, "score": 81.34, "domain": "quarzcare7668.fr", "job_id": 1038, "object": "research_job", "public": true, "status": "completed", "country": "KR", "founded": 1962, "sources": [{"url": "https://quarzcare7668.fr/about", "weight": 0.75}, {"url": "https://register.example/321774057", "weight": 0.25}], "summary": "A supplier to insurers and insurers: a patented process keeps waste below two percent, and hiring slowed in the last two quarters.", "contacts": [{"name": null, "role": "CEO", "email": "ceo@quarzcare7668.fr"}, {"name": "A. Hanse", "role": "CFO", "email": null}], "industry": "Automotive", "location": {"lat": 35.179554, "lon": 129.075642, "city": "부산", "country": "KR"}, "created_at": "2026-11-26T12:47:06Z", "started_at": "2026-11-26T12:47:18Z", "updated_at": "2026-11-27T04:48:47Z", "document_id": 266687038, "growth_rate": 0.6238, "revenue_usd": 51874057.37, "completed_at": "2026-11-26T12:49:02Z", "technologies": ["Rust", "Kafka", "Airflow"], "employee_count": 11655}', NULL, 'quarzcare7668.fr', '2026-11-26 12:49:02+00', '[{"name": null, "role": "CEO", "email": "ceo@quarzcare7668.fr"}, {"name": "A. Hanse", "role": "CFO", "email": null}]', 'KR', '2026-11-26 12:47:06+00', 266687038, 'quarzcare7668.fr', 11655, NULL, 1962, 0.6238, 'Automotive', '{"lat": 35.179554, "lon": 129.075642, "city": "부산", "country": "KR"}', 'Quarzcare', 'research_job', true, 51874057.37, 81.34, '[{"url": "https://quarzcare7668.fr/about", "weight": 0.75}, {"url": "https://register.example/321774057", "weight": 0.25}]', '2026-11-26 12:47:18+00', 'A supplier to insurers and insurers: a patented process keeps waste below two percent, and hiring slowed in the last two quarters.', '["Rust", "Kafka", "Airflow"]', '2026-11-27 04:48:47+00', 'https://www.quarzcare7668.fr/', NULL, 'first 1038', NULL),
	(1002, 8, 'odd', '2026-11-27 04:48:54.202+00', '2026-11-27 04:48:54.202+00', 1795754934202214, NULL, '\x2fb806529cb789564ca300bb3ad94500', '{"Note": "a", "cost": 12345678901234567890.125, "job_id": 8, "status": "odd"}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 12345678901234567890.125, NULL, 'a'),
	(1001, 1048, 'failed', '2026-11-27 04:48:42.681+00', '2026-11-27 04:49:25.704+00', 1795754965704110, NULL, '\xc2ad074c8de4f51fab128a14b213b54d', '{"url": "https://www.mirobank1306.nl/", "name": "Miróbank B.V.", "note": "second 1048", "error": null, "score": 40.28, "domain": "mirobank1306.nl", "job_id": 1048, "object": "research_job", "public": false, "status": "failed", "country": "IN", "founded": 1977, "sources": [{"url": "https://mirobank1306.nl/about", "weight": 0.75}, {"url": "https://register.example/2807751282", "weight": 0.25}], "summary": "A supplier to fintech start-ups and insurers: service contracts make up most of the revenue, and customers praise the onboarding “within a day”.", "contacts": [{"name": null, "role": "CEO", "email": "ceo@mirobank1306.nl"}, {"name": "A. Falke", "role": "CFO", "email": null}], "industry": "Textiles", "location": {"lat": 18.52043, "lon": 73.856744, "city": "Pune", "country": "IN"}, "created_at": "2026-11-27T03:48:04Z", "started_at": "2026-11-27T03:48:13Z", "updated_at": "2026-11-27T04:49:24Z", "document_id": 2792622170, "growth_rate": -0.2086, "revenue_usd": 17851282.52, "completed_at": "2026-11-27T03:49:57Z", "technologies": ["Airflow", "Terraform", "Airflow"], "employee_count": null}', NULL, 'mirobank1306.nl', '2026-11-27 03:49:57+00', '[{"name": null, "role": "CEO", "email": "ceo@mirobank1306.nl"}, {"name": "A. Falke", "role": "CFO", "email": null}]', 'IN', '2026-11-27 03:48:04+00', 2792622170, 'mirobank1306.nl', NULL, NULL, 1977, -0.2086, 'Textiles', '{"lat": 18.52043, "lon": 73.856744, "city": "Pune", "country": "IN"}', 'Miróbank B.V.', 'research_job', false, 17851282.52, 40.28, '[{"url": "https://mirobank1306.nl/about", "weight": 0.75}, {"url": "https://register.example/2807751282", "weight": 0.25}]', '2026-11-27 03:48:13+00', 'A supplier to fintech start-ups and insurers: service contracts make up most of the revenue, and customers praise the onboarding “within a day”.', '["Airflow", "Terraform", "Airflow"]', '2026-11-27 04:49:24+00', 'https://www.mirobank1306.nl/', NULL, 'second 1048', NULL),
	(1001, 1046, 'failed', '2026-11-27 04:48:42.681+00', '2026-11-27 04:49:25.704+00', 1795754965704111, NULL, '\xae09f61a9e6da8751d74a0c0f0d5f0bf', '{"url": "https://www.falkeenergie315.net/", "name": "Falkeenergie", "note": "second 1046", "error": null, "score": 72.59, "domain": "falkeenergie315.net", "job_id": 1046, "object": "research_job", "public": true, "status": "failed", "country": "CA", "founded": 1937, "sources": [{"url": "https://falkeenergie315.net/about", "weight": 0.75}, {"url": "https://register.example/2869046642", "weight": 0.25}], "summary": "A supplier to fintech start-ups and retail chains: customers praise the onboarding “within a day”, and a patented process keeps waste below two percent.", "contacts": [{"name": null, "role": "CEO", "email": "ceo@falkeenergie315.net"}, {"name": "A. Zenit", "role": "CFO", "email": null}], "industry": "Food & Beverage", "location": {"lat": 45.501689, "lon": -73.567256, "city": "Montréal", "country": "CA"}, "created_at": "2026-11-27T00:47:49Z", "started_at": "2026-11-27T00:47:53Z", "updated_at": "2026-11-27T04:49:24Z", "document_id": 3707125333, "growth_rate": -0.3576, "revenue_usd": 79146642.12, "completed_at": "2026-11-27T00:48:25Z", "technologies": ["Airflow", "Snowflake", "Snowflake"], "employee_count": 8483}', NULL, 'falkeenergie315.net', '2026-11-27 00:48:25+00', '[{"name": null, "role": "CEO", "email": "ceo@falkeenergie315.net"}, {"name": "A. Zenit", "role": "CFO", "email": null}]', 'CA', '2026-11-27 00:47:49+00', 3707125333, 'falkeenergie315.net', 8483, NULL, 1937, -0.3576, 'Food & Beverage', '{"lat": 45.501689, "lon": -73.567256, "city": "Montréal", "country": "CA"}', 'Falkeenergie', 'research_job', true, 79146642.12, 72.59, '[{"url": "https://falkeenergie315.net/about", "weight": 0.75}, {"url": "https://register.example/2869046642", "weight": 0.25}]', '2026-11-27 00:47:53+00', 'A supplier to fintech start-ups and retail chains: customers praise the onboarding “within a day”, and a patented process keeps waste below two percent.', '["Airflow", "Snowflake", "Snowflake"]', '2026-11-27 04:49:24+00', 'https://www.falkeenergie315.net/', NULL, 'second 1046', NULL),
	(1001, 1058, 'queued', '2026-11-27 04:49:28.55+00', '2026-11-27 04:49:28.55+00', 1795754968550809, NULL, '\x2953052e64e62f0f430935964f5e99b6', '{"url": "https://www.kronamarine1150.eu/", "name": "Kronamarine s.r.o.", "error": null, "score": null, "domain": "kronamarine1150.eu", "job_id": 1058, "object": "research_job", "status": "queued", "country": "CA", "industry": "E-Commerce", "location": {"lat": 45.501689, "lon": -73.567256, "city": "Montréal", "country": "CA"}, "created_at": "2026-11-27T04:49:27Z", "started_at": null, "updated_at": "2026-11-27T04:49:27Z", "document_id": null, "completed_at": null, "employee_count": 68}', NULL, 'kronamarine1150.eu', NULL, NULL, 'CA', '2026-11-27 04:49:27+00', NULL, 'kronamarine1150.eu', 68, NULL, NULL, NULL, 'E-Commerce', '{"lat": 45.501689, "lon": -73.567256, "city": "Montréal", "country": "CA"}', 'Kronamarine s.r.o.', 'research_job', NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-27 04:49:27+00', 'https://www.kronamarine1150.eu/', NULL, NULL, NULL),
	(1001, 1053, 'failed', '2026-11-27 04:48:42.681+00', '2026-11-27 04:49:28.55+00', 1795754968550810, NULL, '\x8dff6e135f5bad38caad4937e8fe7510', '{"url": "https://www.arbolmedia7454.jp/", "name": "Árbolmedia 株式会社", "note": "second 1053", "error": null, "score": 49.36, "domain": "arbolmedia7454.jp", "job_id": 1053, "object": "research_job", "public": false, "status": "failed", "country": "SE", "founded": 1928, "sources": [{"url": "https://arbolmedia7454.jp/about", "weight": 0.75}, {"url": "https://register.example/1473331988", "weight": 0.25}], "summary": "A supplier to hospitals across Europe and independent “Handwerker”: it grew through four acquisitions since 2019, and its planning platform cuts lead times by a third.", "contacts": [{"name": null, "role": "CEO", "email": "ceo@arbolmedia7454.jp"}, {"name": "A. Pixel", "role": "CFO", "email": null}], "industry": "Software", "location": {"lat": 55.604981, "lon": 13.003822, "city": "Malmö", "country": "SE"}, "created_at": "2026-11-27T04:48:26Z", "started_at": "2026-11-27T04:48:41Z", "updated_at": "2026-11-27T04:49:27Z", "document_id": 1643080500, "growth_rate": -0.9336, "revenue_usd": 33431988.48, "completed_at": "2026-11-27T04:49:27Z", "technologies": ["Snowflake", "Airflow", "HubSpot"], "employee_count": 543}', NULL, 'arbolmedia7454.jp', '2026-11-27 04:49:27+00', '[{"name": null, "role": "CEO", "email": "ceo@arbolmedia7454.jp"}, {"name": "A. Pixel", "role": "CFO", "email": null}]', 'SE', '2026-11-27 04:48:26+00', 1643080500, 'arbolmedia7454.jp', 543, NULL, 1928, -0.9336, 'Software', '{"lat": 55.604981, "lon": 13.003822, "city": "Malmö", "country": "SE"}', 'Árbolmedia 株式会社', 'research_job', false, 33431988.48, 49.36, '[{"url": "https://arbolmedia7454.jp/about", "weight": 0.75}, {"url": "https://register.example/1473331988", "weight": 0.25}]', '2026-11-27 04:48:41+00', 'A supplier to hospitals across Europe and independent “Handwerker”: it grew through four acquisitions since 2019, and its planning platform cuts lead times by a third.', '["Snowflake", "Airflow", "HubSpot"]', '2026-11-27 04:49:27+00', 'https://www.arbolmedia7454.jp/', NULL, 'second 1053', NULL),
	(1002, 1048, 'failed', '2026-11-27 04:48:46.297+00', '2026-11-27 04:49:32.947+00', 1795754972947842, NULL, '\xd42587908f59c4ddc2ae3d69feb599b4', '{"url": "https://www.skodafarm8791.net/", "name": "Škodafarm AG", "note": "second 1048", "error": null, "score": 46.22, "domain": "skodafarm8791.net", "job_id": 1048, "object": "research_job", "public": true, "status": "failed", "country": "CZ", "founded": 1950, "sources": [{"url": "https://skodafarm8791.net/about", "weight": 0.75}, {"url": "https://register.example/736037610", "weight": 0.25}], "summary": "A supplier to insurers and mid-sized manufacturers: service contracts make up most of the revenue, and a new plant opens next spring\nin the second region.", "contacts": [{"name": null, "role": "CEO", "email": "ceo@skodafarm8791.net"}, {"name": "A. Pixel", "role": "CFO", "email": null}], "industry": "Construction", "location": {"lat": 49.747741, "lon": 13.377525, "city": "Plzeň", "country": "CZ"}, "created_at": "2026-11-27T03:48:12Z", "started_at": "2026-11-27T03:48:23Z", "updated_at": "2026-11-27T04:49:32Z", "document_id": 157235245, "growth_rate": -0.1222, "revenue_usd": 16137610.70, "completed_at": "2026-11-27T03:49:14Z", "technologies": ["Rust", "Shopify", "Kubernetes"], "employee_count": 2851}', NULL, 'skodafarm8791.net', '2026-11-27 03:49:14+00', '[{"name": null, "role": "CEO", "email": "ceo@skodafarm8791.net"}, {"name": "A. Pixel", "role": "CFO", "email": null}]', 'CZ', '2026-11-27 03:48:12+00', 157235245, 'skodafarm8791.net', 2851, NULL, 1950, -0.1222, 'Construction', '{"lat": 49.747741, "lon": 13.377525, "city": "Plzeň", "country": "CZ"}', 'Škodafarm AG', 'research_job', true, 16137610.70, 46.22, '[{"url": "https://skodafarm8791.net/about", "weight": 0.75}, {"url": "https://register.example/736037610", "weight": 0.25}]', '2026-11-27 03:48:23+00', 'A supplier to insurers and mid-sized manufacturers: service contracts make up most of the revenue, and a new plant opens next spring
in the second region.', '["Rust", "Shopify", "Kubernetes"]', '2026-11-27 04:49:32+00', 'https://www.skodafarm8791.net/', NULL, 'second 1048', NULL),
	(1002, 1044, 'failed', '2026-11-27 04:48:46.297+00', '2026-11-27 04:49:32.947+00', 1795754972947843, NULL, '\x3b790c2e0706bce89f45c7a993d82b74', '{"url": "https://www.lotusmetrics3636.com/", "name": "Lotusmetrics B.V.", "note": "second 1044", "error": null, "score": 63.08, "domain": "lotusmetrics3636.com", "job_id": 1044, "object": "research_job", "public": false, "status": "failed", "country": "GR", "founded": 1927, "sources": [{"url": "https://lotusmetrics3636.com/about", "weight": 0.75}, {"url": "https://register.example/2677075147", "weight": 0.25}], "summary": "A supplier to online shops and insurers: the founders still own the majority, and its planning platform cuts lead times by a third.", "contacts": [{"name": null, "role": "CEO", "email": "ceo@lotusmetrics3636.com"}, {"name": "A. Lotus", "role": "CFO", "email": null}], "industry": "Logistics", "location": {"lat": 37.98381, "lon": 23.727539, "city": "Αθήνα", "country": "GR"}, "created_at": "2026-11-27T00:47:43Z", "started_at": "2026-11-27T00:47:59Z", "updated_at": "2026-11-27T04:49:32Z", "document_id": 3377132057, "growth_rate": 0.2882, "revenue_usd": 67175147.47, "completed_at": "2026-11-27T00:49:23Z", "technologies": ["SAP", "Salesforce", "Elixir"], "employee_count": 3501}', NULL, 'lotusmetrics3636.com', '2026-11-27 00:49:23+00', '[{"name": null, "role": "CEO", "email": "ceo@lotusmetrics3636.com"}, {"name": "A. Lotus", "role": "CFO", "email": null}]', 'GR', '2026-11-27 00:47:43+00', 3377132057, 'lotusmetrics3636.com', 3501, NULL, 1927, 0.2882, 'Logistics', '{"lat": 37.98381, "lon": 23.727539, "city": "Αθήνα", "country": "GR"}', 'Lotusmetrics B.V.', 'research_job', false, 67175147.47, 63.08, '[{"url": "https://lotusmetrics3636.com/about", "weight": 0.75}, {"url": "https://register.example/2677075147", "weight": 0.25}]', '2026-11-27 00:47:59+00', 'A supplier to online shops and insurers: the founders still own the majority, and its planning platform cuts lead times by a third.', '["SAP", "Salesforce", "Elixir"]', '2026-11-27 04:49:32+00', 'https://www.lotusmetrics3636.com/', NULL, 'second 1044', NULL),
	(1002, 1058, 'queued', '2026-11-27 04:49:36.087+00', '2026-11-27 04:49:36.087+00', 1795754976087262, NULL, '\x2b0dfa6a7153fab995ea07a99ee23cfc', '{"url": "https://www.nordsteel6455.net/", "name": "Nordsteel B.V.", "error": null, "score": null, "domain": "nordsteel6455.net", "job_id": 1058, "object": "research_job", "status": "queued", "country": "DE", "industry": "Software", "location": {"lat": 48.137154, "lon": 11.576124, "city": "München", "country": "DE"}, "created_at": "2026-11-27T04:49:34Z", "started_at": null, "updated_at": "2026-11-27T04:49:34Z", "document_id": null, "completed_at": null, "employee_count": 18047}', NULL, 'nordsteel6455.net', NULL, NULL, 'DE', '2026-11-27 04:49:34+00', NULL, 'nordsteel6455.net', 18047, NULL, NULL, NULL, 'Software', '{"lat": 48.137154, "lon": 11.576124, "city": "München", "country": "DE"}', 'Nordsteel B.V.', 'research_job', NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-27 04:49:34+00', 'https://www.nordsteel6455.net/', NULL, NULL, NULL);

INSERT INTO mirror.research_jobs_history VALUES
	(1001, 1053, 'queued', '2026-11-27 04:48:42.681+00', '2026-11-27 04:48:42.681+00', 1795754922681859, NULL, '\xe7d2aa2a85199bf22171a9c6e26f45e6', '{"url": "https://www.arbolmedia7454.jp/", "name": "Árbolmedia 株式会社", "error": null, "score": null, "domain": "arbolmedia7454.jp", "job_id": 1053, "object": "research_job", "status": "queued", "country": "SE", "industry": "Software", "location": {"lat": 55.604981, "lon": 13.003822, "city": "Malmö", "country": "SE"}, "created_at": "2026-11-27T04:48:26Z", "started_at": null, "updated_at": "2026-11-27T04:48:26Z", "document_id": null, "completed_at": null, "employee_count": 543}', NULL, '2026-11-27 04:48:42.681+00', '2026-11-27 04:48:50.118+00', 'update', 'arbolmedia7454.jp', NULL, NULL, 'SE', '2026-11-27 04:48:26+00', NULL, 'arbolmedia7454.jp', 543, NULL, NULL, NULL, 'Software', '{"lat": 55.604981, "lon": 13.003822, "city": "Malmö", "country": "SE"}', 'Árbolmedia 株式会社', 'research_job', NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-27 04:48:26+00', 'https://www.arbolmedia7454.jp/', NULL, NULL, NULL),
	(1001, 1048, 'completed', '2026-11-27 04:48:42.681+00', '2026-11-27 04:48:42.681+00', 1795754922681860, NULL, '\x9838c1d6e3621df003e56a7a933dc6c4', '{"url": "https://www.mirobank1306.nl/", "name": "Miróbank B.V.", "error": null, "score": 40.28, "domain": "mirobank1306.nl", "job_id": 1048, "object": "research_job", "public": false, "status": "completed", "country": "IN", "founded": 1977, "sources": [{"url": "https://mirobank1306.nl/about", "weight": 0.75}, {"url": "https://register.example/2807751282", "weight": 0.25}], "summary": "A supplier to fintech start-ups and insurers: service contracts make up most of the revenue, and customers praise the onboarding “within a day”.", "contacts": [{"name": null, "role": "CEO", "email": "ceo@mirobank1306.nl"}, {"name": "A. Falke", "role": "CFO", "email": null}], "industry": "Textiles", "location": {"lat": 18.52043, "lon": 73.856744, "city": "Pune", "country": "IN"}, "created_at": "2026-11-27T03:48:04Z", "started_at": "2026-11-27T03:48:13Z", "updated_at": "2026-11-27T03:49:57Z", "document_id": 2792622170, "growth_rate": -0.2086, "revenue_usd": 17851282.52, "completed_at": "2026-11-27T03:49:57Z", "technologies": ["Airflow", "Terraform", "Airflow"], "employee_count": null}', NULL, '2026-11-27 04:48:42.681+00', '2026-11-27 04:48:50.118+00', 'update', 'mirobank1306.nl', '2026-11-27 03:49:57+00', '[{"name": null, "role": "CEO", "email": "ceo@mirobank1306.nl"}, {"name": "A. Falke", "role": "CFO", "email": null}]', 'IN', '2026-11-27 03:48:04+00', 2792622170, 'mirobank1306.nl', NULL, NULL, 1977, -0.2086, 'Textiles', '{"lat": 18.52043, "lon": 73.856744, "city": "Pune", "country": "IN"}', 'Miróbank B.V.', 'research_job', false, 17851282.52, 40.28, '[{"url": "https://mirobank1306.nl/about", "weight": 0.75}, {"url": "https://register.example/2807751282", "weight": 0.25}]', '2026-11-27 03:48:13+00', 'A supplier to fintech start-ups and insurers: service contracts make up most of the revenue, and customers praise the onboarding “within a day”.', '["Airflow", "Terraform", "Airflow"]', '2026-11-27 03:49:57+00', 'https://www.mirobank1306.nl/', NULL, NULL, NULL),
	(1001, 1046, 'completed', '2026-11-27 04:48:42.681+00', '2026-11-27 04:48:42.681+00', 1795754922681861, NULL, '\xef89970d2c7acf72f10b8a430c9ddbfa', '{"url": "https://www.falkeenergie315.net/", "name": "Falkeenergie", "error": null, "score": 72.59, "domain": "falkeenergie315.net", "job_id": 1046, "object": "research_job", "public": true, "status": "completed", "country": "CA", "founded": 1937, "sources": [{"url": "https://falkeenergie315.net/about", "weight": 0.75}, {"url": "https://register.example/2869046642", "weight": 0.25}], "summary": "A supplier to fintech start-ups and retail chains: customers praise the onboarding “within a day”, and a patented process keeps waste below two percent.", "contacts": [{"name": null, "role": "CEO", "email": "ceo@falkeenergie315.net"}, {"name": "A. Zenit", "role": "CFO", "email": null}], "industry": "Food & Beverage", "location": {"lat": 45.501689, "lon": -73.567256, "city": "Montréal", "country": "CA"}, "created_at": "2026-11-27T00:47:49Z", "started_at": "2026-11-27T00:47:53Z", "updated_at": "2026-11-27T00:48:25Z", "document_id": 3707125333, "growth_rate": -0.3576, "revenue_usd": 79146642.12, "completed_at": "2026-11-27T00:48:25Z", "technologies": ["Airflow", "Snowflake", "Snowflake"], "employee_count": 8483}', NULL, '2026-11-27 04:48:42.681+00', '2026-11-27 04:48:50.118+00', 'update', 'falkeenergie315.net', '2026-11-27 00:48:25+00', '[{"name": null, "role": "CEO", "email": "ceo@falkeenergie315.net"}, {"name": "A. Zenit", "role": "CFO", "email": null}]', 'CA', '2026-11-27 00:47:49+00', 3707125333, 'falkeenergie315.net', 8483, NULL, 1937, -0.3576, 'Food & Beverage', '{"lat": 45.501689, "lon": -73.567256, "city": "Montréal", "country": "CA"}', 'Falkeenergie', 'research_job', true, 79146642.12, 72.59, '[{"url": "https://falkeenergie315.net/about", "weight": 0.75}, {"url": "https://register.example/2869046642", "weight": 0.25}]', '2026-11-27 00:47:53+00', 'A supplier to fintech start-ups and retail chains: customers praise the onboarding “within a day”, and a patented process keeps waste below two percent.', '["Airflow", "Snowflake", "Snowflake"]', '2026-11-27 00:48:25+00', 'https://www.falkeenergie315.net/', NULL, NULL, NULL),
	(1001, 1041, 'completed', '2026-11-27 04:48:42.681+00', '2026-11-27 04:48:42.681+00', 1795754922681862, NULL, '\x43c54e86e4437cdd69606d00e1f72424', '{"url": "https://www.junologic8000.ai/", "name": "Junologic 株式会社", "error": null, "score": 2.14, "domain": "junologic8000.ai", "job_id": 1041, "object": "research_job", "public": false, "status": "completed", "country": "FI", "founded": 1929, "sources": [{"url": "https://junologic8000.ai/about", "weight": 0.75}, {"url": "https://register.example/2885920014", "weight": 0.25}], "summary": "A supplier to mid-sized manufacturers and film studios: customers praise the onboarding “within a day”, and a patented process keeps waste below two percent.", "contacts": [{"name": null, "role": "CEO", "email": "ceo@junologic8000.ai"}, {"name": "A. Nord", "role": "CFO", "email": null}], "industry": "Insurance", "location": {"lat": 60.20549, "lon": 24.655899, "city": "Espoo", "country": "FI"}, "created_at": "2026-11-26T19:47:24Z", "started_at": "2026-11-26T19:47:30Z", "updated_at": "2026-11-26T19:49:19Z", "document_id": 165770583, "growth_rate": -0.8635, "revenue_usd": 6020014.94, "completed_at": "2026-11-26T19:49:19Z", "technologies": ["Salesforce", "React", "React"], "employee_count": 15811}', NULL, '2026-11-27 04:48:42.681+00', '2026-11-27 04:48:50.118+00', 'update', 'junologic8000.ai', '2026-11-26 19:49:19+00', '[{"name": null, "role": "CEO", "email": "ceo@junologic8000.ai"}, {"name": "A. Nord", "role": "CFO", "email": null}]', 'FI', '2026-11-26 19:47:24+00', 165770583, 'junologic8000.ai', 15811, NULL, 1929, -0.8635, 'Insurance', '{"lat": 60.20549, "lon": 24.655899, "city": "Espoo", "country": "FI"}', 'Junologic 株式会社', 'research_job', false, 6020014.94, 2.14, '[{"url": "https://junologic8000.ai/about", "weight": 0.75}, {"url": "https://register.example/2885920014", "weight": 0.25}]', '2026-11-26 19:47:30+00', 'A supplier to mid-sized manufacturers and film studios: customers praise the onboarding “within a day”, and a patented process keeps waste below two percent.', '["Salesforce", "React", "React"]', '2026-11-26 19:49:19+00', 'https://www.junologic8000.ai/', NULL, NULL, NULL),
	(1001, 1037, 'completed', '2026-11-27 04:48:42.681+00', '2026-11-27 04:48:42.681+00', 1795754922681863, NULL, '\x87eeafc599742f3862c8991758413b16', '{"url": "https://www.keplerwind5165.jp/", "name": "Keplerwind & Söhne KG", "error": null, "score": 2.58, "domain": "keplerwind5165.jp", "job_id": 1037, "object": "research_job", "public": false, "status": "completed", "country": "ES", "founded": 1959, "sources": [{"url": "https://keplerwind5165.jp/about", "weight": 0.75}, {"url": "https://register.example/2271498459", "weight": 0.25}], "summary": "A supplier to grain traders and airlines: its planning platform cuts lead times by a third, and service contracts make up most of the revenue.", "contacts": [{"name": null, "role": "CEO", "email": "ceo@keplerwind5165.jp"}, {"name": "A. Iris", "role": "CFO", "email": null}], "industry": "Software", "location": {"lat": 36.527061, "lon": -6.288596, "city": "Cádiz", "country": "ES"}, "created_at": "2026-11-26T12:47:06Z", "started_at": "2026-11-26T12:47:09Z", "updated_at": "2026-11-26T12:48:20Z", "document_id": 108383106, "growth_rate": 0.5632, "revenue_usd": 21598459.79, "completed_at": "2026-11-26T12:48:20Z", "technologies": ["Go", "Salesforce", "Rust"], "employee_count": 3307}', NULL, '2026-11-27 04:48:42.681+00', '2026-11-27 04:48:50.118+00', 'update', 'keplerwind5165.jp', '2026-11-26 12:48:20+00', '[{"name": null, "role": "CEO", "email": "ceo@keplerwind5165.jp"}, {"name": "A. Iris", "role": "CFO", "email": null}]', 'ES', '2026-11-26 12:47:06+00', 108383106, 'keplerwind5165.jp', 3307, NULL, 1959, 0.5632, 'Software', '{"lat": 36.527061, "lon": -6.288596, "city": "Cádiz", "country": "ES"}', 'Keplerwind & Söhne KG', 'research_job', false, 21598459.79, 2.58, '[{"url": "https://keplerwind5165.jp/about", "weight": 0.75}, {"url": "https://register.example/2271498459", "weight": 0.25}]', '2026-11-26 12:47:09+00', 'A supplier to grain traders and airlines: its planning platform cuts lead times by a third, and service contracts make up most of the revenue.', '["Go", "Salesforce", "Rust"]', '2026-11-26 12:48:20+00', 'https://www.keplerwind5165.jp/', NULL, NULL, NULL),
	(1001, 1017, 'completed', '2026-11-27 04:48:42.681+00', '2026-11-27 04:48:42.681+00', 1795754922681868, NULL, '\x7ee5fd26ba411f1a7e86d4144435506f', '{"url": "https://www.ubermarine1402.fr/", "name": "Übermarine S.A.", "error": null, "score": 28.89, "domain": "ubermarine1402.fr", "job_id": 1017, "object": "research_job", "public": false, "status": "completed", "country": "SE", "founded": 1891, "sources": [{"url": "https://ubermarine1402.fr/about", "weight": 0.75}, {"url": "https://register.example/2062528921", "weight": 0.25}], "summary": "A supplier to ship owners and municipalities: a patented process keeps waste below two percent, and a new plant opens next spring\nin the second region.", "contacts": [{"name": null, "role": "CEO", "email": "ceo@ubermarine1402.fr"}, {"name": "A. Verde", "role": "CFO", "email": null}], "industry": "Textiles", "location": {"lat": 55.604981, "lon": 13.003822, "city": "Malmö", "country": "SE"}, "created_at": "2026-11-23T19:45:28Z", "started_at": "2026-11-23T19:45:46Z", "updated_at": "2026-11-23T19:47:46Z", "document_id": 722117763, "growth_rate": 0.5195, "revenue_usd": 82628921.11, "completed_at": "2026-11-23T19:47:46Z", "technologies": ["Go", "Go", "Go"], "employee_count": 553}', NULL, '2026-11-27 04:48:42.681+00', '2026-11-27 04:48:51.219+00', 'delete', 'ubermarine1402.fr', '2026-11-23 19:47:46+00', '[{"name": null, "role": "CEO", "email": "ceo@ubermarine1402.fr"}, {"name": "A. Verde", "role": "CFO", "email": null}]', 'SE', '2026-11-23 19:45:28+00', 722117763, 'ubermarine1402.fr', 553, NULL, 1891, 0.5195, 'Textiles', '{"lat": 55.604981, "lon": 13.003822, "city": "Malmö", "country": "SE"}', 'Übermarine S.A.', 'research_job', false, 82628921.11, 28.89, '[{"url": "https://ubermarine1402.fr/about", "weight": 0.75}, {"url": "https://register.example/2062528921", "weight": 0.25}]', '2026-11-23 19:45:46+00', 'A supplier to ship owners and municipalities: a patented process keeps waste below two percent, and a new plant opens next spring
in the second region.', '["Go", "Go", "Go"]', '2026-11-23 19:47:46+00', 'https://www.ubermarine1402.fr/', NULL, NULL, NULL),
	(1001, 1053, 'failed', '2026-11-27 04:48:42.681+00', '2026-11-27 04:49:25.704+00', 1795754965704109, NULL, '\x903825fd2114bbd1cf6f52cbd978f9a1', '{"url": "https://www.arbolmedia7454.jp/", "name": "Árbolmedia 株式会社", "note": "second 1053", "error": null, "score": null, "domain": "arbolmedia7454.jp", "job_id": 1053, "object": "research_job", "status": "failed", "country": "SE", "industry": "Software", "location": {"lat": 55.604981, "lon": 13.003822, "city": "Malmö", "country": "SE"}, "created_at": "2026-11-27T04:48:26Z", "started_at": "2026-11-27T04:48:41Z", "updated_at": "2026-11-27T04:49:24Z", "document_id": null, "completed_at": null, "employee_count": 543}', NULL, '2026-11-27 04:49:25.704+00', '2026-11-27 04:49:28.55+00', 'update', 'arbolmedia7454.jp', NULL, NULL, 'SE', '2026-11-27 04:48:26+00', NULL, 'arbolmedia7454.jp', 543, NULL, NULL, NULL, 'Software', '{"lat": 55.604981, "lon": 13.003822, "city": "Malmö", "country": "SE"}', 'Árbolmedia 株式会社', 'research_job', NULL, NULL, NULL, NULL, '2026-11-27 04:48:41+00', NULL, NULL, '2026-11-27 04:49:24+00', 'https://www.arbolmedia7454.jp/', NULL, 'second 1053', NULL),
	(1002, 1052, 'processing', '2026-11-27 04:48:46.297+00', '2026-11-27 04:48:46.297+00', 1795754926297452, NULL, '\x63bac170d102a0bc082387bd50fc144d', '{"url": "https://www.keplermarine96.fi/", "name": "Keplermarine 株式会社", "error": null, "score": null, "domain": "keplermarine96.fi", "job_id": 1052, "object": "research_job", "status": "processing", "country": "IN", "industry": "Food & Beverage", "location": {"lat": 18.52043, "lon": 73.856744, "city": "Pune", "country": "IN"}, "created_at": "2026-11-27T04:48:29Z", "started_at": "2026-11-27T04:48:30Z", "updated_at": "2026-11-27T04:48:30Z", "document_id": null, "completed_at": null, "employee_count": 3183}', NULL, '2026-11-27 04:48:46.297+00', '2026-11-27 04:48:54.202+00', 'update', 'keplermarine96.fi', NULL, NULL, 'IN', '2026-11-27 04:48:29+00', NULL, 'keplermarine96.fi', 3183, NULL, NULL, NULL, 'Food & Beverage', '{"lat": 18.52043, "lon": 73.856744, "city": "Pune", "country": "IN"}', 'Keplermarine 株式会社', 'research_job', NULL, NULL, NULL, NULL, '2026-11-27 04:48:30+00', NULL, NULL, '2026-11-27 04:48:30+00', 'https://www.keplermarine96.fi/', NULL, NULL, NULL),
	(1002, 1048, 'completed', '2026-11-27 04:48:46.297+00', '2026-11-27 04:48:46.297+00', 1795754926297453, NULL, '\xa7c03e1e2931a45a595bf5a34253dcf6', '{"url": "https://www.skodafarm8791.net/", "name": "Škodafarm AG", "error": null, "score": 46.22, "domain": "skodafarm8791.net", "job_id": 1048, "object": "research_job", "public": true, "status": "completed", "country": "CZ", "founded": 1950, "sources": [{"url": "https://skodafarm8791.net/about", "weight": 0.75}, {"url": "https://register.example/736037610", "weight": 0.25}], "summary": "A supplier to insurers and mid-sized manufacturers: service contracts make up most of the revenue, and a new plant opens next spring\nin the second region.", "contacts": [{"name": null, "role": "CEO", "email": "ceo@skodafarm8791.net"}, {"name": "A. Pixel", "role": "CFO", "email": null}], "industry": "Construction", "location": {"lat": 49.747741, "lon": 13.377525, "city": "Plzeň", "country": "CZ"}, "created_at": "2026-11-27T03:48:12Z", "started_at": "2026-11-27T03:48:23Z", "updated_at": "2026-11-27T03:49:14Z", "document_id": 157235245, "growth_rate": -0.1222, "revenue_usd": 16137610.70, "completed_at": "2026-11-27T03:49:14Z", "technologies": ["Rust", "Shopify", "Kubernetes"], "employee_count": 2851}', NULL, '2026-11-27 04:48:46.297+00', '2026-11-27 04:48:54.202+00', 'update', 'skodafarm8791.net', '2026-11-27 03:49:14+00', '[{"name": null, "role": "CEO", "email": "ceo@skodafarm8791.net"}, {"name": "A. Pixel", "role": "CFO", "email": null}]', 'CZ', '2026-11-27 03:48:12+00', 157235245, 'skodafarm8791.net', 2851, NULL, 1950, -0.1222, 'Construction', '{"lat": 49.747741, "lon": 13.377525, "city": "Plzeň", "country": "CZ"}', 'Škodafarm AG', 'research_job', true, 16137610.70, 46.22, '[{"url": "https://skodafarm8791.net/about", "weight": 0.75}, {"url": "https://register.example/736037610", "weight": 0.25}]', '2026-11-27 03:48:23+00', 'A supplier to insurers and mid-sized manufacturers: service contracts make up most of the revenue, and a new plant opens next spring
in the second region.', '["Rust", "Shopify", "Kubernetes"]', '2026-11-27 03:49:14+00', 'https://www.skodafarm8791.net/', NULL, NULL, NULL),
	(1002, 1044, 'completed', '2026-11-27 04:48:46.297+00', '2026-11-27 04:48:46.297+00', 1795754926297454, NULL, '\xe0084d17d5ebb12c733ddca9105d0306', '{"url": "https://www.lotusmetrics3636.com/", "name": "Lotusmetrics B.V.", "error": null, "score": 63.08, "domain": "lotusmetrics3636.com", "job_id": 1044, "object": "research_job", "public": false, "status": "completed", "country": "GR", "founded": 1927, "sources": [{"url": "https://lotusmetrics3636.com/about", "weight": 0.75}, {"url": "https://register.example/2677075147", "weight": 0.25}], "summary": "A supplier to online shops and insurers: the founders still own the majority, and its planning platform cuts lead times by a third.", "contacts": [{"name": null, "role": "CEO", "email": "ceo@lotusmetrics3636.com"}, {"name": "A. Lotus", "role": "CFO", "email": null}], "industry": "Logistics", "location": {"lat": 37.98381, "lon": 23.727539, "city": "Αθήνα", "country": "GR"}, "created_at": "2026-11-27T00:47:43Z", "started_at": "2026-11-27T00:47:59Z", "updated_at": "2026-11-27T00:49:23Z", "document_id": 3377132057, "growth_rate": 0.2882, "revenue_usd": 67175147.47, "completed_at": "2026-11-27T00:49:23Z", "technologies": ["SAP", "Salesforce", "Elixir"], "employee_count": 3501}', NULL, '2026-11-27 04:48:46.297+00', '2026-11-27 04:48:54.202+00', 'update', 'lotusmetrics3636.com', '2026-11-27 00:49:23+00', '[{"name": null, "role": "CEO", "email": "ceo@lotusmetrics3636.com"}, {"name": "A. Lotus", "role": "CFO", "email": null}]', 'GR', '2026-11-27 00:47:43+00', 3377132057, 'lotusmetrics3636.com', 3501, NULL, 1927, 0.2882, 'Logistics', '{"lat": 37.98381, "lon": 23.727539, "city": "Αθήνα", "country": "GR"}', 'Lotusmetrics B.V.', 'research_job', false, 67175147.47, 63.08, '[{"url": "https://lotusmetrics3636.com/about", "weight": 0.75}, {"url": "https://register.example/2677075147", "weight": 0.25}]', '2026-11-27 00:47:59+00', 'A supplier to online shops and insurers: the founders still own the majority, and its planning platform cuts lead times by a third.', '["SAP", "Salesforce", "Elixir"]', '2026-11-27 00:49:23+00', 'https://www.lotusmetrics3636.com/', NULL, NULL, NULL),
	(1002, 1040, 'completed', '2026-11-27 04:48:46.297+00', '2026-11-27 04:48:46.297+00', 1795754926297455, NULL, '\x90c70ebf585cbcd456f3907b554cee6a', '{"url": "https://www.emberenergie9779.fi/", "name": "Emberenergie B.V.", "error": null, "score": 70.68, "domain": "emberenergie9779.fi", "job_id": 1040, "object": "research_job", "public": false, "status": "completed", "country": "GB", "founded": 1897, "sources": [{"url": "https://emberenergie9779.fi/about", "weight": 0.75}, {"url": "https://register.example/3431035402", "weight": 0.25}], "summary": "A supplier to mid-sized manufacturers and fintech start-ups: service contracts make up most of the revenue, and its planning platform cuts lead times by a third.", "contacts": [{"name": null, "role": "CEO", "email": "ceo@emberenergie9779.fi"}, {"name": "A. Søren", "role": "CFO", "email": null}], "industry": "Aerospace", "location": {"lat": 53.800755, "lon": -1.549077, "city": "Leeds", "country": "GB"}, "created_at": "2026-11-26T19:47:28Z", "started_at": "2026-11-26T19:47:41Z", "updated_at": "2026-11-26T19:48:10Z", "document_id": 1389629003, "growth_rate": -0.8540, "revenue_usd": 11135402.62, "completed_at": "2026-11-26T19:48:10Z", "technologies": ["SAP", "HubSpot", "Django"], "employee_count": null}', NULL, '2026-11-27 04:48:46.297+00', '2026-11-27 04:48:54.202+00', 'update', 'emberenergie9779.fi', '2026-11-26 19:48:10+00', '[{"name": null, "role": "CEO", "email": "ceo@emberenergie9779.fi"}, {"name": "A. Søren", "role": "CFO", "email": null}]', 'GB', '2026-11-26 19:47:28+00', 1389629003, 'emberenergie9779.fi', NULL, NULL, 1897, -0.8540, 'Aerospace', '{"lat": 53.800755, "lon": -1.549077, "city": "Leeds", "country": "GB"}', 'Emberenergie B.V.', 'research_job', false, 11135402.62, 70.68, '[{"url": "https://emberenergie9779.fi/about", "weight": 0.75}, {"url": "https://register.example/3431035402", "weight": 0.25}]', '2026-11-26 19:47:41+00', 'A supplier to mid-sized manufacturers and fintech start-ups: service contracts make up most of the revenue, and its planning platform cuts lead times by a third.', '["SAP", "HubSpot", "Django"]', '2026-11-26 19:48:10+00', 'https://www.emberenergie9779.fi/', NULL, NULL, NULL),
	(1002, 1038, 'completed', '2026-11-27 04:48:46.297+00', '2026-11-27 04:48:46.297+00', 1795754926297456, NULL, '\xc9092488cfd29b0158c714033fd64d4f', '{"url": "https://www.quarzcare7668.fr/", "name": "Quarzcare", "error": null, "score": 81.34, "domain": "quarzcare7668.fr", "job_id": 1038, "object": "research_job", "public": true, "status": "completed", "country": "KR", "founded": 1962, "sources": [{"url": "https://quarzcare7668.fr/about", "weight": 0.75}, {"url": "https://register.example/321774057", "weight": 0.25}], "summary": "A supplier to insurers and insurers: a patented process keeps waste below two percent, and hiring slowed in the last two quarters.", "contacts": [{"name": null, "role": "CEO", "email": "ceo@quarzcare7668.fr"}, {"name": "A. Hanse", "role": "CFO", "email": null}], "industry": "Automotive", "location": {"lat": 35.179554, "lon": 129.075642, "city": "부산", "country": "KR"}, "created_at": "2026-11-26T12:47:06Z", "started_at": "2026-11-26T12:47:18Z", "updated_at": "2026-11-26T12:49:02Z", "document_id": 266687038, "growth_rate": 0.6238, "revenue_usd": 51874057.37, "completed_at": "2026-11-26T12:49:02Z", "technologies": ["Rust", "Kafka", "Airflow"], "employee_count": 11655}', NULL, '2026-11-27 04:48:46.297+00', '2026-11-27 04:48:54.202+00', 'update', 'quarzcare7668.fr', '2026-11-26 12:49:02+00', '[{"name": null, "role": "CEO", "email": "ceo@quarzcare7668.fr"}, {"name": "A. Hanse", "role": "CFO", "email": null}]', 'KR', '2026-11-26 12:47:06+00', 266687038, 'quarzcare7668.fr', 11655, NULL, 1962, 0.6238, 'Automotive', '{"lat": 35.179554, "lon": 129.075642, "city": "부산", "country": "KR"}', 'Quarzcare', 'research_job', true, 51874057.37, 81.34, '[{"url": "https://quarzcare7668.fr/about", "weight": 0.75}, {"url": "https://register.example/321774057", "weight": 0.25}]', '2026-11-26 12:47:18+00', 'A supplier to insurers and insurers: a patented process keeps waste below two percent, and hiring slowed in the last two quarters.', '["Rust", "Kafka", "Airflow"]', '2026-11-26 12:49:02+00', 'https://www.quarzcare7668.fr/', NULL, NULL, NULL),
	(1002, 1016, 'completed', '2026-11-27 04:48:46.297+00', '2026-11-27 04:48:46.297+00', 1795754926297461, NULL, '\x764bdc377548feca2b3ba9e46161ed6f', '{"url": "https://www.verdepharma9608.ai/", "name": "Verdepharma Ltd", "error": null, "score": 3.74, "domain": "verdepharma9608.ai", "job_id": 1016, "object": "research_job", "public": false, "status": "completed", "country": "FI", "founded": 1988, "sources": [{"url": "https://verdepharma9608.ai/about", "weight": 0.75}, {"url": "https://register.example/4262664383", "weight": 0.25}], "summary": "A supplier to municipalities and hospitals across Europe: its planning platform cuts lead times by a third, and a patented process keeps waste below two percent.", "contacts": [{"name": null, "role": "CEO", "email": "ceo@verdepharma9608.ai"}, {"name": "A. Blue", "role": "CFO", "email": null}], "industry": "Medical Devices", "location": {"lat": 60.20549, "lon": 24.655899, "city": "Espoo", "country": "FI"}, "created_at": "2026-11-23T19:45:32Z", "started_at": "2026-11-23T19:45:45Z", "updated_at": "2026-11-23T19:46:32Z", "document_id": 1374848846, "growth_rate": 0.693, "revenue_usd": 32764383.63, "completed_at": "2026-11-23T19:46:32Z", "technologies": ["Figma", "SAP", "Salesforce"], "employee_count": 11843}', NULL, '2026-11-27 04:48:46.297+00', '2026-11-27 04:48:55.778+00', 'delete', 'verdepharma9608.ai', '2026-11-23 19:46:32+00', '[{"name": null, "role": "CEO", "email": "ceo@verdepharma9608.ai"}, {"name": "A. Blue", "role": "CFO", "email": null}]', 'FI', '2026-11-23 19:45:32+00', 1374848846, 'verdepharma9608.ai', 11843, NULL, 1988, 0.693, 'Medical Devices', '{"lat": 60.20549, "lon": 24.655899, "city": "Espoo", "country": "FI"}', 'Verdepharma Ltd', 'research_job', false, 32764383.63, 3.74, '[{"url": "https://verdepharma9608.ai/about", "weight": 0.75}, {"url": "https://register.example/4262664383", "weight": 0.25}]', '2026-11-23 19:45:45+00', 'A supplier to municipalities and hospitals across Europe: its planning platform cuts lead times by a third, and a patented process keeps waste below two percent.', '["Figma", "SAP", "Salesforce"]', '2026-11-23 19:46:32+00', 'https://www.verdepharma9608.ai/', NULL, NULL, NULL),
	(1001, 1053, 'processing', '2026-11-27 04:48:42.681+00', '2026-11-27 04:48:50.118+00', 1795754930118187, NULL, '\x32e9edc2dff36b62fa5c1eefafb3fdcb', '{"url": "https://www.arbolmedia7454.jp/", "name": "Árbolmedia 株式会社", "note": "first 1053", "error": null, "score": null, "domain": "arbolmedia7454.jp", "job_id": 1053, "object": "research_job", "status": "processing", "country": "SE", "industry": "Software", "location": {"lat": 55.604981, "lon": 13.003822, "city": "Malmö", "country": "SE"}, "created_at": "2026-11-27T04:48:26Z", "started_at": "2026-11-27T04:48:41Z", "updated_at": "2026-11-27T04:48:47Z", "document_id": null, "completed_at": null, "employee_count": 543}', NULL, '2026-11-27 04:48:50.118+00', '2026-11-27 04:49:25.704+00', 'update', 'arbolmedia7454.jp', NULL, NULL, 'SE', '2026-11-27 04:48:26+00', NULL, 'arbolmedia7454.jp', 543, NULL, NULL, NULL, 'Software', '{"lat": 55.604981, "lon": 13.003822, "city": "Malmö", "country": "SE"}', 'Árbolmedia 株式会社', 'research_job', NULL, NULL, NULL, NULL, '2026-11-27 04:48:41+00', NULL, NULL, '2026-11-27 04:48:47+00', 'https://www.arbolmedia7454.jp/', NULL, 'first 1053', NULL),
	(1001, 1048, 'completed', '2026-11-27 04:48:42.681+00', '2026-11-27 04:48:50.118+00', 1795754930118188, NULL, '\x4f903c35588584d17cd7457e057ff2a4', '{"url": "https://www.mirobank1306.nl/", "name": "Miróbank B.V.", "note": "first 1048", "error": null, "score": 40.28, "domain": "mirobank1306.nl", "job_id": 1048, "object": "research_job", "public": false, "status": "completed", "country": "IN", "founded": 1977, "sources": [{"url": "https://mirobank1306.nl/about", "weight": 0.75}, {"url": "https://register.example/2807751282", "weight": 0.25}], "summary": "A supplier to fintech start-ups and insurers: service contracts make up most of the revenue, and customers praise the onboarding “within a day”.", "contacts": [{"name": null, "role": "CEO", "email": "ceo@mirobank1306.nl"}, {"name": "A. Falke", "role": "CFO", "email": null}], "industry": "Textiles", "location": {"lat": 18.52043, "lon": 73.856744, "city": "Pune", "country": "IN"}, "created_at": "2026-11-27T03:48:04Z", "started_at": "2026-11-27T03:48:13Z", "updated_at": "2026-11-27T04:48:47Z", "document_id": 2792622170, "growth_rate": -0.2086, "revenue_usd": 17851282.52, "completed_at": "2026-11-27T03:49:57Z", "technologies": ["Airflow", "Terraform", "Airflow"], "employee_count": null}', NULL, '2026-11-27 04:48:50.118+00', '2026-11-27 04:49:25.704+00', 'update', 'mirobank1306.nl', '2026-11-27 03:49:57+00', '[{"name": null, "role": "CEO", "email": "ceo@mirobank1306.nl"}, {"name": "A. Falke", "role": "CFO", "email": null}]', 'IN', '2026-11-27 03:48:04+00', 2792622170, 'mirobank1306.nl', NULL, NULL, 1977, -0.2086, 'Textiles', '{"lat": 18.52043, "lon": 73.856744, "city": "Pune", "country": "IN"}', 'Miróbank B.V.', 'research_job', false, 17851282.52, 40.28, '[{"url": "https://mirobank1306.nl/about", "weight": 0.75}, {"url": "https://register.example/2807751282", "weight": 0.25}]', '2026-11-27 03:48:13+00', 'A supplier to fintech start-ups and insurers: service contracts make up most of the revenue, and customers praise the onboarding “within a day”.', '["Airflow", "Terraform", "Airflow"]', '2026-11-27 04:48:47+00', 'https://www.mirobank1306.nl/', NULL, 'first 1048', NULL),
	(1001, 1046, 'completed', '2026-11-27 04:48:42.681+00', '2026-11-27 04:48:50.118+00', 1795754930118189, NULL, '\xe0928cb56960bbc09a8f8c1e95c0470f', '{"url": "https://www.falkeenergie315.net/", "name": "Falkeenergie", "note": "first 1046", "error": null, "score": 72.59, "domain": "falkeenergie315.net", "job_id": 1046, "object": "research_job", "public": true, "status": "completed", "country": "CA", "founded": 1937, "sources": [{"url": "https://falkeenergie315.net/about", "weight": 0.75}, {"url": "https://register.example/2869046642", "weight": 0.25}], "summary": "A supplier to fintech start-ups and retail chains: customers praise the onboarding “within a day”, and a patented process keeps waste below two percent.", "contacts": [{"name": null, "role": "CEO", "email": "ceo@falkeenergie315.net"}, {"name": "A. Zenit", "role": "CFO", "email": null}], "industry": "Food & Beverage", "location": {"lat": 45.501689, "lon": -73.567256, "city": "Montréal", "country": "CA"}, "created_at": "2026-11-27T00:47:49Z", "started_at": "2026-11-27T00:47:53Z", "updated_at": "2026-11-27T04:48:47Z", "document_id": 3707125333, "growth_rate": -0.3576, "revenue_usd": 79146642.12, "completed_at": "2026-11-27T00:48:25Z", "technologies": ["Airflow", "Snowflake", "Snowflake"], "employee_count": 8483}', NULL, '2026-11-27 04:48:50.118+00', '2026-11-27 04:49:25.704+00', 'update', 'falkeenergie315.net', '2026-11-27 00:48:25+00', '[{"name": null, "role": "CEO", "email": "ceo@falkeenergie315.net"}, {"name": "A. Zenit", "role": "CFO", "email": null}]', 'CA', '2026-11-27 00:47:49+00', 3707125333, 'falkeenergie315.net', 8483, NULL, 1937, -0.3576, 'Food & Beverage', '{"lat": 45.501689, "lon": -73.567256, "city": "Montréal", "country": "CA"}', 'Falkeenergie', 'research_job', true, 79146642.12, 72.59, '[{"url": "https://falkeenergie315.net/about", "weight": 0.75}, {"url": "https://register.example/2869046642", "weight": 0.25}]', '2026-11-27 00:47:53+00', 'A supplier to fintech start-ups and retail chains: customers praise the onboarding “within a day”, and a patented process keeps waste below two percent.', '["Airflow", "Snowflake", "Snowflake"]', '2026-11-27 04:48:47+00', 'https://www.falkeenergie315.net/', NULL, 'first 1046', NULL),
	(1002, 1052, 'processing', '2026-11-27 04:48:46.297+00', '2026-11-27 04:48:54.202+00', 1795754934202209, NULL, '\x5906180bee2d29190aee2275b3276d33', '{"url": "https://www.keplermarine96.fi/", "name": "Keplermarine 株式会社", "note": "first 1052", "error": null, "score": null, "domain": "keplermarine96.fi", "job_id": 1052, "object": "research_job", "status": "processing", "country": "IN", "industry": "Food & Beverage", "location": {"lat": 18.52043, "lon": 73.856744, "city": "Pune", "country": "IN"}, "created_at": "2026-11-27T04:48:29Z", "started_at": "2026-11-27T04:48:30Z", "updated_at": "2026-11-27T04:48:47Z", "document_id": null, "completed_at": null, "employee_count": 3183}', NULL, '2026-11-27 04:48:54.202+00', '2026-11-27 04:49:32.947+00', 'update', 'keplermarine96.fi', NULL, NULL, 'IN', '2026-11-27 04:48:29+00', NULL, 'keplermarine96.fi', 3183, NULL, NULL, NULL, 'Food & Beverage', '{"lat": 18.52043, "lon": 73.856744, "city": "Pune", "country": "IN"}', 'Keplermarine 株式会社', 'research_job', NULL, NULL, NULL, NULL, '2026-11-27 04:48:30+00', NULL, NULL, '2026-11-27 04:48:47+00', 'https://www.keplermarine96.fi/', NULL, 'first 1052', NULL),
	(1002, 1048, 'completed', '2026-11-27 04:48:46.297+00', '2026-11-27 04:48:54.202+00', 1795754934202210, NULL, '\x8e5548cc2271335f733d4491692f6af7', '{"url": "https://www.skodafarm8791.net/", "name": "Škodafarm AG", "note": "first 1048", "error": null, "score": 46.22, "domain": "skodafarm8791.net", "job_id": 1048, "object": "research_job", "public": true, "status": "completed", "country": "CZ", "founded": 1950, "sources": [{"url": "https://skodafarm8791.net/about", "weight": 0.75}, {"url": "https://register.example/736037610", "weight": 0.25}], "summary": "A supplier to insurers and mid-sized manufacturers: service contracts make up most of the revenue, and a new plant opens next spring\nin the second region.", "contacts": [{"name": null, "role": "CEO", "email": "ceo@skodafarm8791.net"}, {"name": "A. Pixel", "role": "CFO", "email": null}], "industry": "Construction", "location": {"lat": 49.747741, "lon": 13.377525, "city": "Plzeň", "country": "CZ"}, "created_at": "2026-11-27T03:48:12Z", "started_at": "2026-11-27T03:48:23Z", "updated_at": "2026-11-27T04:48:47Z", "document_id": 157235245, "growth_rate": -0.1222, "revenue_usd": 16137610.70, "completed_at": "2026-11-27T03:49:14Z", "technologies": ["Rust", "Shopify", "Kubernetes"], "employee_count": 2851}', NULL, '2026-11-27 04:48:54.202+00', '2026-11-27 04:49:32.947+00', 'update', 'skodafarm8791.net', '2026-11-27 03:49:14+00', '[{"name": null, "role": "CEO", "email": "ceo@skodafarm8791.net"}, {"name": "A. Pixel", "role": "CFO", "email": null}]', 'CZ', '2026-11-27 03:48:12+00', 157235245, 'skodafarm8791.net', 2851, NULL, 1950, -0.1222, 'Construction', '{"lat": 49.747741, "lon": 13.377525, "city": "Plzeň", "country": "CZ"}', 'Škodafarm AG', 'research_job', true, 16137610.70, 46.22, '[{"url": "https://skodafarm8791.net/about", "weight": 0.75}, {"url": "https://register.example/736037610", "weight": 0.25}]', '2026-11-27 03:48:23+00', 'A supplier to insurers and mid-sized manufacturers: service contracts make up most of the revenue, and a new plant opens next spring
in the second region.', '["Rust", "Shopify", "Kubernetes"]', '2026-11-27 04:48:47+00', 'https://www.skodafarm8791.net/', NULL, 'first 1048', NULL),
	(1002, 1044, 'completed', '2026-11-27 04:48:46.297+00', '2026-11-27 04:48:54.202+00', 1795754934202211, NULL, '\x1e4a7aafe9813778ee80abca700a66e7', '{"url": "https://www.lotusmetrics3636.com/", "name": "Lotusmetrics B.V.", "note": "first 1044", "error": null, "score": 63.08, "domain": "lotusmetrics3636.com", "job_id": 1044, "object": "research_job", "public": false, "status": "completed", "country": "GR", "founded": 1927, "sources": [{"url": "https://lotusmetrics3636.com/about", "weight": 0.75}, {"url": "https://register.example/2677075147", "weight": 0.25}], "summary": "A supplier to online shops and insurers: the founders still own the majority, and its planning platform cuts lead times by a third.", "contacts": [{"name": null, "role": "CEO", "email": "ceo@lotusmetrics3636.com"}, {"name": "A. Lotus", "role": "CFO", "email": null}], "industry": "Logistics", "location": {"lat": 37.98381, "lon": 23.727539, "city": "Αθήνα", "country": "GR"}, "created_at": "2026-11-27T00:47:43Z", "started_at": "2026-11-27T00:47:59Z", "updated_at": "2026-11-27T04:48:47Z", "document_id": 3377132057, "growth_rate": 0.2882, "revenue_usd": 67175147.47, "completed_at": "2026-11-27T00:49:23Z", "technologies": ["SAP", "Salesforce", "Elixir"], "employee_count": 3501}', NULL, '2026-11-27 04:48:54.202+00', '2026-11-27 04:49:32.947+00', 'update', 'lotusmetrics3636.com', '2026-11-27 00:49:23+00', '[{"name": null, "role": "CEO", "email": "ceo@lotusmetrics3636.com"}, {"name": "A. Lotus", "role": "CFO", "email": null}]', 'GR', '2026-11-27 00:47:43+00', 3377132057, 'lotusmetrics3636.com', 3501, NULL, 1927, 0.2882, 'Logistics', '{"lat": 37.98381, "lon": 23.727539, "city": "Αθήνα", "country": "GR"}', 'Lotusmetrics B.V.', 'research_job', false, 67175147.47, 63.08, '[{"url": "https://lotusmetrics3636.com/about", "weight": 0.75}, {"url": "https://register.example/2677075147", "weight": 0.25}]', '2026-11-27 00:47:59+00', 'A supplier to online shops and insurers: the founders still own the majority, and its planning platform cuts lead times by a third.', '["SAP", "Salesforce", "Elixir"]', '2026-11-27 04:48:47+00', 'https://www.lotusmetrics3636.com/', NULL, 'first 1044', NULL);

INSERT INTO mirror.submissions OVERRIDING SYSTEM VALUE VALUES
	(1001, 1, 'research', NULL, '{"company": "Example"}', 'k-1001', 'accepted', 201, '{"url": "https://www.kronamarine1150.eu/", "name": "Kronamarine s.r.o.", "error": null, "score": null, "domain": "kronamarine1150.eu", "job_id": 1058, "object": "research_job", "status": "queued", "country": "CA", "industry": "E-Commerce", "location": {"lat": 45.501689, "lon": -73.567256, "city": "Montréal", "country": "CA"}, "created_at": "2026-11-27T04:49:27Z", "started_at": null, "updated_at": "2026-11-27T04:49:27Z", "document_id": null, "completed_at": null, "employee_count": 68}', NULL, '2026-11-27 04:49:27.353819+00', '2026-11-27 04:49:27.449+00', '2026-11-27 04:49:27.527+00', 'c512a030-6c93-49ae-bbe6-32a517ab400d', '2026-11-27 04:49:32.449+00', NULL, NULL, NULL),
	(1001, 2, 'list_analyze', '999999', '{}', NULL, 'rejected', 404, '{"error": {"code": "not_found", "message": "No such list"}}', 'POST /v1/lists/999999/analyze was answered 404: No such list (not_found)', '2026-11-27 04:49:32.10787+00', '2026-11-27 04:49:32.225+00', '2026-11-27 04:49:32.283+00', 'daa56e8b-ea56-41ab-ac90-9af8582d2c57', '2026-11-27 04:49:37.225+00', NULL, NULL, NULL),
	(1002, 3, 'research', NULL, '{"company": "Example"}', 'k-1002', 'accepted', 201, '{"url": "https://www.nordsteel6455.net/", "name": "Nordsteel B.V.", "error": null, "score": null, "domain": "nordsteel6455.net", "job_id": 1058, "object": "research_job", "status": "queued", "country": "DE", "industry": "Software", "location": {"lat": 48.137154, "lon": 11.576124, "city": "München", "country": "DE"}, "created_at": "2026-11-27T04:49:34Z", "started_at": null, "updated_at": "2026-11-27T04:49:34Z", "document_id": null, "completed_at": null, "employee_count": 18047}', NULL, '2026-11-27 04:49:34.726784+00', '2026-11-27 04:49:34.803+00', '2026-11-27 04:49:34.843+00', '7b6ca801-c48d-4f28-bed4-b7c02ca74ab5', '2026-11-27 04:49:39.803+00', NULL, NULL, NULL),
	(1002, 4, 'list_analyze', '999999', '{}', NULL, 'rejected', 404, '{"error": {"code": "not_found", "message": "No such list"}}', 'POST /v1/lists/999999/analyze was answered 404: No such list (not_found)', '2026-11-27 04:49:37.067828+00', '2026-11-27 04:49:37.114+00', '2026-11-27 04:49:37.136+00', '2f5280c4-90b1-4e03-81af-177906e97fca', '2026-11-27 04:49:42.114+00', NULL, NULL, NULL),
	(1001, 5, 'list', NULL, '{"name": "lost"}', NULL, 'unknown', NULL, NULL, 'POST /v1/lists: 127.0.0.1:39175 closed the connection before it answered (ECONNRESET)', '2026-11-27 04:49:38.549416+00', '2026-11-27 04:49:38.619+00', '2026-11-27 04:49:38.661+00', '83714bef-8f97-4018-a181-ab8679c5c088', '2026-11-27 04:49:43.619+00', NULL, '2026-11-27 04:53:08.661+00', NULL),
	(1002, 6, 'list', NULL, '{"name": "waits"}', 'waits', 'queued', NULL, NULL, NULL, '2026-11-27 04:49:39.234407+00', NULL, NULL, '4814468b-1352-4553-b3f6-d3cfa3a3d4dc', NULL, NULL, NULL, NULL),
	(1001, 7, 'enrich', NULL, '{"a": 1}', NULL, 'cancelled', NULL, NULL, NULL, '2026-11-27 04:49:39.259486+00', NULL, '2026-11-27 04:49:39.260096+00', 'bbf1231e-bcb9-49c2-bbbb-1cd137756297', NULL, NULL, NULL, NULL);

INSERT INTO mirror.sync_log VALUES
	(1001, 1, 'research_jobs', NULL, 'full', '2026-11-27 04:48:41.029+00', '2026-11-27 04:48:42.681+00', 'completed', 1, 14, 14, 0, 0, 0, 0, 1, 0, NULL),
	(1001, 2, 'lists', NULL, 'full', '2026-11-27 04:48:41.13+00', '2026-11-27 04:48:43.208+00', 'completed', 1, 3, 3, 0, 0, 0, 0, 1, 0, NULL),
	(1001, 3, 'account', NULL, 'single', '2026-11-27 04:48:40.873+00', '2026-11-27 04:48:43.609+00', 'completed', 1, 1, 1, 0, 0, 0, 0, 1, 0, NULL),
	(1001, 4, 'watchlist', NULL, 'full', '2026-11-27 04:48:41.146+00', '2026-11-27 04:48:44.168+00', 'completed', 1, 5, 5, 0, 0, 0, 0, 1, 0, NULL),
	(1001, 5, 'bulk_research_jobs', NULL, 'full', '2026-11-27 04:48:41.154+00', '2026-11-27 04:48:44.882+00', 'completed', 1, 2, 2, 0, 0, 0, 0, 1, 0, NULL),
	(1001, 6, 'list_items', 1004, 'full', '2026-11-27 04:48:45.051+00', '2026-11-27 04:48:45.5+00', 'completed', 1, 4, 4, 0, 0, 0, 0, 1, 0, NULL),
	(1001, 7, 'list_items', 1009, 'full', '2026-11-27 04:48:45.052+00', '2026-11-27 04:48:45.54+00', 'completed', 1, 4, 4, 0, 0, 0, 0, 1, 0, NULL),
	(1001, 8, 'list_items', 1000, 'full', '2026-11-27 04:48:45.052+00', '2026-11-27 04:48:45.59+00', 'completed', 1, 4, 4, 0, 0, 0, 0, 1, 0, NULL),
	(1002, 1, 'account', NULL, 'single', '2026-11-27 04:48:45.995+00', '2026-11-27 04:48:46.2+00', 'completed', 1, 1, 1, 0, 0, 0, 0, 1, 0, NULL),
	(1002, 2, 'bulk_research_jobs', NULL, 'full', '2026-11-27 04:48:46.041+00', '2026-11-27 04:48:46.241+00', 'completed', 1, 2, 2, 0, 0, 0, 0, 1, 0, NULL),
	(1002, 3, 'research_jobs', NULL, 'full', '2026-11-27 04:48:46.016+00', '2026-11-27 04:48:46.297+00', 'completed', 1, 14, 14, 0, 0, 0, 0, 1, 0, NULL),
	(1002, 4, 'watchlist', NULL, 'full', '2026-11-27 04:48:46.039+00', '2026-11-27 04:48:46.348+00', 'completed', 1, 5, 5, 0, 0, 0, 0, 1, 0, NULL),
	(1002, 5, 'lists', NULL, 'full', '2026-11-27 04:48:46.039+00', '2026-11-27 04:48:46.399+00', 'completed', 1, 3, 3, 0, 0, 0, 0, 1, 0, NULL),
	(1002, 6, 'list_items', 1002, 'full', '2026-11-27 04:48:46.517+00', '2026-11-27 04:48:46.627+00', 'completed', 1, 4, 4, 0, 0, 0, 0, 1, 0, NULL),
	(1002, 7, 'list_items', 1006, 'full', '2026-11-27 04:48:46.523+00', '2026-11-27 04:48:46.693+00', 'completed', 1, 4, 4, 0, 0, 0, 0, 1, 0, NULL),
	(1002, 8, 'list_items', 1009, 'full', '2026-11-27 04:48:46.527+00', '2026-11-27 04:48:46.704+00', 'completed', 1, 4, 4, 0, 0, 0, 0, 1, 0, NULL),
	(1001, 9, 'account', NULL, 'single', '2026-11-27 04:48:49.001+00', '2026-11-27 04:48:49.543+00', 'completed', 1, 1, 0, 0, 0, 1, 0, 1, 0, NULL),
	(1001, 10, 'watchlist', NULL, 'full', '2026-11-27 04:48:49.077+00', '2026-11-27 04:48:49.599+00', 'completed', 1, 4, 0, 1, 0, 3, 0, 1, 0, NULL),
	(1001, 11, 'lists', NULL, 'full', '2026-11-27 04:48:49.069+00', '2026-11-27 04:48:49.679+00', 'completed', 1, 2, 0, 1, 0, 1, 0, 1, 0, NULL),
	(1001, 12, 'bulk_research_jobs', NULL, 'full', '2026-11-27 04:48:49.07+00', '2026-11-27 04:48:49.723+00', 'completed', 1, 2, 0, 0, 0, 2, 0, 1, 0, NULL),
	(1001, 13, 'research_jobs', NULL, 'full', '2026-11-27 04:48:49.02+00', '2026-11-27 04:48:50.118+00', 'completed', 1, 15, 1, 5, 0, 8, 1, 1, 0, NULL),
	(1001, 14, 'watchlist', NULL, 'confirm', '2026-11-27 04:48:50.623+00', '2026-11-27 04:48:50.63+00', 'completed', 1, 4, 0, 0, 0, 4, 0, 1, 0, NULL),
	(1001, 15, 'watchlist', NULL, 'deletion', '2026-11-27 04:48:50.693+00', '2026-11-27 04:48:50.693+00', 'completed', 0, 0, 0, 0, 1, 0, 0, 0, 0, NULL),
	(1001, 16, 'lists', NULL, 'confirm', '2026-11-27 04:48:50.702+00', '2026-11-27 04:48:50.813+00', 'completed', 1, 2, 0, 0, 0, 2, 0, 1, 0, NULL),
	(1001, 17, 'research_jobs', NULL, 'confirm', '2026-11-27 04:48:51.144+00', '2026-11-27 04:48:51.153+00', 'completed', 1, 15, 0, 0, 0, 14, 1, 1, 0, NULL),
	(1001, 18, 'lists', NULL, 'confirm', '2026-11-27 04:48:51.146+00', '2026-11-27 04:48:51.18+00', 'completed', 1, 2, 0, 0, 0, 2, 0, 1, 0, NULL),
	(1001, 19, 'research_jobs', NULL, 'deletion', '2026-11-27 04:48:51.219+00', '2026-11-27 04:48:51.219+00', 'completed', 0, 0, 0, 0, 1, 0, 0, 0, 0, NULL),
	(1001, 20, 'list_items', 1004, 'deletion', '2026-11-27 04:48:51.282+00', '2026-11-27 04:48:51.282+00', 'completed', 0, 0, 0, 0, 4, 0, 0, 0, 0, NULL),
	(1001, 21, 'lists', NULL, 'deletion', '2026-11-27 04:48:51.282+00', '2026-11-27 04:48:51.282+00', 'completed', 0, 0, 0, 0, 1, 0, 0, 0, 0, NULL),
	(1001, 22, 'list_items', 1000, 'full', '2026-11-27 04:48:51.528+00', '2026-11-27 04:48:51.551+00', 'completed', 1, 4, 0, 0, 0, 4, 0, 1, 0, NULL),
	(1001, 23, 'list_items', 1009, 'full', '2026-11-27 04:48:51.532+00', '2026-11-27 04:48:51.568+00', 'completed', 1, 3, 0, 0, 0, 3, 0, 1, 0, NULL),
	(1001, 24, 'list_items', 1009, 'confirm', '2026-11-27 04:48:52.597+00', '2026-11-27 04:48:52.602+00', 'completed', 1, 3, 0, 0, 0, 3, 0, 1, 0, NULL),
	(1001, 25, 'list_items', 1009, 'confirm', '2026-11-27 04:48:52.925+00', '2026-11-27 04:48:52.95+00', 'completed', 1, 3, 0, 0, 0, 3, 0, 1, 0, NULL),
	(1001, 26, 'list_items', 1009, 'deletion', '2026-11-27 04:48:53.086+00', '2026-11-27 04:48:53.086+00', 'completed', 0, 0, 0, 0, 1, 0, 0, 0, 0, NULL),
	(1002, 9, 'account', NULL, 'single', '2026-11-27 04:48:53.451+00', '2026-11-27 04:48:53.767+00', 'completed', 1, 1, 0, 0, 0, 1, 0, 1, 0, NULL),
	(1002, 10, 'bulk_research_jobs', NULL, 'full', '2026-11-27 04:48:53.459+00', '2026-11-27 04:48:53.839+00', 'completed', 1, 2, 0, 0, 0, 2, 0, 1, 0, NULL),
	(1002, 11, 'lists', NULL, 'full', '2026-11-27 04:48:53.452+00', '2026-11-27 04:48:53.883+00', 'completed', 1, 2, 0, 1, 0, 1, 0, 1, 0, NULL),
	(1002, 12, 'watchlist', NULL, 'full', '2026-11-27 04:48:53.454+00', '2026-11-27 04:48:54.04+00', 'completed', 1, 4, 0, 1, 0, 3, 0, 1, 0, NULL),
	(1002, 13, 'research_jobs', NULL, 'full', '2026-11-27 04:48:53.454+00', '2026-11-27 04:48:54.202+00', 'completed', 1, 15, 1, 5, 0, 8, 1, 1, 0, NULL),
	(1002, 14, 'lists', NULL, 'confirm', '2026-11-27 04:48:54.975+00', '2026-11-27 04:48:55.014+00', 'completed', 1, 2, 0, 0, 0, 2, 0, 1, 0, NULL),
	(1002, 15, 'list_items', 1006, 'deletion', '2026-11-27 04:48:55.134+00', '2026-11-27 04:48:55.134+00', 'completed', 0, 0, 0, 0, 4, 0, 0, 0, 0, NULL),
	(1002, 16, 'lists', NULL, 'deletion', '2026-11-27 04:48:55.134+00', '2026-11-27 04:48:55.134+00', 'completed', 0, 0, 0, 0, 1, 0, 0, 0, 0, NULL),
	(1002, 17, 'watchlist', NULL, 'confirm', '2026-11-27 04:48:55.107+00', '2026-11-27 04:48:55.466+00', 'completed', 1, 4, 0, 0, 0, 4, 0, 1, 0, NULL),
	(1002, 18, 'research_jobs', NULL, 'confirm', '2026-11-27 04:48:55.251+00', '2026-11-27 04:48:55.542+00', 'completed', 1, 15, 0, 0, 0, 14, 1, 1, 0, NULL),
	(1002, 19, 'watchlist', NULL, 'deletion', '2026-11-27 04:48:55.707+00', '2026-11-27 04:48:55.707+00', 'completed', 0, 0, 0, 0, 1, 0, 0, 0, 0, NULL),
	(1002, 20, 'research_jobs', NULL, 'deletion', '2026-11-27 04:48:55.778+00', '2026-11-27 04:48:55.778+00', 'completed', 0, 0, 0, 0, 1, 0, 0, 0, 0, NULL),
	(1002, 21, 'list_items', 1009, 'full', '2026-11-27 04:48:56.007+00', '2026-11-27 04:48:56.065+00', 'completed', 1, 3, 0, 0, 0, 3, 0, 1, 0, NULL),
	(1002, 22, 'list_items', 1002, 'full', '2026-11-27 04:48:56.007+00', '2026-11-27 04:48:56.089+00', 'completed', 1, 4, 0, 0, 0, 4, 0, 1, 0, NULL),
	(1002, 23, 'list_items', 1009, 'confirm', '2026-11-27 04:48:57.115+00', '2026-11-27 04:48:57.123+00', 'completed', 1, 3, 0, 0, 0, 3, 0, 1, 0, NULL),
	(1002, 24, 'list_items', 1009, 'deletion', '2026-11-27 04:48:57.211+00', '2026-11-27 04:48:57.211+00', 'completed', 0, 0, 0, 0, 1, 0, 0, 0, 0, NULL),
	(1001, 27, 'account', NULL, 'single', '2026-11-27 04:49:02.905+00', '2026-11-27 04:49:04.107+00', 'completed', 1, 1, 0, 0, 0, 1, 0, 1, 0, NULL),
	(1001, 28, 'bulk_research_jobs', NULL, 'full', '2026-11-27 04:49:03.055+00', '2026-11-27 04:49:04.235+00', 'completed', 1, 2, 0, 1, 0, 1, 0, 1, 0, NULL),
	(1001, 29, 'lists', NULL, 'full', '2026-11-27 04:49:03.058+00', '2026-11-27 04:49:04.323+00', 'completed', 1, 2, 0, 0, 0, 2, 0, 1, 0, NULL),
	(1001, 30, 'watchlist', NULL, 'full', '2026-11-27 04:49:03.057+00', '2026-11-27 04:49:04.476+00', 'completed', 1, 4, 0, 0, 0, 4, 0, 1, 0, NULL),
	(1001, 31, 'research_jobs', NULL, 'full', '2026-11-27 04:49:02.956+00', '2026-11-27 04:49:04.589+00', 'completed', 1, 15, 0, 0, 0, 14, 1, 1, 0, NULL),
	(1001, 32, 'list_items', 1009, 'full', '2026-11-27 04:49:04.883+00', '2026-11-27 04:49:05.016+00', 'completed', 1, 3, 0, 0, 0, 3, 0, 1, 0, NULL),
	(1001, 33, 'list_items', 1000, 'full', '2026-11-27 04:49:04.882+00', '2026-11-27 04:49:05.074+00', 'completed', 1, 4, 0, 0, 0, 4, 0, 1, 0, NULL),
	(1002, 25, 'account', NULL, 'single', '2026-11-27 04:49:05.697+00', '2026-11-27 04:49:06.1+00', 'completed', 1, 1, 0, 0, 0, 1, 0, 1, 0, NULL),
	(1002, 26, 'watchlist', NULL, 'full', '2026-11-27 04:49:05.701+00', '2026-11-27 04:49:06.195+00', 'completed', 1, 4, 0, 0, 0, 4, 0, 1, 0, NULL),
	(1002, 27, 'bulk_research_jobs', NULL, 'full', '2026-11-27 04:49:05.702+00', '2026-11-27 04:49:06.261+00', 'completed', 1, 2, 0, 0, 0, 2, 0, 1, 0, NULL),
	(1002, 28, 'lists', NULL, 'full', '2026-11-27 04:49:05.701+00', '2026-11-27 04:49:06.316+00', 'completed', 1, 2, 0, 0, 0, 2, 0, 1, 0, NULL),
	(1002, 29, 'research_jobs', NULL, 'full', '2026-11-27 04:49:05.698+00', '2026-11-27 04:49:06.362+00', 'completed', 1, 15, 0, 0, 0, 14, 1, 1, 0, NULL),
	(1002, 30, 'list_items', 1009, 'full', '2026-11-27 04:49:06.635+00', '2026-11-27 04:49:06.787+00', 'completed', 1, 3, 0, 0, 0, 3, 0, 1, 0, NULL),
	(1002, 31, 'list_items', 1002, 'full', '2026-11-27 04:49:06.634+00', '2026-11-27 04:49:06.819+00', 'completed', 1, 4, 0, 0, 0, 4, 0, 1, 0, NULL),
	(1001, 34, 'account', NULL, 'single', '2026-11-27 04:49:12.982+00', '2026-11-27 04:49:13.925+00', 'completed', 1, 1, 0, 0, 0, 1, 0, 1, 0, NULL),
	(1001, 35, 'bulk_research_jobs', NULL, 'full', '2026-11-27 04:49:13.043+00', '2026-11-27 04:49:14.051+00', 'completed', 1, 2, 0, 0, 0, 2, 0, 1, 0, NULL),
	(1001, 36, 'lists', NULL, 'full', '2026-11-27 04:49:13.066+00', '2026-11-27 04:49:14.149+00', 'completed', 1, 2, 0, 0, 0, 2, 0, 1, 0, NULL),
	(1001, 37, 'watchlist', NULL, 'full', '2026-11-27 04:49:13.072+00', '2026-11-27 04:49:14.178+00', 'completed', 1, 4, 0, 0, 0, 4, 0, 1, 0, NULL),
	(1001, 38, 'research_jobs', NULL, 'full', '2026-11-27 04:49:13.005+00', '2026-11-27 04:49:14.21+00', 'completed', 1, 15, 0, 0, 0, 14, 1, 1, 0, NULL),
	(1001, 39, 'list_items', 1009, 'full', '2026-11-27 04:49:14.472+00', '2026-11-27 04:49:14.507+00', 'completed', 1, 3, 0, 0, 0, 3, 0, 1, 0, NULL),
	(1001, 40, 'list_items', 1000, 'full', '2026-11-27 04:49:14.46+00', '2026-11-27 04:49:14.577+00', 'completed', 1, 4, 0, 0, 0, 4, 0, 1, 0, NULL),
	(1002, 32, 'account', NULL, 'single', '2026-11-27 04:49:15.279+00', '2026-11-27 04:49:15.659+00', 'completed', 1, 1, 0, 0, 0, 1, 0, 1, 0, NULL),
	(1002, 33, 'bulk_research_jobs', NULL, 'full', '2026-11-27 04:49:15.285+00', '2026-11-27 04:49:15.886+00', 'completed', 1, 2, 0, 0, 0, 2, 0, 1, 0, NULL),
	(1002, 34, 'watchlist', NULL, 'full', '2026-11-27 04:49:15.3+00', '2026-11-27 04:49:15.967+00', 'completed', 1, 4, 0, 0, 0, 4, 0, 1, 0, NULL),
	(1002, 35, 'lists', NULL, 'full', '2026-11-27 04:49:15.299+00', '2026-11-27 04:49:16.043+00', 'completed', 1, 2, 0, 0, 0, 2, 0, 1, 0, NULL),
	(1002, 36, 'research_jobs', NULL, 'full', '2026-11-27 04:49:15.308+00', '2026-11-27 04:49:16.177+00', 'completed', 1, 15, 0, 0, 0, 14, 1, 1, 0, NULL),
	(1002, 37, 'list_items', 1009, 'full', '2026-11-27 04:49:16.534+00', '2026-11-27 04:49:16.573+00', 'completed', 1, 3, 0, 0, 0, 3, 0, 1, 0, NULL),
	(1002, 38, 'list_items', 1002, 'full', '2026-11-27 04:49:16.543+00', '2026-11-27 04:49:16.59+00', 'completed', 1, 4, 0, 0, 0, 4, 0, 1, 0, NULL),
	(1002, 39, 'account', NULL, 'single', '2026-11-27 04:49:22.814+00', '2026-11-27 04:49:23.649+00', 'completed', 1, 1, 0, 0, 0, 1, 0, 1, 0, NULL),
	(1001, 41, 'account', NULL, 'single', '2026-11-27 04:49:22.866+00', '2026-11-27 04:49:23.74+00', 'completed', 1, 1, 0, 0, 0, 1, 0, 1, 0, NULL),
	(1001, 42, 'lists', NULL, 'poll', '2026-11-27 04:49:23.004+00', '2026-11-27 04:49:23.823+00', 'completed', 1, 2, 0, 0, 0, 2, 0, 1, 0, NULL),
	(1002, 40, 'lists', NULL, 'poll', '2026-11-27 04:49:22.954+00', '2026-11-27 04:49:23.824+00', 'completed', 1, 2, 0, 0, 0, 2, 0, 1, 0, NULL),
	(1001, 43, 'list_items', 1000, 'poll', '2026-11-27 04:49:23.111+00', '2026-11-27 04:49:23.9+00', 'completed', 1, 4, 0, 0, 0, 4, 0, 1, 0, NULL),
	(1001, 44, 'watchlist', NULL, 'poll', '2026-11-27 04:49:23.039+00', '2026-11-27 04:49:23.932+00', 'completed', 1, 4, 0, 0, 0, 4, 0, 1, 0, NULL),
	(1002, 41, 'list_items', 1002, 'poll', '2026-11-27 04:49:22.95+00', '2026-11-27 04:49:23.946+00', 'completed', 1, 4, 0, 0, 0, 4, 0, 1, 0, NULL),
	(1001, 45, 'bulk_research_jobs', NULL, 'poll', '2026-11-27 04:49:22.95+00', '2026-11-27 04:49:23.97+00', 'completed', 1, 2, 0, 0, 0, 2, 0, 1, 0, NULL),
	(1002, 42, 'list_items', 1009, 'poll', '2026-11-27 04:49:22.938+00', '2026-11-27 04:49:23.968+00', 'completed', 1, 3, 0, 0, 0, 3, 0, 1, 0, NULL),
	(1002, 43, 'bulk_research_jobs', NULL, 'poll', '2026-11-27 04:49:23.009+00', '2026-11-27 04:49:24.011+00', 'completed', 1, 2, 0, 0, 0, 2, 0, 1, 0, NULL),
	(1001, 46, 'list_items', 1009, 'poll', '2026-11-27 04:49:23.931+00', '2026-11-27 04:49:24.044+00', 'completed', 1, 3, 0, 0, 0, 3, 0, 1, 0, NULL),
	(1002, 44, 'watchlist', NULL, 'poll', '2026-11-27 04:49:23.002+00', '2026-11-27 04:49:24.049+00', 'completed', 1, 4, 0, 0, 0, 4, 0, 1, 0, NULL),
	(1001, 47, 'research_jobs', NULL, 'poll', '2026-11-27 04:49:22.948+00', '2026-11-27 04:49:24.069+00', 'completed', 1, 15, 0, 0, 0, 14, 1, 1, 0, NULL),
	(1002, 45, 'research_jobs', NULL, 'poll', '2026-11-27 04:49:22.825+00', '2026-11-27 04:49:24.141+00', 'completed', 1, 15, 0, 0, 0, 14, 1, 1, 0, NULL),
	(1001, 48, 'research_jobs', NULL, 'poll', '2026-11-27 04:49:25.568+00', '2026-11-27 04:49:25.704+00', 'completed', 1, 15, 0, 3, 0, 11, 1, 1, 0, NULL),
	(1001, 49, 'research_jobs', NULL, 'poll', '2026-11-27 04:49:26.236+00', '2026-11-27 04:49:26.287+00', 'completed', 1, 15, 0, 0, 0, 14, 1, 1, 0, NULL),
	(1001, 50, 'research_jobs', NULL, 'poll', '2026-11-27 04:49:28.5+00', '2026-11-27 04:49:28.55+00', 'completed', 1, 16, 1, 1, 0, 13, 1, 1, 0, NULL),
	(1002, 46, 'research_jobs', NULL, 'poll', '2026-11-27 04:49:32.911+00', '2026-11-27 04:49:32.947+00', 'completed', 1, 15, 0, 3, 0, 11, 1, 1, 0, NULL),
	(1002, 47, 'research_jobs', NULL, 'poll', '2026-11-27 04:49:35.91+00', '2026-11-27 04:49:36.087+00', 'completed', 1, 16, 1, 0, 0, 14, 1, 1, 0, NULL);

INSERT INTO mirror.watchlist VALUES
	(1001, '1008', '2026-11-27 04:48:44.168+00', '2026-11-27 04:48:44.168+00', 1795754924168554, NULL, '\x3317a9309a3a74b8d5a0f77bd43b150a', '{"id": 1008, "url": "https://www.hanseworks9403.ai/", "name": "Hanseworks B.V.", "score": 7.82, "domain": "hanseworks9403.ai", "object": "watch_entry", "country": "SE", "signals": {"hiring": true, "funding": null}, "industry": "Chemicals", "location": {"lat": 55.604981, "lon": 13.003822, "city": "Malmö", "country": "SE"}, "threshold": 7, "created_at": "2026-11-26T22:22:25Z", "updated_at": "2026-11-26T22:22:25Z", "employee_count": 2931, "previous_score": null, "score_changed_at": null}', NULL, 'hanseworks9403.ai', 'SE', '2026-11-26 22:22:25+00', 'hanseworks9403.ai', 2931, 'Chemicals', '{"lat": 55.604981, "lon": 13.003822, "city": "Malmö", "country": "SE"}', 'Hanseworks B.V.', 'watch_entry', 7.82, '{"hiring": true, "funding": null}', 7, '2026-11-26 22:22:25+00', 'https://www.hanseworks9403.ai/'),
	(1001, '1006', '2026-11-27 04:48:44.168+00', '2026-11-27 04:48:44.168+00', 1795754924168555, NULL, '\xf0131d4b4435017bc76a69f85d820f82', '{"id": 1006, "url": "https://www.srengames3273.fr/", "name": "Sørengames Ltd", "score": 10.18, "domain": "srengames3273.fr", "object": "watch_entry", "country": "FI", "signals": {"hiring": true, "funding": null}, "industry": "Chemicals", "location": {"lat": 60.20549, "lon": 24.655899, "city": "Espoo", "country": "FI"}, "threshold": 5, "created_at": "2026-11-26T16:33:50Z", "updated_at": "2026-11-26T16:33:50Z", "employee_count": 12963, "previous_score": null, "score_changed_at": null}', NULL, 'srengames3273.fr', 'FI', '2026-11-26 16:33:50+00', 'srengames3273.fr', 12963, 'Chemicals', '{"lat": 60.20549, "lon": 24.655899, "city": "Espoo", "country": "FI"}', 'Sørengames Ltd', 'watch_entry', 10.18, '{"hiring": true, "funding": null}', 5, '2026-11-26 16:33:50+00', 'https://www.srengames3273.fr/'),
	(1001, '1000', '2026-11-27 04:48:44.168+00', '2026-11-27 04:48:44.168+00', 1795754924168556, NULL, '\x0b86ea11e5d7813e0bc14557fd2636bb', '{"id": 1000, "url": "https://www.emberair4052.ai/", "name": "Emberair Group", "score": 16.76, "domain": "emberair4052.ai", "object": "watch_entry", "country": "GR", "signals": {"hiring": false, "funding": null}, "industry": "Education", "location": {"lat": 37.98381, "lon": 23.727539, "city": "Αθήνα", "country": "GR"}, "threshold": 24, "created_at": "2026-11-26T08:36:57Z", "updated_at": "2026-11-26T08:36:57Z", "employee_count": 3979, "previous_score": null, "score_changed_at": null}', NULL, 'emberair4052.ai', 'GR', '2026-11-26 08:36:57+00', 'emberair4052.ai', 3979, 'Education', '{"lat": 37.98381, "lon": 23.727539, "city": "Αθήνα", "country": "GR"}', 'Emberair Group', 'watch_entry', 16.76, '{"hiring": false, "funding": null}', 24, '2026-11-26 08:36:57+00', 'https://www.emberair4052.ai/'),
	(1002, '1008', '2026-11-27 04:48:46.348+00', '2026-11-27 04:48:46.348+00', 1795754926348150, NULL, '\x0ab27c265dac5b1acb88401d5efcb59e', '{"id": 1008, "url": "https://www.cobaltfarm1879.fr/", "name": "Cobaltfarm Inc.", "score": 83.7, "domain": "cobaltfarm1879.fr", "object": "watch_entry", "country": "IN", "signals": {"hiring": false, "funding": null}, "industry": "Logistics", "location": {"lat": 18.52043, "lon": 73.856744, "city": "Pune", "country": "IN"}, "threshold": 10, "created_at": "2026-11-26T22:43:35Z", "updated_at": "2026-11-26T22:43:35Z", "employee_count": 11859, "previous_score": null, "score_changed_at": null}', NULL, 'cobaltfarm1879.fr', 'IN', '2026-11-26 22:43:35+00', 'cobaltfarm1879.fr', 11859, 'Logistics', '{"lat": 18.52043, "lon": 73.856744, "city": "Pune", "country": "IN"}', 'Cobaltfarm Inc.', 'watch_entry', 83.7, '{"hiring": false, "funding": null}', 10, '2026-11-26 22:43:35+00', 'https://www.cobaltfarm1879.fr/'),
	(1001, '1018', '2026-11-27 04:48:44.168+00', '2026-11-27 04:48:50.693+00', 1795754930693249, '2026-11-27 04:48:50.693+00', '\xc80a3270bca33165541fb52b3b46855b', '{"id": 1018, "url": "https://www.pixelair1752.io/", "name": "Pixelair Group", "score": 96.97, "domain": "pixelair1752.io", "object": "watch_entry", "country": "JP", "signals": {"hiring": false, "funding": null}, "industry": "Textiles", "location": {"lat": 34.693738, "lon": 135.502165, "city": "大阪", "country": "JP"}, "threshold": 22, "created_at": "2026-11-27T04:45:51Z", "updated_at": "2026-11-27T04:45:51Z", "employee_count": 11577, "previous_score": null, "score_changed_at": null}', NULL, 'pixelair1752.io', 'JP', '2026-11-27 04:45:51+00', 'pixelair1752.io', 11577, 'Textiles', '{"lat": 34.693738, "lon": 135.502165, "city": "大阪", "country": "JP"}', 'Pixelair Group', 'watch_entry', 96.97, '{"hiring": false, "funding": null}', 22, '2026-11-27 04:45:51+00', 'https://www.pixelair1752.io/'),
	(1002, '1012', '2026-11-27 04:48:46.348+00', '2026-11-27 04:48:54.04+00', 1795754934040322, NULL, '\x7e06a0327810756ddf9109933773238d', '{"id": 1012, "url": "https://www.quantsoft264.com/", "name": "Quantsoft B.V.", "score": 12.5, "domain": "quantsoft264.com", "object": "watch_entry", "country": "ES", "signals": {"hiring": false, "funding": null}, "industry": "Medical Devices", "location": {"lat": 36.527061, "lon": -6.288596, "city": "Cádiz", "country": "ES"}, "threshold": 14, "created_at": "2026-11-27T02:47:13Z", "updated_at": "2026-11-27T04:48:47Z", "employee_count": 13603, "previous_score": null, "score_changed_at": null}', NULL, 'quantsoft264.com', 'ES', '2026-11-27 02:47:13+00', 'quantsoft264.com', 13603, 'Medical Devices', '{"lat": 36.527061, "lon": -6.288596, "city": "Cádiz", "country": "ES"}', 'Quantsoft B.V.', 'watch_entry', 12.5, '{"hiring": false, "funding": null}', 14, '2026-11-27 04:48:47+00', 'https://www.quantsoft264.com/'),
	(1002, '1018', '2026-11-27 04:48:46.348+00', '2026-11-27 04:48:55.707+00', 1795754935707076, '2026-11-27 04:48:55.707+00', '\x48cdd26b644eb7d5a2dbaa90103ab9e9', '{"id": 1018, "url": "https://www.pixelcloud244.eu/", "name": "Pixelcloud & Söhne KG", "score": 22.46, "domain": "pixelcloud244.eu", "object": "watch_entry", "country": "IN", "signals": {"hiring": false, "funding": null}, "industry": "Software", "location": {"lat": 18.52043, "lon": 73.856744, "city": "Pune", "country": "IN"}, "threshold": 10, "created_at": "2026-11-27T04:34:19Z", "updated_at": "2026-11-27T04:34:19Z", "employee_count": null, "previous_score": null, "score_changed_at": null}', NULL, 'pixelcloud244.eu', 'IN', '2026-11-27 04:34:19+00', 'pixelcloud244.eu', NULL, 'Software', '{"lat": 18.52043, "lon": 73.856744, "city": "Pune", "country": "IN"}', 'Pixelcloud & Söhne KG', 'watch_entry', 22.46, '{"hiring": false, "funding": null}', 10, '2026-11-27 04:34:19+00', 'https://www.pixelcloud244.eu/'),
	(1002, '1004', '2026-11-27 04:48:46.348+00', '2026-11-27 04:48:46.348+00', 1795754926348151, NULL, '\x4d01d4a6917542434649bde05a1af812', '{"id": 1004, "url": "https://www.skodabau3831.net/", "name": "Škodabau Inc.", "score": 46.59, "domain": "skodabau3831.net", "object": "watch_entry", "country": "FR", "signals": {"hiring": false, "funding": null}, "industry": "Agriculture", "location": {"lat": 47.902964, "lon": 1.909251, "city": "Orléans", "country": "FR"}, "threshold": 10, "created_at": "2026-11-26T16:42:41Z", "updated_at": "2026-11-26T16:42:41Z", "employee_count": null, "previous_score": null, "score_changed_at": null}', NULL, 'skodabau3831.net', 'FR', '2026-11-26 16:42:41+00', 'skodabau3831.net', NULL, 'Agriculture', '{"lat": 47.902964, "lon": 1.909251, "city": "Orléans", "country": "FR"}', 'Škodabau Inc.', 'watch_entry', 46.59, '{"hiring": false, "funding": null}', 10, '2026-11-26 16:42:41+00', 'https://www.skodabau3831.net/'),
	(1002, '1001', '2026-11-27 04:48:46.348+00', '2026-11-27 04:48:46.348+00', 1795754926348152, NULL, '\xda28379f23348c2b87dc31ec99355b0e', '{"id": 1001, "url": "https://www.bluefleet5163.net/", "name": "Bluefleet AG", "score": 13.23, "domain": "bluefleet5163.net", "object": "watch_entry", "country": "FI", "signals": {"hiring": false, "funding": null}, "industry": "Insurance", "location": {"lat": 60.20549, "lon": 24.655899, "city": "Espoo", "country": "FI"}, "threshold": 10, "created_at": "2026-11-26T08:34:37Z", "updated_at": "2026-11-26T08:34:37Z", "employee_count": 744, "previous_score": null, "score_changed_at": null}', NULL, 'bluefleet5163.net', 'FI', '2026-11-26 08:34:37+00', 'bluefleet5163.net', 744, 'Insurance', '{"lat": 60.20549, "lon": 24.655899, "city": "Espoo", "country": "FI"}', 'Bluefleet AG', 'watch_entry', 13.23, '{"hiring": false, "funding": null}', 10, '2026-11-26 08:34:37+00', 'https://www.bluefleet5163.net/'),
	(1001, '1014', '2026-11-27 04:48:44.168+00', '2026-11-27 04:48:49.599+00', 1795754929599980, NULL, '\xa8edc9cca8d83ab9da8887e759302f73', '{"id": 1014, "url": "https://www.lumensoft7197.ai/", "name": "Lumensoft S.A.", "score": 12.5, "domain": "lumensoft7197.ai", "object": "watch_entry", "country": "FR", "signals": {"hiring": true, "funding": null}, "industry": "Medical Devices", "location": {"lat": 47.902964, "lon": 1.909251, "city": "Orléans", "country": "FR"}, "threshold": 23, "created_at": "2026-11-27T02:29:32Z", "updated_at": "2026-11-27T04:48:47Z", "employee_count": 2095, "previous_score": null, "score_changed_at": null}', NULL, 'lumensoft7197.ai', 'FR', '2026-11-27 02:29:32+00', 'lumensoft7197.ai', 2095, 'Medical Devices', '{"lat": 47.902964, "lon": 1.909251, "city": "Orléans", "country": "FR"}', 'Lumensoft S.A.', 'watch_entry', 12.5, '{"hiring": true, "funding": null}', 23, '2026-11-27 04:48:47+00', 'https://www.lumensoft7197.ai/');

INSERT INTO mirror.watchlist_history VALUES
	(1001, '1014', '2026-11-27 04:48:44.168+00', '2026-11-27 04:48:44.168+00', 1795754924168553, NULL, '\x4eeab023831c32e22bc58a413a4f7180', '{"id": 1014, "url": "https://www.lumensoft7197.ai/", "name": "Lumensoft S.A.", "score": 83.87, "domain": "lumensoft7197.ai", "object": "watch_entry", "country": "FR", "signals": {"hiring": true, "funding": null}, "industry": "Medical Devices", "location": {"lat": 47.902964, "lon": 1.909251, "city": "Orléans", "country": "FR"}, "threshold": 23, "created_at": "2026-11-27T02:29:32Z", "updated_at": "2026-11-27T02:29:32Z", "employee_count": 2095, "previous_score": null, "score_changed_at": null}', NULL, '2026-11-27 04:48:44.168+00', '2026-11-27 04:48:49.599+00', 'update', 'lumensoft7197.ai', 'FR', '2026-11-27 02:29:32+00', 'lumensoft7197.ai', 2095, 'Medical Devices', '{"lat": 47.902964, "lon": 1.909251, "city": "Orléans", "country": "FR"}', 'Lumensoft S.A.', 'watch_entry', 83.87, '{"hiring": true, "funding": null}', 23, '2026-11-27 02:29:32+00', 'https://www.lumensoft7197.ai/'),
	(1001, '1018', '2026-11-27 04:48:44.168+00', '2026-11-27 04:48:44.168+00', 1795754924168552, NULL, '\xc80a3270bca33165541fb52b3b46855b', '{"id": 1018, "url": "https://www.pixelair1752.io/", "name": "Pixelair Group", "score": 96.97, "domain": "pixelair1752.io", "object": "watch_entry", "country": "JP", "signals": {"hiring": false, "funding": null}, "industry": "Textiles", "location": {"lat": 34.693738, "lon": 135.502165, "city": "大阪", "country": "JP"}, "threshold": 22, "created_at": "2026-11-27T04:45:51Z", "updated_at": "2026-11-27T04:45:51Z", "employee_count": 11577, "previous_score": null, "score_changed_at": null}', NULL, '2026-11-27 04:48:44.168+00', '2026-11-27 04:48:50.693+00', 'delete', 'pixelair1752.io', 'JP', '2026-11-27 04:45:51+00', 'pixelair1752.io', 11577, 'Textiles', '{"lat": 34.693738, "lon": 135.502165, "city": "大阪", "country": "JP"}', 'Pixelair Group', 'watch_entry', 96.97, '{"hiring": false, "funding": null}', 22, '2026-11-27 04:45:51+00', 'https://www.pixelair1752.io/'),
	(1002, '1012', '2026-11-27 04:48:46.348+00', '2026-11-27 04:48:46.348+00', 1795754926348149, NULL, '\x65f73d83402cf42748ec422b990c7096', '{"id": 1012, "url": "https://www.quantsoft264.com/", "name": "Quantsoft B.V.", "score": 97.94, "domain": "quantsoft264.com", "object": "watch_entry", "country": "ES", "signals": {"hiring": false, "funding": null}, "industry": "Medical Devices", "location": {"lat": 36.527061, "lon": -6.288596, "city": "Cádiz", "country": "ES"}, "threshold": 14, "created_at": "2026-11-27T02:47:13Z", "updated_at": "2026-11-27T02:47:13Z", "employee_count": 13603, "previous_score": null, "score_changed_at": null}', NULL, '2026-11-27 04:48:46.348+00', '2026-11-27 04:48:54.04+00', 'update', 'quantsoft264.com', 'ES', '2026-11-27 02:47:13+00', 'quantsoft264.com', 13603, 'Medical Devices', '{"lat": 36.527061, "lon": -6.288596, "city": "Cádiz", "country": "ES"}', 'Quantsoft B.V.', 'watch_entry', 97.94, '{"hiring": false, "funding": null}', 14, '2026-11-27 02:47:13+00', 'https://www.quantsoft264.com/'),
	(1002, '1018', '2026-11-27 04:48:46.348+00', '2026-11-27 04:48:46.348+00', 1795754926348148, NULL, '\x48cdd26b644eb7d5a2dbaa90103ab9e9', '{"id": 1018, "url": "https://www.pixelcloud244.eu/", "name": "Pixelcloud & Söhne KG", "score": 22.46, "domain": "pixelcloud244.eu", "object": "watch_entry", "country": "IN", "signals": {"hiring": false, "funding": null}, "industry": "Software", "location": {"lat": 18.52043, "lon": 73.856744, "city": "Pune", "country": "IN"}, "threshold": 10, "created_at": "2026-11-27T04:34:19Z", "updated_at": "2026-11-27T04:34:19Z", "employee_count": null, "previous_score": null, "score_changed_at": null}', NULL, '2026-11-27 04:48:46.348+00', '2026-11-27 04:48:55.707+00', 'delete', 'pixelcloud244.eu', 'IN', '2026-11-27 04:34:19+00', 'pixelcloud244.eu', NULL, 'Software', '{"lat": 18.52043, "lon": 73.856744, "city": "Pune", "country": "IN"}', 'Pixelcloud & Söhne KG', 'watch_entry', 22.46, '{"hiring": false, "funding": null}', 10, '2026-11-27 04:34:19+00', 'https://www.pixelcloud244.eu/');

INSERT INTO mirror.webhook VALUES
	(1001, 'http://127.0.0.1:43589/webhooks/1001', true, NULL, '2026-11-27 04:49:24.144+00', '2026-11-27 04:49:24.144+00', 1795754964144871, NULL, '{"url": "http://127.0.0.1:43589/webhooks/1001", "active": true, "object": "webhook", "event_types": null}'),
	(1002, 'http://127.0.0.1:43589/webhooks/1002', true, NULL, '2026-11-27 04:49:24.658+00', '2026-11-27 04:49:24.658+00', 1795754964658469, NULL, '{"url": "http://127.0.0.1:43589/webhooks/1002", "active": true, "object": "webhook", "event_types": null}');

INSERT INTO mirror_sync.account VALUES
	(1002, NULL, 5, 1795754977136580, 47, 'active', NULL, '2026-11-27 04:48:45.846+00', false, 'http://127.0.0.1:39175'),
	(1001, NULL, 5, 1795754978661067, 50, 'active', NULL, '2026-11-27 04:48:40.378+00', false, 'http://127.0.0.1:39175');

INSERT INTO mirror_sync.activity VALUES
	(1001, 57, '2026-11-27 04:45:00+00', 16, 31, 5, 16),
	(1002, 57, '2026-11-27 04:45:00+00', 16, 31, 4, 14);

INSERT INTO mirror_sync.api_key VALUES
	('f03a2af3bfc0ee91ac553c3f2e35f1783cfffe0415d8ee8aaebc2369e0200132', 1001, '2026-11-27 04:49:22.998+00', NULL, 1795754954210869, NULL, NULL),
	('c79e827ad70ad4a5ad3d4a9ae556982f7970404ead60945bd5e6894ec28ca35a', 1002, '2026-11-27 04:49:23.021+00', NULL, 1795754956177799, NULL, NULL);

INSERT INTO mirror_sync.event_seen VALUES
	(1001, 'evt_125f59107436e883e7ab8592', '2026-11-27 04:49:25.204036+00', '157fd038b2961d24ebaff0045b21a766c4aaaf32e138f06d87c6bf5c49b5d6ac'),
	(1001, 'evt_ea192bb81414d52f3bb04e12', '2026-11-27 04:49:25.34222+00', '7fd140a7831bfd99fe6e57f702beea5005869f505b0bba1519e4d709b2b13059'),
	(1001, 'evt_d38d7fc03b2990e42ab07e0c', '2026-11-27 04:49:25.344583+00', '815833d6bf7f44f70bf9a5f474287c0d4190697778084528fb899b63fc8d2a9d'),
	(1002, 'evt_cab869f16313a0362495864f', '2026-11-27 04:49:32.623941+00', 'b3ddba36238ff493947d53d3913bc22963eea151dcffbcb6d89030a986e4e106'),
	(1002, 'evt_9788cb8c7337dc7606642a74', '2026-11-27 04:49:32.637159+00', 'e6fc2513de9b186a7af2bb4ddae9b0e9f93600bec865a7523ed9cb3814064102'),
	(1002, 'evt_809516fad572f9d164efd2bc', '2026-11-27 04:49:32.650336+00', '20381e2ce03dcbf064b3c33652d93f38a4c2a77bc865a79a849fe169931e2680');

INSERT INTO mirror_sync.first_ping VALUES
	('f03a2af3bfc0ee91ac553c3f2e35f1783cfffe0415d8ee8aaebc2369e0200132', '2026-11-27 04:48:39.955341+00'),
	('c79e827ad70ad4a5ad3d4a9ae556982f7970404ead60945bd5e6894ec28ca35a', '2026-11-27 04:48:40.2275+00');

INSERT INTO mirror_sync.granted VALUES
	('mirror_reader', 'relation account', '16886'),
	('mirror_reader', 'relation research_jobs', '16886'),
	('mirror_reader', 'relation bulk_research_jobs', '16886'),
	('mirror_reader', 'relation lists', '16886'),
	('mirror_reader', 'relation list_items', '16886'),
	('mirror_reader', 'relation watchlist', '16886'),
	('mirror_reader', 'relation account_live', '16886'),
	('mirror_reader', 'relation research_jobs_live', '16886'),
	('mirror_reader', 'relation bulk_research_jobs_live', '16886'),
	('mirror_reader', 'relation lists_live', '16886'),
	('mirror_reader', 'relation list_items_live', '16886'),
	('mirror_reader', 'relation watchlist_live', '16886'),
	('mirror_reader', 'relation _collections', '16886'),
	('mirror_reader', 'relation freshness', '16886'),
	('mirror_reader', 'relation sync_log', '16886'),
	('mirror_reader', 'relation quarantine', '16886'),
	('mirror_reader', 'relation _columns', '16886'),
	('mirror_reader', 'relation _conflicts', '16886'),
	('mirror_reader', 'relation columns', '16886'),
	('mirror_reader', 'relation data_quality', '16886'),
	('mirror_reader', 'schema', '16886'),
	('mirror_reader', 'defaults of postgres', '16886'),
	('mirror_reader', 'relation account_history', '16886'),
	('mirror_reader', 'relation research_jobs_history', '16886'),
	('mirror_reader', 'relation bulk_research_jobs_history', '16886'),
	('mirror_reader', 'relation lists_history', '16886'),
	('mirror_reader', 'relation list_items_history', '16886'),
	('mirror_reader', 'relation watchlist_history', '16886'),
	('mirror_reader', 'relation account_versions', '16886'),
	('mirror_reader', 'relation research_jobs_versions', '16886'),
	('mirror_reader', 'relation bulk_research_jobs_versions', '16886'),
	('mirror_reader', 'relation lists_versions', '16886'),
	('mirror_reader', 'relation list_items_versions', '16886'),
	('mirror_reader', 'relation watchlist_versions', '16886'),
	('mirror_reader', 'function _as_of(name text, moment timestamp with time zone)', '16886'),
	('mirror_reader', 'function account_as_of(moment timestamp with time zone)', '16886'),
	('mirror_reader', 'function research_jobs_as_of(moment timestamp with time zone)', '16886'),
	('mirror_reader', 'function bulk_research_jobs_as_of(moment timestamp with time zone)', '16886'),
	('mirror_reader', 'function lists_as_of(moment timestamp with time zone)', '16886'),
	('mirror_reader', 'function list_items_as_of(moment timestamp with time zone)', '16886'),
	('mirror_reader', 'function watchlist_as_of(moment timestamp with time zone)', '16886'),
	('mirror_reader', 'relation webhook', '16886'),
	('mirror_reader', 'relation events', '16886'),
	('mirror_reader', 'relation submissions', '16886'),
	('mirror_reader', 'relation recoveries', '16886'),
	('mirror_reader', 'relation changes', '16886'),
	('mirror_reader', 'relation companies', '16886'),
	('mirror_reader', 'relation credits_daily', '16886'),
	('mirror_reader', 'function _covered_as_of(name text, moment timestamp with time zone)', '16886'),
	('mirror_reader', 'relation forgotten', '16886'),
	('mirror_submitter', 'relation account', '16887'),
	('mirror_submitter', 'relation research_jobs', '16887'),
	('mirror_submitter', 'relation bulk_research_jobs', '16887'),
	('mirror_submitter', 'relation lists', '16887'),
	('mirror_submitter', 'relation list_items', '16887'),
	('mirror_submitter', 'relation watchlist', '16887'),
	('mirror_submitter', 'relation account_live', '16887'),
	('mirror_submitter', 'relation research_jobs_live', '16887'),
	('mirror_submitter', 'relation bulk_research_jobs_live', '16887'),
	('mirror_submitter', 'relation lists_live', '16887'),
	('mirror_submitter', 'relation list_items_live', '16887'),
	('mirror_submitter', 'relation watchlist_live', '16887'),
	('mirror_submitter', 'relation _collections', '16887'),
	('mirror_submitter', 'relation freshness', '16887'),
	('mirror_submitter', 'relation sync_log', '16887'),
	('mirror_submitter', 'relation quarantine', '16887'),
	('mirror_submitter', 'relation _columns', '16887'),
	('mirror_submitter', 'relation _conflicts', '16887'),
	('mirror_submitter', 'relation columns', '16887'),
	('mirror_submitter', 'relation data_quality', '16887'),
	('mirror_submitter', 'schema', '16887'),
	('mirror_submitter', 'defaults of postgres', '16887'),
	('mirror_submitter', 'relation account_history', '16887'),
	('mirror_submitter', 'relation research_jobs_history', '16887'),
	('mirror_submitter', 'relation bulk_research_jobs_history', '16887'),
	('mirror_submitter', 'relation lists_history', '16887'),
	('mirror_submitter', 'relation list_items_history', '16887'),
	('mirror_submitter', 'relation watchlist_history', '16887'),
	('mirror_submitter', 'relation account_versions', '16887'),
	('mirror_submitter', 'relation research_jobs_versions', '16887'),
	('mirror_submitter', 'relation bulk_research_jobs_versions', '16887'),
	('mirror_submitter', 'relation lists_versions', '16887'),
	('mirror_submitter', 'relation list_items_versions', '16887'),
	('mirror_submitter', 'relation watchlist_versions', '16887'),
	('mirror_submitter', 'function _as_of(name text, moment timestamp with time zone)', '16887'),
	('mirror_submitter', 'function account_as_of(moment timestamp with time zone)', '16887'),
	('mirror_submitter', 'function research_jobs_as_of(moment timestamp with time zone)', '16887'),
	('mirror_submitter', 'function bulk_research_jobs_as_of(moment timestamp with time zone)', '16887'),
	('mirror_submitter', 'function lists_as_of(moment timestamp with time zone)', '16887'),
	('mirror_submitter', 'function list_items_as_of(moment timestamp with time zone)', '16887'),
	('mirror_submitter', 'function watchlist_as_of(moment timestamp with time zone)', '16887'),
	('mirror_submitter', 'relation webhook', '16887'),
	('mirror_submitter', 'relation events', '16887'),
	('mirror_submitter', 'relation submissions', '16887'),
	('mirror_submitter', 'function submit(operation text, payload jsonb, target_id text, user_id bigint, idempotency_key text)', '16887'),
	('mirror_submitter', 'function cancel_submission(submission_id bigint)', '16887'),
	('mirror_submitter', 'relation recoveries', '16887'),
	('mirror_submitter', 'relation changes', '16887'),
	('mirror_submitter', 'relation companies', '16887'),
	('mirror_submitter', 'relation credits_daily', '16887'),
	('mirror_submitter', 'function _covered_as_of(name text, moment timestamp with time zone)', '16887'),
	('mirror_submitter', 'relation forgotten', '16887');

INSERT INTO mirror_sync.installation VALUES
	(true, '2026-11-27 04:48:39.779+00', '{"submit": {"enabled": true, "maxQueued": 10000}}', '{"hosts": [], "table": "16782", "system": "7712708598316480139", "flushed": true, "counting": "1795754907.515368", "database": "5", "timeline": "00000001", "directory": "/tmp/mirror-of-0.2.0-rcRo9D/pg15"}', '2026-11-27 04:49:22.291+00', NULL, NULL, '{"7712708598316480139": "00000001"}', 0);

INSERT INTO mirror_sync.migration VALUES
	('0001_mirror', 'e4fedfae30ba82d08300c2affa643c6e981dc4015c29e7cff3c626003870f902', '2026-11-27 04:48:36.206401+00', NULL),
	('0002_deletions_and_history', '4ed0bdeaef9e6e8a89e657100a0b2e6041f9f28511e2220e7da49464e3091f62', '2026-11-27 04:48:36.523628+00', NULL),
	('0003_events_and_submissions', 'e8731ed5f35782c1783acb22113fcd65352e6b34a66414df7ffd5ab2010b5cf6', '2026-11-27 04:48:36.687529+00', NULL),
	('0004_database_goes_back', 'f31cf819e714cead3386efd0a96c1b5f916988a376cf475423056c1c43e42100', '2026-11-27 04:48:36.791986+00', '0.2.0'),
	('0005_account_identity', 'f602174f7a1fa0556c0beb370d2ff210a9ca2f3686888b777609ac30d5e8aa87', '2026-11-27 04:48:36.893258+00', '0.2.0'),
	('0006_paused', '52d740c7837899d000ac9cec4c16084fcc23462f1b14b275f1cb7f3c6f7d89c6', '2026-11-27 04:48:37.003064+00', '0.2.0'),
	('0007_quarantine', 'a9cd2e7bc40d0d2c99851b05658674537b5c9171b37038145df07997fc1a6758', '2026-11-27 04:48:37.162718+00', '0.2.0'),
	('0008_events', '9db1616081398bc01e2bd352950860abaeb46f5b3c291df8e907c5afa98485a7', '2026-11-27 04:48:37.293759+00', '0.2.0'),
	('0009_durable_calls', '932488415234816cbf9f292372f31194765a1e5bc0d996b6677dbc31f730f541', '2026-11-27 04:48:37.384051+00', '0.2.0'),
	('0010_retired', 'fe1f788b05bf8214be86f0926a764eabbc2d6834cdfe12ecb6c5a7a82e710650', '2026-11-27 04:48:37.52321+00', '0.2.0'),
	('0011_served', 'e3c018c7319cddc5edc45ca28a4c9b3de201b222e87eabc4bd238b82f09ef638', '2026-11-27 04:48:37.677382+00', '0.2.0'),
	('0012_clock', '8c07436fff8eba7b789c2b69795c24630796aef5d28e89933d18d7848bf860ca', '2026-11-27 04:48:37.794995+00', '0.2.0'),
	('0013_changes', '06a1d70d31618cf397d3b0023c74fe4367e1fc5ec973f0496ec02bdd8cc3567b', '2026-11-27 04:48:38.031081+00', '0.2.0'),
	('0014_companies', '2c3dfed963068bf54d142c4267cd58abcb02af9a7ef0935014add38c59f82ff0', '2026-11-27 04:48:38.208157+00', '0.2.0'),
	('0015_credits', 'ce0f82100e859375ea68a507c5053a3b7394e0f7efa84cb2d66f48ba45860628', '2026-11-27 04:48:38.348994+00', '0.2.0'),
	('0016_as_of', '9f53dcfa8bee2b2f42f366da401edc110b32d7f21619994dc9dd6be04b7ae828', '2026-11-27 04:48:38.461452+00', '0.2.0'),
	('0017_failing_since', 'b9a55aa1bbb98358f7e223593889abd0f404b7015d81da94b849e75e93fa4758', '2026-11-27 04:48:38.563181+00', '0.2.0'),
	('0018_optional_indexes', 'd14215ce5470010ee83050ef4fc392d2c6f07d0cc89802f30e9ac0e4cf70d402', '2026-11-27 04:48:38.714878+00', '0.2.0'),
	('0019_forgotten', '0fb689611efcc25e9ecaaca39cb690f4ee4382722339a895cd4a0126ef0d1a95', '2026-11-27 04:48:38.793545+00', '0.2.0'),
	('0020_activity', 'de36a3a03df73f8bcccbe8a860c32e66f5198919d8ec19004d57be126b219b0f', '2026-11-27 04:48:38.841247+00', '0.2.0'),
	('0021_lookup', '60bec807ebbfa80ca19ee5451727bb97ece1859259d4ef6c8cc1182f449b6572', '2026-11-27 04:48:38.898373+00', '0.2.0'),
	('0022_share_out', '683b1ee02cff47728f8f9b232251f3081d3d9976e1ad69a2c6c55796e15c9c33', '2026-11-27 04:48:38.946485+00', '0.2.0'),
	('0023_distributed', 'b95a4ccd62f2dc7e97fcb9dbc4591c1db4e4b9dbdfd454fb7146f9604b22b1fb', '2026-11-27 04:48:39.23584+00', '0.2.0'),
	('0024_what_readings_show', 'e8adeb3d4e18cc13f8ce3ab0435c98726a01e2e9eba1a3b04c10317c9eeca3e6', '2026-11-27 04:48:39.281922+00', '0.2.0'),
	('0025_finishing', 'ba2a83c6f21c282c1d1b10c6a322200f11589e8515417f268670e8fa010ca8d5', '2026-11-27 04:48:39.371459+00', '0.2.0'),
	('0026_false_alarms', '3a8fc0aaed68e026b04e62339e19357b7f7687f0a11057a773fbdcde93d12ebf', '2026-11-27 04:48:39.451657+00', '0.2.0'),
	('0027_live_keys_on_15', 'a9ad0d68e5570b42ce0e60ca3655bcdc3a5437df35135951b1ebc578cf0468db', '2026-11-27 04:48:39.58046+00', '0.2.0');

INSERT INTO mirror_sync.own_url VALUES
	(1001, 'http://127.0.0.1:43589/webhooks/1001', '2026-11-27 04:49:24.144+00'),
	(1002, 'http://127.0.0.1:43589/webhooks/1002', '2026-11-27 04:49:24.658+00');

INSERT INTO mirror_sync.rate_group VALUES
	(1001, 'f03a2af3bfc0ee91ac553c3f2e35f1783cfffe0415d8ee8aaebc2369e0200132', 'other', '{"bursts": 0, "limits": {"GET /v1/ping": {"limit": 1000000, "seenAt": 1795754963341}, "GET /v1/lists": {"limit": 1000000, "seenAt": 1795754963640}, "GET /v1/account": {"limit": 1000000, "seenAt": 1795754963384}, "GET /v1/research": {"limit": 1000000, "seenAt": 1795754965735}, "GET /v1/webhooks": {"limit": 1000000, "seenAt": 1795754963670}, "GET /v1/watchlist": {"limit": 1000000, "seenAt": 1795754963643}, "GET /v1/lists/{id}": {"limit": 1000000, "seenAt": 1795754963993}, "GET /v1/research/bulk": {"limit": 1000000, "seenAt": 1795754963671}, "POST /v1/webhooks/register": {"limit": 1000000, "seenAt": 1795754964075}}, "serial": 1795754965751, "contacted": true, "remainingIgnoredUntil": 1795841321606}'),
	(1001, 'f03a2af3bfc0ee91ac553c3f2e35f1783cfffe0415d8ee8aaebc2369e0200132', 'research_enrich', '{"bursts": 0, "limits": {"POST /v1/research": {"limit": 1000000, "seenAt": 1795754967507}}, "serial": 1795754968550, "contacted": false}'),
	(1002, 'c79e827ad70ad4a5ad3d4a9ae556982f7970404ead60945bd5e6894ec28ca35a', 'other', '{"bursts": 0, "limits": {"GET /v1/ping": {"limit": 1000000, "seenAt": 1795754963225}, "GET /v1/lists": {"limit": 1000000, "seenAt": 1795754963521}, "GET /v1/account": {"limit": 1000000, "seenAt": 1795754963231}, "GET /v1/research": {"limit": 1000000, "seenAt": 1795754963523}, "GET /v1/webhooks": {"limit": 1000000, "seenAt": 1795754963587}, "GET /v1/watchlist": {"limit": 1000000, "seenAt": 1795754963580}, "GET /v1/lists/{id}": {"limit": 1000000, "seenAt": 1795754963571}, "GET /v1/research/bulk": {"limit": 1000000, "seenAt": 1795754963583}, "POST /v1/webhooks/register": {"limit": 1000000, "seenAt": 1795754964215}}, "serial": 1795754969855, "contacted": true, "remainingIgnoredUntil": 1795841326279}'),
	(1001, 'f03a2af3bfc0ee91ac553c3f2e35f1783cfffe0415d8ee8aaebc2369e0200132', 'bulk_lists', '{"bursts": 0, "limits": {"POST /v1/lists/{id}/analyze": {"limit": 1000000, "seenAt": 1795754972271}}, "serial": 1795754974716, "contacted": false}'),
	(1002, 'c79e827ad70ad4a5ad3d4a9ae556982f7970404ead60945bd5e6894ec28ca35a', 'research_enrich', '{"bursts": 0, "limits": {"POST /v1/research": {"limit": 1000000, "seenAt": 1795754974823}}, "serial": 1795754975913, "contacted": false}'),
	(1002, 'c79e827ad70ad4a5ad3d4a9ae556982f7970404ead60945bd5e6894ec28ca35a', 'bulk_lists', '{"bursts": 0, "limits": {"POST /v1/lists/{id}/analyze": {"limit": 1000000, "seenAt": 1795754977134}}, "serial": 1795754978969, "contacted": false}');

INSERT INTO mirror_sync.registration VALUES
	(1001, 'registered', 'http://127.0.0.1:43589/webhooks/1001', NULL, 'ddcc386ccb1a071ad244a1b6ce7285b04d3f67d6c42a661d03b97e8833a5fd75', '2026-11-27 04:49:24.144+00', 'hex', NULL, '2026-11-28 04:49:24.144+00', NULL, '2026-11-27 04:49:23.787+00', '2026-11-27 04:49:24.144+00', '2026-11-27 04:49:23.993+00', '{}', '2026-11-27 04:49:25.33+00', 0, NULL, NULL),
	(1002, 'registered', 'http://127.0.0.1:43589/webhooks/1002', NULL, 'd7739f22169af4d512c279073214adb07204cf71db7a0912e8e3520fa486c042', '2026-11-27 04:49:24.658+00', 'hex', NULL, '2026-11-28 04:49:24.658+00', NULL, '2026-11-27 04:49:23.754+00', '2026-11-27 04:49:24.658+00', '2026-11-27 04:49:24.088+00', '{}', '2026-11-27 04:49:32.773+00', 0, NULL, NULL);

INSERT INTO mirror_sync.scope VALUES
	(1001, 'account', '', '{}', NULL, '2026-11-27 04:49:22.866+00', '2026-11-27 04:49:22.866+00', '2026-11-27 04:49:22.866+00', 1, NULL, NULL, 0, NULL, 5, '2026-11-27 04:49:22.122+00', NULL, NULL, 0, 0, 0, 1, NULL, 0, 0),
	(1001, 'list_items', '1000', '{"open": null, "rows": 4, "limit": {"fits": null, "well": 0, "value": 500, "proven": true, "widest": 4, "onlyFull": false}, "whole": null, "needed": {"inOrder": 20, "inPlace": 3}, "cursors": "ids", "keyType": "text", "evidence": {"doubt": false, "inOrder": 4, "inPlace": 0, "direction": "falling", "fromStart": false, "contradicted": false}, "frontier": {"at": 1795754925114, "key": "1873", "asOf": 1795754925052, "marks": []}, "refreshed": {"day": 0, "week": 0, "finishing": 0}}', NULL, '2026-11-27 04:49:23.111+00', '2026-11-27 04:49:23.111+00', '2026-11-27 04:49:23.111+00', 4, NULL, NULL, 0, NULL, 5, '2026-11-27 04:49:13.467+00', NULL, '2026-11-27 04:48:43.208+00', 0, 0, 38056.09501179721, 1, NULL, 0, 0),
	(1001, 'watchlist', '', '{"open": null, "rows": 4, "limit": {"fits": null, "well": 0, "value": 500, "proven": true, "widest": 5, "onlyFull": false}, "whole": null, "needed": {"inOrder": 20, "inPlace": 3}, "cursors": "ids", "keyType": "text", "evidence": {"doubt": false, "inOrder": 5, "inPlace": 0, "direction": "falling", "fromStart": false, "contradicted": false}, "frontier": {"at": 1795754921564, "key": "1018", "asOf": 1795754943057, "marks": []}, "refreshed": {"day": 0, "week": 0, "finishing": 0}}', NULL, '2026-11-27 04:49:23.039+00', '2026-11-27 04:49:23.039+00', '2026-11-27 04:49:23.039+00', 4, NULL, NULL, 0, NULL, 6, '2026-11-27 04:49:12.525+00', NULL, NULL, 0, 0, 9965.406234836584, 1, NULL, 0, 0),
	(1001, 'list_items', '1004', '{}', NULL, NULL, NULL, NULL, 0, NULL, NULL, 0, NULL, 1000001, NULL, '2026-11-27 04:48:51.282+00', '2026-11-27 04:48:43.208+00', 0, 0, 0, 1, NULL, 0, 0),
	(1001, 'lists', '', '{"open": null, "rows": 2, "limit": {"fits": null, "well": 0, "value": 500, "proven": true, "widest": 3, "onlyFull": false}, "whole": null, "needed": {"inOrder": 20, "inPlace": 3}, "cursors": "ids", "keyType": "bigint", "evidence": {"doubt": false, "inOrder": 3, "inPlace": 0, "direction": "falling", "fromStart": false, "contradicted": false}, "frontier": {"at": 1795754921524, "key": "1009", "asOf": 1795754943058, "marks": []}, "refreshed": {"day": 0, "week": 0, "finishing": 0}}', NULL, '2026-11-27 04:49:23.004+00', '2026-11-27 04:49:23.004+00', '2026-11-27 04:49:23.004+00', 2, NULL, NULL, 0, NULL, 7, '2026-11-27 04:49:12.519+00', NULL, NULL, 0, 0, 9936.415495296029, 1, NULL, 0, 0),
	(1001, 'list_items', '1009', '{"open": null, "rows": 3, "limit": {"fits": null, "well": 0, "value": 500, "proven": true, "widest": 4, "onlyFull": false}, "whole": null, "needed": {"inOrder": 20, "inPlace": 3}, "cursors": "ids", "keyType": "text", "evidence": {"doubt": false, "inOrder": 4, "inPlace": 0, "direction": "falling", "fromStart": false, "contradicted": false}, "frontier": {"at": 1795754925107, "key": "1021", "asOf": 1795754944883, "marks": []}, "refreshed": {"day": 0, "week": 0, "finishing": 0}}', NULL, '2026-11-27 04:49:23.931+00', '2026-11-27 04:49:23.931+00', '2026-11-27 04:49:23.931+00', 3, NULL, NULL, 0, NULL, 7, '2026-11-27 04:49:13.472+00', NULL, '2026-11-27 04:48:49.679+00', 0, 0, 37483.181823684834, 1, NULL, 0, 0.9998756343458522),
	(1001, 'research_jobs', '', '{"open": null, "rows": 15, "limit": {"fits": null, "well": 0, "value": 500, "proven": true, "widest": 16, "onlyFull": false}, "whole": null, "needed": {"inOrder": 20, "inPlace": 3}, "cursors": "ids", "keyType": "bigint", "evidence": {"doubt": false, "inOrder": 16, "inPlace": 0, "direction": "falling", "fromStart": false, "contradicted": false}, "frontier": {"at": 1795754968518, "key": "1058", "asOf": 1795754968500, "marks": [[1795754921499, "1053"]]}, "refreshed": {"day": 0, "week": 0, "finishing": 0}}', NULL, '2026-11-27 04:49:28.5+00', '2026-11-27 04:49:22.948+00', '2026-11-27 04:49:28.5+00', 15, NULL, NULL, 0, NULL, 9, '2026-11-27 04:49:12.478+00', NULL, NULL, 4.999518999128631, 4.999518999128631, 15491.148296075993, 1, 1782089.7007485025, 0, 0),
	(1002, 'research_jobs', '', '{"open": null, "rows": 15, "limit": {"fits": null, "well": 0, "value": 500, "proven": true, "widest": 16, "onlyFull": false}, "whole": null, "needed": {"inOrder": 20, "inPlace": 3}, "cursors": "ids", "keyType": "bigint", "evidence": {"doubt": false, "inOrder": 16, "inPlace": 0, "direction": "falling", "fromStart": false, "contradicted": false}, "frontier": {"at": 1795754976083, "key": "1058", "asOf": 1795754975910, "marks": [[1795754926165, "1052"]]}, "refreshed": {"day": 0, "week": 0, "finishing": 0}}', NULL, '2026-11-27 04:49:35.91+00', '2026-11-27 04:49:22.825+00', '2026-11-27 04:49:35.91+00', 15, NULL, NULL, 0, NULL, 8, '2026-11-27 04:49:14.705+00', NULL, NULL, 3.999177788456887, 3.999177788456887, 20595.191290919487, 1, 1782089.7007485025, 0, 0),
	(1002, 'account', '', '{}', NULL, '2026-11-27 04:49:22.814+00', '2026-11-27 04:49:22.814+00', '2026-11-27 04:49:22.814+00', 1, NULL, NULL, 0, NULL, 5, '2026-11-27 04:49:22.06+00', NULL, NULL, 0, 0, 0, 1, NULL, 0, 0),
	(1002, 'bulk_research_jobs', '', '{"open": null, "rows": 2, "limit": {"fits": null, "well": 0, "value": 500, "proven": true, "widest": 2, "onlyFull": false}, "whole": null, "needed": {"inOrder": 20, "inPlace": 3}, "cursors": "ids", "keyType": "bigint", "evidence": {"doubt": false, "inOrder": 2, "inPlace": 0, "direction": "falling", "fromStart": false, "contradicted": false}, "frontier": {"at": 1795754926167, "key": "1005", "asOf": 1795754926041, "marks": []}, "refreshed": {"day": 0, "week": 0, "finishing": 0}}', NULL, '2026-11-27 04:49:23.009+00', '2026-11-27 04:49:23.009+00', '2026-11-27 04:49:23.009+00', 2, NULL, NULL, 0, NULL, 5, '2026-11-27 04:49:14.725+00', NULL, NULL, 0, 0, 7723.042827168718, 1, NULL, 0, 0),
	(1002, 'lists', '', '{"open": null, "rows": 2, "limit": {"fits": null, "well": 0, "value": 500, "proven": true, "widest": 3, "onlyFull": false}, "whole": null, "needed": {"inOrder": 20, "inPlace": 3}, "cursors": "ids", "keyType": "bigint", "evidence": {"doubt": false, "inOrder": 3, "inPlace": 0, "direction": "falling", "fromStart": false, "contradicted": false}, "frontier": {"at": 1795754926217, "key": "1009", "asOf": 1795754945701, "marks": []}, "refreshed": {"day": 0, "week": 0, "finishing": 0}}', NULL, '2026-11-27 04:49:22.954+00', '2026-11-27 04:49:22.954+00', '2026-11-27 04:49:22.954+00', 2, NULL, NULL, 0, NULL, 6, '2026-11-27 04:49:14.729+00', NULL, NULL, 0, 0, 7654.059851314409, 1, NULL, 0, 0),
	(1002, 'list_items', '1002', '{"open": null, "rows": 4, "limit": {"fits": null, "well": 0, "value": 500, "proven": true, "widest": 4, "onlyFull": false}, "whole": null, "needed": {"inOrder": 20, "inPlace": 3}, "cursors": "ids", "keyType": "text", "evidence": {"doubt": false, "inOrder": 4, "inPlace": 0, "direction": "falling", "fromStart": false, "contradicted": false}, "frontier": {"at": 1795754926547, "key": "3416", "asOf": 1795754926517, "marks": []}, "refreshed": {"day": 0, "week": 0, "finishing": 0}}', NULL, '2026-11-27 04:49:22.95+00', '2026-11-27 04:49:22.95+00', '2026-11-27 04:49:22.95+00', 4, NULL, NULL, 0, NULL, 5, '2026-11-27 04:49:15.556+00', NULL, '2026-11-27 04:48:46.399+00', 0, 0, 36430.337924066276, 1, NULL, 0, 0),
	(1002, 'watchlist', '', '{"open": null, "rows": 4, "limit": {"fits": null, "well": 0, "value": 500, "proven": true, "widest": 5, "onlyFull": false}, "whole": null, "needed": {"inOrder": 20, "inPlace": 3}, "cursors": "ids", "keyType": "text", "evidence": {"doubt": false, "inOrder": 5, "inPlace": 0, "direction": "falling", "fromStart": false, "contradicted": false}, "frontier": {"at": 1795754926166, "key": "1018", "asOf": 1795754945701, "marks": []}, "refreshed": {"day": 0, "week": 0, "finishing": 0}}', NULL, '2026-11-27 04:49:23.002+00', '2026-11-27 04:49:23.002+00', '2026-11-27 04:49:23.002+00', 4, NULL, NULL, 0, NULL, 6, '2026-11-27 04:49:14.731+00', NULL, NULL, 0, 0, 7701.048271742201, 1, NULL, 0, 0),
	(1001, 'bulk_research_jobs', '', '{"open": null, "rows": 2, "limit": {"fits": null, "well": 0, "value": 500, "proven": true, "widest": 2, "onlyFull": false}, "whole": null, "needed": {"inOrder": 20, "inPlace": 3}, "cursors": "ids", "keyType": "bigint", "evidence": {"doubt": false, "inOrder": 2, "inPlace": 0, "direction": "falling", "fromStart": false, "contradicted": false}, "frontier": {"at": 1795754921888, "key": "1004", "asOf": 1795754921154, "marks": []}, "refreshed": {"day": 0, "week": 0, "finishing": 0}}', NULL, '2026-11-27 04:49:22.95+00', '2026-11-27 04:49:22.95+00', '2026-11-27 04:49:22.95+00', 2, NULL, NULL, 0, NULL, 5, '2026-11-27 04:49:12.487+00', NULL, NULL, 0, 0, 9905.425364571984, 1, 1782089.7007485025, 0, 0),
	(1002, 'list_items', '1009', '{"open": null, "rows": 3, "limit": {"fits": null, "well": 0, "value": 500, "proven": true, "widest": 4, "onlyFull": false}, "whole": null, "needed": {"inOrder": 20, "inPlace": 3}, "cursors": "ids", "keyType": "text", "evidence": {"doubt": false, "inOrder": 4, "inPlace": 0, "direction": "falling", "fromStart": false, "contradicted": false}, "frontier": {"at": 1795754926660, "key": "2576", "asOf": 1795754946635, "marks": []}, "refreshed": {"day": 0, "week": 0, "finishing": 0}}', NULL, '2026-11-27 04:49:22.938+00', '2026-11-27 04:49:22.938+00', '2026-11-27 04:49:22.938+00', 3, NULL, NULL, 0, NULL, 6, '2026-11-27 04:49:15.558+00', NULL, '2026-11-27 04:48:53.883+00', 0, 0, 35300.50049243796, 1, NULL, 0, 0.9998964223804835),
	(1002, 'list_items', '1006', '{}', NULL, NULL, NULL, NULL, 0, NULL, NULL, 0, NULL, 1000001, NULL, '2026-11-27 04:48:55.134+00', '2026-11-27 04:48:46.399+00', 0, 0, 0, 1, NULL, 0, 0);

INSERT INTO mirror_sync.slot_block VALUES
	(1001, 'f03a2af3bfc0ee91ac553c3f2e35f1783cfffe0415d8ee8aaebc2369e0200132', 'other', 1795754928972, 16, '2026-11-27 04:49:01.474+00', '{"2026-11-27 04:49:51.758+00","2026-11-27 04:49:51.798+00","2026-11-27 04:49:51.808+00","2026-11-27 04:49:52.863+00","2026-11-27 04:49:53.211+00","2026-11-27 04:49:53.287+00","2026-11-27 04:48:53.358+00","2026-11-27 04:48:53.358+00","2026-11-27 04:48:53.358+00","2026-11-27 04:48:53.358+00","2026-11-27 04:48:53.358+00","2026-11-27 04:48:53.358+00","2026-11-27 04:48:53.358+00","2026-11-27 04:48:53.358+00","2026-11-27 04:48:53.358+00","2026-11-27 04:48:53.358+00"}'),
	(1001, 'f03a2af3bfc0ee91ac553c3f2e35f1783cfffe0415d8ee8aaebc2369e0200132', 'other', 1795754920747, 5, '2026-11-27 04:48:51.256+00', '{"2026-11-27 04:49:41.725+00","2026-11-27 04:49:41.781+00","2026-11-27 04:49:41.872+00","2026-11-27 04:49:41.951+00","2026-11-27 04:49:41.963+00"}'),
	(1001, 'f03a2af3bfc0ee91ac553c3f2e35f1783cfffe0415d8ee8aaebc2369e0200132', 'other', 1795754920748, 5, '2026-11-27 04:48:51.617+00', '{"2026-11-27 04:49:42.357+00","2026-11-27 04:49:43.212+00","2026-11-27 04:49:43.762+00","2026-11-27 04:49:44.716+00","2026-11-27 04:49:45.473+00"}'),
	(1001, 'f03a2af3bfc0ee91ac553c3f2e35f1783cfffe0415d8ee8aaebc2369e0200132', 'other', 1795754942853, 16, '2026-11-27 04:49:13.138+00', '{"2026-11-27 04:50:03.679+00","2026-11-27 04:50:03.754+00","2026-11-27 04:50:03.904+00","2026-11-27 04:50:03.991+00","2026-11-27 04:50:04.109+00","2026-11-27 04:50:04.266+00","2026-11-27 04:50:04.801+00","2026-11-27 04:50:05.039+00","2026-11-27 04:50:05.251+00","2026-11-27 04:50:05.325+00","2026-11-27 04:50:05.346+00","2026-11-27 04:50:05.591+00","2026-11-27 04:49:05.647+00","2026-11-27 04:49:05.647+00","2026-11-27 04:49:05.647+00","2026-11-27 04:49:05.647+00"}'),
	(1001, 'f03a2af3bfc0ee91ac553c3f2e35f1783cfffe0415d8ee8aaebc2369e0200132', 'other', 1795754920749, 16, '2026-11-27 04:48:55.056+00', '{"2026-11-27 04:49:45.344+00","2026-11-27 04:49:45.359+00","2026-11-27 04:49:45.367+00","2026-11-27 04:49:45.908+00","2026-11-27 04:48:45.814+00","2026-11-27 04:48:45.814+00","2026-11-27 04:48:45.814+00","2026-11-27 04:48:45.814+00","2026-11-27 04:48:45.814+00","2026-11-27 04:48:45.814+00","2026-11-27 04:48:45.814+00","2026-11-27 04:48:45.814+00","2026-11-27 04:48:45.814+00","2026-11-27 04:48:45.814+00","2026-11-27 04:48:45.814+00","2026-11-27 04:48:45.814+00"}'),
	(1002, 'c79e827ad70ad4a5ad3d4a9ae556982f7970404ead60945bd5e6894ec28ca35a', 'other', 1795754925957, 5, '2026-11-27 04:48:56.104+00', '{"2026-11-27 04:49:46.454+00","2026-11-27 04:49:46.47+00","2026-11-27 04:49:46.498+00","2026-11-27 04:49:46.501+00","2026-11-27 04:49:46.502+00"}'),
	(1002, 'c79e827ad70ad4a5ad3d4a9ae556982f7970404ead60945bd5e6894ec28ca35a', 'other', 1795754925958, 5, '2026-11-27 04:48:56.158+00', '{"2026-11-27 04:49:46.47+00","2026-11-27 04:49:46.588+00","2026-11-27 04:49:46.728+00","2026-11-27 04:49:46.804+00","2026-11-27 04:49:46.83+00"}'),
	(1001, 'f03a2af3bfc0ee91ac553c3f2e35f1783cfffe0415d8ee8aaebc2369e0200132', 'other', 1795754928971, 16, '2026-11-27 04:48:59.183+00', '{"2026-11-27 04:49:49.647+00","2026-11-27 04:49:49.657+00","2026-11-27 04:49:49.764+00","2026-11-27 04:49:49.806+00","2026-11-27 04:49:49.813+00","2026-11-27 04:49:49.818+00","2026-11-27 04:49:50.174+00","2026-11-27 04:49:51.031+00","2026-11-27 04:49:51.087+00","2026-11-27 04:49:51.11+00","2026-11-27 04:49:51.24+00","2026-11-27 04:49:51.556+00","2026-11-27 04:49:51.558+00","2026-11-27 04:49:51.588+00","2026-11-27 04:49:51.629+00","2026-11-27 04:49:51.696+00"}'),
	(1002, 'c79e827ad70ad4a5ad3d4a9ae556982f7970404ead60945bd5e6894ec28ca35a', 'other', 1795754925959, 64, '2026-11-27 04:48:56.586+00', '{"2026-11-27 04:49:46.913+00","2026-11-27 04:49:47.028+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00","2026-11-27 04:48:46.888+00"}'),
	(1002, 'c79e827ad70ad4a5ad3d4a9ae556982f7970404ead60945bd5e6894ec28ca35a', 'other', 1795754933435, 16, '2026-11-27 04:49:06.017+00', '{"2026-11-27 04:49:56.311+00","2026-11-27 04:49:56.313+00","2026-11-27 04:49:57.376+00","2026-11-27 04:49:57.412+00","2026-11-27 04:48:57.454+00","2026-11-27 04:48:57.454+00","2026-11-27 04:48:57.454+00","2026-11-27 04:48:57.454+00","2026-11-27 04:48:57.454+00","2026-11-27 04:48:57.454+00","2026-11-27 04:48:57.454+00","2026-11-27 04:48:57.454+00","2026-11-27 04:48:57.454+00","2026-11-27 04:48:57.454+00","2026-11-27 04:48:57.454+00","2026-11-27 04:48:57.454+00"}'),
	(1002, 'c79e827ad70ad4a5ad3d4a9ae556982f7970404ead60945bd5e6894ec28ca35a', 'other', 1795754945683, 16, '2026-11-27 04:49:15.791+00', '{"2026-11-27 04:50:06.205+00","2026-11-27 04:50:06.206+00","2026-11-27 04:50:06.279+00","2026-11-27 04:50:06.292+00","2026-11-27 04:50:06.355+00","2026-11-27 04:50:06.382+00","2026-11-27 04:50:06.602+00","2026-11-27 04:50:06.71+00","2026-11-27 04:50:06.892+00","2026-11-27 04:50:07.026+00","2026-11-27 04:50:07.045+00","2026-11-27 04:50:07.186+00","2026-11-27 04:49:07.178+00","2026-11-27 04:49:07.178+00","2026-11-27 04:49:07.178+00","2026-11-27 04:49:07.178+00"}'),
	(1002, 'c79e827ad70ad4a5ad3d4a9ae556982f7970404ead60945bd5e6894ec28ca35a', 'other', 1795754933434, 16, '2026-11-27 04:49:03.539+00', '{"2026-11-27 04:49:53.919+00","2026-11-27 04:49:53.92+00","2026-11-27 04:49:53.999+00","2026-11-27 04:49:54+00","2026-11-27 04:49:54.027+00","2026-11-27 04:49:54.029+00","2026-11-27 04:49:54.234+00","2026-11-27 04:49:55.335+00","2026-11-27 04:49:55.401+00","2026-11-27 04:49:55.489+00","2026-11-27 04:49:55.632+00","2026-11-27 04:49:55.834+00","2026-11-27 04:49:55.896+00","2026-11-27 04:49:56.018+00","2026-11-27 04:49:56.129+00","2026-11-27 04:49:56.29+00"}'),
	(1001, 'f03a2af3bfc0ee91ac553c3f2e35f1783cfffe0415d8ee8aaebc2369e0200132', 'other', 1795754952887, 16, '2026-11-27 04:49:23.191+00', '{"2026-11-27 04:50:13.799+00","2026-11-27 04:50:13.867+00","2026-11-27 04:50:14.101+00","2026-11-27 04:50:14.271+00","2026-11-27 04:50:14.308+00","2026-11-27 04:50:14.329+00","2026-11-27 04:50:14.633+00","2026-11-27 04:50:14.788+00","2026-11-27 04:50:14.904+00","2026-11-27 04:50:14.908+00","2026-11-27 04:50:15.077+00","2026-11-27 04:49:15.115+00","2026-11-27 04:49:15.115+00","2026-11-27 04:49:15.115+00","2026-11-27 04:49:15.115+00","2026-11-27 04:49:15.115+00"}'),
	(1002, 'c79e827ad70ad4a5ad3d4a9ae556982f7970404ead60945bd5e6894ec28ca35a', 'other', 1795754962701, 16, '2026-11-27 04:49:33.011+00', '{"2026-11-27 04:50:23.388+00","2026-11-27 04:50:23.395+00","2026-11-27 04:50:23.647+00","2026-11-27 04:50:23.684+00","2026-11-27 04:50:23.686+00","2026-11-27 04:50:23.735+00","2026-11-27 04:50:23.744+00","2026-11-27 04:50:23.746+00","2026-11-27 04:50:23.751+00","2026-11-27 04:50:24.379+00","2026-11-27 04:50:33.192+00","2026-11-27 04:49:35.913+00","2026-11-27 04:49:35.913+00","2026-11-27 04:49:35.913+00","2026-11-27 04:49:35.913+00","2026-11-27 04:49:35.913+00"}'),
	(1001, 'f03a2af3bfc0ee91ac553c3f2e35f1783cfffe0415d8ee8aaebc2369e0200132', 'other', 1795754962741, 16, '2026-11-27 04:49:33.045+00', '{"2026-11-27 04:50:23.534+00","2026-11-27 04:50:23.577+00","2026-11-27 04:50:23.787+00","2026-11-27 04:50:23.833+00","2026-11-27 04:50:23.836+00","2026-11-27 04:50:23.852+00","2026-11-27 04:50:23.863+00","2026-11-27 04:50:23.864+00","2026-11-27 04:50:24.186+00","2026-11-27 04:50:24.268+00","2026-11-27 04:50:25.927+00","2026-11-27 04:50:26.516+00","2026-11-27 04:50:28.764+00","2026-11-27 04:49:38.969+00","2026-11-27 04:49:38.969+00","2026-11-27 04:49:38.969+00"}'),
	(1002, 'c79e827ad70ad4a5ad3d4a9ae556982f7970404ead60945bd5e6894ec28ca35a', 'other', 1795754955141, 16, '2026-11-27 04:49:25.445+00', '{"2026-11-27 04:50:15.931+00","2026-11-27 04:50:16.019+00","2026-11-27 04:50:16.124+00","2026-11-27 04:50:16.143+00","2026-11-27 04:50:16.153+00","2026-11-27 04:50:16.212+00","2026-11-27 04:50:16.406+00","2026-11-27 04:50:16.599+00","2026-11-27 04:50:16.756+00","2026-11-27 04:50:16.952+00","2026-11-27 04:50:16.955+00","2026-11-27 04:50:16.997+00","2026-11-27 04:49:16.82+00","2026-11-27 04:49:16.82+00","2026-11-27 04:49:16.82+00","2026-11-27 04:49:16.82+00"}'),
	(1001, 'f03a2af3bfc0ee91ac553c3f2e35f1783cfffe0415d8ee8aaebc2369e0200132', 'research_enrich', 1795754962742, 1, '2026-11-27 04:49:37.423+00', '{"2026-11-27 04:50:27.757+00"}'),
	(1001, 'f03a2af3bfc0ee91ac553c3f2e35f1783cfffe0415d8ee8aaebc2369e0200132', 'bulk_lists', 1795754962743, 1, '2026-11-27 04:49:42.167+00', '{"2026-11-27 04:50:32.521+00"}'),
	(1002, 'c79e827ad70ad4a5ad3d4a9ae556982f7970404ead60945bd5e6894ec28ca35a', 'research_enrich', 1795754962702, 1, '2026-11-27 04:49:44.795+00', '{"2026-11-27 04:50:35.073+00"}'),
	(1002, 'c79e827ad70ad4a5ad3d4a9ae556982f7970404ead60945bd5e6894ec28ca35a', 'bulk_lists', 1795754962704, 1, '2026-11-27 04:49:47.096+00', '{"2026-11-27 04:50:37.384+00"}'),
	(1002, 'c79e827ad70ad4a5ad3d4a9ae556982f7970404ead60945bd5e6894ec28ca35a', 'other', 1795754962703, 16, '2026-11-27 04:49:45.937+00', '{"2026-11-27 04:50:36.314+00","2026-11-27 04:49:38.969+00","2026-11-27 04:49:38.969+00","2026-11-27 04:49:38.969+00","2026-11-27 04:49:38.969+00","2026-11-27 04:49:38.969+00","2026-11-27 04:49:38.969+00","2026-11-27 04:49:38.969+00","2026-11-27 04:49:38.969+00","2026-11-27 04:49:38.969+00","2026-11-27 04:49:38.969+00","2026-11-27 04:49:38.969+00","2026-11-27 04:49:38.969+00","2026-11-27 04:49:38.969+00","2026-11-27 04:49:38.969+00","2026-11-27 04:49:38.969+00"}'),
	(1001, 'f03a2af3bfc0ee91ac553c3f2e35f1783cfffe0415d8ee8aaebc2369e0200132', 'bulk_lists', 1795754962744, 1, '2026-11-27 04:49:48.601+00', '{"2026-11-27 04:51:08.899+00"}');

INSERT INTO mirror_sync.unsettled VALUES
	(1001, 'research_jobs', '', '1032', '2026-11-26 03:47:41+00', true),
	(1002, 'bulk_research_jobs', '', '1005', '2026-11-27 04:48:46.241+00', false),
	(1002, 'research_jobs', '', '1029', '2026-11-25 16:48:23+00', true),
	(1002, 'research_jobs', '', '1024', '2026-11-25 03:46:51+00', true),
	(1002, 'research_jobs', '', '1006', '2026-11-21 04:45:14+00', true),
	(1001, 'research_jobs', '', '8', '2026-11-27 04:48:50.118+00', false),
	(1002, 'research_jobs', '', '8', '2026-11-27 04:48:54.202+00', false),
	(1001, 'research_jobs', '', '1048', '2026-11-27 04:49:25.704+00', true),
	(1001, 'research_jobs', '', '1046', '2026-11-27 04:49:25.704+00', true),
	(1001, 'research_jobs', '', '1058', '2026-11-27 04:49:28.55+00', false),
	(1001, 'research_jobs', '', '1053', '2026-11-27 04:49:28.55+00', true),
	(1002, 'research_jobs', '', '1052', '2026-11-27 04:49:32.947+00', true),
	(1002, 'research_jobs', '', '1048', '2026-11-27 04:49:32.947+00', true),
	(1002, 'research_jobs', '', '1044', '2026-11-27 04:49:32.947+00', true),
	(1002, 'research_jobs', '', '1058', '2026-11-27 04:49:36.087+00', false);

SELECT pg_catalog.setval('mirror.submissions_submission_id_seq', 7, true);

ALTER TABLE ONLY mirror._collections
    ADD CONSTRAINT _collections_pkey PRIMARY KEY (_user_id, collection);

ALTER TABLE ONLY mirror._columns
    ADD CONSTRAINT _columns_pkey PRIMARY KEY (collection, field);

ALTER TABLE ONLY mirror._conflicts
    ADD CONSTRAINT _conflicts_pkey PRIMARY KEY (_user_id, collection, field);

ALTER TABLE ONLY mirror.account_history
    ADD CONSTRAINT account_history_pkey PRIMARY KEY (_user_id, _change_id);

ALTER TABLE ONLY mirror.account
    ADD CONSTRAINT account_pkey PRIMARY KEY (_user_id);

ALTER TABLE ONLY mirror.bulk_research_jobs_history
    ADD CONSTRAINT bulk_research_jobs_history_pkey PRIMARY KEY (_user_id, bulk_job_id, _change_id);

ALTER TABLE ONLY mirror.bulk_research_jobs
    ADD CONSTRAINT bulk_research_jobs_pkey PRIMARY KEY (_user_id, bulk_job_id);

ALTER TABLE ONLY mirror.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (_user_id, id);

ALTER TABLE ONLY mirror.forgotten
    ADD CONSTRAINT forgotten_pkey PRIMARY KEY (_user_id, collection, key_hash);

ALTER TABLE ONLY mirror.list_items_history
    ADD CONSTRAINT list_items_history_pkey PRIMARY KEY (_user_id, list_id, id, _change_id);

ALTER TABLE ONLY mirror.list_items
    ADD CONSTRAINT list_items_pkey PRIMARY KEY (_user_id, list_id, id);

ALTER TABLE ONLY mirror.lists_history
    ADD CONSTRAINT lists_history_pkey PRIMARY KEY (_user_id, list_id, _change_id);

ALTER TABLE ONLY mirror.lists
    ADD CONSTRAINT lists_pkey PRIMARY KEY (_user_id, list_id);

ALTER TABLE ONLY mirror.quarantine
    ADD CONSTRAINT quarantine_pkey PRIMARY KEY (_user_id, collection, parent, item_hash);

ALTER TABLE ONLY mirror.recoveries
    ADD CONSTRAINT recoveries_pkey PRIMARY KEY (detected_at);

ALTER TABLE ONLY mirror.research_jobs_history
    ADD CONSTRAINT research_jobs_history_pkey PRIMARY KEY (_user_id, job_id, _change_id);

ALTER TABLE ONLY mirror.research_jobs
    ADD CONSTRAINT research_jobs_pkey PRIMARY KEY (_user_id, job_id);

ALTER TABLE ONLY mirror.submissions
    ADD CONSTRAINT submissions_pkey PRIMARY KEY (_user_id, submission_id);

ALTER TABLE ONLY mirror.sync_log
    ADD CONSTRAINT sync_log_pkey PRIMARY KEY (_user_id, walk_id);

ALTER TABLE ONLY mirror.watchlist_history
    ADD CONSTRAINT watchlist_history_pkey PRIMARY KEY (_user_id, id, _change_id);

ALTER TABLE ONLY mirror.watchlist
    ADD CONSTRAINT watchlist_pkey PRIMARY KEY (_user_id, id);

ALTER TABLE ONLY mirror.webhook
    ADD CONSTRAINT webhook_pkey PRIMARY KEY (_user_id);

ALTER TABLE ONLY mirror_sync.account
    ADD CONSTRAINT account_pkey PRIMARY KEY (_user_id);

ALTER TABLE ONLY mirror_sync.activity
    ADD CONSTRAINT activity_pkey PRIMARY KEY (_user_id, part_of_day);

ALTER TABLE ONLY mirror_sync.api_key
    ADD CONSTRAINT api_key_pkey PRIMARY KEY (key_hash);

ALTER TABLE ONLY mirror_sync.backfill
    ADD CONSTRAINT backfill_pkey PRIMARY KEY (_user_id, collection, field);

ALTER TABLE ONLY mirror_sync.candidate
    ADD CONSTRAINT candidate_pkey PRIMARY KEY (_user_id, collection, parent, key);

ALTER TABLE ONLY mirror_sync.command
    ADD CONSTRAINT command_pkey PRIMARY KEY (command_id);

ALTER TABLE ONLY mirror_sync.deletions
    ADD CONSTRAINT deletions_pkey PRIMARY KEY (_user_id, collection, hour);

ALTER TABLE ONLY mirror_sync.event_seen
    ADD CONSTRAINT event_seen_pkey PRIMARY KEY (_user_id, id);

ALTER TABLE ONLY mirror_sync.first_ping
    ADD CONSTRAINT first_ping_pkey PRIMARY KEY (key_hash, sent_at);

ALTER TABLE ONLY mirror_sync.granted
    ADD CONSTRAINT granted_pkey PRIMARY KEY (role, object);

ALTER TABLE ONLY mirror_sync.hint
    ADD CONSTRAINT hint_pkey PRIMARY KEY (_user_id, collection, parent, key);

ALTER TABLE ONLY mirror_sync.installation
    ADD CONSTRAINT installation_pkey PRIMARY KEY (singleton);

ALTER TABLE ONLY mirror_sync.migration
    ADD CONSTRAINT migration_pkey PRIMARY KEY (name);

ALTER TABLE ONLY mirror_sync.own_url
    ADD CONSTRAINT own_url_pkey PRIMARY KEY (_user_id, url);

ALTER TABLE ONLY mirror_sync.process
    ADD CONSTRAINT process_pkey PRIMARY KEY (process_id);

ALTER TABLE ONLY mirror_sync.rate_group
    ADD CONSTRAINT rate_group_pkey PRIMARY KEY (_user_id, key_hash, rate_group);

ALTER TABLE ONLY mirror_sync.registration
    ADD CONSTRAINT registration_pkey PRIMARY KEY (_user_id);

ALTER TABLE ONLY mirror_sync.scope
    ADD CONSTRAINT scope_pkey PRIMARY KEY (_user_id, collection, parent);

ALTER TABLE ONLY mirror_sync.slot_block
    ADD CONSTRAINT slot_block_pkey PRIMARY KEY (_user_id, key_hash, rate_group, block_id);

ALTER TABLE ONLY mirror_sync.unsettled
    ADD CONSTRAINT unsettled_pkey PRIMARY KEY (_user_id, collection, parent, key);

ALTER TABLE ONLY mirror_sync.wanted_index
    ADD CONSTRAINT wanted_index_pkey PRIMARY KEY (name);

CREATE INDEX account_change ON mirror.account USING btree (_user_id, _change_id);

CREATE INDEX account_history_age ON mirror.account_history USING btree (_user_id, _valid_to, _change_id);

CREATE INDEX account_history_change ON mirror.account_history USING btree (_user_id, _change_id);

CREATE INDEX account_history_deletes ON mirror.account_history USING btree (_user_id, _change_id) WHERE (_op = 'delete'::text);

CREATE INDEX bulk_research_jobs_change ON mirror.bulk_research_jobs USING btree (_user_id, _change_id);

CREATE INDEX bulk_research_jobs_history_age ON mirror.bulk_research_jobs_history USING btree (_user_id, _valid_to, _change_id);

CREATE INDEX bulk_research_jobs_history_change ON mirror.bulk_research_jobs_history USING btree (_user_id, _change_id);

CREATE INDEX bulk_research_jobs_history_deletes ON mirror.bulk_research_jobs_history USING btree (_user_id, _change_id) WHERE (_op = 'delete'::text);

CREATE INDEX events_received ON mirror.events USING btree (_user_id, received_at);

CREATE INDEX events_row ON mirror.events USING btree (_user_id, _collection, _key, received_at);

CREATE INDEX forgotten_change ON mirror.forgotten USING btree (_user_id, _change_id);

CREATE INDEX list_items_change ON mirror.list_items USING btree (_user_id, _change_id);

CREATE INDEX list_items_deleted_domain ON mirror.list_items USING btree (_user_id, _domain) WHERE ((_deleted_at IS NOT NULL) AND (_domain IS NOT NULL));

CREATE INDEX list_items_domain ON mirror.list_items USING btree (_user_id, _domain, list_id) WHERE ((_deleted_at IS NULL) AND (_domain IS NOT NULL));

CREATE INDEX list_items_history_age ON mirror.list_items_history USING btree (_user_id, _valid_to, _change_id);

CREATE INDEX list_items_history_change ON mirror.list_items_history USING btree (_user_id, _change_id);

CREATE INDEX list_items_history_deletes ON mirror.list_items_history USING btree (_user_id, _change_id) WHERE (_op = 'delete'::text);

CREATE INDEX list_items_order ON mirror.list_items USING btree (_user_id, list_id, octet_length(id), id);

CREATE INDEX lists_change ON mirror.lists USING btree (_user_id, _change_id);

CREATE INDEX lists_history_age ON mirror.lists_history USING btree (_user_id, _valid_to, _change_id);

CREATE INDEX lists_history_change ON mirror.lists_history USING btree (_user_id, _change_id);

CREATE INDEX lists_history_deletes ON mirror.lists_history USING btree (_user_id, _change_id) WHERE (_op = 'delete'::text);

CREATE INDEX quarantine_kept ON mirror.quarantine USING btree (_user_id, collection) WHERE kept;

CREATE INDEX quarantine_key ON mirror.quarantine USING btree (_user_id, collection, parent, key);

CREATE INDEX quarantine_place ON mirror.quarantine USING btree (_user_id, collection, parent, place) WHERE (place IS NOT NULL);

CREATE INDEX research_jobs_change ON mirror.research_jobs USING btree (_user_id, _change_id);

CREATE INDEX research_jobs_deleted_domain ON mirror.research_jobs USING btree (_user_id, _domain) WHERE ((_deleted_at IS NOT NULL) AND (_domain IS NOT NULL));

CREATE INDEX research_jobs_domain ON mirror.research_jobs USING btree (_user_id, _domain, job_id) WHERE ((_deleted_at IS NULL) AND (_domain IS NOT NULL));

CREATE INDEX research_jobs_history_age ON mirror.research_jobs_history USING btree (_user_id, _valid_to, _change_id);

CREATE INDEX research_jobs_history_change ON mirror.research_jobs_history USING btree (_user_id, _change_id);

CREATE INDEX research_jobs_history_deletes ON mirror.research_jobs_history USING btree (_user_id, _change_id) WHERE (_op = 'delete'::text);

CREATE INDEX submissions_answer ON mirror.submissions USING gin ((((jsonb_path_query_array(response, '$.**{0 to 1}."job_id"'::jsonpath) || jsonb_path_query_array(response, '$.**{0 to 1}."bulk_job_id"'::jsonpath)) || jsonb_path_query_array(response, '$.**{0 to 1}."list_id"'::jsonpath))) jsonb_path_ops) WITH (fastupdate=off) WHERE (response IS NOT NULL);

CREATE INDEX submissions_done ON mirror.submissions USING btree (_user_id, done_at);

CREATE INDEX submissions_done_keyless ON mirror.submissions USING btree (_user_id, done_at) WHERE (idempotency_key IS NULL);

CREATE INDEX submissions_id ON mirror.submissions USING btree (submission_id);

CREATE UNIQUE INDEX submissions_key ON mirror.submissions USING btree (_user_id, idempotency_key) WHERE (idempotency_key IS NOT NULL);

CREATE INDEX submissions_open ON mirror.submissions USING btree (_user_id, submission_id) WHERE (state = ANY (ARRAY['queued'::text, 'sending'::text, 'held'::text]));

CREATE INDEX submissions_queued ON mirror.submissions USING btree (_user_id, operation, submission_id) WHERE (state = 'queued'::text);

CREATE INDEX submissions_target ON mirror.submissions USING btree (_user_id, target_id) WHERE (target_id IS NOT NULL);

CREATE INDEX sync_log_started ON mirror.sync_log USING btree (_user_id, started_at);

CREATE INDEX watchlist_change ON mirror.watchlist USING btree (_user_id, _change_id);

CREATE INDEX watchlist_deleted_domain ON mirror.watchlist USING btree (_user_id, _domain) WHERE ((_deleted_at IS NOT NULL) AND (_domain IS NOT NULL));

CREATE INDEX watchlist_domain ON mirror.watchlist USING btree (_user_id, _domain) WHERE ((_deleted_at IS NULL) AND (_domain IS NOT NULL));

CREATE INDEX watchlist_history_age ON mirror.watchlist_history USING btree (_user_id, _valid_to, _change_id);

CREATE INDEX watchlist_history_change ON mirror.watchlist_history USING btree (_user_id, _change_id);

CREATE INDEX watchlist_history_deletes ON mirror.watchlist_history USING btree (_user_id, _change_id) WHERE (_op = 'delete'::text);

CREATE INDEX watchlist_order ON mirror.watchlist USING btree (_user_id, octet_length(id), id);

CREATE INDEX event_seen_received ON mirror_sync.event_seen USING btree (_user_id, received_at);

CREATE INDEX hint_due ON mirror_sync.hint USING btree (due_at);

