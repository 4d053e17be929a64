-- What an event's ID stood for when it came: an ID that comes again with another body is another event.
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction, run by src/db/migrate.ts.
-- oldest program: 0.2.0

-- SHA-256, in hex, of the body as jsonb prints it; null for those that came before this column.
alter table "{schema}_sync".event_seen add column content text;

comment on column "{schema}".events.id is 'ID that the service gave the event; the SHA-256 of its body where it gave none. A delivery that reuses the ID of another event has "#" and 16 hex digits of its body''s SHA-256 behind it.';
