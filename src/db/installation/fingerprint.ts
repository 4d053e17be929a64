import type { Db } from '../connection/db.ts';
import { sql, type RawBuilder } from 'kysely';
import { readDsn, type PgVariables } from '../connection/dsn.ts';
import { nodeExpression, partsOf, type ServerNode } from '../connection/server-node.ts';

/**
 * What tells this database from its copies (docs/design/operations-out.md, "On hold"). Nothing of that is changed by a restart, a pooler, an update of
 * PostgreSQL's minor version, or by a second process. Besides, what tells that its server has crashed.
 */
export interface Fingerprint {
  /** The cluster's identifier: another one after a restore into another cluster. Null: this user may not ask. */
  readonly system: string | null;
  /** Rises when a restored backup or a standby begins to write. Null: this user may not ask. */
  readonly timeline: string | null;
  /** Where the cluster's files lie: elsewhere after they were copied. Null: this user may not ask. */
  readonly directory: string | null;
  /** OID of the database: another one for `create database … template`. */
  readonly database: string;
  /** OID of the table submissions: another one after every restore of a dump. */
  readonly table: string;
  /**
   * Hosts at which the database is reached: a branch or clone of a managed service differs from its origin in nothing
   * else. Without those that mean another machine on every machine.
   */
  readonly hosts: readonly string[];
  /** Since when the server counts its statistics: anew after a crash, not after a shutdown. Null: not known. */
  readonly counting: string | null;
  /** A crash of the server loses nothing that was answered: synchronous_commit is not off. */
  readonly flushed: boolean;
}

/** How the database looks, reached at `host`. */
export async function observeFingerprint(db: Db, host: string | undefined): Promise<Fingerprint> {
  const { rows } = await db.sql<{
    database: string;
    table: string;
    directory: string | null;
    counting: string | null;
    flushed: boolean;
    node: ServerNode;
  }>`
    select (select oid from pg_database where datname = current_database())::text as database,
      to_regclass(format('%I.submissions', ${db.schema}::text))::oid::text as table,
      (select setting from pg_settings where name = 'data_directory') as directory,
      (select extract(epoch from stats_reset)::text from pg_stat_bgwriter) as counting,
      current_setting('synchronous_commit') <> 'off' as flushed,
      ${await nodeExpression(db)} as node`;
  const [found] = rows;
  if (found === undefined) throw new RangeError('a select without from gave no row');
  const { database, table, directory, counting, flushed } = found;
  const { system, timeline } = partsOf(found.node);
  return {
    system: system === '' ? null : system,
    timeline: timeline === '' ? null : timeline,
    directory,
    database,
    table,
    hosts: host === undefined ? [] : [host],
    counting,
    flushed,
  };
}

/** In a statement on `installation`: whether database and tables are those of its fingerprint. Null without one. */
export function isStoredDatabase(schema: string): RawBuilder<boolean | null> {
  return sql`fingerprint ->> 'table' = to_regclass(format('%I.submissions', ${schema}::text))::oid::text
    and fingerprint ->> 'database' = (select oid from pg_database where datname = current_database())::text`;
}

/** In what the database differs from the one that was here before. Pure. */
export interface Difference {
  /** Why it is another one, in words for people, whatever its host; empty: it may be the same. */
  readonly another: readonly string[];
  /** It is reached at a host that was not known. */
  readonly newHost: boolean;
}

/** What one of the two does not know tells nothing. */
export function compareFingerprints(before: Fingerprint, now: Fingerprint): Difference {
  const another: string[] = [];
  const differs = (a: string | null, b: string | null): boolean => a !== null && b !== null && a !== b;
  if (differs(before.system, now.system)) {
    another.push('it is in another PostgreSQL cluster');
  } else if (differs(before.timeline, now.timeline)) {
    another.push('it was restored from a backup, or a standby took over');
  } else if (differs(before.directory, now.directory)) {
    another.push('its files lie in another folder');
  }
  if (before.database !== now.database) another.push('it is another database');
  else if (before.table !== now.table) another.push('its tables were restored');
  // A host that is not known to any of the two tells nothing, either.
  const newHost = before.hosts.length > 0 && now.hosts.some((host) => !before.hosts.includes(host));
  return { another, newHost };
}

/** Whether the server has crashed since, and may have lost commits that were answered. Pure. */
export function mayLackCommits(before: Fingerprint, now: Fingerprint): boolean {
  const [then, since] = [before.counting, now.counting];
  return !before.flushed && then !== null && since !== null && then !== since;
}

/** The fingerprint to be kept: as seen now, with all that is still known. */
export function mergeFingerprints(before: Fingerprint | undefined, now: Fingerprint): Fingerprint {
  return {
    ...now,
    system: now.system ?? before?.system ?? null,
    timeline: now.timeline ?? before?.timeline ?? null,
    directory: now.directory ?? before?.directory ?? null,
    hosts: [...new Set([...(before?.hosts ?? []), ...now.hosts])].sort(),
  };
}

/** Reads what `installation.fingerprint` holds. @throws RangeError for what this program has not written */
export function readFingerprint(stored: unknown): Fingerprint | undefined {
  if (stored === null || stored === undefined) return undefined;
  const {
    system,
    timeline,
    directory = null,
    database,
    table,
    hosts,
    counting = null,
    flushed = true,
  } = stored as Partial<Record<keyof Fingerprint, unknown>>;
  const textOrNull = (value: unknown): value is string | null => value === null || typeof value === 'string';
  if (
    !textOrNull(system) ||
    !textOrNull(timeline) ||
    !textOrNull(directory) ||
    typeof database !== 'string' ||
    typeof table !== 'string' ||
    !Array.isArray(hosts) ||
    !textOrNull(counting) ||
    typeof flushed !== 'boolean'
  ) {
    throw new RangeError('the fingerprint of the installation can’t be read');
  }
  return { system, timeline, directory, database, table, hosts: hosts.map(String), counting, flushed };
}

/** Where a URL and libpq's variables lead, for the fingerprint: undefined for a socket or loopback. */
export function endpointHost(url: string, variables: PgVariables = {}): string | undefined {
  const host = readDsn(url, variables).host.toLowerCase();
  const here = /^(\/|@|localhost$|127\.|::1$|\[::1\]$)/.test(host);
  return here ? undefined : host;
}
