-- Companies: one row for each domain, over jobs, list items and watchlist.
-- oldest program: 0.2.0
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction (src/db/migrations/run-migrations.ts).

-- The writer fills it from the item; an older program that runs beside leaves it empty in what it writes.
alter table "{schema}".research_jobs add column _domain text collate "C";
alter table "{schema}".list_items add column _domain text collate "C";
alter table "{schema}".watchlist add column _domain text collate "C";
alter table "{schema}".research_jobs_history add column _domain text collate "C";
alter table "{schema}".list_items_history add column _domain text collate "C";
alter table "{schema}".watchlist_history add column _domain text collate "C";

create index research_jobs_domain on "{schema}".research_jobs (_user_id, _domain, job_id)
  where _deleted_at is null and _domain is not null;
create index list_items_domain on "{schema}".list_items (_user_id, _domain, list_id)
  where _deleted_at is null and _domain is not null;
create index watchlist_domain on "{schema}".watchlist (_user_id, _domain)
  where _deleted_at is null and _domain is not null;

-- Reason: what replaces a view appends a column to it.
do $$
declare
  t text;
  live record;
  -- How the view's query ends.
  rest text;
begin
  foreach t in array array['research_jobs', 'list_items', 'watchlist'] loop
    execute format('comment on column "{schema}".%I._domain is %L', t,
      'By the mirror: domain of the company, from the first of the fields domain, company_domain, company_url, url, website that has one: lower case, without www.');
    execute format('comment on column "{schema}".%I._domain is %L', t || '_history',
      'By the mirror: domain of the company: see ' || t || '.');
    -- Appended to the view for BI tools, unless somebody rebuilt it.
    select pg_get_viewdef(oid, true) as query, coalesce('with (' || array_to_string(reloptions, ', ') || ')', '') as options into live
    from pg_class where oid = to_regclass(format('"{schema}".%I', t || '_live')) and relkind = 'v' and pg_has_role(relowner, 'usage');
    rest := E'\n   FROM ' || format('"{schema}".%I', t)::regclass || E'\n  WHERE _deleted_at IS NULL;';
    if right(live.query, length(rest)) = rest and strpos(live.query, rest) = strpos(live.query, E'\n   FROM ') then
      execute format('create or replace view "{schema}".%I %s as %s, _domain %s', t || '_live', live.options,
        left(live.query, -length(rest)), rest);
      execute format('comment on column "{schema}".%I._domain is %L', t || '_live', 'By the mirror: domain of the company: see ' || t || '.');
    end if;
    -- What is there already is filled in the background, without a change. The name of the value is the writer's
    -- (src/mirror/columns/domain-column.ts).
    insert into "{schema}_sync".backfill (_user_id, collection, field, done_through, until)
    select a._user_id, t, chr(65533) || 'domain', 0, a.change_id from "{schema}_sync".account as a;
  end loop;
end $$;

-- Makes the view, with whatever columns the tables have by now; what it says has the same columns and types always.
-- Called when columns are made. Does nothing where the view has all that it can have, or belongs to somebody else:
-- replacing it waits for its readers.
create function "{schema}_sync".make_companies() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  -- The first of these that has a value says when a job was researched.
  named constant text[] := array['completed_at', 'finished_at', 'ended_at', 'researched_at', 'updated_at', 'started_at', 'created_at'];
  moments text;
  job_score text := 'null::numeric';
  item_score text := 'null::numeric';
