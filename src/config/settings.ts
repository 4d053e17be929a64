import { resolve } from 'node:path';
import { COLLECTION_NAMES, type CollectionName } from '../model/collections.ts';
import { SIGNATURE_SCHEMES } from '../model/webhook/signature-scheme.ts';
import { LOG_LEVELS } from './config.ts';
import { parseKeys, parseToken } from './values/credentials.ts';
import { parseDuration } from './values/duration.ts';
import { parseCronLine } from './values/parse-cron.ts';
import { parseDatabaseUrl, parsePublicUrl, parseServiceUrl } from './values/urls.ts';
import {
  parseAmount,
  parseChoice,
  parseCollections,
  parseFields,
  parseHeaderName,
  parseHistory,
  parseHost,
  parseInteger,
  parsePort,
  parsePostgresFolder,
  parseSchema,
  parseShare,
} from './values/parse-values.ts';
import type { Variable } from './variable.ts';

const SECOND = 1000;
const HOUR = 3600 * SECOND;

export interface Setting extends Variable {
  readonly means: string;
  /** @throws InvalidValue */
  readonly parse: (text: string) => unknown;
  /** Stands in where it is not set, and is read like what an operator writes. Absent: the value is undefined then. */
  readonly default?: string;
  /** Its default as documents show it, in Markdown. Absent: `default`, or a dash. */
  readonly shown?: string;
}

