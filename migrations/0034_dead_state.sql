-- What programs before 0.3.0 used, and no later one does, goes.
-- oldest program: 0.3.0
-- waits until no older program lives
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction (src/db/migrations/run-migrations.ts).

drop table "{schema}_sync".activity;
drop table "{schema}_sync".wanted_index;

alter table "{schema}_sync".registration
  drop column scheme,
  drop column previous_scheme,
  drop column event_types,
  drop column suspect_at;
alter table "{schema}_sync".api_key
  drop column proven_change_id,
  drop column answered_at;
alter table "{schema}_sync".scope
  drop column changes,
  drop column announced,
  drop column watched_ms,
  drop column cost,
  drop column true_alarms,
  drop column false_alarms,
  drop column finish_ms;

-- An older program that was suspended, or had looked at the migrations before this one, can't come to life any more: its
-- heartbeat is refused, and without one it neither reads nor writes for an account.
-- Reason: rows of processes that ended; their accounts are taken over as of any dead owner.
delete from "{schema}_sync".process where version ~ '^0[.][0-2][.]';
-- Reason: it is there to refuse older programs.
alter table "{schema}_sync".process add constraint process_version check (version !~ '^0[.][0-2][.]');
