-- Views read with their reader's rights and policies, so that a login can be bound to one account.
-- oldest program: 0.2.0
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction (src/db/migrations/run-migrations.ts).

-- Has a login read the rows of one account alone. Everybody else reads as before. The policies say themselves who is bound
-- to what, so that later tables get them, too. The login gets what <schema>_reader reads by grants of its own: a member
-- of that group could SET ROLE to it, and a policy binds who one acts as. Of tables without _user_id it gets those that say
-- nothing of an account, and no view that reads with its owner's rights. What is as it should be is not touched or locked.
create function "{schema}_sync".bind_tables(reader oid, user_id bigint) returns void language plpgsql
set search_path = pg_catalog, pg_temp set standard_conforming_strings = on set array_nulls = on
set transform_null_equals = off set quote_all_identifiers = off
as $$
declare
  each record;
  old name;
  readers constant oid := to_regrole('"{schema}_reader"');
  login constant text := quote_ident(pg_get_userbyid(reader));
begin
  if not has_schema_privilege(reader, '"{schema}"'::regnamespace, 'usage') then
    execute format('grant usage on schema "{schema}" to %s', login);
  end if;
  for each in
    select t.oid, t.oid::regclass as name, t.relrowsecurity, t.relkind, exists (
        select from pg_attribute a where a.attrelid = t.oid and a.attname = '_user_id') as of_account
    from pg_class t
    where t.relnamespace = '"{schema}"'::regnamespace and pg_has_role(t.relowner, 'usage') and (t.relkind in ('r', 'p')
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
    if (each.relkind = 'v' or each.of_account or each.oid in ('"{schema}"._columns'::regclass, '"{schema}".recoveries'::regclass))
      and coalesce(has_table_privilege(readers, each.oid, 'select'), true) and not has_table_privilege(reader, each.oid, 'select')
    then
      execute format('grant select on %s to %s', each.name, login);
    end if;
  end loop;
  for each in
    select p.oid::regprocedure as name from pg_proc p
    where p.pronamespace = '"{schema}"'::regnamespace and pg_has_role(p.proowner, 'usage') and not p.prosecdef
      and has_function_privilege(readers, p.oid, 'execute') and not has_function_privilege(reader, p.oid, 'execute')
  loop
    execute format('grant execute on function %s to %s', each.name, login);
  end loop;
end $$;

-- What `doctor --sql --reader` calls. Who may become another role that reads here, or make itself a member of one, is bound
-- to nothing.
create function "{schema}_sync".bind_reader(reader name, user_id bigint) returns void language plpgsql
set search_path = pg_catalog, pg_temp set standard_conforming_strings = on set array_nulls = on
set transform_null_equals = off set quote_all_identifiers = off
as $$
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
      select from pg_class c where c.relnamespace = '"{schema}"'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')
        and has_any_column_privilege(r.oid, c.oid, 'select'))
    or exists (select from pg_class c where c.relnamespace = '"{schema}"'::regnamespace and c.relowner = r.oid))
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
      where w.ev_class = v.oid and t.oid <> v.oid and t.relnamespace = '"{schema}"'::regnamespace)
  limit 1;
  if other is not null then
    raise exception '% reads more than one account by the view %', reader, other
      using hint = format('It reads with its owner''s rights: revoke select on it from %I and from public.', reader);
  end if;
  perform "{schema}_sync".bind_tables(login, user_id);
end $$;
comment on function "{schema}_sync".bind_reader(name, bigint) is 'Has a login read the rows of one account alone, in every table and view of the mirror.';

-- Who is bound to which account.
create function "{schema}_sync".bound_readers() returns table (reader oid, user_id bigint) language plpgsql stable
set search_path = pg_catalog, pg_temp set standard_conforming_strings = on set array_nulls = on
set transform_null_equals = off set quote_all_identifiers = off
as $$
begin
  return query select p.polroles[1], substring(pg_get_expr(p.polqual, p.polrelid) from '-?[0-9]+')::bigint
  from pg_policy p where p.polrelid = '"{schema}".account'::regclass and p.polname like 'one\_account\_%';
end $$;

-- For tables that are new: migrations call it (src/db/roles/grants.ts).
create function "{schema}_sync".bind_readers() returns void language plpgsql
set search_path = pg_catalog, pg_temp set standard_conforming_strings = on set array_nulls = on
set transform_null_equals = off set quote_all_identifiers = off
as $$
begin
  perform "{schema}_sync".bind_tables(b.reader, b.user_id) from "{schema}_sync".bound_readers() b;
end $$;

-- Whether who calls, also from a function of the owner's, is bound to no other account.
create function "{schema}_sync".may_use(account bigint) returns boolean language plpgsql stable
set search_path = pg_catalog, pg_temp set standard_conforming_strings = on set array_nulls = on
set transform_null_equals = off set quote_all_identifiers = off
as $$
begin
  return not exists (
    select from "{schema}_sync".bound_readers() b, pg_roles r
    where r.rolname = case current_setting('role') when 'none' then session_user else current_setting('role') end
      and not r.rolsuper and not r.rolbypassrls and pg_has_role(r.oid, b.reader, 'usage') and b.user_id is distinct from account);
