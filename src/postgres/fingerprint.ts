import { type RawBuilder, sql } from 'kysely';
import { type Db, onlyRow, type ServerNode } from './db.ts';
import { type PgVariables, readDsn } from './dsn.ts';

/**
 * Distinguishes this database from its copies (docs/design/operations-out.md, "On hold"), and shows crashes. Restarts,
 * poolers and minor updates of PostgreSQL do not change it. Null: this user may not read it.
 */
export interface Fingerprint {
  /** The cluster's identifier; changes with a restore into another cluster. */
  readonly system: string | null;
  /** Rises when a restored backup or a standby begins to write. */
  readonly timeline: string | null;
  /** The folder of the cluster's files; changes when they are copied. */
  readonly directory: string | null;
  /** OID of the database; changes with `create database … template`. */
  readonly database: string;
  /** OID of the table submissions; changes with every restore of a dump. */
  readonly table: string;
  /** Hosts at which it was reached, without loopback: the only difference of a managed service's clones. */
  readonly hosts: readonly string[];
  /** Start of the server's statistics: a crash changes it, a shutdown does not. */
  readonly counting: string | null;
  /** A crash loses no confirmed commit: synchronous_commit is not off. */
  readonly flushed: boolean;
}

/** The fingerprint of the database now. @param host `endpointHost` of its URL */
export async function observeFingerprint(db: Db, host: string | undefined): Promise<Fingerprint> {
  const found = await db.sql<Omit<Fingerprint, 'system' | 'timeline' | 'hosts'> & { node: ServerNode }>`
    select (select oid from pg_database where datname = current_database())::text as database,
      to_regclass(format('%I.submissions', ${db.schema}::text))::oid::text as table,
      (select setting from pg_settings where name = 'data_directory') as directory,
      (select extract(epoch from stats_reset)::text from pg_stat_bgwriter) as counting,
      current_setting('synchronous_commit') <> 'off' as flushed,
      ${await nodeExpression(db)} as node`;
  const { node, ...rest } = onlyRow(found);
  return { system: node[0], timeline: node[1], hosts: host === undefined ? [] : [host], ...rest };
}

/** SQL expression on `installation`: its fingerprint has this database and these tables; null without a fingerprint. */
export function isStoredDatabase({ schema }: Db): RawBuilder<boolean | null> {
  return sql`fingerprint ->> 'table' = to_regclass(format('%I.submissions', ${schema}::text))::oid::text
    and fingerprint ->> 'database' = (select oid from pg_database where datname = current_database())::text`;
}

/**
 * Compares two fingerprints as far as both are known. Pure.
 * @returns why it is another database, for users (nothing: it may be the same); whether its host is new
 */
export function compareFingerprints(before: Fingerprint, now: Fingerprint) {
  const another: string[] = [];
  if (differ(before.system, now.system)) {
    another.push('it is in another PostgreSQL cluster');
  } else if (differ(before.timeline, now.timeline)) {
    another.push('it was restored from a backup, or a standby took over');
  } else if (differ(before.directory, now.directory)) {
    another.push('its files are in another folder');
  }
  if (before.database !== now.database) another.push('it is another database');
  else if (before.table !== now.table) another.push('its tables were restored');
  const newHost = before.hosts.length > 0 && now.hosts.some((host) => !before.hosts.includes(host));
  return { another, newHost };
}

/** Whether both are known and differ. */
function differ(one: string | null, other: string | null): boolean {
  return one !== null && other !== null && one !== other;
}

/** Whether the server crashed in between and may have lost confirmed commits. Pure. */
export function mayLackCommits(before: Fingerprint, now: Fingerprint): boolean {
  return !before.flushed && differ(before.counting, now.counting);
}

/** The fingerprint to store: the current one, completed by the one before. */
export function mergeFingerprints(before: Fingerprint | undefined, now: Fingerprint): Fingerprint {
  return {
    ...now,
    system: now.system ?? before?.system ?? null,
    timeline: now.timeline ?? before?.timeline ?? null,
    directory: now.directory ?? before?.directory ?? null,
    hosts: [...new Set([...(before?.hosts ?? []), ...now.hosts])].sort(),
  };
}

/** Reads `installation.fingerprint`. Fields that older programs did not store are unknown. */
export function readFingerprint(stored: unknown): Fingerprint | undefined {
  if (stored === null || stored === undefined) return undefined;
  const unknown = { directory: null, counting: null, flushed: true, hosts: [] };
  return { ...unknown, ...(stored as Fingerprint) };
}

/** The host in a URL or libpq's variables, for the fingerprint; undefined for a socket or loopback. */
export function endpointHost(url: string, variables: PgVariables = {}): string | undefined {
  const host = readDsn(url, variables).host.toLowerCase();
  const here = /^(\/|@|localhost$|127\.|::1$|\[::1\]$)/.test(host);
  return here ? undefined : host;
}

/**
 * SQL expression: the server that runs the statement. On Citus a statement on an account's row runs on that account's
 * node. The user's rights are read once. (pg_control_checkpoint would be simpler, but lags behind a promotion.)
 */
export function nodeExpression(db: Db): Promise<RawBuilder<ServerNode>> {
  return (db.known.node ??= permittedExpression(db).catch((error: unknown) => {
    // The next call tries again.
    db.known.node = undefined;
    throw error;
  }));
}

async function permittedExpression(db: Db): Promise<RawBuilder<ServerNode>> {
  const rights = await db.sql<{ system: boolean; timeline: boolean }>`
    select has_function_privilege('pg_control_system()', 'execute') as system,
      has_function_privilege('pg_current_wal_lsn()', 'execute')
        and has_function_privilege('pg_walfile_name(pg_lsn)', 'execute') as timeline`;
  const { system, timeline } = onlyRow(rights);
  const identifier = system ? sql`(pg_control_system()).system_identifier::text` : sql`null`;
  // The name of a WAL file begins with the timeline.
  const line = timeline ? sql`left(pg_walfile_name(pg_current_wal_lsn()), 8)` : sql`null`;
  return sql`array[${identifier}, ${line}]::text[]`;
}

/** Timelines by system identifier, as `installation.nodes` keeps them. */
export type KnownNodes = Readonly<Record<string, string>>;

/** Adds a server or updates its timeline. */
export function withNode(known: KnownNodes, [system, timeline]: ServerNode): KnownNodes {
  return system === null || timeline === null ? known : { ...known, [system]: timeline };
}

/** Whether a known server now writes another timeline. */
export function hasNewTimeline(known: KnownNodes, [system, timeline]: ServerNode): boolean {
  return timeline !== null && (known[system ?? ''] ?? timeline) !== timeline;
}
