import { onlyRow, type Db } from './db.ts';
import { sql, type RawBuilder } from 'kysely';

/**
 * What a server says it is. Another cluster has another system identifier; the timeline rises when a standby or a
 * restored backup begins to write. Null: this user may not ask for it.
 */
export type ServerNode = readonly [system: string | null, timeline: string | null];

/** By pool: which of the functions its user may call is asked once. */
const expressions = new WeakMap<Db['kysely'], Promise<RawBuilder<ServerNode>>>();

/**
 * An SQL expression for the node that runs the statement. On Citus a statement on an account's row runs on that
 * account's node. (pg_control_checkpoint would be simpler, but lags behind a promotion.)
 */
export function nodeExpression(db: Db): Promise<RawBuilder<ServerNode>> {
  const known = expressions.get(db.kysely);
  if (known !== undefined) return known;
  const found = permittedExpression(db);
  // After a failure the next call asks again.
  found.catch(() => expressions.delete(db.kysely));
  expressions.set(db.kysely, found);
  return found;
}

async function permittedExpression(db: Db): Promise<RawBuilder<ServerNode>> {
  const asked = await db.sql<{ system: boolean; timeline: boolean }>`
    select has_function_privilege('pg_control_system()', 'execute') as system,
      has_function_privilege('pg_current_wal_lsn()', 'execute')
        and has_function_privilege('pg_walfile_name(pg_lsn)', 'execute') as timeline`;
  const { system, timeline } = onlyRow(asked);
  const identifier = system ? sql`(pg_control_system()).system_identifier::text` : sql`null`;
  // The name of a WAL file begins with the timeline.
  const line = timeline ? sql`left(pg_walfile_name(pg_current_wal_lsn()), 8)` : sql`null`;
  return sql`array[${identifier}, ${line}]::text[]`;
}

/** Timelines by system identifier, as `installation.nodes` keeps them. */
export type KnownNodes = Readonly<Record<string, string>>;

/** Adds a server, or gives it its present timeline. */
export function withNode(known: KnownNodes, [system, timeline]: ServerNode): KnownNodes {
  return system === null || timeline === null ? known : { ...known, [system]: timeline };
}

/** Whether a known server now writes another timeline. */
export function hasNewTimeline(known: KnownNodes, [system, timeline]: ServerNode): boolean {
  return timeline !== null && (known[system ?? ''] ?? timeline) !== timeline;
}
