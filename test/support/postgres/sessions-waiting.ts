import { inject } from 'vitest';

const HERE = `select count(*)::int as n from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock'`;
const ON_ALL_NODES = `select sum(result::int)::int as n from run_command_on_all_nodes($$${HERE}$$)`;

/**
 * How many sessions of a database wait for a lock, in the server's own words; on Citus, of all nodes.
 * @param run runs a statement in that database
 */
export async function sessionsWaiting(run: (text: string) => Promise<readonly object[]>): Promise<number> {
  const [row] = await run(inject('testServer').workers.length > 0 ? ON_ALL_NODES : HERE);
  return (row as { readonly n: number }).n;
}
