/** Opens the mirror that a command means: the configured one, an embedded one, the demo's. */

import { embeddedState, type EmbeddedState } from '@research-mirror/embedded-postgres/embedded-state';
import { isPortFree, nonEphemeralPort } from '@research-mirror/embedded-postgres/ports';
import type { Clock } from '@research-mirror/runtime/clock';
import { ClassifiedError, Unusable } from '@research-mirror/runtime/errors';
import { createLogger } from '@research-mirror/runtime/logger';
import { readOrCreate } from '@research-mirror/runtime/read-or-create';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config, DatabaseConfig, ServiceConfig } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';
import { MIGRATIONS, programVersion } from '../config/program.ts';
import { Secret } from '../config/secret.ts';
import { openDatabase, TRANSACTION_BOUNDS, type TransactionBounds } from '../postgres/pool.ts';
import type { Db } from '../postgres/db.ts';
import { reachDatabase, type ReachedDatabase, type WorkOptions } from '../postgres/open-mirror.ts';
import { neededMigrations } from '../postgres/run-migrations.ts';
import { hasColour, isInteractive, type Shell, shortPath } from './shell.ts';

/** `likely`: `chooseMirror` decides. `own or new` makes the embedded database if there is none; the others fail. */
type Which = 'likely' | 'own' | 'own or new' | 'demo';

export type Mirror = Pick<ReachedDatabase, 'direct' | 'words'> & { readonly config: Config; readonly db: Db };

interface MirrorOptions {
  readonly demo?: boolean | undefined;
  readonly which?: Which;
  readonly config?: Config;
  /** Default `TRANSACTION_BOUNDS`. */
  readonly bounds?: TransactionBounds;
  /** Past a pooler, if such a way is configured. */
  readonly direct?: boolean;
  /** Accepts a database that is behind this program, too. */
  readonly anyVersion?: boolean;
}

/** Runs `work` on the mirror's database. @throws InvalidConfig; Unusable; errors of `work` */
export async function onMirror<T>(
  shell: Shell,
  command: string,
  {
    demo = false,
    which = demo ? 'demo' : 'likely',
    config = loadConfig(shell.env, 'database'),
    bounds = TRANSACTION_BOUNDS,
    direct: isDirect = false,
    anyVersion = false,
  }: MirrorOptions,
  work: (mirror: Mirror) => Promise<T>,
): Promise<T> {
  const { connection, direct, words, leave } = await reachMirror(shell, config, command, which);
  try {
    const way = isDirect ? direct : connection;
    const { db, close } = await openDatabase({ ...way, schema: config.schema, max: 2, bounds });
    try {
      const migrations = { db, folder: MIGRATIONS, version: programVersion() };
      const behind = anyVersion ? [] : await neededMigrations(migrations);
      if (behind.length > 0) {
        const why = `the database is behind this program (${behind.join(', ')})`;
        throw new Unusable(`${why}. Run "research-mirror migrate".`);
      }
      return await work({ config, db, direct, words });
    } finally {
      await close();
    }
  } finally {
    await leave();
  }
}

/** The demo's database is separate from the user's. */
export function demoFolder(config: Config): string {
  return join(config.dataDir, 'demo');
}

/** Connects to the mirror that is meant; starts an embedded server. @throws Unusable if there is none */
export async function reachMirror(shell: Shell, config: Config, command: string, which: Which) {
  const { database, pgBin } = config;
  const options = { ...workOptions(shell, config), command };
  if (database.kind === 'external' && which !== 'demo') return reachDatabase(database, options);
  const dataDir = await embeddedFolder(config, shell, which);
  const port = database.kind === 'embedded' && dataDir === config.dataDir ? database.port : 0;
  const embedded: DatabaseConfig = { kind: 'embedded', dataDir, pgBin, port };
  return reachDatabase(embedded, options, shortPath(dataDir));
}

async function embeddedFolder(config: Config, shell: Shell, which: Which): Promise<string> {
  const folders = { own: config.dataDir, demo: demoFolder(config) };
  if (which === 'own or new') return folders.own;
  const own = await embeddedState(folders.own);
  const demo = await embeddedState(folders.demo);
  const choice = which === 'likely' ? chooseMirror(own, demo, config.service !== undefined) : which;
  if ((choice === 'own' ? own : demo) === 'absent') {
    throw new Unusable(
      `there is no mirror in ${folders[choice]} yet. Run "research-mirror demo" to see one, or "research-mirror start" to make ` +
        'yours. If your mirror is in a Postgres of your own, set DATABASE_URL.',
    );
  }
  if (which === 'likely' && choice === 'demo' && own !== 'absent')
    shell.err.write(`(using the demo's mirror, because the demo runs; yours is in ${folders.own})\n`);
  return folders[choice];
}

