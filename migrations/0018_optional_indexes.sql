-- Optional indexes for what analysts ask, keys of the views that an index can have, and comments that say whose a value is.
-- oldest program: 0.2.0
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction, run by src/db/migrations/run-migrations.ts.

-- What `indexes create` was asked for; the daemon keeps it. '*': all that are suggested, later ones too.
create table "{schema}_sync".wanted_index (
  name text primary key,
  -- False: left out of '*'.
  wanted boolean not null,
  since timestamptz not null
);
comment on table "{schema}_sync".wanted_index is 'Optional indexes that an operator asked for.';

-- Reason: same columns, types and values. What `bigint || text` concatenates is not immutable, and no index can have it;
-- the cast can be. An older program takes such a view for one that somebody rebuilt, and appends no column to it.
-- Replaces each <table>_live that is still as the program made it; one that somebody rebuilt is left as it is.
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
    body := substr(definition, length(old_head) + 1);
    -- The table's name has no schema where search_path has it.
    if starts_with(definition, old_head)
      and body in (
        format('%I WHERE (_deleted_at IS NULL);', v.data_table),
        format('%s.%I WHERE (_deleted_at IS NULL);', quote_ident('{schema}'), v.data_table))
    then
      execute format('create or replace view "{schema}".%I %s as %s "{schema}".%I where _deleted_at is null',
        v.view, 'with (' || v.options || ')', new_head, v.data_table);
    end if;
  end loop;
end $$;

-- Comments of columns say where a value comes from: a field of the items, or the mirror. One that somebody changed stays.
do $$
declare col record;
begin
  for col in
    select c.relname, a.attname, k.text
    from (values
        ('_user_id', 'Owner of the API key; first in every primary key.',
          'By the mirror: owner of the API key, as the service says; first in every primary key.'),
        ('_first_seen_at', 'When the row came into this mirror.', 'By the mirror: when the row came into it.'),
        ('_changed_at', 'When the row''s content last changed in this mirror.', 'By the mirror: when the row''s content last changed in it.'),
        ('_change_id', 'Watermark: rises in commit order and is unique for each _user_id.',
          'By the mirror: watermark, rises in commit order and is unique for each _user_id.'),
        ('_deleted_at', 'Null while the service has the row.', 'By the mirror: null while the service has the row.'),
        ('_hash', 'Hash of the content, by which unchanged rows are told.', 'By the mirror: hash of the content, by which unchanged rows are told.'),
        ('_key', 'The whole primary key as one text, for tools that join by one column.',
          'By the mirror: the whole primary key as one text, for tools that join by one column.'),
        ('_list_key', 'The _key of the list in lists_live.', 'By the mirror: the _key of the list in lists_live.'),
        ('email', 'E-mail address of the user.', 'Field "email" of the items: e-mail address of the user.'),
        ('credits', 'Remaining credits.', 'Field "credits" of the items: remaining credits.'),
        ('subscription', 'Subscription plan.', 'Field "subscription" of the items: subscription plan.'),
        ('org', 'Organisation.', 'Field "org" of the items: organisation.'),
        ('job_id', 'ID of the research job.', 'Field "job_id" of the items: ID of the research job.'),
        ('status', 'State of the job in the service''s own word, for example completed.',
          'Field "status" of the items: state of the job in the service''s own word, for example completed.'),
        ('bulk_job_id', 'ID of the bulk research job.', 'Field "bulk_job_id" of the items: ID of the bulk research job.'),
        ('list_id', 'ID of the list.', 'Field "list_id" of the items: ID of the list.'),
        ('list_id', 'The list that the item is in.', 'By the mirror: the list that was asked for the item.'),
        ('id', 'ID of the item (the account) in its list.', 'Field "id" of the items: ID of the item (the account) in its list.'),
        ('id', 'ID of the watchlist entry.', 'Field "id" of the items: ID of the watchlist entry.')
      ) as k (name, old, text)
      join pg_attribute a on a.attname = k.name
      join pg_class c on c.oid = a.attrelid and c.relnamespace = '"{schema}"'::regnamespace and pg_has_role(c.relowner, 'usage')
    where c.relname ~ '^(account|research_jobs|bulk_research_jobs|lists|list_items|watchlist)(_live|_history|_versions)?$'
      and c.relkind in ('r', 'p', 'v') and col_description(a.attrelid, a.attnum) = k.old
  loop
    execute format('comment on column "{schema}".%I.%I is %L', col.relname, col.attname, col.text);
  end loop;
end $$;
