-- Why Postgres refused to delete a row that is proven gone.
-- oldest program: 0.2.0
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction (src/db/migrations/run-migrations.ts).

alter table "{schema}_sync".candidate
  add column refused text,
  add column refused_at timestamptz;
comment on column "{schema}_sync".candidate.refused is
  'Why Postgres refused to delete the row, by its message; null: it has not.';
comment on column "{schema}_sync".candidate.refused_at is 'When it did so last.';
