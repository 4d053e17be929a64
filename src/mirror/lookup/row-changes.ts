import type { Db } from '../../db/connection/db.ts';
import { sql } from 'kysely';
import type { RowAddress } from '../../model/lookup/row-address.ts';
import type { FieldChange, TimelineEntry } from '../../model/lookup/row-story.ts';
import { dataTable, type Table } from '../table.ts';
import { cutText, hasAddress, isoMoment } from './look-up-row.ts';

/** Characters shown of a value. */
export const VALUE_CHARACTERS = 2_000;
/** Fields of all changes together. */
const MOST_FIELDS = 2_000;

/** The row's changes but for its first version, of its newest `limit` versions. */
export async function changeEntries(
  db: Db,
  table: Table,
  row: RowAddress,
  limit: number,
): Promise<TimelineEntry[]> {
  // The view finds changes by their ID, and by no key.
  const versions = await db.sql<{ id: string }>`
    select t._change_id as id from ${dataTable(table)} as t where ${hasAddress(table, row, 't')}
    union
    (select h._change_id from ${dataTable(table, '_history')} as h where ${hasAddress(table, row, 'h')}
     order by h._change_id desc limit ${limit})
    order by 1 desc limit ${limit}`;
  const ids = versions.rows.map(({ id }) => id);
  const { rows } = await db.sql<{
    changeId: string;
    op: 'insert' | 'update' | 'delete' | 'undelete';
    at: string;
    field: string | null;
    before: string | null;
    beforeLength: number | null;
    after: string | null;
    afterLength: number | null;
  }>`
    select c.change_id as "changeId", c.op, ${isoMoment(sql`c.changed_at`)} as at, left(c.field, 200) as field,
      left(c.before::text, ${VALUE_CHARACTERS}) as before, length(c.before::text) as "beforeLength",
      left(c.after::text, ${VALUE_CHARACTERS}) as after, length(c.after::text) as "afterLength"
    from ${db.table('changes')} as c
    where c._user_id = ${row.userId}::bigint and c.collection = ${row.collection}
      and c.change_id = any(${ids}::bigint[]) and c.key = ${row.key.length === 0 ? row.userId : row.key.join(':')}
    order by c.changed_at desc, c.field limit ${MOST_FIELDS}`;
  const changes = Map.groupBy(rows, ({ changeId, op }) => `${changeId} ${op}`);
  return [...changes.values()].flatMap((fields): TimelineEntry[] => {
    const [first] = fields;
    if (first === undefined || first.op === 'insert') return [];
    const { at, changeId, op } = first;
    if (op !== 'update') return [{ at, what: op === 'delete' ? 'deleted' : 'undeleted', changeId }];
    const shown = fields.flatMap(({ field, before, beforeLength, after, afterLength }): FieldChange[] =>
      field === null
        ? []
        : [{ field, before: cutText(before, beforeLength), after: cutText(after, afterLength) }],
    );
    return [{ at, what: 'changed', changeId, fields: shown }];
  });
}
