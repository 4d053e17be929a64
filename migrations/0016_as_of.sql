-- <table>_as_of(moment) as plain SQL, into which a query's conditions go: one job's row comes by its index.
-- oldest program: 0.2.0
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction (src/db/migrations/run-migrations.ts).

-- True; raises RM001 for a moment that history does not cover. Its name ends like those that readers may call.
create function "{schema}"._covered_as_of(name text, moment timestamptz) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  perform "{schema}"._as_of(name, moment);
  return true;
end $$;
revoke all on function "{schema}"._covered_as_of(text, timestamptz) from public;
comment on function "{schema}"._covered_as_of(text, timestamptz) is 'True where history covers the moment; else raises RM001. Behind the functions <table>_as_of.';

-- Makes the functions <table>_as_of anew, with the columns that the tables have by now. A function that the planner can
-- take into a query is SQL without settings of its own, so it names its columns: to be called whenever columns come or
-- go. Where the tables are distributed (Citus) the PL/pgSQL form stays, which sends its query as a whole. What belongs
-- to another user is left alone.
create function "{schema}_sync".make_as_of() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  t text;
  live text;
  archived text;
  made text;
  distributed boolean;
begin
  foreach t in array array['account', 'research_jobs', 'bulk_research_jobs', 'lists', 'list_items', 'watchlist'] loop
    continue when exists (
      select from pg_proc where oid = to_regprocedure(format('"{schema}".%I(timestamptz)', t || '_as_of'))
        and not pg_has_role(proowner, 'usage'));
    distributed := false;
    if to_regclass('pg_dist_partition') is not null then
      execute 'select exists (select from pg_dist_partition where logicalrelid = $1)' into distributed
        using format('"{schema}".%I', t)::regclass;
    end if;
    if distributed then
      made := format('
begin
  return query execute "{schema}"._as_of(%L, moment) using moment;
end ', t);
    else
      select string_agg('t.' || quote_ident(a.attname), ', ' order by a.attnum),
        string_agg(case when h.attname is null or a.attname = '_deleted_at'
          then 'null::' || format_type(a.atttypid, a.atttypmod) else 'h.' || quote_ident(a.attname) end, ', ' order by a.attnum)
      into live, archived
      from pg_attribute a
        left join pg_attribute h on h.attrelid = format('"{schema}".%I', t || '_history')::regclass
          and h.attname = a.attname and h.atttypid = a.atttypid and h.atttypmod = a.atttypmod and not h.attisdropped
      where a.attrelid = format('"{schema}".%I', t)::regclass and a.attnum > 0 and not a.attisdropped;
      -- Of a moment that has come, the table is what is there now, also where the clock went back since. Null reaches
      -- the check, which refuses it.
      made := format('
select %1$s from "{schema}".%2$I t
where t._deleted_at is null and (t._changed_at <= coalesce(moment, ''infinity'') or moment >= pg_catalog.now())
  and "{schema}"._covered_as_of(%3$L, moment)
union all
select %4$s from "{schema}".%5$I h
where h._valid_from <= moment and h._valid_to > moment and moment < pg_catalog.now()
  and "{schema}"._covered_as_of(%3$L, moment)
', live, t, t, archived, t || '_history');
    end if;
    continue when exists (
      select from pg_proc where oid = to_regprocedure(format('"{schema}".%I(timestamptz)', t || '_as_of')) and prosrc = made);
    execute format('create or replace function "{schema}".%I(moment timestamptz) returns setof "{schema}".%I language %s as %L',
      t || '_as_of', t,
      case when distributed then 'plpgsql stable set search_path = pg_catalog, pg_temp' else 'sql stable' end, made);
  end loop;
end $$;
revoke all on function "{schema}_sync".make_as_of() from public;
comment on function "{schema}_sync".make_as_of() is 'Makes the functions <table>_as_of anew, with the columns that the tables have.';

select "{schema}_sync".make_as_of();
