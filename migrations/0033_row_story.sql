-- row_story(user_id, collection, key): what happened to one row, in the order of time.
-- oldest program: 0.2.0
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction (src/db/migrations/run-migrations.ts).

-- It reads as its caller, and by indexes whatever the statistics say: a story is a few rows of many. Each of its
-- statements names the account, but for that by which an index finds answers: Citus sends them to one node.
create function "{schema}".row_story(user_id bigint, collection text, key text, at_most bigint default null)
returns table (at timestamptz, what text, field text, before jsonb, after jsonb, by text)
language plpgsql stable set search_path = pg_catalog, pg_temp set standard_conforming_strings = on set array_nulls = on
  set transform_null_equals = off set quote_all_identifiers = off
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
  key_column constant text := case row_story.collection when 'account' then '_user_id' when 'research_jobs' then 'job_id'
    when 'bulk_research_jobs' then 'bulk_job_id' when 'lists' then 'list_id' when 'list_items' then 'id' when 'watchlist' then 'id' end;
  is_text constant boolean := row_story.collection in ('list_items', 'watchlist');
  list bigint;
  own text := row_story.key;
  same_row text;
  changes bigint[];
  named bigint[];
  first_seen timestamptz;
  is_live boolean;
  said text;
  made timestamptz;
begin
  if row_story.user_id is null then
    raise exception using errcode = 'invalid_parameter_value', message = 'row_story: user_id is NULL',
      hint = 'Say whose row it is: its _user_id.';
  end if;
  if row_story.at_most < 0 then
    raise exception using errcode = 'invalid_parameter_value', message = format('row_story: at_most is %s', row_story.at_most),
      hint = 'It is 0 or more; without it, the whole story is told.';
  end if;
  if key_column is null then
    raise exception using errcode = 'invalid_parameter_value',
      message = format('row_story: there is no collection %s', coalesce(quote_literal(left(row_story.collection, 100)), 'NULL')),
      hint = 'There are account, research_jobs, bulk_research_jobs, lists, list_items and watchlist.';
  end if;
  if (own ~ case row_story.collection when 'list_items' then '^-?[0-9]+:.' when 'watchlist' then '.' else '^-?[0-9]+$' end) is not true then
    raise exception using errcode = 'invalid_parameter_value',
      message = format('row_story: no row of %s can have the key %L', row_story.collection, left(own, 100)),
      hint = 'A key is written as in the view changes: an item''s is <list_id>:<id>, that of account its _user_id.';
  end if;
  if row_story.collection = 'list_items' then
    list := split_part(own, ':', 1)::bigint;
    own := substr(own, strpos(own, ':') + 1);
  elsif not is_text then
    own := (own::bigint)::text;
  end if;
  same_row := format('r._user_id = $1 and r.%I = $3::%s', key_column, case when is_text then 'text' else 'bigint' end)
    || case when list is null then '' else ' and r.list_id = $2' end;

  -- The view changes finds changes by their ID, and by no key.
  execute format($versions$
    select array_agg(v._change_id), min(v._first_seen_at), bool_or(v.is_live), (array_agg(v.made order by v._change_id desc))[1]
    from (
      select r._change_id, r._first_seen_at, r._deleted_at is null as is_live, r._raw ->> 'created_at' as made
      from "{schema}".%1$I r where %3$s
      union all
      (select r._change_id, r._first_seen_at, false, r._raw ->> 'created_at'
       from "{schema}".%2$I r where %3$s order by r._change_id desc limit $4)) v$versions$,
    row_story.collection, row_story.collection || '_history', same_row)
  into changes, first_seen, is_live, said using row_story.user_id, list, own, row_story.at_most;
  if said ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}T.+(Z|[+-][0-9:]{2,6})$' then
    begin
      made := said::timestamptz;
    exception when data_exception then
      null;
    end;
  end if;

  -- Whose answer names it, by the index of migration 21, which knows no account: any other condition beside it may have
  -- the planner read all of the account's. A job and a list may have the same number, so the field is compared, too.
  if row_story.collection in ('research_jobs', 'bulk_research_jobs', 'lists') then
    named := array(
      select s.submission_id from (
        select s._user_id, s.submission_id, s.response from "{schema}".submissions s
        where s.response is not null and (
          (jsonb_path_query_array(s.response, '$.**{0 to 1}."job_id"') || jsonb_path_query_array(s.response, '$.**{0 to 1}."bulk_job_id"')
            || jsonb_path_query_array(s.response, '$.**{0 to 1}."list_id"')) @> jsonb_build_array(own::bigint)
          or (jsonb_path_query_array(s.response, '$.**{0 to 1}."job_id"') || jsonb_path_query_array(s.response, '$.**{0 to 1}."bulk_job_id"')
            || jsonb_path_query_array(s.response, '$.**{0 to 1}."list_id"')) @> jsonb_build_array(own))
        offset 0) s
      where s._user_id = row_story.user_id
        and jsonb_path_query_array(s.response, ('$.**{0 to 1}."' || key_column || '"')::jsonpath) @> any (
          array[jsonb_build_array(own::bigint), jsonb_build_array(own)])
      order by 1 desc limit row_story.at_most)
    || array(
      select s.submission_id from "{schema}".submissions s
      where s._user_id = row_story.user_id and s.target_id = own
        and s.operation = case row_story.collection when 'research_jobs' then 'sequence' when 'lists' then 'list_analyze' end
      order by 1 desc limit row_story.at_most);
  end if;

  return query execute $story$
    select s.at, s.what, s.field, s.before, s.after, case
      when s.what in ('mirrored', 'changed', 'deleted', 'undeleted') then (
        select l.kind || ' ' || l.walk_id from "{schema}".sync_log l
        where l._user_id = $1 and l.started_at between s.at - interval '1 day' and s.at and l.ended_at >= s.at
          and l.collection = $2 and l.list_id is not distinct from $3
          and case s.what when 'mirrored' then l.inserted when 'deleted' then l.deleted else l.updated end > 0
        order by l.started_at desc limit 1)
      else s.by end
    from (
      select $5::timestamptz as at, 'created' as what, null::text as field, null::jsonb as before, null::jsonb as after, null::text as by
      union all
      select e.at, e.what, null, null, jsonb_build_object('operation', s.operation, 'state', s.state,
        'response_status', s.response_status, 'idempotency_key', s.idempotency_key), 'submission ' || s.submission_id
      from "{schema}".submissions s
        cross join lateral (values (s.created_at, 'queued'), (s.sent_at, 'sent'),
          (s.done_at, case when s.response_status is null then 'ended' else 'answered' end)) e (at, what)
      where s._user_id = $1 and s.submission_id = any ($7)
      union all
      (select e.received_at, 'event', null, null, jsonb_build_object('type', e.type, 'created_at', e.created_at), 'event ' || e.id
       from "{schema}".events e where e._user_id = $1 and e._collection = $2 and e._key = $4 and $3 is null
       order by e.received_at desc limit $9)
      union all
      select $6, 'mirrored', null, null, null, null
      union all
      select c.changed_at, case c.op when 'insert' then 'mirrored' when 'update' then 'changed' when 'delete' then 'deleted' else 'undeleted' end,
        c.field, c.before, c.after, null
      from "{schema}".changes c
      where c._user_id = $1 and c.collection = $2 and c.change_id = any ($8) and c.key = coalesce($3 || ':', '') || $4
        and (c.op <> 'insert' or c.changed_at <> $6)
      union all
      select q.first_seen_at, 'quarantined', null, null, jsonb_build_object('reason', q.reason, 'last_seen_at', q.last_seen_at), null
      from "{schema}".quarantine q
      where q._user_id = $1 and q.collection = $2 and q.parent = coalesce($3::text, '')
        and q.key = case $2 when 'account' then '' else $4 end
      union all
      select e.at, e.what, null, null, null, null
      from "{schema}"._collections c
        cross join lateral (values (c.polled_at, 'polled'), (c.complete_as_of, 'read')) e (at, what)
      where c._user_id = $1 and c.collection = $2 and $10 and e.at >= $6) s
    where s.at is not null
    order by s.at, array_position(array['created', 'queued', 'sent', 'answered', 'ended', 'event', 'mirrored', 'changed',
      'deleted', 'undeleted', 'quarantined', 'polled', 'read'], s.what), s.field$story$
  using row_story.user_id, row_story.collection, list, own, made, first_seen, named, changes, row_story.at_most, is_live;
end $$;
revoke all on function "{schema}".row_story(bigint, text, text, bigint) from public;
comment on function "{schema}".row_story(bigint, text, text, bigint) is
  'What happened to a row, in the order of time: queued, sent, answered, events, mirrored, changed field by field, deleted, undeleted, quarantined, and when it was read last. key as in changes. at_most: how many superseded versions, events and submissions it tells, the newest of each.';
