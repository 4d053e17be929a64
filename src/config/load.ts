import type { Config, DatabaseConfig, ServiceConfig } from './config.ts';
import { textOf, type Environment, Variables } from './environment.ts';
import { InvalidConfig, MAKE_SECRET } from './parse-values.ts';
import { Secret } from './secret.ts';
import { SETTINGS, valuesOf } from './settings.ts';
import { unkept } from './urls.ts';

/** For commands that talk to the service. */
const REQUIRED = {
  MIRROR_API_URL: 'not set. Give the address of the service, such as https://api.example.com',
  MIRROR_API_KEY:
    "not set. Give a key from the account's page /api-keys, or the path of a file with it in MIRROR_API_KEY_FILE.",
};

/**
 * Reads the table of settings, and checks the rules between them.
 * @param env environment with `.env` already added
 * @param need `service`: the address of the service and a key are required
 * @throws InvalidConfig with every problem at once
 */
export function loadConfig(env: Environment, need: 'service'): ServiceConfig;
export function loadConfig(env: Environment, need: 'service' | 'database'): Config;
export function loadConfig(env: Environment, need: 'service' | 'database'): Config {
  const variables = new Variables(env);
  for (const [name, problem] of Object.entries(need === 'service' ? REQUIRED : {})) {
    if (!variables.isSet(name)) variables.problem(name, problem);
  }
  const { database, copyTo, pgPort, service, ...values } = valuesOf(SETTINGS, variables.read);
  const platform = variables.isSet('MIRROR_WEBHOOK_PORT') ? undefined : platformPort(env);
  const { url, keys } = service;
  const embedded = { kind: 'embedded', dataDir: values.dataDir, pgBin: values.pgBin, port: pgPort } as const;
  const config: Config = {
    ...values,
    database: externalDatabase(variables, env, 'DATABASE_URL', database) ?? embedded,
    copyTo: externalDatabase(variables, env, 'MIRROR_COPY_TO', { url: copyTo }),
    service: url === undefined || keys === undefined ? undefined : { url, keys },
    webhook: { ...values.webhook, port: platform ?? values.webhook.port },
    proxy: {
      http: textOf(env, 'http_proxy') ?? textOf(env, 'HTTP_PROXY'),
      https: textOf(env, 'https_proxy') ?? textOf(env, 'HTTPS_PROXY'),
      except: textOf(env, 'no_proxy') ?? textOf(env, 'NO_PROXY'),
    },
  };
  if (config.database === embedded && database.directUrl !== undefined) {
    const problem = 'set, but DATABASE_URL is not. Set both, or neither to use embedded Postgres.';
    variables.problem('DATABASE_URL_DIRECT', problem);
  }
  refuseSharedPorts(variables, config, platform !== undefined);
  if (variables.isSet('MIRROR_HASH_FIELDS') && !variables.isSet('MIRROR_HASH_KEY')) {
    const problem = 'not set, but MIRROR_HASH_FIELDS needs it. Generate one: openssl rand -hex 32';
    variables.problem('MIRROR_HASH_KEY', problem);
  }
  if (config.hashFields.account.some((field) => /^(\*\*\.)?credits$/.test(field))) {
    const problem = "account.credits can't be hashed: credits_daily and MIRROR_CREDITS_FLOOR need the number";
    variables.problem('MIRROR_HASH_FIELDS', problem);
  }
  if (variables.isSet('MIRROR_NOTIFY_URL') && !variables.isSet('MIRROR_NOTIFY_SECRET')) {
    const problem = `not set, but MIRROR_NOTIFY_URL needs it to sign messages. Generate one: ${MAKE_SECRET}`;
    variables.problem('MIRROR_NOTIFY_SECRET', problem);
  }
  if (!config.notify.allowPrivate && /^http:/i.test(config.notify.url?.reveal() ?? '')) {
    const problem =
      'http:// exposes the path to anyone on the network. Use https://, or set MIRROR_NOTIFY_ALLOW_PRIVATE=on for a private address.';
    variables.problem('MIRROR_NOTIFY_URL', problem);
  }
  if (variables.problems.length > 0) throw new InvalidConfig(variables.problems);
  return config;
}

/** @returns undefined if the variable `name`, which has the URL, is not set */
function externalDatabase(
  variables: Variables,
  env: Environment,
  name: string,
  { url, directUrl }: { readonly url: Secret | undefined; readonly directUrl?: Secret | undefined },
): DatabaseConfig | undefined {
  if (!variables.isSet(name)) return undefined;
  const names = Object.keys(env).filter((each) => /^PG[A-Z]+$/.test(each) && textOf(env, each) !== undefined);
  const others = Object.fromEntries(names.map((each) => [each, textOf(env, each) ?? '']));
  for (const [variable, value] of Object.entries(others)) {
    const problem = unkept(variable, value);
    if (problem !== undefined) variables.problem(name, problem);
  }
  // A wrong URL already is a problem; the rules go on.
  return { kind: 'external', url: url ?? new Secret(''), directUrl, variables: () => others };
}

/** `PORT`, which hosting platforms set. The name has other uses, too: anything but a port is ignored. */
function platformPort(env: Environment): number | undefined {
  const text = textOf(env, 'PORT') ?? '';
  return /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined;
}

/** Refuses two listeners on one port: the second one would fail to start, perhaps unnoticed. */
function refuseSharedPorts(variables: Variables, { http, webhook, database }: Config, hosted: boolean): void {
  const listeners = [
    { name: 'MIRROR_HTTP_PORT', port: http.port },
    { name: 'MIRROR_WEBHOOK_PORT', port: webhook.publicUrl === undefined ? 0 : webhook.port },
    { name: 'MIRROR_PG_PORT', port: database.kind === 'embedded' ? database.port : 0 },
  ].filter(({ name, port }) => port !== 0 && !variables.wrong.has(name));
  for (const [index, { name, port }] of listeners.entries()) {
    const other = listeners.slice(0, index).find((earlier) => earlier.port === port);
    if (other === undefined) continue;
    // The operator chose neither the webhook port nor PORT: name the port that they can choose.
    if (name === 'MIRROR_WEBHOOK_PORT' && hosted) {
      variables.problem(other.name, `PORT already assigns ${port} to webhook deliveries. Choose another port.`);
    } else variables.problem(name, `${port} is also the port of ${other.name}. Choose another port.`);
  }
}