begin
  if exists (
    select from pg_class v where v.oid = to_regclass('"{schema}".companies') and (
      not pg_has_role(v.relowner, 'usage')
      or not exists (
        select from pg_attribute a
        where a.attnum > 0 and not a.attisdropped and (
            a.attrelid = '"{schema}".research_jobs'::regclass and a.attname = any(named) and a.atttypid = 'timestamptz'::regtype
            or a.attrelid in ('"{schema}".research_jobs'::regclass, '"{schema}".list_items'::regclass)
              and a.attname = 'score' and a.atttypid in ('numeric'::regtype, 'bigint'::regtype))
          and not exists (
            select from pg_depend d join pg_rewrite r on r.oid = d.objid and d.classid = 'pg_rewrite'::regclass
            where r.ev_class = v.oid and d.refobjid = a.attrelid and d.refobjsubid = a.attnum)))
  ) then
    return;
  end if;
  select string_agg(format('j.%I', a.attname), ', ' order by array_position(named, a.attname::text)) into moments
  from pg_attribute a
  where a.attname = any(named) and a.attrelid = '"{schema}".research_jobs'::regclass and a.attnum > 0 and not a.attisdropped
    and a.atttypid = 'timestamptz'::regtype;
  if exists (
    select from pg_attribute where attrelid = '"{schema}".research_jobs'::regclass and attname = 'score'
      and atttypid in ('numeric'::regtype, 'bigint'::regtype) and not attisdropped
  ) then
    job_score := 'j.score::numeric';
  end if;
  if exists (
    select from pg_attribute where attrelid = '"{schema}".list_items'::regclass and attname = 'score'
      and atttypid in ('numeric'::regtype, 'bigint'::regtype) and not attisdropped
  ) then
    item_score := format('(
      select i.score::numeric from "{schema}".list_items i
      where i._user_id = c._user_id and i._domain = c._domain and i._deleted_at is null and i.score is not null
        and has_table_privilege(%L, ''select'')
      order by i._change_id desc limit 1)', '"{schema}".list_items');
  end if;
  execute format($view$
    create or replace view "{schema}".companies as
    select c._user_id, c._domain as domain, c.jobs::bigint as research_jobs, c.items::bigint as list_items,
      c.lists::bigint as lists, c.watched > 0 as watched, j.status as last_job_status,
      coalesce(%1$s) as last_researched_at, coalesce(%2$s, %3$s) as latest_score
    from (
      select b._user_id, b._domain, sum(b.jobs) as jobs, max(b.last_job) as last_job, sum(b.items) as items,
        sum(b.lists) as lists, sum(b.watched) as watched
      from (
        select _user_id, _domain, count(*) as jobs, max(job_id) as last_job, 0 as items, 0 as lists, 0 as watched
        from "{schema}".research_jobs
        where _deleted_at is null and _domain is not null and has_table_privilege('"{schema}".research_jobs', 'select')
        group by _user_id, _domain
        union all
        select _user_id, _domain, 0, null, count(*), count(distinct list_id), 0
        from "{schema}".list_items
        where _deleted_at is null and _domain is not null and has_table_privilege('"{schema}".list_items', 'select')
        group by _user_id, _domain
        union all
        select _user_id, _domain, 0, null, 0, 0, count(*)
        from "{schema}".watchlist
        where _deleted_at is null and _domain is not null and has_table_privilege('"{schema}".watchlist', 'select')
        group by _user_id, _domain) b
      group by b._user_id, b._domain) c
    left join "{schema}".research_jobs j on j._user_id = c._user_id and j.job_id = c.last_job$view$,
    coalesce(moments || ', ', '') || 'j._first_seen_at', job_score, item_score);
end $$;
revoke all on function "{schema}_sync".make_companies() from public;
comment on function "{schema}_sync".make_companies() is 'Makes the view companies anew, with the columns that the tables have.';

select "{schema}_sync".make_companies();

comment on view "{schema}".companies is 'Companies, one row per domain: what research jobs, list items and watchlist (deleted ones left out) say of it.';
comment on column "{schema}".companies._user_id is 'Owner of the API key.';
comment on column "{schema}".companies.domain is 'Lower case, without www.: see _domain of the tables.';
comment on column "{schema}".companies.research_jobs is 'How many research jobs there are.';
comment on column "{schema}".companies.list_items is 'How many items of lists there are.';
comment on column "{schema}".companies.lists is 'In how many lists it is.';
comment on column "{schema}".companies.watched is 'Whether the watchlist has it.';
comment on column "{schema}".companies.last_job_status is 'Status of the job with the greatest job_id.';
comment on column "{schema}".companies.last_researched_at is 'When that job ended; where the service does not say, when it was updated, begun or made; else when it came into the mirror.';
comment on column "{schema}".companies.latest_score is 'The score of that job; where it has none, that of the list item that changed last.';
