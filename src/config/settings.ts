import { resolve } from 'node:path';
import { COLLECTION_NAMES, type CollectionName } from '../model/collections.ts';
import { parseCronLine } from './parse-cron.ts';
import { parseDatabaseUrl, parseNotifyUrl, parsePublicUrl, parseServiceUrl } from './urls.ts';
import * as values from './parse-values.ts';
import { parseChoice, SIGNATURE_SCHEMES } from './parse-values.ts';

/** An environment variable, for the documents and for the scrubbing of output. */
export interface Variable {
  /** Its line in docs/settings.md, Markdown. Absent: it is not listed there. */
  readonly means?: string;
  /** Its default as docs/settings.md shows it, Markdown. */
  readonly shown?: string;
  /** What no output may contain: the whole text, each part of a list, or the password in a URL. */
  readonly secret?: 'text' | 'list' | 'url';
}

type Parse<T> = (text: string) => T;
/** Parses a variable's text; gives `otherwise` for a missing or wrong one. */
export type Read = <T>(name: string, parse: Parse<T>, otherwise: T) => T;

interface Setting<T = unknown> extends Variable {
  /** Its own name, then those that replace it for one collection. */
  readonly names: readonly [string, ...string[]];
  readonly valueBy: (read: Read) => T;
}

/** @param text the default, parsed like an operator's text */
function setting<T>(name: string, text: string, parse: Parse<T>, about: Variable): Setting<T> {
  const shown = text === '' ? '–' : `\`${text}\``;
  return { shown, ...about, names: [name], valueBy: (read) => read(name, parse, parse(text)) };
}

/** Undefined if it is not set. @param shown what docs/settings.md says about that case */
function optional<T>(name: string, shown: string, parse: Parse<T>, about: Variable): Setting<T | undefined> {
  const valueBy = (read: Read): T | undefined => read<T | undefined>(name, parse, undefined);
  return { shown, ...about, names: [name], valueBy };
}

/** A variable such as `MIRROR_POLL_CRON_LISTS` replaces it for one collection. */
function perCollection<T>(...row: Parameters<typeof setting<T>>): Setting<Readonly<Record<CollectionName, T>>> {
  const [name, , parse] = row;
  const general = setting(...row);
  const nameFor = (collection: CollectionName): string => `${name}_${collection.toUpperCase()}`;
  return {
    ...general,
    names: [name, ...COLLECTION_NAMES.map(nameFor)],
    valueBy: (read) => {
      const value = general.valueBy(read);
      return values.forEachCollection((collection) => read(nameFor(collection), parse, value));
    },
  };
}

/**
 * Every setting, in the shape of `Config`: name, default, parser, and its line in docs/settings.md
 * (`npm run -s settings-table -- --write`). Durations are milliseconds.
 */
