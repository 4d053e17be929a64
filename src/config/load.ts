import type { Config, DatabaseConfig, ServiceAccess, ServiceConfig, WebhookConfig } from './config.ts';
import { textOf, type Environment, readVariables } from './environment.ts';
import { InvalidConfig, InvalidValue } from './invalid.ts';
import { Secret } from './secret.ts';
import { secretsOf } from './secrets.ts';
import {
  type VariableName,
  ofCollection,
  SETTINGS,
  type PerCollection,
  type Setting,
  type SettingName,
  type ValueOf,
} from './settings.ts';
import { unkept } from './values/unkept-parameters.ts';
import { forEachCollection } from './values/parse-values.ts';
import type { CollectionName } from '../model/collections.ts';

/** Reads settings one by one. Notes a wrong one as a problem and goes on with its default: all problems are found. */
class SettingsReader {
  readonly problems: string[];
  readonly #values: ReadonlyMap<VariableName, string>;
  readonly #wrong: Set<VariableName>;

  constructor(env: Environment) {
    const found = readVariables(env);
    this.#values = found.values;
    this.#wrong = new Set(found.unreadable);
    this.problems = [...found.problems];
  }

  /** Whether it is set, to a right value or a wrong one. */
  isSet(name: VariableName): boolean {
    return this.#values.has(name) || this.#wrong.has(name);
  }

  /** False once it has a problem: rules between settings then leave it out. */
  isRight(name: VariableName): boolean {
    return !this.#wrong.has(name);
  }

  /** The setting's value; its default where it is not set or wrong. */
  value<N extends SettingName>(name: N): ValueOf<N> {
    const { parse, default: text }: Setting = SETTINGS[name];
    const otherwise = text === undefined ? undefined : parse(text);
    return this.#parsed(name, parse, otherwise) as ValueOf<N>;
  }

  /** The setting's value for one collection; `otherwise`, where none of its own is set, or a wrong one. */
  valueFor(collection: CollectionName, name: PerCollection, otherwise: string): string {
    return this.#parsed(ofCollection(name, collection), SETTINGS[name].parse, otherwise);
  }

  #parsed<T>(name: VariableName, parse: (text: string) => T, otherwise: T): T {
    const text = this.#values.get(name);
    if (text === undefined) return otherwise;
    try {
      return parse(text);
    } catch (error) {
      if (!(error instanceof InvalidValue)) throw error;
      this.problem(name, error.message);
      return otherwise;
    }
  }

  problem(name: VariableName, what: string): void {
    this.#wrong.add(name);
    this.problems.push(`${name}: ${what}`);
  }
}

/** `service`: the command talks to the service, so its address and a key are required. */
export type Need = 'service' | 'database';

/**
 * The validated configuration: puts the settings into their shape, and checks the rules between them.
 * @param env environment with `.env` already added
 * @throws InvalidConfig with every problem at once
 */