end $$;

-- With its reader's rights a view needs those on its tables, also where a view of somebody's own is read that reads ours. Who
-- may read a view and not its tables gets the columns that it names, and no content that it does not show.
create function "{schema}_sync".give_view_columns() returns void language plpgsql
set search_path = pg_catalog, pg_temp set standard_conforming_strings = on set array_nulls = on
set transform_null_equals = off set quote_all_identifiers = off
as $$
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
      where v.relnamespace = '"{schema}"'::regnamespace and 'security_invoker=true' = any (v.reloptions)
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
end $$;
comment on function "{schema}_sync".give_view_columns() is 'Gives who may read a view, and not its tables, the columns that it needs.';

-- Reason: a view that is made for the first time reads with its reader's rights, too.
create or replace function "{schema}_sync".view_options(name text) returns text language plpgsql stable
set search_path = pg_catalog, pg_temp set standard_conforming_strings = on set array_nulls = on
set transform_null_equals = off set quote_all_identifiers = off
as $$
begin
  return coalesce((
    select coalesce('with (' || array_to_string(v.reloptions, ', ') || ')', '') from pg_class v
    where v.oid = to_regclass(format('"{schema}".%I', view_options.name))), 'with (security_invoker = true)');
end $$;

-- Reason: the same views, which read no content that they do not show; and the same functions, for which there is no account
-- but that to which their caller is bound.
do $$
declare
  changed record;
  definition text;
begin
  execute 'create or replace view "{schema}".stale_rows as '
    || regexp_replace(pg_get_viewdef('"{schema}".stale_rows'::regclass), 'x\.item,\s*', '');
  execute 'create or replace view "{schema}".credits_daily as '
    || regexp_replace(pg_get_viewdef('"{schema}".credits_daily'::regclass), '\S+account_versions a\M',
      '(select _user_id, _change_id, _changed_at as _valid_from, credits from "{schema}".account where _deleted_at is null
        union all select _user_id, _change_id, _valid_from, credits from "{schema}".account_history) a', 'g');
  for changed in
    select * from (values
      ('submit', 'where a.state <> ''retired'')', 'where a.state <> ''retired'' and "{schema}_sync".may_use(a._user_id))'),
      ('submit', 'where a._user_id = account_id)', 'where a._user_id = account_id and "{schema}_sync".may_use(a._user_id))'),
      -- Before it is locked: who waits would know that there is one.
      ('cancel_submission', 'where s.submission_id = cancel_submission.submission_id;',
        'where s.submission_id = cancel_submission.submission_id and "{schema}_sync".may_use(s._user_id);')
    ) as x (name, before, after)
  loop
    definition := pg_get_functiondef(
      (select p.oid from pg_proc p where p.pronamespace = '"{schema}"'::regnamespace and p.proname = changed.name));
    if strpos(definition, changed.before) = 0 then
      raise exception '% is not the function that earlier migrations made', changed.name;
    end if;
    execute replace(definition, changed.before, changed.after);
  end loop;
end $$;

-- A view that somebody else has made in our schema stays as it is, and one that shows its readers less than they would need of
-- its tables: changes, where it is read by who may not read all of its tables (it needs all of _raw), and one of which
-- columns were granted. Who is bound to an account is not given such a view.
do $$
declare
  view regclass;
begin
  for view in
    select v.oid from pg_class v
    where v.relnamespace = '"{schema}"'::regnamespace and v.relkind = 'v' and pg_has_role(v.relowner, 'usage')
      and v.relname ~ '^(?:(?:account|research_jobs|bulk_research_jobs|lists|list_items|watchlist)_(?:live|versions)|changes|columns|companies|credits_daily|data_quality|freshness|stale_rows)$'
      and not exists (select from pg_attribute a where a.attrelid = v.oid and cardinality(a.attacl) > 0)
      and not (v.relname = 'changes' and exists (
        select from aclexplode(v.relacl) g, pg_class t
        where g.privilege_type = 'SELECT' and g.grantee <> v.relowner and t.relnamespace = v.relnamespace
          and t.relname ~ '^(?:account|research_jobs|bulk_research_jobs|lists|list_items|watchlist)(?:_history)?$'
          and not case g.grantee when 0 then has_table_privilege('public', t.oid, 'select')
            else has_table_privilege(g.grantee, t.oid, 'select') end))
  loop
    execute format('alter view %s set (security_invoker = true)', view);
  end loop;
end $$;
select "{schema}_sync".give_view_columns();

revoke all on function "{schema}_sync".bind_tables(oid, bigint), "{schema}_sync".bind_reader(name, bigint), "{schema}_sync".bound_readers(),
  "{schema}_sync".bind_readers(), "{schema}_sync".may_use(bigint), "{schema}_sync".give_view_columns() from public;
