import type { CollectionName } from '../model/collections.ts';
import type { SchemeChoice } from '../model/webhook/signature-scheme.ts';
import type { Secret } from './secret.ts';

/** All settings (settings.ts), validated and in their shape. Durations are milliseconds. */
export interface Config {
  readonly database: DatabaseConfig;
  /** `MIRROR_COPY_TO`: an empty database, for `copy`. */
  readonly copyTo: DatabaseConfig | undefined;
  /** `MIRROR_DATA_DIR`, absolute. */
  readonly dataDir: string;
  /** `MIRROR_PG_BIN`, absolute: of every embedded database, the demo's too. */
  readonly pgBin: string | undefined;
  /** Schema of the mirrored tables; the daemon's own state lives in `<schema>_sync`. */
  readonly schema: string;
  /** The service and its keys; undefined where neither is configured (never in a `ServiceConfig`). */
  readonly service: ServiceAccess | undefined;
  /** Which collections are mirrored, in the catalogue's order. */
  readonly collections: readonly CollectionName[];
  /** When each collection is read. Every collection has an entry, mirrored or not. */
  readonly cron: Readonly<Record<CollectionName, CronLines>>;
  /** Part of every rate limit that this program may use: over 0, up to 1. */
  readonly budgetShare: number;
  readonly deletes: 'soft' | 'hard';
  readonly history: History;
  /** `MIRROR_SETTLE`: least time between the two proofs of a deletion. */
  readonly gracePeriodMs: number;
  readonly schemaDrift: 'add' | 'raw';
  /** Fields whose change alone is no change. Every collection has an entry. */
  readonly ignoreFields: FieldsByCollection;
  /** Fields that are never stored, not in `_raw` either. Every collection has an entry. */
  readonly excludeFields: FieldsByCollection;
  readonly submit: SubmitConfig;
  readonly retention: { readonly eventsMs: number; readonly logMs: number };
  readonly http: HttpConfig;
  readonly webhook: WebhookConfig;
  readonly log: LogConfig;
  /** Proxies for requests to the service. */
  readonly proxy: ProxyConfig;
  /** Values that no line of output may contain: keys, tokens, passwords in DSNs and proxies. */
  readonly secrets: readonly Secret[];
}

/** A `Config` for commands that talk to the service. */
export interface ServiceConfig extends Config {
  readonly service: ServiceAccess;
}

export type DatabaseConfig =
  | {
      readonly kind: 'external';
      /** `DATABASE_URL`; may lead through a transaction pooler. */
      readonly url: Secret;
      /** `DATABASE_URL_DIRECT`: unpooled, for migrations and LISTEN. */
      readonly directUrl: Secret | undefined;
      /** libpq's `PG*`, which fill what the URLs leave out. A function, so that no print shows the passwords in it. */
      readonly variables: () => Readonly<Record<string, string>>;
    }
  | {
      readonly kind: 'embedded';
      /** Folder that holds `pg18/` and its password file; absolute. */
      readonly dataDir: string;
      /** `MIRROR_PG_BIN`; undefined: the PostgreSQL that npm brings. */
      readonly pgBin: string | undefined;
      /** Loopback port; 0 takes a free one. */
      readonly port: number;
    };

export interface ServiceAccess {
  /** `{base_url}` without trailing slash and without `/v1`. */
  readonly url: string;
  /** At least one, without repetitions. */
  readonly keys: readonly Secret[];
}

/** Five-field cron expressions or `@daily` and the like, UTC, in node-cron's dialect; or `never`. */
export interface CronLines {
  readonly poll: string;
  readonly full: string;
}

/** The cron line for walks that never start by themselves. */
export const NEVER = 'never';

/** `forMs` undefined: superseded versions are kept for ever. */
export type History = { readonly kept: false } | { readonly kept: true; readonly forMs: number | undefined };

export type FieldsByCollection = Readonly<Record<CollectionName, readonly string[]>>;

export interface SubmitConfig {
  readonly enabled: boolean;
  readonly maxQueued: number;
  /** Decimal digits; submissions wait while the account has fewer credits. */
  readonly creditsFloor: string | undefined;
}

/** `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`; their lower-case names win. They may hold passwords. */
export interface ProxyConfig {
  readonly http: string | undefined;
  readonly https: string | undefined;
  readonly except: string | undefined;
}

export interface HttpConfig {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** Undefined: on loopback no token is needed; elsewhere the program makes one and shows it. */
  readonly token: Secret | undefined;
}

export interface WebhookConfig {
  /** Without trailing slash; undefined: no webhooks, polling only. */
  readonly publicUrl: string | undefined;
  readonly host: string;
  readonly port: number;
  readonly takeover: 'never' | 'if-empty' | 'always';
  readonly scheme: SchemeChoice;
  readonly header: string;
}

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

export interface LogConfig {
  /** Undefined: `info` for the daemon, `warn` for commands that show their progress themselves. */
  readonly level: (typeof LOG_LEVELS)[number] | undefined;
  /** Undefined: `pretty` on a terminal, else `json`. */
  readonly format: 'json' | 'pretty' | undefined;
}
