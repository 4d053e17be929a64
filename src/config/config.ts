import type { Secret } from './secret.ts';
import type { SETTINGS, ValuesOf } from './settings.ts';

type Values = ValuesOf<typeof SETTINGS>;

/** All settings in the shape of their table (settings.ts), and what several of them make together. */
export interface Config extends Omit<Values, 'database' | 'copyTo' | 'pgPort' | 'service'> {
  readonly database: DatabaseConfig;
  /** An empty database, for `copy`. */
  readonly copyTo: DatabaseConfig | undefined;
  /**
   * `url`: `{base_url}` without trailing slash and `/v1`; `keys`: one at least, without repetitions. Undefined where
   * either is missing (never in a `ServiceConfig`).
   */
  readonly service: { readonly url: string; readonly keys: readonly Secret[] } | undefined;
  /** Proxies for requests to the service. They may hold passwords. */
  readonly proxy: Readonly<Record<'http' | 'https' | 'except', string | undefined>>;
}

/** A `Config` for commands that talk to the service. */
export interface ServiceConfig extends Config {
  readonly service: NonNullable<Config['service']>;
}

export type DatabaseConfig =
  | {
      readonly kind: 'external';
      /** May lead through a transaction pooler. */
      readonly url: Secret;
      /** Unpooled, for migrations and LISTEN. */
      readonly directUrl: Secret | undefined;
      /** libpq's `PG*`, which fill what the URLs leave out. A function, so that no print shows the passwords in it. */
      readonly variables: () => Readonly<Record<string, string>>;
    }
  | {
      readonly kind: 'embedded';
      /** Folder that holds `pg18/` and its password file; absolute. */
      readonly dataDir: string;
      /** Undefined: the PostgreSQL that npm brings. */
      readonly pgBin: string | undefined;
      /** Loopback port; 0 takes a free one. */
      readonly port: number;
    };
