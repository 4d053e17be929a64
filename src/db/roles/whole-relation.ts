import pg from 'pg';

/** The statement that reads all rows and columns of a table or view, by its exact name. */
export function wholeRelation(schema: string, name: string): string {
  return `select * from ${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(name)}`;
}

/** The statement that tells the names of the tables and views of `schema` that its user may read, in order. */
export function readableRelations(schema: string): string {
  return `select c.relname::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${pg.escapeLiteral(schema)} and c.relkind in ('r', 'p', 'v', 'm', 'f') and has_table_privilege(c.oid, 'select')
    order by 1`;
}
