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
      means: 'Database to mirror into, PostgreSQL 15 or newer ([database](databases.md#embedded-or-your-own)).',
      secret: 'url',
    }),
    directUrl: optional('DATABASE_URL_DIRECT', 'none', parseDatabaseUrl, {
      means:
        'Connection that bypasses a transaction pooler, for migrations and LISTEN ([database](databases.md#embedded-or-your-own)).',
      secret: 'url',
    }),
  },
  copyTo: optional('MIRROR_COPY_TO', 'none', parseDatabaseUrl, {
    means: 'Empty database for the `copy` command ([copy](backups.md#copy)).',
    secret: 'url',
  }),
  dataDir: setting('MIRROR_DATA_DIR', './data', (text) => resolve(text), {
    means: 'Folder for the embedded Postgres, the status token, and the keys that long walks have seen.',
  }),
  pgBin: optional('MIRROR_PG_BIN', 'the one from npm', values.parsePostgresFolder, {
    means:
      'Folder with the programs of an installed PostgreSQL 15 to 18, to run as the embedded one ([database](databases.md#embedded-or-your-own)).',
  }),
  pgPort: setting('MIRROR_PG_PORT', '54329', values.parsePort, {
    means: 'Port of the embedded Postgres, on loopback. 0 picks a free port.',
  }),
  schema: setting('MIRROR_SCHEMA', 'mirror', values.parseSchema, {
    means: "Schema of the tables. The daemon's own state is in `<schema>_sync`.",
  }),
  service: {
    url: optional('MIRROR_API_URL', 'required', parseServiceUrl, {
      means: 'Address of the service, with or without `/v1`. `http://` works only for loopback.',
      secret: 'url',
    }),
    keys: optional('MIRROR_API_KEY', 'required', values.parseKeys, {
      means:
        'One API key, or several separated by commas or newlines. They may belong to several accounts, which share the mirror, or to one account, where each stands in for the others.',
      secret: 'list',
    }),
  },
  collections: setting('MIRROR_COLLECTIONS', 'all', values.parseCollections, {
    means: 'Collections to mirror, separated by commas. `list_items` needs `lists`.',
  }),
  cron: {
    poll: perCollection('MIRROR_POLL_CRON', '* * * * *', parseCronLine, {
      means:
        'When to poll for new and changed rows: a cron line in UTC, or `never`. Accounts start spread over part of the interval. If the line polls every five minutes or more often, collections that have changed may also be polled in between.',
    }),
    full: perCollection('MIRROR_FULL_CRON', '@daily', parseCronLine, {
      means:
        'When to start a full walk, which reads everything: a cron line in UTC, or `never`. Accounts start spread over part of the interval.',
    }),
  },
  budgetShare: setting('MIRROR_BUDGET_SHARE', '0.8', values.parseShare, {
    means: 'Share of every rate limit that the mirror may use, above 0 and up to 1.',
  }),
  deletes: setting('MIRROR_DELETES', 'soft', parseChoice(['soft', 'hard']), {
    means: 'What happens to a deleted row: `soft` marks it in `_deleted_at`, `hard` removes it.',
  }),
  history: setting('MIRROR_HISTORY', 'on', values.parseHistory, {
    means:
      'Whether earlier versions of rows are kept: `on` keeps them for ever, `off` keeps none, a duration such as `400d` keeps them that long.',
  }),
  gracePeriodMs: setting('MIRROR_SETTLE', '60s', values.parseDuration('1s'), {
    means:
      "Grace period: the shortest time between the two proofs of a deletion. Set it longer than the service's replicas lag.",
  }),
  schemaDrift: setting('MIRROR_SCHEMA_DRIFT', 'add', parseChoice(['add', 'freeze', 'raw']), {
    means:
      'What happens to a new field: `add` adds a column, `raw` keeps it in `_raw` only, `freeze` does the same until you [accept the field](columns.md#accept-new-fields).',
  }),
  ignoreFields: setting('MIRROR_IGNORE_FIELDS', '', values.parseFields(true), {
    means:
      'Fields to ignore, as `collection.field,…`: if only these change, the row counts as unchanged. Setting this changes no row.',
  }),
  excludeFields: setting('MIRROR_EXCLUDE_FIELDS', '', values.parseFields(false), {
    means:
      'Fields that are never stored, as `collection.field,…`, or as `collection.**.field` for any depth. They are also left out of `_raw`, events and finished submissions ([privacy](privacy.md#leave-fields-out-or-hash-them)).',
  }),
  hashFields: setting('MIRROR_HASH_FIELDS', '', values.parseFields(false), {
    means:
      'Fields that are stored only as an HMAC-SHA256 of their value, in the same notation ([privacy](privacy.md#leave-fields-out-or-hash-them)).',
  }),
  hashKey: optional('MIRROR_HASH_KEY', 'required with `MIRROR_HASH_FIELDS`', values.parseHashKey, {
    means: 'Key of these hashes, at least 32 characters. Never change it.',
    secret: 'text',
  }),
  submit: {
    enabled: setting('MIRROR_SUBMIT', 'on', values.parseSwitch, {
      means: '`off` refuses new submissions and sends none.',
    }),
    maxQueued: setting('MIRROR_SUBMIT_MAX_QUEUED', '10000', values.parseInteger(1, 1_000_000_000), {
      means: 'Largest number of submissions that an account may have queued.',
    }),
    creditsFloor: optional('MIRROR_CREDITS_FLOOR', 'none', values.parseAmount, {
      means: 'Submissions wait while the account has fewer credits than this.',
    }),
  },
  retention: {
    eventsMs: setting('MIRROR_EVENTS_RETENTION', '90d', values.parseDuration('1h'), {
      means: 'How long received events are kept.',
    }),
    logMs: setting('MIRROR_LOG_RETENTION', '30d', values.parseDuration('1h'), {
      means: 'How long rows of `sync_log` and finished submissions are kept.',
    }),
  },
  http: {
    host: setting('MIRROR_HTTP_HOST', '127.0.0.1', values.parseHost, {
      means: 'Address that the status page listens on.',
    }),
    port: setting('MIRROR_HTTP_PORT', '8080', values.parsePort, {
      means: 'Port of the status page. 0 picks a free port.',
    }),
    token: optional('MIRROR_STATUS_TOKEN', 'none on loopback, otherwise generated once', values.parseToken, {
      means: 'Token for the status page, the API and the metrics, at least 16 characters.',
      secret: 'text',
    }),
  },
  webhook: {
    publicUrl: optional('MIRROR_PUBLIC_URL', 'none: polling only', parsePublicUrl, {
      means: 'URL at which the service reaches this daemon to deliver events ([webhooks](webhooks.md#set-them-up)).',
    }),
    host: setting('MIRROR_WEBHOOK_HOST', '127.0.0.1', values.parseHost, {
      means: 'Address that webhook deliveries are accepted on. The listener opens only if `MIRROR_PUBLIC_URL` is set.',
    }),
    port: setting('MIRROR_WEBHOOK_PORT', '8081', values.parsePort, {
      means: 'Port that webhook deliveries are accepted on.',
      shown: '`PORT` if set, otherwise `8081`',
    }),
    takeover: setting('MIRROR_WEBHOOK_TAKEOVER', 'if-empty', parseChoice(['never', 'if-empty', 'always']), {
      means:
        'When to register the webhook: `if-empty` if the account has none, `always` even if it replaces another URL, `never` not at all ([webhooks](webhooks.md#set-them-up)).',
    }),
    scheme: setting('MIRROR_WEBHOOK_SCHEME', 'auto', parseChoice(SIGNATURE_SCHEMES), {
      means: 'Accepts only one signature scheme; `auto` accepts all of them ([webhooks](webhooks.md#set-them-up)).',
    }),
    header: setting('MIRROR_WEBHOOK_HEADER', 'X-Service-Signature', values.parseHeaderName, {
      means: 'Name of the header that carries the signature.',
    }),
  },
  notify: {
    url: optional('MIRROR_NOTIFY_URL', 'none', parseNotifyUrl, {
      means:
        'URL that receives a signed POST when a problem begins and another when it ends, such as the incoming webhook of a chat ([messages](messages.md)).',
      secret: 'text',
    }),
    secret: optional('MIRROR_NOTIFY_SECRET', 'required with `MIRROR_NOTIFY_URL`', values.parseSigningSecret, {
      means: 'Secret that signs these messages: `whsec_` followed by 24 to 64 bytes in base64.',
      secret: 'text',
    }),
    allowPrivate: setting('MIRROR_NOTIFY_ALLOW_PRIVATE', 'off', values.parseSwitch, {
      means: '`on` lets these messages go to private and link-local addresses, and over `http://`.',
    }),
  },
  log: {
    level: optional(
      'LOG_LEVEL',
      '`info` for `start`, `warn` for other commands',
      parseChoice(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
      { means: '`trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`. No level shows a secret.' },
    ),
    format: optional('LOG_FORMAT', '`pretty` on a terminal, otherwise `json`', parseChoice(['json', 'pretty']), {
      means: '`pretty` for people, `json` for programs.',
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
  HTTPS_PROXY: { means: 'Proxy for requests to the service. The lower-case name works too.', secret: 'url' },
  HTTP_PROXY: { means: 'The same, if the address of the service begins with `http://`.', secret: 'url' },
  NO_PROXY: { means: 'Hosts to reach without a proxy. The lower-case name works too.' },
  // Not used, but a password in it is hidden.
  ALL_PROXY: { secret: 'url' },
  NODE_EXTRA_CA_CERTS: { means: 'File of certificate authorities to trust in addition to those of Node.' },
  PGPASSWORD: {
    means:
      'Password of the database user, if the URL has none. The other `PG*` variables of libpq also fill what the URL leaves out ([database](databases.md#embedded-or-your-own)).',
    secret: 'text',
  },
  PGSSLPASSWORD: {
    means: 'Password of the key in `sslkey`, if the URL has none ([database](databases.md#embedded-or-your-own)).',
    secret: 'text',
  },
  PORT: {
    means: 'Port for webhook deliveries if `MIRROR_WEBHOOK_PORT` is not set. Hosting platforms set it.',
  },
};
