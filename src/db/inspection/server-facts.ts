import { type Db, onlyRow } from '../connection/db.ts';

/** What a session sees of its server and of itself. */
export interface ServerFacts {
  /** `18.4` */
  readonly version: string;
  readonly encoding: string;
  readonly user: string;
  readonly database: string;
  readonly isSuperuser: boolean;
  /** The server is a standby. */
  readonly standby: boolean;
  readonly readOnly: boolean;
  /** Where the session has `default_transaction_read_only` from: a `source` of pg_settings. */
  readonly readOnlySource: string;
  readonly synchronousCommit: string;
  /** Bytes of the mirror's database. */
  readonly bytes: number;
  /** As the server sees itself; null over a socket. */
  readonly address: string | null;
  readonly port: number | null;
  /** The server's clock, ms. */
  readonly now: number;
}

export async function serverFacts(db: Db): Promise<ServerFacts> {
  const found = await db.sql<Omit<ServerFacts, 'bytes' | 'now'> & { bytes: string; now: Date }>`
    select current_setting('server_version') as version, current_setting('server_encoding') as encoding,
      current_user::text as user, current_database()::text as database,
      (select rolsuper from pg_roles where rolname = current_user) as "isSuperuser",
      pg_is_in_recovery() as standby, current_setting('transaction_read_only')::boolean as "readOnly",
      (select source from pg_settings where name = 'default_transaction_read_only') as "readOnlySource",
      current_setting('synchronous_commit') as "synchronousCommit",
      pg_database_size(current_database()) as bytes,
      host(inet_server_addr()) as address, inet_server_port() as port, clock_timestamp() as now`;
  const { bytes, now, ...facts } = onlyRow(found);
  return { ...facts, bytes: Number(bytes), now: now.getTime() };
}
