import type { Db } from '../../db/connection/db.ts';
import { databaseTime } from '../../db/connection/database-time.ts';
import { type RawBuilder, sql } from 'kysely';
import type { RowAddress } from '../../model/lookup/row-address.ts';
import type { CutText, RowStory, TimelineEntry } from '../../model/lookup/row-story.ts';
import { dataTable, relation, type Table, tableOf } from '../table.ts';
import { cutText, hasAddress, isoMoment } from './look-up-row.ts';
import { lookupSnapshot } from './lookup-snapshot.ts';
import { changeEntries, VALUE_CHARACTERS } from './row-changes.ts';
import { submissionEntries } from './row-submissions.ts';

/** Characters shown of the whole item. */
const RAW_CHARACTERS = 20_000;
/** How long a walk may last that is looked for. */
const WALK = sql`interval '1 day'`;

/**
 * The row and what happened to it, on one snapshot.
 * @param entries of the timeline, at most: the newest
 * @returns undefined where neither a row, nor an event or submission has the address
 * @throws DatabaseUnavailable, also where it takes too long
 */
export async function readRowStory(db: Db, row: RowAddress, entries: number): Promise<RowStory | undefined> {
  const table = tableOf(db.schema, row.collection);
  return lookupSnapshot(db, async (trx) => {
    const at = (await databaseTime(trx)).toISOString();
    const stored = (await rowThere(trx, table, row)) ?? (await rowRemoved(trx, table, row));
    const most = entries + 1;
    const timeline = [
      ...(await submissionEntries(trx, row, most)),
      ...(await eventEntries(trx, row, most)),
      ...(stored === undefined ? [] : await mirroredEntries(trx, row, stored)),
      ...(stored === undefined ? [] : await changeEntries(trx, table, row, most)),
      ...(await suspectedEntries(trx, table, row)),
    ].toSorted(newestFirst);
    if (stored === undefined && timeline.length === 0) return undefined;
    return {
      ...row,
      at,
      state: stored === undefined ? 'absent' : stored.deletedAt === null ? 'live' : 'deleted',
      deletedAt: stored?.deletedAt ?? null,
      timeline: timeline.slice(0, entries),
      more: timeline.length > entries,
      columns: stored?.columns ?? [],
      raw: stored?.raw ?? null,
    };
  });
}

interface StoredRow {
  readonly firstSeenAt: string;
  readonly deletedAt: string | null;
  readonly columns: RowStory['columns'];
  readonly raw: CutText | null;
}

function rowThere(db: Db, table: Table, row: RowAddress): Promise<StoredRow | undefined> {
  return storedRow(
    db,
    table,
    '',
    sql`
    select t.* from ${dataTable(table)} as t where ${hasAddress(table, row, 't')}`,
    sql`t._deleted_at`,
  );
}

/** MIRROR_DELETES=hard leaves the last image of a row in its history. */
function rowRemoved(db: Db, table: Table, row: RowAddress): Promise<StoredRow | undefined> {
  return storedRow(
    db,
    table,
    '_history',
    sql`
    select t.* from ${dataTable(table, '_history')} as t
    where ${hasAddress(table, row, 't')} and t._op = 'delete' order by t._change_id desc limit 1`,
    sql`t._valid_to`,
  );
}

async function storedRow(
  db: Db,
  table: Table,
  suffix: '' | '_history',
  source: RawBuilder<unknown>,
  deleted: RawBuilder<unknown>,
): Promise<StoredRow | undefined> {
  const { rows } = await db.sql<{
    firstSeenAt: string;
    deletedAt: string | null;
    raw: string | null;
    rawLength: number | null;
    values: { name: string; text: string; characters: number }[] | null;
  }>`
    select ${isoMoment(sql`t._first_seen_at`)} as "firstSeenAt", ${isoMoment(deleted)} as "deletedAt",
      left(coalesce(t._verbatim, jsonb_pretty(t._raw)), ${RAW_CHARACTERS}) as raw,
      length(coalesce(t._verbatim, jsonb_pretty(t._raw))) as "rawLength", (
        select json_agg(json_build_object('name', v.key, 'text', left(v.value, ${VALUE_CHARACTERS}),
          'characters', length(v.value)))
        from jsonb_each_text(to_jsonb(t) - '{_raw,_verbatim,_hash}'::text[]) as v
        where v.value is not null) as values
    from (${source}) as t`;
  const [found] = rows;
  if (found === undefined) return undefined;
  const { firstSeenAt, deletedAt, raw, rawLength, values } = found;
  const byName = new Map(values?.map(({ name, ...value }) => [name, value]));
  return {
    firstSeenAt,
    deletedAt,
    raw: cutText(raw, rawLength),
    columns: (await columnTypes(db, table, suffix)).flatMap(({ name, type }) => {
      const value = byName.get(name);
      return value === undefined ? [] : [{ name, type, value }];
    }),
  };
}

