-- How long the rows of a scope really take to change: so long a row that may still change is read again with each poll.
-- oldest program: 0.2.0
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction (src/db/migrations/run-migrations.ts).

alter table "{schema}_sync".scope add column finish_ms double precision;
comment on column "{schema}_sync".scope.finish_ms is
  'Milliseconds within which 99 of 100 rows finish after their last change; null: none was seen to finish.';
