-- oldest program: 0.2.0
-- A database that goes back (a failover or crash that loses commits, a restore, a copy) is noticed and made good.
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction, run by src/db/migrate.ts.

-- The mark that consumers of _change_id look for: what they have read may be lost here, and rows may be as they were.
create table "{schema}".recoveries (
  detected_at timestamptz not null,
  reason text not null,
  -- What was committed after it may be lost; null: it is not known.
  last_sign_of_life timestamptz,
  primary key (detected_at)
);
comment on table "{schema}".recoveries is 'One row each time the database was found to have gone back: a failover or crash that lost commits, a restore, a copy. Whoever has read rows by _change_id compares (key, _change_id) once when a row appears here.';
comment on column "{schema}".recoveries.detected_at is 'When it was noticed, by the database''s clock; full walks of all accounts are due from then on.';
comment on column "{schema}".recoveries.reason is 'By what it was noticed.';
comment on column "{schema}".recoveries.last_sign_of_life is 'When a daemon last kept the database company, as far as it still knows: what was committed later may be lost.';

alter table "{schema}_sync".account
  -- The database went back since the account was last opened: what was learnt before proves nothing (src/db/recheck.ts).
  add column recheck boolean not null default false;

alter table "{schema}_sync".installation
  -- Timeline of each server that holds accounts, by its system identifier (src/db/server-node.ts).
  add column nodes jsonb not null default '{}',
  -- Every change ID is greater: raised by a minute beyond the clock when the database went back (src/db/change-ids.ts).
  add column change_floor bigint not null default 0;
