-- What is there now is the table, whatever the database's clock says: it may have gone back.
-- oldest program: 0.2.0
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction, run by src/db/migrate.ts.

-- Reason: same parameters, results and errors. Rows that were stamped before the clock went back lie ahead of now(), so
-- that as of now() they were not there yet; from now on everything is.
-- The query that gives the rows of a table as of $1, with the columns that it has now; those that only one of table and
-- history has are null in what comes from the other. Raises RM001 for a moment that history does not cover.
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
  return format('select %1$s from "{schema}".%2$I where _deleted_at is null and _changed_at <= %5$s
    union all select %3$s from "{schema}".%4$I where _valid_from <= %5$s and _valid_to > %5$s',
    live, name, archived, name || '_history', present);
end $$;