export const SETTINGS = {
  database: {
    url: optional('DATABASE_URL', 'embedded Postgres', parseDatabaseUrl, {
      means: 'where to mirror: PostgreSQL 15 or newer ([database](databases.md#embedded-or-your-own))',
      secret: 'url',
    }),
    directUrl: optional('DATABASE_URL_DIRECT', 'none', parseDatabaseUrl, {
      means:
        'the way around a transaction pooler, for migrations and LISTEN ([database](databases.md#embedded-or-your-own))',
      secret: 'url',
    }),
  },
  copyTo: optional('MIRROR_COPY_TO', 'none', parseDatabaseUrl, {
    means: 'the empty database into which `copy` copies the mirror ([copy](backups.md#copy))',
    secret: 'url',
  }),
  dataDir: setting('MIRROR_DATA_DIR', './data', (text) => resolve(text), {
    means: 'folder of the embedded Postgres, of the status token, and of what long walks saw',
  }),
  pgBin: optional('MIRROR_PG_BIN', 'the one that npm brings', values.parsePostgresFolder, {
    means:
      "folder of a PostgreSQL 15 to 18 of the machine's, as the embedded one ([database](databases.md#embedded-or-your-own))",
  }),
  pgPort: setting('MIRROR_PG_PORT', '54329', values.parsePort, {
    means: 'port of the embedded Postgres, on loopback; 0 takes a free one',
  }),
  schema: setting('MIRROR_SCHEMA', 'mirror', values.parseSchema, {
    means: "schema of the tables; the daemon's own state is in `<schema>_sync`",
  }),
  service: {
    url: optional('MIRROR_API_URL', 'required', parseServiceUrl, {
      means: 'address of the service, with or without `/v1`; `http://` only for loopback',
      secret: 'url',
    }),
    keys: optional('MIRROR_API_KEY', 'required', values.parseKeys, {
      means:
        'one key, or several separated by commas or newlines: several accounts in one mirror, or keys of one account that stand in for each other',
      secret: 'list',
    }),
  },
  collections: setting('MIRROR_COLLECTIONS', 'all', values.parseCollections, {
    means: 'which collections, separated by commas; `list_items` needs `lists`',
  }),
  cron: {
    poll: perCollection('MIRROR_POLL_CRON', '* * * * *', parseCronLine, {
      means:
        'polls: when to look for new and changed rows, UTC, spread by account; `never`. Lines of five minutes or less: collections that have changed in between, too',
    }),
    full: perCollection('MIRROR_FULL_CRON', '@daily', parseCronLine, {
      means: 'full walks: when to read everything, UTC, spread by account; `never`',
    }),
  },
  budgetShare: setting('MIRROR_BUDGET_SHARE', '0.8', values.parseShare, {
    means: 'part of every rate limit that this program may use',
  }),
  deletes: setting('MIRROR_DELETES', 'soft', parseChoice(['soft', 'hard']), {
    means: 'what happens to rows that are gone: `soft` marks them, `hard` removes them',
  }),
  history: setting('MIRROR_HISTORY', 'on', values.parseHistory, {
    means: 'whether superseded versions are kept; `off`, or for how long, such as `400d`',
  }),
  gracePeriodMs: setting('MIRROR_SETTLE', '60s', values.parseDuration('1s'), {
    means: "least time between the two proofs of a deletion; more than the service's replicas may lag",
  }),
  schemaDrift: setting('MIRROR_SCHEMA_DRIFT', 'add', parseChoice(['add', 'freeze', 'raw']), {
    means:
      'what happens to new fields: `add` makes columns for them, `raw` keeps them in `_raw` only, `freeze` does so until you [accept them](columns.md#accept-new-fields)',
  }),
  ignoreFields: setting('MIRROR_IGNORE_FIELDS', '', values.parseFields(true), {
    means: '`collection.field,…` whose change alone is no change; setting it changes no row',
  }),
  excludeFields: setting('MIRROR_EXCLUDE_FIELDS', '', values.parseFields(false), {
    means:
      '`collection.field,…`, or `collection.**.field` at any depth: never stored, not in `_raw`, events or ended submissions either ([privacy](privacy.md#leave-fields-out-or-hash-them))',
  }),
  hashFields: setting('MIRROR_HASH_FIELDS', '', values.parseFields(false), {
    means: 'the same, stored as HMAC-SHA256 of the value ([privacy](privacy.md#leave-fields-out-or-hash-them))',
  }),
  hashKey: optional('MIRROR_HASH_KEY', 'required with the fields', values.parseHashKey, {
    means: 'key of these hashes: 32 characters at least, always the same ones',
    secret: 'text',
  }),
  submit: {
    enabled: setting('MIRROR_SUBMIT', 'on', values.parseSwitch, { means: '`off` refuses submissions' }),
    maxQueued: setting('MIRROR_SUBMIT_MAX_QUEUED', '10000', values.parseInteger(1, 1_000_000_000), {
      means: 'how many submissions of an account may wait',
    }),
    creditsFloor: optional('MIRROR_CREDITS_FLOOR', 'none', values.parseAmount, {
      means: 'submissions wait while the account has fewer credits',
    }),
  },
  retention: {
    eventsMs: setting('MIRROR_EVENTS_RETENTION', '90d', values.parseDuration('1h'), {
      means: 'how long received events are kept',
    }),
    logMs: setting('MIRROR_LOG_RETENTION', '30d', values.parseDuration('1h'), {
      means: 'how long rows of `sync_log` and finished submissions are kept',
    }),
  },
  http: {
    host: setting('MIRROR_HTTP_HOST', '127.0.0.1', values.parseHost, { means: 'address of the status page' }),
    port: setting('MIRROR_HTTP_PORT', '8080', values.parsePort, {
      means: 'port of the status page; 0 takes a free one',
    }),
    token: optional('MIRROR_STATUS_TOKEN', 'none on loopback; else made once', values.parseToken, {
      means: 'what the status page, the API and the metrics ask for: 16 characters at least',
      secret: 'text',
    }),
  },
  webhook: {
    publicUrl: optional('MIRROR_PUBLIC_URL', 'none: polling only', parsePublicUrl, {
      means: 'where the service reaches this daemon with its events ([webhooks](webhooks.md#set-them-up))',
    }),
    host: setting('MIRROR_WEBHOOK_HOST', '127.0.0.1', values.parseHost, {
      means: 'address of the listener for deliveries, opened only with a public URL',
    }),
    port: setting('MIRROR_WEBHOOK_PORT', '8081', values.parsePort, {
      means: 'port of the listener for deliveries',
      shown: '`PORT`, else `8081`',
    }),
    takeover: setting('MIRROR_WEBHOOK_TAKEOVER', 'if-empty', parseChoice(['never', 'if-empty', 'always']), {
      means: 'whether to replace another URL: `never`, `if-empty`, `always` ([webhooks](webhooks.md#set-them-up))',
    }),
    scheme: setting('MIRROR_WEBHOOK_SCHEME', 'auto', parseChoice(SIGNATURE_SCHEMES), {
      means: 'narrows to one signature scheme ([webhooks](webhooks.md#set-them-up))',
    }),
    header: setting('MIRROR_WEBHOOK_HEADER', 'X-Service-Signature', values.parseHeaderName, {
      means: 'name of the header that has the signature',
    }),
  },
  notify: {
    url: optional('MIRROR_NOTIFY_URL', 'none', parseNotifyUrl, {
      means:
        "gets a signed POST when a problem begins and one when it ends, a chat's incoming webhook as it is ([messages](messages.md))",
      secret: 'text',
    }),
    secret: optional('MIRROR_NOTIFY_SECRET', 'required with the URL', values.parseSigningSecret, {
      means: 'signs them: `whsec_` and 24 to 64 bytes in base64',
      secret: 'text',
    }),
    allowPrivate: setting('MIRROR_NOTIFY_ALLOW_PRIVATE', 'off', values.parseSwitch, {
      means: '`on` lets them go to private and link-local addresses, and by `http://`',
    }),
  },
  log: {
    level: optional(
      'LOG_LEVEL',
      '`info`; `warn` for commands other than `start`',
      parseChoice(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
      { means: '`trace` to `fatal`, or `silent`; no level shows a secret' },
    ),
    format: optional('LOG_FORMAT', '`pretty` on a terminal, else `json`', parseChoice(['json', 'pretty']), {
      means: '`pretty` for people, `json` for programs',
    }),
  },
} as const satisfies Table;

type Table = Readonly<Record<string, Setting | Readonly<Record<string, Setting>>>>;

/** The values of a table of settings, in its shape. */
export type ValuesOf<T> = {
  readonly [K in keyof T]: T[K] extends Setting<infer Value> ? Value : ValuesOf<T[K]>;
};

export function valuesOf<T extends Table>(table: T, read: Read): ValuesOf<T> {
  const entries = Object.entries(table).map(([key, entry]) => [
    key,
    isSetting(entry) ? entry.valueBy(read) : valuesOf(entry, read),
  ]);
  return Object.fromEntries(entries) as ValuesOf<T>;
}

function isSetting(entry: Table[string]): entry is Setting {
  return 'valueBy' in entry;
}

export const ALL_SETTINGS: readonly Setting[] = Object.values<Table[string]>(SETTINGS).flatMap((entry) =>
  isSetting(entry) ? [entry] : Object.values(entry),
);

/** Names of all our variables. */
export const VARIABLES: readonly string[] = ALL_SETTINGS.flatMap(({ names }) => names);

/** Variables defined by others. Their values are never refused, and none has a `_FILE`. */
export const STANDARD_VARIABLES: Readonly<Record<string, Variable>> = {
  HTTPS_PROXY: { means: 'proxy for requests to the service, also in lower case', secret: 'url' },
  HTTP_PROXY: { means: 'the same, where the service is at `http://`', secret: 'url' },
  NO_PROXY: { means: 'hosts to reach without a proxy, also in lower case' },
  // Not used, but a password in it is hidden.
  ALL_PROXY: { secret: 'url' },
  NODE_EXTRA_CA_CERTS: { means: 'file of certificate authorities to trust, besides those that Node knows' },
  PGPASSWORD: {
    means:
      "password of the database's user, where the URL has none; libpq's other `PG*` fill the URL's gaps likewise ([database](databases.md#embedded-or-your-own))",
    secret: 'text',
  },
  PGSSLPASSWORD: {
    means: 'password of the key in `sslkey`, where the URL has none ([database](databases.md#embedded-or-your-own))',
    secret: 'text',
  },
  PORT: {
    means: 'set by hosting platforms: port of the listener for deliveries, without `MIRROR_WEBHOOK_PORT`',
  },
};
