import type { Config } from '../../config/config.ts';
import type { Db } from '../../db/connection/db.ts';
import { logAct } from '../../db/roles/operator-log.ts';
import { MAX_COLUMNS, type PlannedColumn } from '../../mirror/columns/column-plan.ts';
import { addColumns } from '../../mirror/columns/table-columns.ts';
import { tableOf } from '../../mirror/table.ts';
import type { CollectionName } from '../../model/collections.ts';
import { shortened } from '../../model/status/report-words.ts';
import type { FoundProblem } from '../status/problems.ts';
import { type SetTypeRequest, whenFree } from './set-column-type.ts';

/** How many fields are named, and by how many characters. */
const NAMED = 4;
const SHOWN = 40;

/**
 * With MIRROR_SCHEMA_DRIFT=freeze: one problem for each collection that has fields without a column. Those that are not
 * stored any more, and those of a table that is full, wait for nobody.
 */
export async function waitingFields(
  db: Db,
  { schemaDrift, excludeFields }: Pick<Config, 'schemaDrift' | 'excludeFields'>,
): Promise<FoundProblem[]> {
  if (schemaDrift !== 'freeze') return [];
  type Row = Readonly<{ collection: CollectionName; count: number; fields: string[]; since: Date }>;
  const { rows } = await db.sql<Row>`
    select c.collection, count(*)::float8 as count, min(c.first_seen_at) as since,
      (array_agg(c.field order by c.first_seen_at, c.field))[1:${NAMED}::int] as fields
    from ${db.table('_columns')} as c
    where c.column_name is null
      and not ${JSON.stringify(excludeFields)}::jsonb -> c.collection ?| array[c.field, '**.' || c.field]
      and ${MAX_COLUMNS} > (
        select count(*) from pg_attribute as a
        where a.attrelid = to_regclass(format('%I.%I', ${db.schema}::text, c.collection))
          and a.attnum > 0 and not a.attisdropped)
    group by c.collection order by c.collection`;
  return rows.map(({ collection, count, fields, since }) => {
    const names = fields.map((field) => JSON.stringify(shortened(field, SHOWN))).join(', ');
    const more = count > fields.length ? ` and ${count - fields.length} more` : '';
    return {
      cause: 'fields_waiting',
      what: `new fields of ${collection} have no column: MIRROR_SCHEMA_DRIFT is freeze`,
      where: `${collection} (${names}${more})`,
      since: since.toISOString(),
      remedy: `"research-mirror columns accept ${collection}" makes columns for them`,
    };
  });
}

/** What waits in a table for its columns: all of it, or one field. */
type AcceptRequest = Omit<SetTypeRequest, 'column' | 'type'> & { readonly field: string | undefined };

/**
 * Makes the columns that fields wait for, beside readers and writers; daemons fill them from `_raw`.
 * @returns them; those without a name found the table full
 * @throws a database error 55P03 where the table stays locked; the signal's reason
 */
export function acceptFields(request: AcceptRequest): Promise<readonly PlannedColumn[]> {
  const { db, by, table, field } = request;
  return whenFree(request, () =>
    db.transaction(async (trx) => {
      const planned = await addColumns(trx, tableOf(db.schema, table), new Map(), 'add', field);
      const columns = planned.flatMap(({ name }) => name ?? []);
      if (columns.length > 0) await logAct(trx, by, { act: 'columns accept', given: { table, columns } });
      return planned;
    }),
  );
}
