-- Daemons share accounts out among themselves.
-- oldest program: 0.2.0
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction (src/db/migrations/run-migrations.ts).

alter table "{schema}_sync".process
  -- Accounts that a daemon has good keys of (src/db/ownership/fleet-store.ts). Null: it takes no part in the sharing: a
  -- command, an older program, or one that is stopping.
  add column serves bigint[];
