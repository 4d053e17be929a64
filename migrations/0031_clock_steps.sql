-- What was read in the future shows that the database's clock went back.
-- oldest program: 0.2.0
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction (src/db/migrations/run-migrations.ts).

-- Reason: the same columns. A next poll that lies an hour ahead, since the clock went back by that, is not late for an
-- hour, although nothing is read; but the last poll lies ahead, too. And a reading is not under way because it began in
-- the future.
create or replace view "{schema}".freshness as
  select _user_id, collection, live_rows, deleted_rows, polled_at, complete_as_of,
    case when paused_at is null then next_poll_at end as next_poll_at,
    case when paused_at is null then next_full_at end as next_full_at,
    case
      when paused_at is not null then 'paused'
      when state = 'failing' then state
      when polled_at > now() + interval '1 minute' then 'overdue'
      when reading_at between now() - interval '150 seconds' and now() + interval '150 seconds' then state
      when next_poll_at < now() - interval '5 minutes' or next_full_at < now() - interval '15 minutes' then 'overdue'
      else state
    end as state,
    last_error, last_error_at,
    case when state = 'failing' and paused_at is null then failing_since end as failing_since
  from "{schema}"._collections;
comment on column "{schema}".freshness.state is 'new (the first load is under way), current, failing (then last_error says why), overdue (a poll or full walk that was promised has not begun, or the last poll lies in the future: the database''s clock went back), or paused (no daemon is asked to mirror it).';
