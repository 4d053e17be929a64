-- Deletions that are proven twice, and the history of every mirrored table.
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction, run by src/db/migrate.ts.

-- History -----------------------------------------------------------------------------------------------------
-- Superseded versions: the table's own columns, and how long each was the current one. New fields get their column in
-- both tables. A version has one _change_id, so no version can be stored twice.

create table "{schema}".account_history (
  like "{schema}".account including comments,
  _valid_from timestamptz not null,
  _valid_to timestamptz not null,
  _op text not null,
  primary key (_user_id, _change_id)
);
create table "{schema}".research_jobs_history (
  like "{schema}".research_jobs including comments,
  _valid_from timestamptz not null,
  _valid_to timestamptz not null,
  _op text not null,
  primary key (_user_id, job_id, _change_id)
);
create table "{schema}".bulk_research_jobs_history (
  like "{schema}".bulk_research_jobs including comments,
  _valid_from timestamptz not null,
  _valid_to timestamptz not null,
  _op text not null,
  primary key (_user_id, bulk_job_id, _change_id)
);
create table "{schema}".lists_history (
  like "{schema}".lists including comments,
  _valid_from timestamptz not null,
  _valid_to timestamptz not null,
  _op text not null,
  primary key (_user_id, list_id, _change_id)
);
create table "{schema}".list_items_history (
  like "{schema}".list_items including comments,
  _valid_from timestamptz not null,
  _valid_to timestamptz not null,
  _op text not null,
  primary key (_user_id, list_id, id, _change_id)
);
create table "{schema}".watchlist_history (
  like "{schema}".watchlist including comments,
  _valid_from timestamptz not null,
  _valid_to timestamptz not null,
  _op text not null,
  primary key (_user_id, id, _change_id)
);

-- <table>_versions: superseded and current versions together, with whatever columns the table has by now.
do $$
declare
  tables constant text[] := array['account', 'research_jobs', 'bulk_research_jobs', 'lists', 'list_items', 'watchlist'];
  reader constant regrole := to_regrole('"{schema}_reader"');
  t text;
  col record;
  shown text;
begin
  foreach t in array tables loop
    -- By age, for MIRROR_HISTORY; and deletions by watermark: with MIRROR_DELETES=hard they are seen here alone.
    execute format('create index %I on "{schema}".%I (_user_id, _valid_to, _change_id)', t || '_history_age', t || '_history');
    execute format('create index %I on "{schema}".%I (_user_id, _change_id) where _op = %L',
      t || '_history_deletes', t || '_history', 'delete');
    -- Columns that somebody added may be dropped from the table one day: history must not insist on them.
    for col in
      select a.attname as name from pg_attribute a
      where a.attrelid = format('"{schema}".%I', t || '_history')::regclass and a.attnum > 0 and a.attnotnull
        and left(a.attname, 1) <> '_'
        and not exists (select from pg_index i where i.indrelid = a.attrelid and i.indisprimary and a.attnum = any(i.indkey))
    loop
      execute format('alter table "{schema}".%I alter column %I drop not null', t || '_history', col.name);
    end loop;

    shown := (
      select string_agg(quote_ident(a.attname), ', ' order by a.attnum) from pg_attribute a
      where a.attrelid = format('"{schema}".%I', t)::regclass and a.attnum > 0 and not a.attisdropped
        and a.attname not in ('_deleted_at', '_hash', '_verbatim'));
    execute format('create view "{schema}".%I as
        select %s, _changed_at as _valid_from, null::timestamptz as _valid_to, true as _is_current, null::text as _op
        from "{schema}".%I where _deleted_at is null
        union all
        select %s, _valid_from, _valid_to, false, _op from "{schema}".%I',
      t || '_versions', shown, t, shown, t || '_history');

    -- Default privileges would show the versions of what somebody has hidden from readers.
    if reader is not null and not has_table_privilege(reader, format('"{schema}".%I', t), 'select') then
      execute format('revoke select on "{schema}".%I, "{schema}".%I from %s', t || '_history', t || '_versions', reader);
    end if;

    execute format('comment on table "{schema}".%I is %L', t || '_history',
      'Superseded versions of ' || t || ', and the last ones of deleted rows: each was current in [_valid_from, _valid_to).');
    execute format('comment on view "{schema}".%I is %L', t || '_versions',
      'Every known version of the rows of ' || t || ', superseded and current, half-open: [_valid_from, _valid_to).');
    for col in
      select a.attname as name, col_description(a.attrelid, a.attnum) as comment from pg_attribute a
      where a.attrelid = format('"{schema}".%I', t)::regclass and a.attnum > 0 and not a.attisdropped
        and a.attname not in ('_deleted_at', '_hash', '_verbatim')
    loop
      execute format('comment on column "{schema}".%I.%I is %L', t || '_versions', col.name, col.comment);
    end loop;
    execute format('comment on column "{schema}".%I._valid_from is %L', t || '_history', 'When this version came into the mirror.');
    execute format('comment on column "{schema}".%I._valid_to is %L', t || '_history', 'When it was superseded, or deleted: it was current until just before.');
    execute format('comment on column "{schema}".%I._op is %L', t || '_history', 'What ended it: update or delete.');
    execute format('comment on column "{schema}".%I._valid_from is %L', t || '_versions', 'When this version came into the mirror.');
    execute format('comment on column "{schema}".%I._valid_to is %L', t || '_versions', 'When it was superseded, or deleted; null for the current version.');
    execute format('comment on column "{schema}".%I._is_current is %L', t || '_versions', 'Whether the row is so now.');
    execute format('comment on column "{schema}".%I._op is %L', t || '_versions', 'What ended it: update or delete; null for the current version.');
  end loop;
