-- What the last day looked like, for the charts of the status page.
-- oldest program: 0.2.0
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction (src/db/migrations/run-migrations.ts).

-- A bucket of 5 minutes of an account. A bucket of today takes the row of yesterday's: 288 rows an account at most, none
-- is ever deleted, and only begins_at tells whether a row is of the last day. No column but the key has an index, and
-- half of each page is free, so that the update of each minute stays within its page (HOT).
create table "{schema}_sync".activity (
  _user_id bigint not null,
  -- Which 5 minutes of the day (UTC): 0 to 287.
  part_of_day bigint not null,
  begins_at timestamptz not null,
  -- The oldest polled_at of the collections that somebody is asked to mirror, at its worst, in seconds before the look.
  -- Null: one of them was never read.
  age_seconds bigint,
  live_rows bigint not null,
  -- By this mirror in these 5 minutes: rows inserted, updated and deleted (but that of account), and requests sent.
  changes bigint not null,
  requests bigint not null,
  primary key (_user_id, part_of_day)
) with (fillfactor = 50);
