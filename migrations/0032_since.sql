-- <table>_since(marks): what changed since a reader was here, by the index of each account.
-- oldest program: 0.2.0
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction (src/db/migrations/run-migrations.ts).

-- The query of one account's changes: $1 the account, $2 its mark, $3 how many. What was removed by MIRROR_DELETES=hard
-- is in history alone: its last image, unless the row came back or was removed once more since.
create function "{schema}"._changed_since(name text, keys text[], ordered boolean) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp set standard_conforming_strings = on set array_nulls = on
  set transform_null_equals = off set quote_all_identifiers = off as $$
declare
  live text;
  archived text;
  same_row text;
  same_version text;
begin
  select string_agg('t.' || quote_ident(a.attname), ', ' order by a.attnum),
    string_agg(case when a.attname = '_deleted_at' then 'h._valid_to'
      when h.attname is null then 'null::' || format_type(a.atttypid, a.atttypmod)
      else 'h.' || quote_ident(a.attname) end, ', ' order by a.attnum)
  into live, archived
  from pg_attribute a
    left join pg_attribute h on h.attrelid = format('"{schema}".%I', name || '_history')::regclass
      and h.attname = a.attname and h.atttypid = a.atttypid and h.atttypmod = a.atttypmod and not h.attisdropped
  where a.attrelid = format('"{schema}".%I', name)::regclass and a.attnum > 0 and not a.attisdropped;
  select coalesce(string_agg(format(' and l.%1$I = h.%1$I', k), ''), ''), coalesce(string_agg(format(' and n.%1$I = h.%1$I', k), ''), '')
  into same_row, same_version from unnest(keys) k;
  -- Both halves by their index: only one that has its own order and limit is read no further.
  return format('(select %1$s from "{schema}".%2$I t where t._user_id = $1 and t._change_id > $2%7$s)
    union all
    (select %3$s from "{schema}".%4$I h where h._user_id = $1 and h._change_id > $2 and h._op = ''delete''
      and not exists (select 1 from "{schema}".%2$I l where l._user_id = $1%5$s)
      and not exists (select 1 from "{schema}".%4$I n where n._user_id = $1%6$s and n._op = ''delete'' and n._change_id > h._change_id)%7$s)%7$s',
    live, name, archived, name || '_history', same_row, same_version,
    case when ordered then ' order by _change_id limit $3' else '' end);
end $$;
revoke all on function "{schema}"._changed_since(text, text[], boolean) from public;
comment on function "{schema}"._changed_since(text, text[], boolean) is 'The query behind the functions <table>_since.';

-- Each account is asked by statements of its own, the first for a thousand rows in their order: that is what has the
-- planner take the index of _change_id. A statement over all accounts, with marks that it does not know, reads the whole
-- table for a few changes; and so does one with a known mark, where the account is behind the others, since the planner
-- takes account and change ID for independent. All statements see the caller's snapshot.
do $$
declare
  t text;
  keys text[];
begin
  for t, keys in values ('account', array[]::text[]), ('research_jobs', array['job_id']),
    ('bulk_research_jobs', array['bulk_job_id']), ('lists', array['list_id']), ('list_items', array['list_id', 'id']),
    ('watchlist', array['id'])
  loop
    execute format($make$
      create function "{schema}".%1$I(marks jsonb default '{}', at_most bigint default null) returns setof "{schema}".%2$I
      language plpgsql stable set search_path = pg_catalog, pg_temp set standard_conforming_strings = on set array_nulls = on
        set transform_null_equals = off set quote_all_identifiers = off as $body$
      declare
        a record;
        r "{schema}".%2$I;
        mark bigint;
        batch bigint;
        size bigint;
        taken bigint;
        remaining bigint;
      begin
        if jsonb_typeof(marks) is distinct from 'object' then
          raise exception using errcode = 'invalid_parameter_value',
            message = format('%1$s: marks must be a JSON object, not %%s', coalesce(jsonb_typeof(marks), 'NULL')),
            hint = 'The greatest _change_id that was taken, by account: ''{"1001": 1785000000000000}''. ''{}'' takes all.';
        end if;
        for a in select c._user_id from "{schema}"._collections c where c.collection = %2$L order by c._user_id loop
          mark := coalesce((marks ->> a._user_id::text)::bigint, 0);
          -- An account of which nothing was taken is taken as a whole, in no order.
          batch := case when mark > 0 then 1000 end;
          remaining := at_most;
          loop
            size := least(batch, remaining);
            taken := 0;
            for r in execute "{schema}"._changed_since(%2$L, %3$L, size is not null) using a._user_id, mark, size loop
              return next r;
              taken := taken + 1;
              mark := r._change_id;
            end loop;
            remaining := remaining - taken;
            exit when size is null or taken < size or remaining = 0;
            batch := batch * 10;
          end loop;
        end loop;
      end $body$ $make$, t || '_since', t, keys);
    execute format('revoke all on function "{schema}".%I(jsonb, bigint) from public', t || '_since');
    execute format('comment on function "{schema}".%I(jsonb, bigint) is %L', t || '_since',
      'Rows of ' || t || ' that changed since these marks: the greatest _change_id taken, by account; an account without one is '
      || 'taken whole. Deleted rows come with _deleted_at, those of MIRROR_DELETES=hard by their last image. at_most: so many of '
      || 'an account, the oldest changes first.');
  end loop;
end $$;
