-- One row in quarantine for each bad item that the service has, as far as one can be told from another; a bound on
-- texts that are kept.
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction, run by src/db/migrate.ts.
-- oldest program: 0.2.0

alter table "{schema}".quarantine
  -- Where an item without a usable key stands: the key that it follows; '' at the top; null: not known.
  add column place text,
  -- Bytes of the item's text; null in rows from before this column: those of item.
  add column bytes bigint,
  -- false: more items, or bytes, than are kept of a collection. The row counts, and item is ''.
  add column kept boolean not null default true;

-- What was seen last under a key stands for it.
-- Reason: an older program takes of several texts under one key the one seen last, too, and may add others again.
delete from "{schema}".quarantine as q
using (
  select _user_id, collection, parent, item_hash,
    row_number() over (
      partition by _user_id, collection, parent, key
      order by last_seen_at desc, first_seen_at desc, item_hash desc) as place
  from "{schema}".quarantine where key is not null) as older
where q._user_id = older._user_id and q.collection = older.collection and q.parent = older.parent
  and q.item_hash = older.item_hash and older.place > 1;

create index quarantine_key on "{schema}".quarantine (_user_id, collection, parent, key);
create index quarantine_place on "{schema}".quarantine (_user_id, collection, parent, place) where place is not null;
create index quarantine_kept on "{schema}".quarantine (_user_id, collection) where kept;

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
     where q._user_id = c._user_id and q.collection = c.collection and not q.kept) as quarantined_without_text
  from "{schema}"._collections c;
comment on column "{schema}".data_quality.quarantined_items is 'Items that the service has and that could not be mirrored: see quarantine.';
comment on column "{schema}".data_quality.quarantined_without_text is 'Those of them whose text is not kept, since the collection has too many or too large ones.';

comment on table "{schema}".quarantine is 'Items that the service has and that could not be mirrored, verbatim, with the reason.';
comment on column "{schema}".quarantine._user_id is 'Owner of the API key.';
comment on column "{schema}".quarantine.collection is 'Collection that the item is of.';
comment on column "{schema}".quarantine.parent is 'The list that it is an item of; empty outside lists.';
comment on column "{schema}".quarantine.item_hash is 'SHA-256 of the item''s text.';
comment on column "{schema}".quarantine.item is 'The item as the service sent it; empty where kept is false.';
comment on column "{schema}".quarantine.key is 'Its cursor ID, one row for each; null: it has none that can be stored.';
comment on column "{schema}".quarantine.place is 'Where an item without a usable key stands: the key that it follows, empty at the top; null: not known.';
comment on column "{schema}".quarantine.reason is 'Why it could not be mirrored, to follow "the item".';
comment on column "{schema}".quarantine.bytes is 'Bytes of its text; null in rows from before this column.';
comment on column "{schema}".quarantine.kept is 'false: its text is not kept, since the collection has too many or too large ones.';
comment on column "{schema}".quarantine.first_seen_at is 'Since when the item, whatever its text, is in quarantine.';
comment on column "{schema}".quarantine.last_seen_at is 'When it was seen last, at most an hour before it really was.';