/**
 * Which embedded mirror a plain `sql` means. A user who tries the demo has configured nothing. A mirror of the user's
 * own takes precedence while it runs or is configured.
 */
export function chooseMirror(own: EmbeddedState, demo: EmbeddedState, configured: boolean): 'own' | 'demo' {
  if (own === 'running') return 'own';
  if (own === 'stopped' && (configured || demo !== 'running')) return 'own';
  return demo === 'absent' ? 'own' : 'demo';
}

/** @param sink of the log: stdout for `start` @param usual level without LOG_LEVEL: `warn` beside a progress line */
export function workOptions(
  { env, err, clock, signal, scrubber }: Shell,
  config: Config,
  sink = err,
  usual: 'info' | 'warn' = 'warn',
): WorkOptions & { readonly clock: Clock } {
  const log = createLogger(sink, {
    level: config.log.level ?? usual,
    format: config.log.format ?? (isInteractive(sink, env) ? 'pretty' : 'json'),
    colour: hasColour(sink, env),
    scrub: scrubber.scrub,
    isExpected: (error) => error instanceof ClassifiedError,
  });
  return { clock, signal, log, hide: (secret) => scrubber.hide(secret), scrub: scrubber.scrub };
}

// What a demo keeps in its folder beside the database: the same addresses at each start.

/** The demo's key is no secret. */
export const DEMO_KEY = 'demo-key';

/** File with the emulated service's port. The mirror refuses a service at another port as another service. */
export const SERVICE_PORT = 'service-port';

type PortName = typeof SERVICE_PORT | 'control-port' | 'page-port' | 'webhook-port';

/** @throws Unusable if the file holds no port */
export async function portOf(folder: string, name: PortName): Promise<number> {
  const text = await readOrCreate(join(folder, name), async () => String(await nonEphemeralPort()));
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw unreadable(folder, name, 'port');
  return port;
}

/** A listener's port: the same as last time, or another if it is taken. */
export async function keptPort(folder: string, name: PortName): Promise<number> {
  const port = await portOf(folder, name);
  if (await isPortFree(port)) return port;
  await rm(join(folder, name), { force: true });
  return portOf(folder, name);
}

export function unreadable(folder: string, name: string, what: string): Unusable {
  return new Unusable(
    `${shortPath(join(folder, name))} contains no ${what}. Restore its content, or remove the folder ${shortPath(folder)} to start over.`,
  );
}

/** The URL of the service of this folder's demo. Undefined: none runs. */
async function runningDemo(folder: string): Promise<string | undefined> {
  if (!existsSync(join(folder, SERVICE_PORT))) return undefined;
  const port = await portOf(folder, SERVICE_PORT);
  // Checks both ports of the service: another program may use one by now.
  const both = [port, await portOf(folder, 'control-port')];
  const free = await Promise.all(both.map((each) => isPortFree(each)));
  return free.includes(true) ? undefined : `http://127.0.0.1:${port}`;
}

/** The demo's configuration, without the user's own account and database. */
export function demoConfig(config: Config, folder: string, serviceUrl: string): ServiceConfig {
  return {
    ...config,
    dataDir: folder,
    database: { kind: 'embedded', dataDir: folder, pgBin: config.pgBin, port: 0 },
    service: { url: serviceUrl, keys: [new Secret(DEMO_KEY)] },
  };
}

/**
 * The user's own configuration, or a running demo's if the user asks for it or has configured neither account nor
 * database.
 * @throws InvalidConfig; Unusable if a demo is asked for and none runs
 */
export async function serviceConfig(shell: Shell, demo: boolean): Promise<ServiceConfig> {
  let config: Config;
  try {
    config = loadConfig(shell.env, 'database');
  } catch {
    // Reports all problems at once.
    return loadConfig(shell.env, 'service');
  }
  const own = config.service !== undefined || config.database.kind === 'external';
  if (own && !demo) return loadConfig(shell.env, 'service');
  const folder = demoFolder(config);
  const running = await runningDemo(folder);
  if (running !== undefined) {
    if (!demo) shell.err.write('(using the demo, which runs here, because no account of yours is configured)\n');
    return demoConfig(config, folder, running);
  }
  if (demo) throw new Unusable('no demo runs here. Start one with "research-mirror demo".');
  return loadConfig(shell.env, 'service');
}
