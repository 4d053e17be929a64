-- Problems that people are told of (MIRROR_NOTIFY_URL): one message when one begins, one when it ends.
-- oldest program: 0.2.0
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction (src/db/migrations/run-migrations.ts).

-- A problem, from the look that found it until an hour after its end was told. Of the whole mirror: no _user_id.
create table "{schema}_sync".problem (
  -- Begins the webhook-id of both messages.
  problem_id text primary key,
  -- Cause and words, without what differs from place to place.
  name text not null,
  -- As it was when it was found (src/status/notification.ts).
  problem jsonb not null,
  found_at timestamptz not null,
  -- By the last look of any daemon that found it.
  seen_at timestamptz not null,
  over_at timestamptz,
  -- When its begin and its end were delivered.
  told_at timestamptz,
  over_told_at timestamptz,
  -- How often the message that is due was taken, and when it may be taken again.
  tries integer not null default 0,
  retry_at timestamptz
);
create unique index problem_open on "{schema}_sync".problem (name) where over_at is null;
