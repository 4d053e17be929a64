-- When the service made the answer that raised a doubt, by its own clock: a copy of it in a cache is no second proof.
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction, run by src/db/migrate.ts.
-- oldest program: 0.2.0

-- The answer's Date; null where it had none.
alter table "{schema}_sync".candidate add column served_at timestamptz;