end $$;

-- <table>_as_of(moment): the table as the mirror knew it then ----------------------------------------------------

-- The query that gives the rows of a table as of $1, with the columns that it has now; those that only one of table and
-- history has are null in what comes from the other. Raises RM001 for a moment that history does not cover.
create function "{schema}"._as_of(name text, moment timestamptz) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
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
  select c._user_id into uncovered from "{schema}"._collections c
  where c.collection = name and moment >= coalesce(c.mirrored_from, '-infinity')
    and (c.history_from is null or moment < c.history_from)
  order by c._user_id limit 1;
  if uncovered is not null or not exists (
    select from "{schema}"._collections c where c.collection = name and moment >= coalesce(c.mirrored_from, '-infinity')
  ) then
    -- From the end of the last gap on: an account has one where it was mirrored before its history begins.
    select min(c._user_id) filter (where c.history_from is null),
      greatest(min(coalesce(c.mirrored_from, '-infinity')),
        max(c.history_from) filter (where c.history_from > coalesce(c.mirrored_from, '-infinity')))
    into unkept, covered_from
    from "{schema}"._collections c where c.collection = name;
    raise exception using errcode = 'RM001',
      message = format('{schema}.%s is not known as of %s: %s', name, moment, case
        when unkept is not null then format('no history of account %s is kept', unkept)
        when covered_from is not null then format('history covers it from %s on', covered_from)
        else 'nothing of it has been mirrored' end),
      detail = coalesce(
        'Account ' || uncovered || ' was mirrored then, but its superseded versions of that time are not kept.',
        'Nothing of it was mirrored then.'),
      hint = 'MIRROR_HISTORY says whether and for how long superseded versions are kept; {schema}._collections has mirrored_from and history_from.';
  end if;

  select string_agg(quote_ident(a.attname), ', ' order by a.attnum),
    string_agg(case when h.attname is null or a.attname = '_deleted_at' then 'null::' || format_type(a.atttypid, a.atttypmod)
      else quote_ident(a.attname) end, ', ' order by a.attnum)
  into live, archived
  from pg_attribute a
    left join pg_attribute h on h.attrelid = format('"{schema}".%I', name || '_history')::regclass
      and h.attname = a.attname and h.atttypid = a.atttypid and h.atttypmod = a.atttypmod and not h.attisdropped
  where a.attrelid = format('"{schema}".%I', name)::regclass and a.attnum > 0 and not a.attisdropped;
  return format('select %s from "{schema}".%I where _deleted_at is null and _changed_at <= $1
    union all select %s from "{schema}".%I where _valid_from <= $1 and _valid_to > $1', live, name, archived, name || '_history');
end $$;

create function "{schema}".account_as_of(moment timestamptz) returns setof "{schema}".account
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return query execute "{schema}"._as_of('account', moment) using moment;
end $$;
create function "{schema}".research_jobs_as_of(moment timestamptz) returns setof "{schema}".research_jobs
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return query execute "{schema}"._as_of('research_jobs', moment) using moment;
end $$;
create function "{schema}".bulk_research_jobs_as_of(moment timestamptz) returns setof "{schema}".bulk_research_jobs
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return query execute "{schema}"._as_of('bulk_research_jobs', moment) using moment;
end $$;
create function "{schema}".lists_as_of(moment timestamptz) returns setof "{schema}".lists
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return query execute "{schema}"._as_of('lists', moment) using moment;
end $$;
create function "{schema}".list_items_as_of(moment timestamptz) returns setof "{schema}".list_items
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return query execute "{schema}"._as_of('list_items', moment) using moment;
end $$;
create function "{schema}".watchlist_as_of(moment timestamptz) returns setof "{schema}".watchlist
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return query execute "{schema}"._as_of('watchlist', moment) using moment;
end $$;

revoke all on function "{schema}"._as_of(text, timestamptz) from public;
revoke all on function "{schema}".account_as_of(timestamptz) from public;
revoke all on function "{schema}".research_jobs_as_of(timestamptz) from public;
revoke all on function "{schema}".bulk_research_jobs_as_of(timestamptz) from public;
revoke all on function "{schema}".lists_as_of(timestamptz) from public;
revoke all on function "{schema}".list_items_as_of(timestamptz) from public;
revoke all on function "{schema}".watchlist_as_of(timestamptz) from public;

comment on function "{schema}"._as_of(text, timestamptz) is 'The query behind the functions <table>_as_of; raises RM001 for a moment that history does not cover.';
do $$
declare
  reader constant regrole := to_regrole('"{schema}_reader"');
  f record;
begin
  for f in
    select oid::regprocedure as signature, left(proname, -6) as t from pg_proc
    where pronamespace = '"{schema}"'::regnamespace and proname like '%\_as\_of'
  loop
    if f.t <> '' then
      execute format('comment on function %s is %L', f.signature,
        f.t || ' as the mirror knew it at that moment; raises RM001 before the first moment that history covers.');
    end if;
    -- A role that is made later gets this with its first grants (src/db/roles.ts).
    if reader is not null then
      execute format('grant execute on function %s to %s', f.signature, reader);
    end if;
  end loop;
end $$;

-- Deletions ---------------------------------------------------------------------------------------------------

-- Rows in doubt: absent by a first proof, or returned too soon after what says otherwise. A second observation, at
-- least MIRROR_SETTLE later, decides.
create table "{schema}_sync".candidate (
  _user_id bigint not null,
  collection text not null,
  parent text not null default '',
  key text collate "C" not null,
  -- By what the row is in doubt: absent from a snapshot, from an interval, from a whole walk; or returned.
  kind text not null,
  -- Observation number and time of the answer that raised the doubt.
  obs bigint not null,
  at timestamptz not null,
  -- When the second proof came: the row goes as soon as the brake lets it.
  proven_at timestamptz,
  primary key (_user_id, collection, parent, key)
);

-- Rows deleted in each hour of the last day: what the brake counts.
create table "{schema}_sync".deletions (
  _user_id bigint not null,
  collection text not null,
  hour timestamptz not null,
  deleted bigint not null,
  primary key (_user_id, collection, hour)
);

alter table "{schema}_sync".scope
  -- Everything, deletions included, is mirrored as of then.
  add column complete_as_of timestamptz,
  -- The row that it hangs on was deleted then: nothing is read or written.
  add column gone_at timestamptz;
update "{schema}_sync".scope as s set gone_at = p._deleted_at
from "{schema}".lists as p
where p._user_id = s._user_id and s.collection = 'list_items' and p.list_id = s.parent::bigint and p._deleted_at is not null;

alter table "{schema}"._collections
  -- Rows in doubt that no brake holds: they wait for their second proof.
  add column waiting_deletions bigint not null default 0,
  -- Since when the collection is mirrored, and since when every superseded version is kept (null: it is not).
  add column mirrored_from timestamptz,
  add column history_from timestamptz;
-- What was mirrored before this version left no history.
update "{schema}"._collections set mirrored_from = '-infinity';

create or replace view "{schema}".data_quality as
  select c._user_id, c.collection,
    (select count(*) from "{schema}".quarantine q
     where q._user_id = c._user_id and q.collection = c.collection) as quarantined_items,
    coalesce((select sum(x.conflicts) from "{schema}"._conflicts x
              where x._user_id = c._user_id and x.collection = c.collection), 0)::bigint as field_conflicts,
    c.held_deletions,
    c.waiting_deletions
  from "{schema}"._collections c;
comment on column "{schema}".data_quality.quarantined_items is 'Items that could not be mirrored: see quarantine.';
comment on column "{schema}".data_quality.field_conflicts is 'Values that did not fit their column: see columns.';
comment on column "{schema}".data_quality.held_deletions is 'Rows whose deletion is proven but held, since so many at once look like a fault of the service.';
comment on column "{schema}".data_quality.waiting_deletions is 'Rows that look deleted and wait for their second proof.';

-- Columns that came after their field are filled in history, too, once the rows are: versions up to (history_through,
-- done_through) are filled. Null: not begun.
alter table "{schema}_sync".backfill add column history_through timestamptz;
