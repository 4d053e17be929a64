-- Keys of the views that an index can have, also on PostgreSQL 15.
-- oldest program: 0.2.0
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction (src/db/migrations/run-migrations.ts).

-- Migration 18 did it on PostgreSQL 16 and newer. On 15 it took each view for one that somebody rebuilt, since that server
-- writes `research_jobs._user_id` where newer ones write `_user_id`; and so did the program, which brought no new column
-- into it. The same again: where the keys are as they should be, nothing matches. And so for `_domain` (migration 14).
-- Reason: same columns, types and values, and a column more at the end.
do $$
declare
  v record;
  -- Within an expression: what was written, and what is written now.
  old_user constant text := '(_user_id || '':''::text)';
  new_user constant text := '((_user_id)::text || '':''::text)';
  old_key text;
  new_key text;
  old_list text;
  new_list text;
  old_head text;
  new_head text;
  definition text;
  body text;
begin
  for v in
    select c.oid, c.relname as view, k.data_table, k.parent, k.key, k.is_text, array_to_string(c.reloptions, ', ') as options
    from (values
        ('research_jobs', null, 'job_id', false), ('bulk_research_jobs', null, 'bulk_job_id', false),
        ('lists', null, 'list_id', false), ('list_items', 'list_id', 'id', true), ('watchlist', null, 'id', true)
      ) as k (data_table, parent, key, is_text)
      join pg_class c on c.relname = k.data_table || '_live'
    where c.relnamespace = '"{schema}"'::regnamespace and c.relkind = 'v' and pg_has_role(c.relowner, 'usage')
  loop
    old_list := format('(%s || %s)', old_user, v.parent);
    new_list := format('(%s || (%s)::text)', new_user, v.parent);
    old_key := format('(%s || %s)', case when v.parent is null then old_user else format('(%s || '':''::text)', old_list) end, v.key);
    new_key := format(case when v.is_text then '(%s || %s)' else '(%s || (%s)::text)' end,
      case when v.parent is null then new_user else format('(%s || '':''::text)', new_list) end, v.key);
    select
      'SELECT ' || string_agg(case a.attname when '_key' then old_key || ' AS _key' when '_list_key' then old_list || ' AS _list_key'
        else quote_ident(a.attname) end, ', ' order by a.attnum) || ' FROM ',
      'SELECT ' || string_agg(case a.attname when '_key' then new_key || ' AS _key' when '_list_key' then new_list || ' AS _list_key'
        else quote_ident(a.attname) end, ', ' order by a.attnum) || ' FROM '
    into old_head, new_head
    from pg_attribute a where a.attrelid = v.oid and a.attnum > 0 and not a.attisdropped;
    definition := btrim(regexp_replace(pg_get_viewdef(v.oid), '\s+', ' ', 'g'));
    -- PostgreSQL 15 names the table before each of its columns.
    definition := regexp_replace(definition, '\m' || v.data_table || '\.', '', 'g');
    body := substr(definition, length(old_head) + 1);
    -- The table's name has no schema where search_path has it.
    if starts_with(definition, old_head)
      and body in (
        format('%I WHERE (_deleted_at IS NULL);', v.data_table),
        format('%s.%I WHERE (_deleted_at IS NULL);', quote_ident('{schema}'), v.data_table))
    then
      execute format('create or replace view "{schema}".%I %s as %s "{schema}".%I where _deleted_at is null',
        v.view, 'with (' || v.options || ')', new_head, v.data_table);
      if v.data_table in ('research_jobs', 'list_items', 'watchlist') and strpos(new_head, ' _domain') = 0 then
        execute format('create or replace view "{schema}".%I %s as %s, _domain from "{schema}".%I where _deleted_at is null',
          v.view, 'with (' || v.options || ')', left(new_head, -length(' FROM ')), v.data_table);
        execute format('comment on column "{schema}".%I._domain is %L', v.view,
          'By the mirror: domain of the company: see ' || v.data_table || '.');
      end if;
    end if;
  end loop;
end $$;
