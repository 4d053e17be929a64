-- Rows whose newest version Postgres refuses, and why it refused to delete a row that is proven gone.
-- oldest program: 0.2.0
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction (src/db/migrations/run-migrations.ts).

-- Each item is looked up by its row's key, in a subquery that gives one value: no join that may read a whole table.
create view "{schema}".stale_rows as
  select s._user_id, s.collection, s.key, s.since, s.reason
  from (
    select q._user_id, q.collection, q.since, q.reason,
      case q.collection
        when 'account' then (
          select t._user_id::text from "{schema}".account t
          where t._user_id = q._user_id and t._deleted_at is null)
        when 'research_jobs' then (
          select t.job_id::text from "{schema}".research_jobs t
          where t._user_id = q._user_id and t.job_id = q.id and t._deleted_at is null)
        when 'bulk_research_jobs' then (
          select t.bulk_job_id::text from "{schema}".bulk_research_jobs t
          where t._user_id = q._user_id and t.bulk_job_id = q.id and t._deleted_at is null)
        when 'lists' then (
          select t.list_id::text from "{schema}".lists t
          where t._user_id = q._user_id and t.list_id = q.id and t._deleted_at is null)
        when 'list_items' then (
          select t.list_id || ':' || t.id from "{schema}".list_items t
          where t._user_id = q._user_id and t.list_id = q.id and t.id = q.key and t._deleted_at is null)
        when 'watchlist' then (
          select t.id from "{schema}".watchlist t
          where t._user_id = q._user_id and t.id = q.key and t._deleted_at is null)
      end as key
    from (
      select n._user_id, n.collection, n.key, n.first_seen_at as since, n.reason,
        case when n.number ~ '^-?[0-9]{1,19}$' then
          case when n.number::numeric between -9223372036854775808 and 9223372036854775807 then n.number::bigint end
        end as id
      from (
        select x.*, case when x.collection = 'list_items' then x.parent else x.key end as number
        from "{schema}".quarantine x where x.key is not null) as n) as q) as s
  where s.key is not null;

comment on view "{schema}".stale_rows is 'Rows that stay as they were, since Postgres refuses their newest version: see quarantine for its text.';
comment on column "{schema}".stale_rows._user_id is 'Owner of the API key.';
comment on column "{schema}".stale_rows.collection is 'The table.';
comment on column "{schema}".stale_rows.key is 'The row''s key after _user_id, its columns joined by a colon; of account the _user_id.';
comment on column "{schema}".stale_rows.since is 'When a version of it was refused first, since it was last mirrored as it is.';
comment on column "{schema}".stale_rows.reason is 'Why, to follow "the item".';

-- Reason: the same columns, and one behind them.
create or replace view "{schema}".data_quality as
  select c._user_id, c.collection,
    (select count(*) from "{schema}".quarantine q
     where q._user_id = c._user_id and q.collection = c.collection) as quarantined_items,
    coalesce((select sum(x.conflicts) from "{schema}"._conflicts x
              where x._user_id = c._user_id and x.collection = c.collection), 0)::bigint as field_conflicts,
    c.held_deletions,
    c.waiting_deletions,
    (select count(*) from "{schema}".quarantine q
     where q._user_id = c._user_id and q.collection = c.collection and not q.kept) as quarantined_without_text,
    (select count(*) from "{schema}".forgotten f
     where f._user_id = c._user_id and f.collection = c.collection) as forgotten_rows,
    (select count(*) from "{schema}".stale_rows s
     where s._user_id = c._user_id and s.collection = c.collection) as stale_rows
  from "{schema}"._collections c;
comment on column "{schema}".data_quality.stale_rows is 'Rows whose newest version Postgres refuses, among the quarantined items: see stale_rows.';

alter table "{schema}_sync".candidate
  add column refused text,
  add column refused_at timestamptz;
comment on column "{schema}_sync".candidate.refused is
  'Why Postgres refused to delete the row, by its message; null: it has not.';
comment on column "{schema}_sync".candidate.refused_at is 'When it did so last.';
