import { onlyRow, type Db } from './db.ts';
import { sql, type RawBuilder } from 'kysely';

/**
 * What a server says it is: `<system identifier>/<timeline>`. Another cluster has another identifier; the timeline
 * rises when a standby or a restored backup begins to write. A part is empty where this user may not ask for it.
 */
export type ServerNode = string;

/** By pool: which of the functions its user may call is asked once. */
const expressions = new WeakMap<Db['kysely'], Promise<RawBuilder<ServerNode>>>();

/**
 * An SQL expression for the node that runs the statement. On Citus a statement on an account's row runs on that
 * account's node. (pg_control_checkpoint would be simpler, but lags behind a promotion.)
 */
export function nodeExpression(db: Db): Promise<RawBuilder<ServerNode>> {
  let found = expressions.get(db.kysely);
  if (found === undefined) {
    found = permitted(db).then(({ system, timeline }) => {
      const identifier = system ? sql`(pg_control_system()).system_identifier::text` : sql`''`;
      // The name of a WAL file begins with the timeline.
      const line = timeline ? sql`left(pg_walfile_name(pg_current_wal_lsn()), 8)` : sql`''`;
      return sql<ServerNode>`${identifier} || '/' || ${line}`;
    });
    // After a failure the next call asks again.
    found.catch(() => expressions.delete(db.kysely));
    expressions.set(db.kysely, found);
  }
  return found;
}

async function permitted(db: Db): Promise<{ readonly system: boolean; readonly timeline: boolean }> {
  const found = await db.sql<{ system: boolean; timeline: boolean }>`
    select has_function_privilege('pg_control_system()', 'execute') as system,
      has_function_privilege('pg_current_wal_lsn()', 'execute')
        and has_function_privilege('pg_walfile_name(pg_lsn)', 'execute') as timeline`;
  return onlyRow(found);
}

/** Timelines by system identifier, as `installation.nodes` keeps them. */
export type KnownNodes = Readonly<Record<string, string>>;

/** Adds a server that was not known (a new worker of Citus); one that is known keeps its timeline. */
export function withUnknownNode(known: KnownNodes, node: ServerNode): KnownNodes {
  const { system, timeline } = partsOf(node);
  return system === '' || timeline === '' || system in known ? known : { ...known, [system]: timeline };
}

/** Adds a server, or gives it its present timeline. */
export function withNode(known: KnownNodes, node: ServerNode): KnownNodes {
  const { system, timeline } = partsOf(node);
  return system === '' || timeline === '' ? known : { ...known, [system]: timeline };
}

/** Whether a known server now writes another timeline. */
export function hasNewTimeline(known: KnownNodes, node: ServerNode): boolean {
  const { system, timeline } = partsOf(node);
  const before = known[system];
  return timeline !== '' && before !== undefined && before !== timeline;
}

/** '' for what the server did not say. */
export function partsOf(node: ServerNode): { readonly system: string; readonly timeline: string } {
  const [system = '', timeline = ''] = node.split('/');
  return { system, timeline };
}
