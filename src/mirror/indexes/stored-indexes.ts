import type { Db } from '../../db/connection/db.ts';
import { relation, type Table } from '../table.ts';
import type { PresentColumn } from './optional-index.ts';

/** An index of a data table as the database has it, whoever made it. */
export interface StoredIndex {
  readonly name: string;
  /** Its statement, for people. */
  readonly definition: string;
  /** What its first column is made over, as PostgreSQL prints it. */
  readonly over: string;
  /** It has one column, every row, and nothing that is not usual: it is what an optional index over the same would be. */
  readonly plain: boolean;
  /** False while it is being made, and where that was broken off: it costs writes, and serves no query. */
  readonly valid: boolean;
  /** Somebody makes it at this moment. */
  readonly building: boolean;
  readonly bytes: number;
  /** How many scans it served since the server's statistics were reset. */
  readonly scans: number;
}

/** What optional indexes are judged by: a data table's columns, its rows, and the indexes that it has. */
export interface IndexedTable {
  readonly table: Table;
  readonly columns: readonly PresentColumn[];
  /** Rows as the mirror counts them, deleted ones included. */
  readonly rows: number;
  readonly indexes: readonly StoredIndex[];
}

export async function readIndexedTable(db: Db, table: Table): Promise<IndexedTable> {
  const columns = await db.sql<PresentColumn>`
    select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
    where attrelid = ${relation(table)} and attnum > 0 and not attisdropped order by attnum`;
  const counted = await db.sql<{ rows: string }>`
    select coalesce(sum(live_rows + deleted_rows), 0) as rows from ${db.table('_collections')}
    where collection = ${table.name}`;
  return {
    table,
    columns: columns.rows,
    rows: Number(counted.rows[0]?.rows ?? 0),
    indexes: await readIndexes(db, table),
  };
}

/** The table's indexes, primary key and those of the mirror itself included. */
export async function readIndexes(db: Db, table: Table): Promise<readonly StoredIndex[]> {
  const { rows } = await db.sql<Omit<StoredIndex, 'bytes' | 'scans'> & { bytes: string; scans: string }>`
    select c.relname as name, pg_get_indexdef(c.oid) as definition, pg_get_indexdef(c.oid, 1, false) as over,
      i.indnatts = 1 and not i.indisunique and i.indpred is null and m.amname = 'btree' and o.opcdefault
        and i.indoption[0] = 0 and c.reloptions is null as plain,
      i.indisvalid and i.indisready as valid,
      exists (select 1 from pg_stat_progress_create_index p where p.index_relid = c.oid) as building,
      pg_relation_size(c.oid) as bytes, coalesce(pg_stat_get_numscans(c.oid), 0) as scans
    from pg_index i
      join pg_class c on c.oid = i.indexrelid
      join pg_am m on m.oid = c.relam
      join pg_opclass o on o.oid = i.indclass[0]
    where i.indrelid = ${relation(table)}
    order by c.relname`;
  return rows.map(({ bytes, scans, ...rest }) => ({ ...rest, bytes: Number(bytes), scans: Number(scans) }));
}
