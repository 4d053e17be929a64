-- What was forgotten on request, by hashes of keys: it is not mirrored again.
-- oldest program: 0.2.0
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction (src/db/migrations/run-migrations.ts).

create table "{schema}".forgotten (
  _user_id bigint not null,
  collection text not null,
  key_hash bytea not null,
  _change_id bigint not null,
  forgotten_at timestamptz not null,
  primary key (_user_id, collection, key_hash)
);
create index forgotten_change on "{schema}".forgotten (_user_id, _change_id);

comment on table "{schema}".forgotten is 'Rows that were erased by research-mirror forget: readers of the watermark erase their copies, too.';
comment on column "{schema}".forgotten._user_id is 'Owner of the API key.';
comment on column "{schema}".forgotten.collection is 'The table. A list stands for its items.';
comment on column "{schema}".forgotten.key_hash is 'SHA-256 of the table''s name, a colon, and the row''s _key: sha256(convert_to(''research_jobs:'' || _user_id || '':'' || job_id, ''UTF8'')).';
comment on column "{schema}".forgotten._change_id is 'Watermark: rises in commit order with those of the tables.';
comment on column "{schema}".forgotten.forgotten_at is 'When it was erased.';

-- Reason: the same columns, and one behind them.
create or replace view "{schema}".data_quality as
  select c._user_id, c.collection,
    (select count(*) from "{schema}".quarantine q
     where q._user_id = c._user_id and q.collection = c.collection) as quarantined_items,
    coalesce((select sum(x.conflicts) from "{schema}"._conflicts x
              where x._user_id = c._user_id and x.collection = c.collection), 0)::bigint as field_conflicts,
    c.held_deletions,
    c.waiting_deletions,
    (select count(*) from "{schema}".quarantine q
     where q._user_id = c._user_id and q.collection = c.collection and not q.kept) as quarantined_without_text,
    (select count(*) from "{schema}".forgotten f
     where f._user_id = c._user_id and f.collection = c.collection) as forgotten_rows
  from "{schema}"._collections c;
comment on column "{schema}".data_quality.forgotten_rows is 'Rows that are kept out since they were forgotten on request: see forgotten.';
