-- What readings of a scope have shown: which list is read next, and how soon a collection is polled again.
-- oldest program: 0.2.0
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction (src/db/migrations/run-migrations.ts).

-- Sums that fade with time (src/plan/change-rate.ts). They are stored with the row that each reading's end writes anyhow.
alter table "{schema}_sync".scope
  add column changes double precision not null default 0,
  add column announced double precision not null default 0,
  add column watched_ms double precision not null default 0,
  add column cost double precision not null default 1;
comment on column "{schema}_sync".scope.changes is 'Changes that readings found, the older the less they count.';
comment on column "{schema}_sync".scope.announced is 'Of these, those that an event or the list''s own row announced.';
comment on column "{schema}_sync".scope.watched_ms is 'Milliseconds over which they were counted.';
comment on column "{schema}_sync".scope.cost is 'Requests of a reading.';