export function loadConfig(env: Environment, need: 'service'): ServiceConfig;
export function loadConfig(env: Environment, need: Need): Config;
export function loadConfig(env: Environment, need: Need): Config {
  const read = new SettingsReader(env);
  const dataDir = read.value('MIRROR_DATA_DIR');
  const pgBin = read.value('MIRROR_PG_BIN');
  const config: Config = {
    database: databaseOf(read, env, { dataDir, pgBin }),
    copyTo: copyTargetOf(read, env),
    dataDir,
    pgBin,
    schema: read.value('MIRROR_SCHEMA'),
    service: serviceOf(read, need),
    collections: read.value('MIRROR_COLLECTIONS'),
    cron: cronOf(read),
    budgetShare: read.value('MIRROR_BUDGET_SHARE'),
    deletes: read.value('MIRROR_DELETES'),
    history: read.value('MIRROR_HISTORY'),
    gracePeriodMs: read.value('MIRROR_SETTLE'),
    schemaDrift: read.value('MIRROR_SCHEMA_DRIFT'),
    ignoreFields: read.value('MIRROR_IGNORE_FIELDS'),
    excludeFields: read.value('MIRROR_EXCLUDE_FIELDS'),
    submit: {
      enabled: read.value('MIRROR_SUBMIT') === 'on',
      maxQueued: read.value('MIRROR_SUBMIT_MAX_QUEUED'),
      creditsFloor: read.value('MIRROR_CREDITS_FLOOR'),
    },
    retention: {
      eventsMs: read.value('MIRROR_EVENTS_RETENTION'),
      logMs: read.value('MIRROR_LOG_RETENTION'),
    },
    http: {
      host: read.value('MIRROR_HTTP_HOST'),
      port: read.value('MIRROR_HTTP_PORT'),
      token: read.value('MIRROR_STATUS_TOKEN'),
    },
    webhook: webhookOf(read, env),
    log: { level: read.value('LOG_LEVEL'), format: read.value('LOG_FORMAT') },
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

function databaseOf(
  read: SettingsReader,
  env: Environment,
  own: Pick<Config, 'dataDir' | 'pgBin'>,
): DatabaseConfig {
  const url = read.value('DATABASE_URL');
  const directUrl = read.value('DATABASE_URL_DIRECT');
  const port = read.value('MIRROR_PG_PORT');
  if (read.isSet('DATABASE_URL')) return externalOf(read, env, 'DATABASE_URL', { url: url ?? '', directUrl });
  if (directUrl !== undefined) {
    read.problem(
      'DATABASE_URL_DIRECT',
      'set without DATABASE_URL: set both, or neither for embedded Postgres',
    );
  }
  return { kind: 'embedded', ...own, port };
}

function copyTargetOf(read: SettingsReader, env: Environment): DatabaseConfig | undefined {
  const url = read.value('MIRROR_COPY_TO');
  return url === undefined
    ? undefined
    : externalOf(read, env, 'MIRROR_COPY_TO', { url, directUrl: undefined });
}

/** @param name of the variable that has the URL */
function externalOf(
  read: SettingsReader,
  env: Environment,
  name: VariableName,
  { url, directUrl }: { readonly url: string; readonly directUrl: string | undefined },
): DatabaseConfig {
  for (const [variable, value] of Object.entries(postgresVariables(env))) {
    const problem = unkept(variable, value);
    if (problem !== undefined) read.problem(name, problem);
  }
  return {
    kind: 'external',
    url: new Secret(url),
    directUrl: directUrl === undefined ? undefined : new Secret(directUrl),
    variables: () => postgresVariables(env),
  };
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
  const url = read.value('MIRROR_API_URL');
  const keys = read.value('MIRROR_API_KEY');
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
  const poll = read.value('MIRROR_POLL_CRON');
  const full = read.value('MIRROR_FULL_CRON');
  return forEachCollection((name) => ({
    poll: read.valueFor(name, 'MIRROR_POLL_CRON', poll),
    full: read.valueFor(name, 'MIRROR_FULL_CRON', full),
  }));
}

function webhookOf(read: SettingsReader, env: Environment): WebhookConfig {
  const platform = read.isSet('MIRROR_WEBHOOK_PORT') ? undefined : platformPort(env);
  return {
    publicUrl: read.value('MIRROR_PUBLIC_URL'),
    host: read.value('MIRROR_WEBHOOK_HOST'),
    port: platform ?? read.value('MIRROR_WEBHOOK_PORT'),
    takeover: read.value('MIRROR_WEBHOOK_TAKEOVER'),
    scheme: read.value('MIRROR_WEBHOOK_SCHEME'),
    header: read.value('MIRROR_WEBHOOK_HEADER'),
  };
}

/** `PORT`, which hosting platforms set. Others may use that name for something else: what is not a port is ignored. */
function platformPort(env: Environment): number | undefined {
  const text = textOf(env, 'PORT') ?? '';
  return /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined;
}

/** Refuses two listeners on one port: the second one would fail to start, perhaps when nobody watches. */
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
    // The operator set neither the webhook port nor PORT: the problem is of the port that they can choose.
    if (name === 'MIRROR_WEBHOOK_PORT' && !read.isSet(name) && platform === port) {
      read.problem(other.name, `${port} is what PORT gives to webhook deliveries: choose another one`);
    } else read.problem(name, `${port} is the port of ${other.name} too: choose another one`);
  }
}
