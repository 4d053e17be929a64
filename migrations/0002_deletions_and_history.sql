-- Deletions that are proven twice, and the history of every mirrored table.
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction, run by src/db/migrate.ts.

-- History -----------------------------------------------------------------------------------------------------
-- Superseded versions: the table's own columns, and how long each was the current one. New fields get their column in
-- both tables. A version has one _change_id, so no version can be stored twice.

create table "{schema}".account_history (
  like "{schema}".account including comments,
  _valid_from timestamptz not null,
  _valid_to timestamptz not null,
  _op text not null,
  primary key (_user_id, _change_id)
);
create table "{schema}".research_jobs_history (
  like "{schema}".research_jobs including comments,
  _valid_from timestamptz not null,
  _valid_to timestamptz not null,
  _op text not null,
  primary key (_user_id, job_id, _change_id)
);
create table "{schema}".bulk_research_jobs_history (
  like "{schema}".bulk_research_jobs including comments,
  _valid_from timestamptz not null,
  _valid_to timestamptz not null,
  _op text not null,
  primary key (_user_id, bulk_job_id, _change_id)
);
create table "{schema}".lists_history (
  like "{schema}".lists including comments,
  _valid_from timestamptz not null,
  _valid_to timestamptz not null,
  _op text not null,
  primary key (_user_id, list_id, _change_id)
);
create table "{schema}".list_items_history (
  like "{schema}".list_items including comments,
  _valid_from timestamptz not null,
  _valid_to timestamptz not null,
  _op text not null,
  primary key (_user_id, list_id, id, _change_id)
);
create table "{schema}".watchlist_history (
  like "{schema}".watchlist including comments,
  _valid_from timestamptz not null,
  _valid_to timestamptz not null,
  _op text not null,
  primary key (_user_id, id, _change_id)
);

-- By age, for MIRROR_HISTORY; and deletions by watermark: with MIRROR_DELETES=hard they are seen here alone.
do $$
declare t text;
begin
  foreach t in array array['account', 'research_jobs', 'bulk_research_jobs', 'lists', 'list_items', 'watchlist'] loop
    execute format('create index %I on "{schema}".%I (_user_id, _valid_to)', t || '_history_age', t || '_history');
    execute format('create index %I on "{schema}".%I (_user_id, _change_id) where _op = %L',
      t || '_history_deletes', t || '_history', 'delete');
    execute format('comment on column "{schema}".%I._valid_from is %L', t || '_history', 'When this version came into the mirror.');
    execute format('comment on column "{schema}".%I._valid_to is %L', t || '_history', 'When it was superseded, or deleted: it was current until just before.');
    execute format('comment on column "{schema}".%I._op is %L', t || '_history', 'What ended it: update or delete.');
  end loop;
end $$;

-- Deletions ---------------------------------------------------------------------------------------------------

-- Rows in doubt: absent by a first proof, or returned too soon after what says otherwise. A second observation, at
-- least MIRROR_SETTLE later, decides.
create table "{schema}_sync".candidate (
  _user_id bigint not null,
  collection text not null,
  parent text not null default '',
  key text collate "C" not null,
  -- By what the row is in doubt: absent from a snapshot, from an interval, from a whole walk; or returned.
  kind text not null,
  -- Observation number and time of the answer that raised the doubt.
  obs bigint not null,
  at timestamptz not null,
  -- When the second proof came: the row goes as soon as the brake lets it.
  proven_at timestamptz,
  primary key (_user_id, collection, parent, key)
);

-- Rows deleted in each hour of the last day: what the brake counts.
create table "{schema}_sync".deletions (
  _user_id bigint not null,
  collection text not null,
  hour timestamptz not null,
  deleted bigint not null,
  primary key (_user_id, collection, hour)
);

alter table "{schema}_sync".scope
  -- Everything, deletions included, is mirrored as of then.
  add column complete_as_of timestamptz,
  -- The row that it hangs on was deleted then: nothing is read or written.
  add column gone_at timestamptz;
update "{schema}_sync".scope as s set gone_at = p._deleted_at
from "{schema}".lists as p
where p._user_id = s._user_id and s.collection = 'list_items' and p.list_id = s.parent::bigint and p._deleted_at is not null;

alter table "{schema}"._collections
  -- Rows in doubt that no brake holds: they wait for their second proof.
  add column waiting_deletions bigint not null default 0,
  -- Since when the collection is mirrored, and since when every superseded version is kept (null: it is not).
  add column mirrored_from timestamptz,
  add column history_from timestamptz;
-- What was mirrored before this version left no history.
update "{schema}"._collections set mirrored_from = '-infinity';

create or replace view "{schema}".data_quality as
  select c._user_id, c.collection,
    (select count(*) from "{schema}".quarantine q
     where q._user_id = c._user_id and q.collection = c.collection) as quarantined_items,
    coalesce((select sum(x.conflicts) from "{schema}"._conflicts x
              where x._user_id = c._user_id and x.collection = c.collection), 0)::bigint as field_conflicts,
    c.held_deletions,
    c.waiting_deletions
  from "{schema}"._collections c;
