-- What changed, field by field, over the rows that are there and their history.
-- oldest program: 0.2.0
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction (src/db/migrations/run-migrations.ts).

-- A version tells what it changed by the version before it, which the primary key of history finds: by key, then change
-- ID. An index by change ID alone finds the latest versions of an account.
do $$
declare
  tables constant text[] := array['account', 'research_jobs', 'bulk_research_jobs', 'lists', 'list_items', 'watchlist'];
  t text;
  source text;
  keys text[];
  same_key text;
  shown_key text;
  branches text[] := '{}';
begin
  foreach t in array tables loop
    execute format('create index %I on "{schema}".%I (_user_id, _change_id)', t || '_history_change', t || '_history');
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
          cross join lateral (
            select 'delete' as op, p._valid_to as changed_at where p._op = 'delete' and s._deleted_at is null
            union all
            select case when s._deleted_at is not null then 'delete'
                when p._op = 'delete' and p._valid_to >= c.history_from then 'undelete'
                when s._changed_at = s._first_seen_at and p._op is distinct from 'update' then 'insert'
                else 'update' end, s._changed_at) e
          left join lateral (
            select coalesce(a.key, b.key) as field, a.value as before, b.value as after
            from jsonb_each(p._raw) a full join jsonb_each(s._raw) b on b.key = a.key
            where e.op = 'update' and p._op = 'update' and p._valid_to = s._changed_at
              and a.value::text is distinct from b.value::text) d on true
        where has_table_privilege('"{schema}".%3$I', 'select') and has_table_privilege('"{schema}".%7$I', 'select')$branch$,
        t, shown_key, source, t || '_history', replace(same_key, 'h.', 'p.'), same_key,
        case when source = t then t || '_history' else t end);
    end loop;
    -- Removed rows (MIRROR_DELETES=hard): their last version has the deletion's change ID, and nothing follows it.
    branches := branches || format($branch$
        select s._user_id, %1$L::text, %2$s, null::text, null::jsonb, null::jsonb, s._valid_to, s._change_id, 'delete'
        from "{schema}".%3$I s
        where s._op = 'delete'
          and not exists (select from "{schema}".%4$I h where h._user_id = s._user_id%5$s)
          and not exists (
            select from "{schema}".%3$I h where h._user_id = s._user_id%5$s and h._change_id > s._change_id)
          and has_table_privilege('"{schema}".%3$I', 'select') and has_table_privilege('"{schema}".%4$I', 'select')$branch$,
      t, shown_key, t || '_history', t, same_key);
  end loop;
  execute 'create view "{schema}".changes as ' || array_to_string(branches, ' union all ');
end $$;

comment on view "{schema}".changes is 'What changed: a row for each field of each update, and one for each insert, deletion and return.';
comment on column "{schema}".changes._user_id is 'Owner of the API key.';
comment on column "{schema}".changes.collection is 'The table.';
comment on column "{schema}".changes.key is 'Key of the row in it, after _user_id: key columns joined by a colon; of account: _user_id.';
comment on column "{schema}".changes.field is 'The field in _raw that is different; null but for update. An update that shows in no field, or whose version before is not kept, has one row with null.';
comment on column "{schema}".changes.before is 'Its value before; null where the item did not have it.';
comment on column "{schema}".changes.after is 'Its value from then on; null where the item has it no more.';
comment on column "{schema}".changes.changed_at is 'When the mirror learnt it.';
comment on column "{schema}".changes.change_id is 'Watermark: the change ID under which it was written.';
comment on column "{schema}".changes.op is 'insert, update, delete or undelete.';
