-- For distributed tables, what Citus could not run: functions with an empty select list, and the views changes and companies.
-- oldest program: 0.2.0
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction (src/db/migrations/run-migrations.ts).

-- Reason: same parameters, results and errors. A subquery with an empty select list is refused where the tables are
-- distributed.
create or replace function "{schema}"._as_of(name text, moment timestamptz) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
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
  select c._user_id into uncovered from "{schema}"._collections c
  where c.collection = name and moment >= coalesce(c.mirrored_from, '-infinity')
    and (c.history_from is null or moment < c.history_from)
  order by c._user_id limit 1;
  if uncovered is not null or not exists (
    select 1 from "{schema}"._collections c where c.collection = name and moment >= coalesce(c.mirrored_from, '-infinity')
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
  return format('select %1$s from "{schema}".%2$I where _deleted_at is null and _changed_at <= %5$s
    union all select %3$s from "{schema}".%4$I where _valid_from <= %5$s and _valid_to > %5$s',
    live, name, archived, name || '_history', present);
end $$;

-- Reason: as above.
create or replace function "{schema}".submit(
  operation text, payload jsonb, target_id text default null, user_id bigint default null, idempotency_key text default null
) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
-- The parameters' names are the columns', for callers: within, they are submit.….
#variable_conflict use_column
declare
  operations constant text[] := array['research', 'enrich', 'clay_enrich', 'bulk_research', 'list', 'list_analyze', 'sequence'];
  targeted constant text[] := array['list_analyze', 'sequence'];
  settings constant jsonb := (select i.settings -> 'submit' from "{schema}_sync".installation i);
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
    select coalesce(array_agg(a._user_id order by a._user_id), '{}') from "{schema}_sync".account a where a.state <> 'retired');
  if account_id is null then
    if cardinality(accounts) <> 1 then
      raise exception using errcode = 'RM013', message = case cardinality(accounts)
        when 0 then case when exists (select 1 from "{schema}_sync".account)
          then 'no account is mirrored here any more: all are retired'
          else 'no account has been mirrored yet: start the daemon first' end
        else format('there are %s accounts: name one as user_id (%s%s)', cardinality(accounts),
          array_to_string(accounts[1:10], ', '), case when cardinality(accounts) > 10 then ', …' else '' end) end;
    end if;
    account_id := accounts[1];
  elsif account_id <> all (accounts) then
    raise exception using errcode = 'RM013', message = case
      when exists (select 1 from "{schema}_sync".account a where a._user_id = account_id)
        then format('account %s is retired: nothing is sent for it', account_id)
      else format('account %s is not mirrored here', account_id) end;
  end if;

  -- Twice at most: the second time somebody else has queued it under this key meanwhile.
  loop
    if submit.idempotency_key is not null then
      select s.submission_id, (s.operation, s.payload, s.target_id) is not distinct from (submit.operation, submit.payload, submit.target_id)
      into known, same
      from "{schema}".submissions s
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
        select max(s.submission_id) from "{schema}".submissions s where s._user_id = account_id) - (
        select min(s.submission_id) from "{schema}".submissions s
        where s._user_id = account_id and s.state in ('queued', 'sending', 'held')) + 1, 0);
    if span >= max_queued and max_queued <= (
      select count(*) from (
        select 1 from "{schema}".submissions s
        where s._user_id = account_id and s.state in ('queued', 'sending', 'held') limit max_queued) as open)
    then
      raise exception using errcode = 'RM014',
        message = format('%s submissions of account %s wait already: MIRROR_SUBMIT_MAX_QUEUED', max_queued, account_id);
    end if;
    insert into "{schema}".submissions (_user_id, operation, target_id, payload, idempotency_key, created_at)
    values (account_id, submit.operation, submit.target_id, submit.payload, submit.idempotency_key, moment)
    on conflict (_user_id, idempotency_key) where idempotency_key is not null do nothing
    returning submissions.submission_id into made;
    if made is not null then
      return made;
    end if;
  end loop;
end $$;

-- How a view is replaced without losing what its operator has set: as WITH clause, empty where nothing is set.
create function "{schema}_sync".view_options(name text) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return coalesce((
    select 'with (' || array_to_string(v.reloptions, ', ') || ')' from pg_class v
    where v.oid = to_regclass(format('"{schema}".%I', view_options.name))), '');
end $$;
revoke all on function "{schema}_sync".view_options(text) from public;
comment on function "{schema}_sync".view_options(text) is 'Options that are set on a view of the mirror, for replacing it.';

-- Reason: the same columns and rows. Which field stands in which column is the same for all accounts, and lies on one
-- node: Citus joins it with what is counted of all accounts, but asks for no count of each of its rows.
do $$
begin
  execute 'create or replace view "{schema}".columns ' || "{schema}_sync".view_options('columns') || $view$ as
    select c.collection, c.field, c.column_name, c.type, c.documented, c.first_seen_at,
      coalesce(x.conflicts, 0)::bigint as conflicts
    from "{schema}"._columns c
      left join (
        select collection, field, sum(conflicts) as conflicts from "{schema}"._conflicts group by collection, field) x
        on x.collection = c.collection and x.field = c.field$view$;
end $$;

