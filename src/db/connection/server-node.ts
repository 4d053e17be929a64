import type { Db } from './db.ts';
import { sql, type RawBuilder } from 'kysely';

/**
 * A server as it tells of itself: `<system identifier>/<timeline>`. The identifier is another one in another cluster,
 * the timeline rises when a standby or a restored backup begins to write. Empty parts: this user may not ask.
 */
export type ServerNode = string;

/** Each pool asks once which of the two functions its user may call. */
const expressions = new WeakMap<Db, Promise<RawBuilder<ServerNode>>>();

/**
 * An expression that gives the node on which its statement runs: on Citus, in a statement on an account's row, the
 * account's. (pg_control_checkpoint would be simpler, but lags behind a promotion.)
 */
export function nodeExpression(db: Db): Promise<RawBuilder<ServerNode>> {
  let found = expressions.get(db);
  if (found === undefined) {
    found = permitted(db).then(({ system, timeline }) => {
      const identifier = system ? sql`(pg_control_system()).system_identifier::text` : sql`''`;
      // A WAL file is named by its timeline first.
      const line = timeline ? sql`left(pg_walfile_name(pg_current_wal_lsn()), 8)` : sql`''`;
      return sql<ServerNode>`${identifier} || '/' || ${line}`;
    });
    // A question that was not answered is asked again.
    found.catch(() => expressions.delete(db));
    expressions.set(db, found);
  }
  return found;
}

async function permitted(db: Db): Promise<{ readonly system: boolean; readonly timeline: boolean }> {
  const { rows } = await db.sql<{ system: boolean; timeline: boolean }>`
    select has_function_privilege('pg_control_system()', 'execute') as system,
      has_function_privilege('pg_current_wal_lsn()', 'execute')
        and has_function_privilege('pg_walfile_name(pg_lsn)', 'execute') as timeline`;
  if (rows[0] === undefined) throw new RangeError('a select without from gave no row');
  return rows[0];
}

/** Timelines by system identifier, as `installation.nodes` keeps them. */
export type KnownNodes = Readonly<Record<string, string>>;

/** With a server that was not known (a new worker of Citus); one that is known keeps its timeline. */
export function withUnknownNode(known: KnownNodes, node: ServerNode): KnownNodes {
  const { system, timeline } = partsOf(node);
  return system === '' || timeline === '' || system in known ? known : { ...known, [system]: timeline };
}

/** As seen now. */
export function withNode(known: KnownNodes, node: ServerNode): KnownNodes {
  const { system, timeline } = partsOf(node);
  return system === '' || timeline === '' ? known : { ...known, [system]: timeline };
}

/** Whether a known server writes another timeline now. */
export function hasNewTimeline(known: KnownNodes, node: ServerNode): boolean {
  const { system, timeline } = partsOf(node);
  const before = known[system];
  return timeline !== '' && before !== undefined && before !== timeline;
}

/** '' for what is not told. */
export function partsOf(node: ServerNode): { readonly system: string; readonly timeline: string } {
  const [system = '', timeline = ''] = node.split('/');
  return { system, timeline };
}
