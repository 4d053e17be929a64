-- Fields that are never stored, or only as hashes (MIRROR_EXCLUDE_FIELDS, MIRROR_HASH_FIELDS).
-- oldest program: 0.2.0
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction (src/db/migrations/run-migrations.ts).

-- The fingerprint of the key of hashes, the rules of which was told what they change, and the operations whose payload is
-- emptied when they are cancelled.
alter table "{schema}_sync".installation add column hash_key text, add column privacy_told text,
  add column emptied_operations text[];

-- Reason: cancel_submission as it is, whatever migrations made of it, and it empties what it cancels.
do $do$
declare
  before constant text := pg_get_functiondef('"{schema}".cancel_submission(bigint)'::regprocedure);
  after constant text := replace(replace(before,
    'found_account bigint;',
    'found_account bigint;
  emptied constant text[] := (select i.emptied_operations from "{schema}_sync".installation i);'),
    'done_at = moment',
    'done_at = moment,
    payload = case when s.operation = any (coalesce(emptied, ''{}'')) then ''{}'' else s.payload end');
begin
  if strpos(after, 'emptied constant') = 0 or strpos(after, 'any (coalesce(emptied') = 0 then
    raise exception 'cancel_submission is not the function that earlier migrations made';
  end if;
  execute after;
end $do$;
