import type { Secret } from './secret.ts';
import type { SETTINGS, ValuesOf } from './settings.ts';

type Values = ValuesOf<typeof SETTINGS>;

/** All settings in the shape of their table (settings.ts), and values made of several settings. */
export interface Config extends Omit<Values, 'database' | 'copyTo' | 'pgPort' | 'service'> {
  readonly database: DatabaseConfig;
  /** An empty database, for `copy`. */
  readonly copyTo: DatabaseConfig | undefined;
  /**
   * `url`: `{base_url}` without trailing slash and `/v1`; `keys`: at least one, without repetitions. Undefined if
   * either is missing (never in a `ServiceConfig`).
   */
  readonly service: { readonly url: string; readonly keys: readonly Secret[] } | undefined;
  /** Proxies for requests to the service. They may contain passwords. */
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
      /** libpq's `PG*`, which fill the URLs' gaps. A function, so that no print shows their passwords. */
      readonly variables: () => Readonly<Record<string, string>>;
    }
  | {
      readonly kind: 'embedded';
      /** Absolute path of the folder with `pg18/` and its password file. */
      readonly dataDir: string;
      /** Undefined: the PostgreSQL from npm. */
      readonly pgBin: string | undefined;
      /** Loopback port; 0 takes a free one. */
      readonly port: number;
    };
