import { resolve } from 'node:path';
import { COLLECTION_NAMES } from '../model/collections.ts';
import { SIGNATURE_SCHEMES } from '../model/webhook/signature-scheme.ts';
import {
  LOG_LEVELS,
  type Config,
  type DatabaseConfig,
  type History,
  type ServiceAccess,
  type ServiceConfig,
  type WebhookConfig,
} from './config.ts';
import { parseKeys, parseToken } from './credentials.ts';
import { parseCronLine } from './parse-cron.ts';
import { parseDuration } from './duration.ts';
import { textOf, type Environment } from './environment.ts';
import { InvalidConfig, InvalidValue } from './invalid.ts';
import { SettingsReader } from './settings-reader.ts';
import { Secret } from './secret.ts';
import { secretsOf } from './secrets.ts';
import { parseDatabaseUrl, parsePublicUrl, parseServiceUrl } from './urls.ts';
import {
  forEachCollection,
  parseAmount,
  parseChoice,
  parseCollections,
  parseFields,
  parseHeaderName,
  parseHost,
  parseInteger,
  parsePort,
  parseSchema,
  parseShare,
} from './values.ts';
import { cronVariable, type VariableName } from './variables.ts';

const SECOND = 1000;
const HOUR = 3600 * SECOND;
const DAY = 24 * HOUR;

/** `service`: the command talks to the service, its address and a key are required. */
export type Need = 'service' | 'database';

/**
 * The validated configuration.
 * @param env environment with `.env` already added
 * @throws InvalidConfig with every problem at once
 */
export function loadConfig(env: Environment, need: 'service'): ServiceConfig;
export function loadConfig(env: Environment, need: Need): Config;
export function loadConfig(env: Environment, need: Need): Config {
  const read = new SettingsReader(env);
  const dataDir = read.value('MIRROR_DATA_DIR', (text) => resolve(text), resolve('data'));
  const config: Config = {
    database: databaseOf(read, env, dataDir),
    dataDir,
    schema: read.value('MIRROR_SCHEMA', parseSchema, 'mirror'),
    service: serviceOf(read, need),
    collections: read.value('MIRROR_COLLECTIONS', parseCollections, COLLECTION_NAMES),
    cron: cronOf(read),
    budgetShare: read.value('MIRROR_BUDGET_SHARE', parseShare, 0.8),
    deletes: read.value('MIRROR_DELETES', parseChoice(['soft', 'hard']), 'soft'),
    history: read.value('MIRROR_HISTORY', parseHistory, { kept: true, forMs: undefined }),
    settleMs: read.value('MIRROR_SETTLE', duration(SECOND), 60 * SECOND),
    schemaDrift: read.value('MIRROR_SCHEMA_DRIFT', parseChoice(['add', 'raw']), 'add'),
    ignoreFields: read.value(
      'MIRROR_IGNORE_FIELDS',
      parseFields(true),
      forEachCollection(() => []),
    ),
    excludeFields: read.value(
      'MIRROR_EXCLUDE_FIELDS',
      parseFields(false),
      forEachCollection(() => []),
    ),
    submit: {
      enabled: read.value('MIRROR_SUBMIT', parseChoice(['on', 'off']), 'on') === 'on',
      maxQueued: read.value('MIRROR_SUBMIT_MAX_QUEUED', parseInteger(1, 1_000_000_000), 10_000),
      creditsFloor: read.value('MIRROR_CREDITS_FLOOR', parseAmount, undefined),
    },
    retention: {
      eventsMs: read.value('MIRROR_EVENTS_RETENTION', duration(HOUR), 90 * DAY),
      logMs: read.value('MIRROR_LOG_RETENTION', duration(HOUR), 30 * DAY),
    },
    http: {
      host: read.value('MIRROR_HTTP_HOST', parseHost, '127.0.0.1'),
      port: read.value('MIRROR_HTTP_PORT', parsePort, 8080),
      token: read.value('MIRROR_STATUS_TOKEN', parseToken, undefined),
    },
    webhook: webhookOf(read, env),
    log: {
      level: read.value('LOG_LEVEL', parseChoice(LOG_LEVELS), undefined),
      format: read.value('LOG_FORMAT', parseChoice(['json', 'pretty']), undefined),
    },
    proxy: {
      http: textOf(env, 'http_proxy') ?? textOf(env, 'HTTP_PROXY'),
      https: textOf(env, 'https_proxy') ?? textOf(env, 'HTTPS_PROXY'),
      except: textOf(env, 'no_proxy') ?? textOf(env, 'NO_PROXY'),
    },
    secrets: secretsOf(env),
  };
  refuseSharedPorts(read, config, platformPort(env));
  if (read.problems.length > 0) throw new InvalidConfig(read.problems);
  return config;
}

