import { join } from 'node:path';
import type { Config, DatabaseConfig } from '../../config/config.ts';
import { reachDatabase, type ReachedDatabase } from '../../app/process/reach-database.ts';
import { embeddedState, type EmbeddedState } from '@research-mirror/embedded-postgres/embedded-state';
import type { ConnectionOptions } from '../../db/connection/pool.ts';
import { readerUrl, sqlLogin } from '../../db/roles/sql-login.ts';
import { Unusable } from '@research-mirror/runtime/errors';
import type { Logger } from '@research-mirror/runtime/logger';
import type { Shell } from '../terminal/shell.ts';
import { shortPath } from '../terminal/short-path.ts';

/** A mirror's database that a command has reached. */
export interface MirrorDatabase extends ReachedDatabase {
  /**
   * For statements of somebody's own, those to be tried first to last: a login that only reads, which the program has
   * made; of DATABASE_URL its own, and one that a DBA has made beside it.
   */
  readers(): Promise<readonly ConnectionOptions[]>;
}

export interface ReachOptions {
  /** `sql`: the database's own lists of connections show `research-mirror sql`. */
  readonly command: string;
  /**
   * `likely`: the user has not said which, `chooseMirror` finds out. `own or new` makes an embedded database where
   * there is none, the others say so.
   */
  readonly which: 'likely' | 'own' | 'own or new' | 'demo';
  readonly log: Logger;
}

/** Where `demo` keeps its database: beside the real one, so that they never mix. */
export function demoFolder(config: Config): string {
  return join(config.dataDir, 'demo');
}

/**
 * Reaches the mirror that the user means; the embedded server is started when it does not run.
 * @throws Unusable where there is none
 */
export async function reachMirror(
  config: Config,
  shell: Shell,
  options: ReachOptions,
): Promise<MirrorDatabase> {
  const { command, log } = options;
  const { clock, signal, scrubber } = shell;
  const hide = (secret: string): void => scrubber.hide(secret);
  const database = await databaseMeant(config, shell, options);
  const folder = database.kind === 'embedded' ? shortPath(database.dataDir) : undefined;
  const reached = await reachDatabase(database, { command, log, clock, signal, hide }, folder);
  const { connection, server } = reached;
  return {
    ...reached,
    readers: async () => {
      if (server === undefined) return [connection, { ...connection, as: sqlLogin(config.schema) }];
      const url = await readerUrl(
        server.url,
        await server.readerPassword(),
        config.schema,
        connection.program,
      );
      hide(new URL(url).password);
      return [{ ...connection, url }];
    },
  };
}

async function databaseMeant(config: Config, shell: Shell, options: ReachOptions): Promise<DatabaseConfig> {
  const { database } = config;
  if (database.kind === 'external' && options.which !== 'demo') return database;
  const dataDir = await embeddedFolder(config, shell, options);
  const port = database.kind === 'embedded' && dataDir === config.dataDir ? database.port : 0;
  return { kind: 'embedded', dataDir, pgBin: config.pgBin, port };
}

async function embeddedFolder(config: Config, shell: Shell, { which }: ReachOptions): Promise<string> {
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
