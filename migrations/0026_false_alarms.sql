-- How often a change of a list's own row told of a change of its items: a row that cries wolf has no list read sooner.
-- oldest program: 0.2.0
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction (src/db/migrations/run-migrations.ts).

-- Counts that fade (src/plan/alarms.ts). They are stored with the row that each reading's end writes anyhow.
alter table "{schema}_sync".scope
  add column true_alarms double precision not null default 0,
  add column false_alarms double precision not null default 0;
comment on column "{schema}_sync".scope.true_alarms is
  'Readings that an event or the list''s own row announced, and that found a change; the older the less they count.';
comment on column "{schema}_sync".scope.false_alarms is
  'Readings that the list''s own row announced, and that found no change; the older the less they count.';