/**
 * In the order in which they are shown. A statement of its own: Citus 13.2 crashes where the catalogue is joined within a
 * query on a distributed table.
 */
async function columnTypes(
  db: Db,
  table: Table,
  suffix: '' | '_history',
): Promise<readonly { readonly name: string; readonly type: string }[]> {
  const { rows } = await db.sql<{ name: string; type: string }>`
    select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
    where attrelid = ${relation(table, suffix)} and attnum > 0 and not attisdropped
    order by starts_with(attname, '_'), attnum`;
  return rows;
}

/** When it came here, by which walk; and when the service made it, as it says itself. */
async function mirroredEntries(
  db: Db,
  row: RowAddress,
  { firstSeenAt, columns }: StoredRow,
): Promise<TimelineEntry[]> {
  const [list] = row.collection === 'list_items' ? row.key : [];
  const moment = sql`${firstSeenAt}::timestamptz`;
  const { rows } = await db.sql<{ walkId: string; walk: string }>`
    select l.walk_id as "walkId", l.kind as walk from ${db.table('sync_log')} as l
    where l._user_id = ${row.userId}::bigint and l.started_at between ${moment} - ${WALK} and ${moment}
      and l.collection = ${row.collection} and l.list_id is not distinct from ${list ?? null}::bigint
      and l.ended_at >= ${moment} and l.inserted > 0
    order by l.started_at desc limit 1`;
  const made = columns.find(({ name, type }) => name === 'created_at' && type === 'timestamp with time zone');
  const createdAt = made === undefined ? undefined : utcMoment(made.value.text);
  return [
    { at: firstSeenAt, what: 'mirrored', walkId: rows[0]?.walkId ?? null, walk: rows[0]?.walk ?? null },
    ...(createdAt === undefined ? [] : [{ at: createdAt, what: 'created' as const }]),
  ];
}

/** Postgres's JSON of a moment in UTC, as the others are written; undefined beyond the years that ISO 8601 writes so. */
function utcMoment(text: string): string | undefined {
  const [, seconds, fraction = ''] =
    /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.(\d{1,6}))?\+00:00$/.exec(text) ?? [];
  return seconds === undefined ? undefined : `${seconds}.${fraction.padEnd(6, '0')}Z`;
}

/** Events name rows by one key: none of a list's items. */
async function eventEntries(
  db: Db,
  { userId, collection, key }: RowAddress,
  limit: number,
): Promise<TimelineEntry[]> {
  if (key.length !== 1) return [];
  const { rows } = await db.sql<{
    at: string;
    eventId: string;
    type: string | null;
    createdAt: string | null;
  }>`
    select ${isoMoment(sql`e.received_at`)} as at, e.id as "eventId", e.type,
      ${isoMoment(sql`e.created_at`)} as "createdAt"
    from ${db.table('events')} as e
    where e._user_id = ${userId}::bigint and e._collection = ${collection} and e._key = ${key[0]}
    order by e.received_at desc limit ${limit}`;
  return rows.map((event) => ({ what: 'event', ...event }));
}

/** Whether its deletion is suspected, or it came back too soon (docs/design/deletions.md). */
async function suspectedEntries(
  db: Db,
  table: Table,
  { userId, collection, key }: RowAddress,
): Promise<TimelineEntry[]> {
  const own = key.at(-1);
  if (own === undefined) return [];
  const { rows } = await db.sql<{ at: string; proven: boolean; returned: boolean }>`
    select ${isoMoment(sql`d.at`)} as at, d.proven_at is not null as proven, d.kind = 'returned' as returned
    from ${db.stateTable('candidate')} as d
    where d._user_id = ${userId}::bigint and d.collection = ${collection}
      and d.parent = ${table.parent === undefined ? '' : key[0]} and d.key = ${own}`;
  return rows.map((suspected) => ({ what: 'suspected', ...suspected }));
}

/** Of what happened at the same moment, what follows from the other is newer. */
const ORDER = [
  'created',
  'queued',
  'sent',
  'answered',
  'ended',
  'event',
  'mirrored',
  'changed',
  'deleted',
  'undeleted',
  'suspected',
];

function newestFirst(a: TimelineEntry, b: TimelineEntry): number {
  if (a.at !== b.at) return a.at < b.at ? 1 : -1;
  return ORDER.indexOf(b.what) - ORDER.indexOf(a.what);
}
