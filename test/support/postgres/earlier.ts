/**
 * A column's moment less a span, in SQL. In words that Citus takes in an UPDATE, too: a `timestamptz` less an interval may
 * depend on the session's time zone, and such expressions over columns it refuses.
 */
export function earlier(column: string, span: string): string {
  return `(${column} at time zone 'UTC' - interval '${span}') at time zone 'UTC'`;
}
