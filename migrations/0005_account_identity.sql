-- Whose data an account's rows are: which service they come from, and whose the keys are that fetch them.
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction, run by src/db/migrate.ts.
-- oldest program: 0.2.0

alter table "{schema}_sync".account
  -- The service's address, as MIRROR_API_URL gave it: another service's account of the same number is another account.
  -- Null for what was made by an earlier version: taken over with the first good proof.
  add column origin text;

alter table "{schema}_sync".api_key
  -- The account's change_id before the last request was sent whose answer proved that the key is still its owner's:
  -- what has a greater one may be another account's, once the key answers for that.
  add column proven_change_id bigint,
  -- Another account, for which the key answered since: it is not used until somebody says whose it is.
  add column answered_for bigint,
  add column answered_at timestamptz;