-- Condition, for format(condition, table, alias), that its reader may read a table himself. A reader who may not is
-- stopped before anything is read. Citus on PostgreSQL 15 and 16 refuses outer joins beside a condition that names no
-- column: there it names one, and is true or false for each row.
create function "{schema}_sync".readable_gate() returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  distributed boolean := false;
begin
  if to_regclass('pg_dist_partition') is not null and current_setting('server_version_num')::int < 170000 then
    execute 'select exists (select from pg_dist_partition where logicalrelid = $1)' into distributed
      using '"{schema}".account'::regclass;
  end if;
  return case when distributed then '(select has_table_privilege(%1$L, ''select'')) = (%2$s._user_id is not null)'
    else 'has_table_privilege(%1$L, ''select'')' end;
end $$;
revoke all on function "{schema}_sync".readable_gate() from public;
comment on function "{schema}_sync".readable_gate() is 'How the views changes and companies ask whether their reader may read a table.';

-- Reason: the same view, where its reader is asked for as above.
create or replace function "{schema}_sync".make_companies() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  -- The first of these that has a value says when a job was researched.
  named constant text[] := array['completed_at', 'finished_at', 'ended_at', 'researched_at', 'updated_at', 'started_at', 'created_at'];
  moments text;
  job_score text := 'null::numeric';
  item_score text := 'null::numeric';
  gate constant text := "{schema}_sync".readable_gate();
begin
  if exists (
    select from pg_class v where v.oid = to_regclass('"{schema}".companies') and (
      not pg_has_role(v.relowner, 'usage')
      or pg_get_viewdef(v.oid) ~ '\( SELECT has_table_privilege' = (gate like '(select%') and not exists (
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
        and %s
      order by i._change_id desc limit 1)', format(gate, '"{schema}".list_items', 'i'));
  end if;
  execute format($view$
    create or replace view "{schema}".companies %7$s as
    select c._user_id, c._domain as domain, c.jobs::bigint as research_jobs, c.items::bigint as list_items,
      c.lists::bigint as lists, c.watched > 0 as watched, j.status as last_job_status,
      coalesce(%1$s) as last_researched_at, coalesce(%2$s, %3$s) as latest_score
    from (
      select b._user_id, b._domain, sum(b.jobs) as jobs, max(b.last_job) as last_job, sum(b.items) as items,
        sum(b.lists) as lists, sum(b.watched) as watched
      from (
        select _user_id, _domain, count(*) as jobs, max(job_id) as last_job, 0 as items, 0 as lists, 0 as watched
        from "{schema}".research_jobs
        where _deleted_at is null and _domain is not null and %4$s
        group by _user_id, _domain
        union all
        select _user_id, _domain, 0, null, count(*), count(distinct list_id), 0
        from "{schema}".list_items
        where _deleted_at is null and _domain is not null and %5$s
        group by _user_id, _domain
        union all
        select _user_id, _domain, 0, null, 0, 0, count(*)
        from "{schema}".watchlist
        where _deleted_at is null and _domain is not null and %6$s
        group by _user_id, _domain) b
      group by b._user_id, b._domain) c
    left join "{schema}".research_jobs j on j._user_id = c._user_id and j.job_id = c.last_job$view$,
    coalesce(moments || ', ', '') || 'j._first_seen_at', job_score, item_score,
    format(gate, '"{schema}".research_jobs', 'research_jobs'), format(gate, '"{schema}".list_items', 'list_items'),
    format(gate, '"{schema}".watchlist', 'watchlist'), "{schema}_sync".view_options('companies'));
end $$;

-- Makes the view: the same columns and rows as before, in words that Citus can send to the nodes. Does nothing where the
-- view is as it should be, or belongs to somebody else. Called where the tables become distributed, too.
create function "{schema}_sync".make_changes() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  tables constant text[] := array['account', 'research_jobs', 'bulk_research_jobs', 'lists', 'list_items', 'watchlist'];
  t text;
  source text;
  keys text[];
  same_key text;
  shown_key text;
  branches text[] := '{}';
  gate constant text := "{schema}_sync".readable_gate();
begin
  if exists (
    select from pg_class v where v.oid = to_regclass('"{schema}".changes') and (
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
        from "{schema}".%3$I s
          left join "{schema}".%4$I p on p._user_id = s._user_id%5$s and p._change_id = (
            select max(h._change_id) from "{schema}".%4$I h
            where h._user_id = s._user_id%6$s and h._change_id < s._change_id)
          left join "{schema}"._collections c on c._user_id = s._user_id and c.collection = %1$L
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
        format(gate, format('"{schema}".%I', t), 's'), format(gate, format('"{schema}".%I', t || '_history'), 's'));
    end loop;
    -- Removed rows (MIRROR_DELETES=hard): their last version has the deletion's change ID, and nothing follows it.
    branches := branches || format($branch$
        select s._user_id, %1$L::text, %2$s, null::text, null::jsonb, null::jsonb, s._valid_to, s._change_id, 'delete'
        from "{schema}".%3$I s
        where s._op = 'delete'
          and not exists (select 1 from "{schema}".%4$I h where h._user_id = s._user_id%5$s)
          and not exists (
            select 1 from "{schema}".%3$I h where h._user_id = s._user_id%5$s and h._change_id > s._change_id)
          and %6$s and %7$s$branch$,
      t, shown_key, t || '_history', t, same_key,
      format(gate, format('"{schema}".%I', t), 's'), format(gate, format('"{schema}".%I', t || '_history'), 's'));
  end loop;
  execute 'create or replace view "{schema}".changes ' || "{schema}_sync".view_options('changes') || ' as ' || array_to_string(branches, ' union all ');
end $$;
revoke all on function "{schema}_sync".make_changes() from public;
comment on function "{schema}_sync".make_changes() is 'Makes the view changes anew, for tables that are distributed or not.';

select "{schema}_sync".make_changes(), "{schema}_sync".make_companies();
