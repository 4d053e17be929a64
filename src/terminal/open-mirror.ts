import { embeddedState, type EmbeddedState } from '@research-mirror/embedded-postgres/embedded-state';
import type { Clock } from '@research-mirror/runtime/clock';
import { ClassifiedError, Unusable } from '@research-mirror/runtime/errors';
import { createLogger } from '@research-mirror/runtime/logger';
import { join } from 'node:path';
import type { Config, DatabaseConfig } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';
import { MIGRATIONS, programVersion } from '../config/program.ts';
import { openDatabase, TRANSACTION_BOUNDS, type TransactionBounds } from '../postgres/database.ts';
import type { Db } from '../postgres/db.ts';
import { reachDatabase, type ReachedDatabase, type WorkOptions } from '../postgres/open-mirror.ts';
import { neededMigrations } from '../postgres/run-migrations.ts';
import { hasColour, isInteractive, type Shell, shortPath } from './shell.ts';

/**
 * `likely`: the user has not said which, `chooseMirror` finds out. `own or new` makes an embedded database where there
 * is none, the others say so.
 */
type Which = 'likely' | 'own' | 'own or new' | 'demo';

/** A mirror's database as a command asks it by itself. */
export interface Mirror extends Pick<ReachedDatabase, 'direct' | 'words'> {
  readonly config: Config;
  readonly db: Db;
}

interface MirrorOptions {
  readonly demo?: boolean | undefined;
  readonly which?: Which;
  readonly config?: Config;
  /** Default `TRANSACTION_BOUNDS`. */
  readonly bounds?: TransactionBounds;
  /** Past a pooler, where there is such a way. */
  readonly direct?: boolean;
}

/**
 * Does `work` on the mirror's database, which must be there and of this version.
 * @throws InvalidConfig; Unusable; errors of `work`
 */
export async function onMirror<T>(
  shell: Shell,
  command: string,
  options: MirrorOptions,
  work: (mirror: Mirror) => Promise<T>,
): Promise<T> {
  return onDatabase(shell, command, options, async (mirror) => {
    const { db } = mirror;
    const behind = await neededMigrations({ db, folder: MIGRATIONS, version: programVersion() });
    if (behind.length === 0) return work(mirror);
    throw new Unusable(
      `the database is behind this program (${behind.join(', ')}): "research-mirror migrate"`,
    );
  });
}

/** The same with a database of any version. */
export async function onDatabase<T>(
  shell: Shell,
  command: string,
  {
    demo = false,
    which = demo ? 'demo' : 'likely',
    config = loadConfig(shell.env, 'database'),
    bounds = TRANSACTION_BOUNDS,
    direct: isDirect = false,
  }: MirrorOptions,
  work: (mirror: Mirror) => Promise<T>,
): Promise<T> {
  const { connection, direct, words, leave } = await reachMirror(shell, config, command, which);
  try {
    const way = isDirect ? direct : connection;
    const database = await openDatabase({ ...way, schema: config.schema, max: 2, bounds });
    try {
      return await work({ config, db: database.db, direct, words });
    } finally {
      await database.close();
    }
  } finally {
    await leave();
  }
}

/** Where `demo` keeps its database: beside the real one, so that they never mix. */
export function demoFolder(config: Config): string {
  return join(config.dataDir, 'demo');
}

/**
 * Reaches the mirror that the user means; the embedded server is started when it does not run.
 * @param command `sql`: the database's own lists of connections show `research-mirror sql`
 * @throws Unusable where there is none
 */
export async function reachMirror(
  shell: Shell,
  config: Config,
  command: string,
  which: Which,
): Promise<ReachedDatabase> {
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
      `there is no mirror in ${folders[choice]} yet: "research-mirror demo" shows one, ` +
        '"research-mirror start" makes yours (or set DATABASE_URL, where your Postgres is)',
    );
  }
  if (which === 'likely' && choice === 'demo' && own !== 'absent') {
    shell.err.write(`(this is the demo's mirror, since it runs; yours is in ${folders.own})\n`);
  }
  return folders[choice];
}

/**
 * Which embedded mirror a user means who typed `sql` or `status` and nothing else. Somebody who tries the demo in
 * another terminal has configured nothing; somebody with a mirror of their own never gets the demo's by surprise
 * while theirs runs or is configured.
 */
export function chooseMirror(own: EmbeddedState, demo: EmbeddedState, configured: boolean): 'own' | 'demo' {
  if (own === 'running') return 'own';
  if (own === 'stopped' && (configured || demo !== 'running')) return 'own';
  return demo === 'absent' ? 'own' : 'demo';
}

/**
 * What a command gives to what it runs.
 * @param sink of the log: stdout for `start`, whose log is all that it says; stderr for commands that answer on stdout
 * @param usual level where LOG_LEVEL is not set: a command that shows its progress itself logs trouble only
 */
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
