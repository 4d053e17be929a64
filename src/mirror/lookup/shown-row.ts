import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../db/connection/db.ts';
import { collection } from '../../model/collections.ts';
import { DOMAIN_COLUMN, keyColumns, type Table } from '../table.ts';

/**
 * Runs `work` on one snapshot, where a statement takes three seconds at most and tables are read by their indexes: what
 * is looked up is a few rows of many, whatever the statistics say or leave out.
 * @throws DatabaseUnavailable where a statement takes longer
 */
export function lookupSnapshot<T>(db: Db, work: (trx: Db) => Promise<T>): Promise<T> {
  return db.snapshot(async (trx) => {
    await trx.raw(
      'set local statement_timeout = 3000; set local jit = off; set local enable_seqscan = off; ' +
        'set local enable_hashjoin = off; set local enable_mergejoin = off',
    );
    return work(trx);
  });
}

/** Columns of `Found`, of a row `r` of the table or of its history. */
export function shown(table: Table, suffix: '' | '_history' = ''): RawBuilder<unknown> {
  const [user = '', ...key] = keyColumns(table);
  const parts = (key.length === 0 ? [user] : key).map((column) => sql`${sql.id('r', column)}::text`);
  const keyText = sql.join(parts, sql` || ':' || `);
  const domain = hasDomain(table) ? sql.id('r', DOMAIN_COLUMN) : sql`null`;
  const gone = suffix === '' ? sql`r._deleted_at` : sql`r._valid_to`;
  return sql`'row' as kind, r._user_id::text as "userId", ${keyText} as id, ${table.name} as collection,
    ${keyText} as key, nullif(concat_ws(', ', left(r._raw ->> 'name', 200), ${domain}), '') as name,
    case when ${gone} is null then left(r._raw ->> 'status', 100) else 'deleted' end as state,
    coalesce(${gone}, r._changed_at) as at, null as response`;
}

/** Whether rows of the table have a domain (docs/tables.md, "Companies"). */
export function hasDomain({ name }: Table): boolean {
  const entry = collection(name);
  return entry.kind === 'list' && entry.domainFields !== undefined;
}
