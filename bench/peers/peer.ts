/** What a run is to do: `all` reads the whole list, `new` only what came on top where the peer can do that. */
export type Mode = 'all' | 'new';

/** What a peer's run is told. */
export interface Order {
  readonly mode: Mode;
  readonly serviceUrl: string;
  readonly key: string;
  readonly databaseUrl: string;
  /** A folder that the peer may keep things in from one run to the next. */
  readonly state: string;
}

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** A program that brings a list of a service into Postgres. */
export interface Peer {
  /** As `--peers` has it. */
  readonly name: string;
  /** As tables have it. */
  readonly title: string;
  /** How it was set up, a sentence for the results. */
  readonly settings: string;
  /** Whose rows are looked at, schema and name. */
  readonly table: readonly [schema: string, name: string];
  /** Its column for `job_id`. */
  readonly key: string;
  /** Its column with the whole item, if it has one. */
  readonly raw?: string;
  /** Rows that count as there. */
  readonly live?: string;
  /** No more rows than these: what is slow for each row alone says nothing more with more rows. */
  readonly mostRows?: number;
  /** What we claim of it, and end with 1 for. */
  readonly isOurs?: boolean;
  /** Installs what it needs. @returns how it is started, and the versions that count */
  prepare(scratch: string): Promise<PreparedPeer>;
}

export interface PreparedPeer {
  readonly versions: string;
  command(order: Order): Command;
}
