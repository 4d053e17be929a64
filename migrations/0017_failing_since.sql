-- Since when a collection can't be read.
-- oldest program: 0.2.0
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction (src/db/migrations/run-migrations.ts).

-- Of several failures in a row, the first. Null where it was not noted: an older program does not.
alter table "{schema}"._collections add column failing_since timestamptz;

-- Reason: the same columns, and one more at the end.
create or replace view "{schema}".freshness as
  select _user_id, collection, live_rows, deleted_rows, polled_at, complete_as_of,
    case when paused_at is null then next_poll_at end as next_poll_at,
    case when paused_at is null then next_full_at end as next_full_at,
    case
      when paused_at is not null then 'paused'
      when state = 'failing' then state
      when reading_at >= now() - interval '150 seconds' then state
      when next_poll_at < now() - interval '5 minutes' or next_full_at < now() - interval '15 minutes' then 'overdue'
      else state
    end as state,
    last_error, last_error_at,
    case when state = 'failing' and paused_at is null then failing_since end as failing_since
  from "{schema}"._collections;
comment on column "{schema}".freshness.failing_since is 'Since when it can not be read; null: it can.';