/** Every setting. Documents and docker-compose.yml follow with `npm run -s settings-table -- --write`. */
export const SETTINGS = {
  DATABASE_URL: {
    parse: parseDatabaseUrl,
    shown: 'embedded Postgres',
    means: 'where to mirror: PostgreSQL 15 or newer',
    section: 'database',
    secret: 'url',
    compose: { value: 'postgres://mirror@/mirror?host=/var/run/postgresql' },
  },
  DATABASE_URL_DIRECT: {
    parse: parseDatabaseUrl,
    shown: 'none',
    means: 'the way around a transaction pooler, for migrations and LISTEN',
    section: 'database',
    secret: 'url',
    compose: 'none',
  },
  MIRROR_COPY_TO: {
    parse: parseDatabaseUrl,
    shown: 'none',
    means: 'the empty database into which `copy` copies the mirror',
    section: 'copy',
    secret: 'url',
    compose: 'none',
  },
  MIRROR_DATA_DIR: {
    parse: (text: string) => resolve(text),
    default: './data',
    means: 'folder of the embedded Postgres, of the status token, and of what long walks saw',
    compose: 'image',
  },
  MIRROR_PG_BIN: {
    parse: parsePostgresFolder,
    shown: 'the one that npm brings',
    means: "folder of a PostgreSQL 15 to 18 of the machine's, as the embedded one",
    section: 'database',
    compose: 'none',
  },
  MIRROR_PG_PORT: {
    parse: parsePort,
    default: '54329',
    means: 'port of the embedded Postgres, on loopback; 0 takes a free one',
    compose: 'none',
  },
  MIRROR_SCHEMA: {
    parse: parseSchema,
    default: 'mirror',
    means: "schema of the tables; the daemon's own state is in `<schema>_sync`",
  },
  MIRROR_API_URL: {
    parse: parseServiceUrl,
    shown: 'required',
    means: 'address of the service, with or without `/v1`; `http://` only for loopback',
    secret: 'url',
    compose: { value: '${MIRROR_API_URL:-http://127.0.0.1:8090}' },
  },
  MIRROR_API_KEY: {
    parse: parseKeys,
    shown: 'required',
    means:
      'one key, or several separated by commas or newlines: several accounts in one mirror, or keys of one account that stand in for each other',
    secret: 'list',
    compose: { value: '${MIRROR_API_KEY:-sandbox-key}' },
  },
  MIRROR_COLLECTIONS: {
    parse: parseCollections,
    default: 'all',
    means: 'which collections, separated by commas; `list_items` needs `lists`',
  },
  MIRROR_POLL_CRON: {
    parse: parseCronLine,
    default: '* * * * *',
    means:
      'polls: when to look for new and changed rows, UTC, spread by account; `never`. Lines of five minutes or less: busy collections in between, too',
  },
  MIRROR_FULL_CRON: {
    parse: parseCronLine,
    default: '@daily',
    means: 'full walks: when to read everything, UTC, spread by account; `never`',
  },
  MIRROR_BUDGET_SHARE: {
    parse: parseShare,
    default: '0.8',
    means: 'part of every rate limit that this program may use',
  },
  MIRROR_DELETES: {
    parse: parseChoice(['soft', 'hard']),
    default: 'soft',
    means: 'what happens to rows that are gone: `soft` marks them, `hard` removes them',
  },
  MIRROR_HISTORY: {
    parse: parseHistory,
    default: 'on',
    means: 'whether superseded versions are kept; `off`, or for how long, such as `400d`',
  },
  MIRROR_SETTLE: {
    parse: duration(SECOND),
    default: '60s',
    means: "least time between the two proofs of a deletion; more than the service's replicas may lag",
  },
  MIRROR_SCHEMA_DRIFT: {
    parse: parseChoice(['add', 'raw']),
    default: 'add',
    means: 'what happens to new fields: `add` makes columns for them, `raw` keeps them in `_raw` only',
  },
  MIRROR_IGNORE_FIELDS: {
    parse: parseFields(true),
    default: '',
    means: '`collection.field,…` whose change alone is no change; setting it changes no row',
  },
  MIRROR_EXCLUDE_FIELDS: {
    parse: parseFields(false),
    default: '',
    means: '`collection.field,…` never stored, not in `_raw` either',
  },
  MIRROR_SUBMIT: {
    parse: parseChoice(['on', 'off']),
    default: 'on',
    means: '`off` refuses submissions',
  },
  MIRROR_SUBMIT_MAX_QUEUED: {
    parse: parseInteger(1, 1_000_000_000),
    default: '10000',
    means: 'how many submissions of an account may wait',
  },
  MIRROR_CREDITS_FLOOR: {
    parse: parseAmount,
    shown: 'none',
    means: 'submissions wait while the account has fewer credits',
  },
  MIRROR_EVENTS_RETENTION: {
    parse: duration(HOUR),
    default: '90d',
    means: 'how long received events are kept',
  },
  MIRROR_LOG_RETENTION: {
    parse: duration(HOUR),
    default: '30d',
    means: 'how long rows of `sync_log` and finished submissions are kept',
  },
  MIRROR_HTTP_HOST: {
    parse: parseHost,
    default: '127.0.0.1',
    means: 'address of the status page',
    compose: 'image',
  },
  MIRROR_HTTP_PORT: {
    parse: parsePort,
    default: '8080',
    means: 'port of the status page; 0 takes a free one',
    compose: { value: '${MIRROR_HTTP_PORT:-8080}' },
  },
  MIRROR_STATUS_TOKEN: {
    parse: parseToken,
    shown: 'none on loopback; else made once',
    means: 'what the status page, the API and the metrics ask for: 16 characters at least',
    secret: 'text',
  },
  MIRROR_PUBLIC_URL: {
    parse: parsePublicUrl,
    shown: 'none: polling only',
    means: 'where the service reaches this daemon with its events',
    section: 'webhooks',
  },
  MIRROR_WEBHOOK_HOST: {
    parse: parseHost,
    default: '127.0.0.1',
    means: 'address of the listener for deliveries, opened only with a public URL',
    compose: 'image',
  },
  MIRROR_WEBHOOK_PORT: {
    parse: parsePort,
    default: '8081',
    shown: '`PORT`, else `8081`',
    means: 'port of the listener for deliveries',
    compose: { value: '${MIRROR_WEBHOOK_PORT:-8081}' },
  },
  MIRROR_WEBHOOK_TAKEOVER: {
    parse: parseChoice(['never', 'if-empty', 'always']),
    default: 'if-empty',
    means: 'whether to replace another URL: `never`, `if-empty`, `always`',
    section: 'webhooks',
  },
  MIRROR_WEBHOOK_SCHEME: {
    parse: parseChoice(SIGNATURE_SCHEMES),
    default: 'auto',
    means: 'pins the signature scheme',
    section: 'webhooks',
  },
  MIRROR_WEBHOOK_HEADER: {
    parse: parseHeaderName,
    default: 'X-Service-Signature',
    means: 'name of the header that has the signature',
  },
  LOG_LEVEL: {
    parse: parseChoice(LOG_LEVELS),
    shown: '`info`; `warn` for commands other than `start`',
    means: '`trace` to `fatal`, or `silent`; no level shows a secret',
  },
  LOG_FORMAT: {
    parse: parseChoice(['json', 'pretty']),
    shown: '`pretty` on a terminal, else `json`',
    means: '`pretty` for people, `json` for programs',
  },
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof SETTINGS;

/** What the parser of a setting gives; undefined as well, where it has no default. */
export type ValueOf<N extends SettingName> =
  | ReturnType<(typeof SETTINGS)[N]['parse']>
  | ((typeof SETTINGS)[N] extends { readonly default: string } ? never : undefined);

/** Settings that a variable such as `MIRROR_POLL_CRON_LISTS` replaces for one collection. */
export const PER_COLLECTION = ['MIRROR_POLL_CRON', 'MIRROR_FULL_CRON'] as const;

export type PerCollection = (typeof PER_COLLECTION)[number];

/** A variable of our own. */
export type VariableName = SettingName | `${PerCollection}_${Uppercase<CollectionName>}`;

/** `MIRROR_POLL_CRON_LIST_ITEMS` for the polls of list_items. */
export function ofCollection(name: PerCollection, collection: CollectionName): VariableName {
  return `${name}_${collection.toUpperCase() as Uppercase<CollectionName>}`;
}

/** Every variable of our own: all settings, and what replaces them for one collection. */
export const VARIABLES: readonly VariableName[] = [
  ...(Object.keys(SETTINGS) as SettingName[]),
  ...COLLECTION_NAMES.flatMap((collection) => PER_COLLECTION.map((name) => ofCollection(name, collection))),
];

/** A parser of durations of at least `least` milliseconds. */
function duration(least: number): (text: string) => number {
  return (text) => parseDuration(text, least);
}
