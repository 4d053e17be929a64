import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../db/connection/db.ts';
import { keyParts, type RowAddress, type RowStory, type StoryEntry } from '../../model/lookup/lookup.ts';
import { dataTable, keyColumns, tableOf } from '../table.ts';
import { lookupSnapshot } from './search-mirror.ts';

/** Characters shown of a value, and of the whole item. */
const VALUE = 2_000;
const RAW = 20_000;
/** Entries of a story that are shown, the newest ones; and lines of it, at most: a version has one for each field. */
const ENTRIES = 100;
const LINES = 2_000;

/**
 * The row, what happened to it, and what the daemon has still to do about it, on one snapshot.
 * @returns undefined where neither a row, nor an event, a submission or an item in quarantine has the address
 * @throws DatabaseUnavailable, also where it takes too long
 */
export async function readRow(db: Db, row: RowAddress): Promise<RowStory | undefined> {
  return lookupSnapshot(db, async (trx, at) => {
    const stored = await storedRow(trx, row);
    const timeline = await timelineOf(trx, row, stored?.state !== 'deleted');
    if (stored === undefined && timeline.every(({ by }) => by === 'daemon')) return undefined;
    const shown = { at, timeline: timeline.slice(0, ENTRIES), more: timeline.length > ENTRIES };
    return { ...shown, ...(stored ?? { state: 'absent', columns: [], raw: null }) };
  });
}

type StoredRow = Pick<RowStory, 'state' | 'columns' | 'raw'>;

/** The row as it is, or its last image, which MIRROR_DELETES=hard leaves in history. */
async function storedRow(db: Db, row: RowAddress): Promise<StoredRow | undefined> {
  const table = tableOf(db.schema, row.collection);
  const key = [row.userId, ...keyParts(row)];
  const isRow = sql.join(
    keyColumns(table).map((column, n) => sql`${sql.id('r', column)} = ${key[n] ?? null}`),
    sql` and `,
  );
  // In the order of its columns, the mirror's own ones last.
  const { rows } = await db.sql<StoredRow>`
    select case when f.live then 'live' else 'deleted' end as state,
      ${cut(sql`coalesce(f._verbatim, jsonb_pretty(f._raw))`, RAW)} as raw, (
        select json_agg(json_build_object('name', v.key, 'value', ${cut(sql`v.value`, VALUE)})
          order by starts_with(v.key, '_'), v.place)
        from json_each_text(f.row) with ordinality as v (key, value, place)
        where v.value is not null and v.key <> all('{_raw,_verbatim,_hash}')) as columns
    from (
      select row_to_json(r.*) as row, r._raw, r._verbatim, r._deleted_at is null as live, 0 as removed
      from ${dataTable(table)} as r where ${isRow}
      union all
      (select row_to_json(r.*), r._raw, r._verbatim, false, 1
       from ${dataTable(table, '_history')} as r where ${isRow} and r._op = 'delete' order by r._change_id desc limit 1)) as f
    order by f.removed limit 1`;
  return rows[0];
}

/**
 * `row_story` and what its callers can't see, the daemon's own state: the newest first, fields of one change together.
 * @param isRead when its collection is read next belongs to it: nothing is to come of a row that is gone
 */
async function timelineOf(db: Db, row: RowAddress, isRead: boolean): Promise<StoryEntry[]> {
  const { userId, collection, key } = row;
  const most = ENTRIES + 1;
  const [own, list = ''] = keyParts(row).toReversed();
  const ofRow = sql`x._user_id = ${userId}::bigint and x.collection = ${collection}`;
  // An item may say that it was made in a year that ISO 8601 can't write with four digits.
  const { rows } = await db.sql<StoryEntry>`
    select to_json(s.at) as at, s.what, s.by, (array_agg(s.after) filter (where s.field is null))[1] as more,
      coalesce(json_agg(json_build_object('field', left(s.field, 200), 'before', ${cut(sql`s.before::text`, VALUE)},
        'after', ${cut(sql`s.after::text`, VALUE)}) order by s.field) filter (where s.field is not null), '[]') as fields
    from (
      (select * from ${db.table('row_story')}(${userId}::bigint, ${collection}, ${key}, ${most}::bigint) with ordinality
         as r (at, what, field, before, after, by, place)
       where r.at between '0002-01-01' and '9999-01-01' order by r.place desc limit ${LINES})
      union all
      select x.at, 'suspected', null, null, jsonb_build_object('kind', x.kind, 'proven', x.proven_at is not null,
        'refused', x.refused), 'daemon', null
      from ${db.stateTable('candidate')} as x where ${ofRow} and x.parent = ${list} and x.key = ${own ?? ''}
      union all
      select x.due_at, 'hinted', null, null, null, 'daemon', null
      from ${db.stateTable('hint')} as x where ${ofRow} and x.parent = ${list} and x.key in (${own ?? ''}, '')
      union all
      select e.at, e.what, null, null, null, 'daemon', null
      from ${db.table('_collections')} as x
        cross join lateral (values (x.next_poll_at, 'next_poll'), (x.next_full_at, 'next_full')) as e (at, what)
      where ${ofRow} and ${isRead} and e.at is not null) as s
    group by s.at, s.what, s.by, case when s.field is null then s.place end
    order by s.at desc, max(s.place) desc limit ${most}`;
  return rows;
}

function cut(text: RawBuilder<unknown>, characters: number): RawBuilder<unknown> {
  return sql`case when length(${text}) <= ${characters} then ${text}
    else left(${text}, ${characters}) || '… (' || length(${text}) || ' characters)' end`;
}
