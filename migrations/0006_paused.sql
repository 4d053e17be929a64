-- What is promised and not kept shows, and so does what nobody is asked for.
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction, run by src/db/migrate.ts.
-- oldest program: 0.2.0

alter table "{schema}"._collections
  -- A reading of everything (a full walk, the first load, a pass over all lists) was under way then: written when a full
  -- walk begins, and each minute while one goes on.
  add column reading_at timestamptz,
  -- Since when no living daemon is asked to mirror the collection; null: one is, or it is not known.
  add column paused_at timestamptz;

alter table "{schema}_sync".process
  -- What a daemon is asked to mirror: its accounts, its collections, and whether the owners of all its keys are known
  -- (src/db/asked.ts). Null: it does not say, and may be asked for anything.
  add column asked jsonb;

-- Reason: the same columns, in which an older program finds its own states.
-- A poll is overdue 5 minutes after it was promised, a full walk after 15: it takes seconds to begin, after the death of
-- a daemon 15 s, after a failure 5 minutes. One that is under way is not overdue, however long it takes.
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
    last_error, last_error_at
  from "{schema}"._collections;

comment on column "{schema}".freshness.state is 'new (the first load is under way), current, failing (then last_error says why), overdue (a poll or full walk that was promised has not begun), or paused (no daemon is asked to mirror it).';
comment on column "{schema}".freshness.next_poll_at is 'When the next poll is due; one in the past is made up as soon as a daemon runs. Null: never.';
comment on column "{schema}".freshness.next_full_at is 'When the next full walk is due; one in the past is made up as soon as a daemon runs. Null: never.';