function databaseOf(read: SettingsReader, env: Environment, dataDir: string): DatabaseConfig {
  const url = read.value('DATABASE_URL', parseDatabaseUrl, '');
  const directUrl = read.value('DATABASE_URL_DIRECT', parseDatabaseUrl, undefined);
  const port = read.value('MIRROR_PG_PORT', parsePort, 54_329);
  if (read.isSet('DATABASE_URL')) {
    return {
      kind: 'external',
      url: new Secret(url),
      directUrl: directUrl === undefined ? undefined : new Secret(directUrl),
      variables: () => postgresVariables(env),
    };
  }
  if (directUrl !== undefined) {
    read.problem(
      'DATABASE_URL_DIRECT',
      'set without DATABASE_URL: set both, or neither for embedded Postgres',
    );
  }
  return { kind: 'embedded', dataDir, port };
}

function postgresVariables(env: Environment): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const name of Object.keys(env)) {
    const text = /^PG[A-Z]+$/.test(name) ? textOf(env, name) : undefined;
    if (text !== undefined) variables[name] = text;
  }
  return variables;
}

function serviceOf(read: SettingsReader, need: Need): ServiceAccess | undefined {
  const url = read.value('MIRROR_API_URL', parseServiceUrl, undefined);
  const keys = read.value('MIRROR_API_KEY', parseKeys, undefined);
  if (need === 'service') {
    if (!read.isSet('MIRROR_API_URL')) {
      read.problem('MIRROR_API_URL', 'not set: the address of the service, such as https://api.example.com');
    }
    if (!read.isSet('MIRROR_API_KEY')) {
      read.problem(
        'MIRROR_API_KEY',
        "not set: a key from the account's page /api-keys (or MIRROR_API_KEY_FILE, a path)",
      );
    }
  }
  return url === undefined || keys === undefined ? undefined : { url, keys };
}

function cronOf(read: SettingsReader): Config['cron'] {
  const poll = read.value('MIRROR_POLL_CRON', parseCronLine, '* * * * *');
  const full = read.value('MIRROR_FULL_CRON', parseCronLine, '@daily');
  return forEachCollection((name) => ({
    poll: read.value(cronVariable('POLL', name), parseCronLine, poll),
    full: read.value(cronVariable('FULL', name), parseCronLine, full),
  }));
}

/** A reader of durations of at least `least` milliseconds. */
function duration(least: number): (text: string) => number {
  return (text) => parseDuration(text, least);
}

function parseHistory(text: string): History {
  const choice = text.toLowerCase();
  if (choice === 'on') return { kept: true, forMs: undefined };
  if (choice === 'off') return { kept: false };
  if (!/^\d/.test(text)) {
    throw new InvalidValue(`${JSON.stringify(text)} is none of on, off, and no duration such as 400d`);
  }
  return { kept: true, forMs: parseDuration(text, HOUR) };
}

function webhookOf(read: SettingsReader, env: Environment): WebhookConfig {
  return {
    publicUrl: read.value('MIRROR_PUBLIC_URL', parsePublicUrl, undefined),
    host: read.value('MIRROR_WEBHOOK_HOST', parseHost, '127.0.0.1'),
    port: read.value('MIRROR_WEBHOOK_PORT', parsePort, undefined) ?? platformPort(env) ?? 8081,
    takeover: read.value('MIRROR_WEBHOOK_TAKEOVER', parseChoice(['never', 'if-empty', 'always']), 'if-empty'),
    scheme: read.value('MIRROR_WEBHOOK_SCHEME', parseChoice(SIGNATURE_SCHEMES), 'auto'),
    header: read.value('MIRROR_WEBHOOK_HEADER', parseHeaderName, 'X-Service-Signature'),
  };
}

/** `PORT`, which hosting platforms set. It is not ours: one that is no port is not for us either. */
function platformPort(env: Environment): number | undefined {
  const text = textOf(env, 'PORT') ?? '';
  return /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined;
}

/** Two listeners on one port: the second one would fail to start, at an hour when nobody watches. */
function refuseSharedPorts(read: SettingsReader, config: Config, platform: number | undefined): void {
  const listeners: { name: VariableName; port: number }[] = [
    { name: 'MIRROR_HTTP_PORT', port: config.http.port },
  ];
  if (config.webhook.publicUrl !== undefined) {
    listeners.push({ name: 'MIRROR_WEBHOOK_PORT', port: config.webhook.port });
  }
  if (config.database.kind === 'embedded') {
    listeners.push({ name: 'MIRROR_PG_PORT', port: config.database.port });
  }
  const right = listeners.filter(({ name, port }) => port !== 0 && read.isRight(name));
  for (const [index, { name, port }] of right.entries()) {
    const other = right.slice(0, index).find((earlier) => earlier.port === port);
    if (other === undefined) continue;
    // Who set none of the two would look for it in vain; and a platform's port is not to be chosen.
    if (name === 'MIRROR_WEBHOOK_PORT' && !read.isSet(name) && platform === port) {
      read.problem(other.name, `${port} is what PORT gives to webhook deliveries: choose another one`);
    } else read.problem(name, `${port} is the port of ${other.name} too: choose another one`);
  }
}
