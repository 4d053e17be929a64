import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { embeddedState, type EmbeddedState } from '@research-mirror/embedded-postgres/embedded-state';
import { startEmbedded } from '@research-mirror/embedded-postgres/start';
import type { ConnectionOptions } from '../../db/connection/pool.ts';
import { sqlLogin } from '../../db/roles/sql-login.ts';
import { readerUrl } from '../../db/roles/embedded-reader.ts';
import { Unusable } from '@research-mirror/runtime/errors';
import type { Logger } from '@research-mirror/runtime/logger';
import type { Shell } from '../terminal/shell.ts';
import { shortPath } from '../terminal/short-path.ts';

/** A mirror's database that a command has reached. */
export interface MirrorDatabase {
  readonly connection: ConnectionOptions;
  /** Past a transaction pooler, where such a way is configured. */
  readonly direct: ConnectionOptions;
  /**
   * For statements of somebody's own, those to be tried first to last: a login that only reads, which the program has
   * made; of DATABASE_URL its own, and one that a DBA has made beside it.
   */
  readers(): Promise<readonly ConnectionOptions[]>;
  /** For people, without password: `embedded Postgres in data, port 54329`. */
  readonly words: string;
  /** Closes the connection; an embedded server that no other program uses stops. */
  leave(): Promise<void>;
}

export interface ReachOptions {
  /** `research-mirror sql`: what the database's own lists of connections show. */
  readonly program: string;
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
  const { database } = config;
  if (database.kind === 'external' && options.which !== 'demo') {
    const common = { variables: database.variables(), program: options.program };
    const connection = { ...common, url: database.url.reveal() };
    return {
      connection,
      readers: () => Promise.resolve([connection, { ...connection, as: sqlLogin(config.schema) }]),
      direct: { ...common, url: (database.directUrl ?? database.url).reveal() },
      words: 'the Postgres of DATABASE_URL',
      leave: () => Promise.resolve(),
    };
  }
  const dataDir = await embeddedFolder(config, shell, options);
  const port = database.kind === 'embedded' && dataDir === config.dataDir ? database.port : 0;
  const server = await startEmbedded({
    dataDir,
    port: port === 0 ? 'free' : port,
    program: options.program,
    log: options.log,
    clock: shell.clock,
    signal: shell.signal,
  });
  shell.scrubber.hide(new URL(server.url).password);
  const connection = { url: server.url, program: options.program };
  return {
    connection,
    direct: connection,
    readers: async () => {
      const url = await readerUrl(server.url, await server.readerPassword(), config.schema, options.program);
      shell.scrubber.hide(new URL(url).password);
      return [{ ...connection, url }];
    },
    words: `embedded Postgres in ${shortPath(dataDir)}, port ${server.port}`,
    leave: () => server.stop(),
  };
}

async function embeddedFolder(config: Config, shell: Shell, { which }: ReachOptions): Promise<string> {
  const folders = { own: config.dataDir, demo: demoFolder(config) };
  if (which === 'own or new') return folders.own;
  const own = await embeddedState(folders.own);
  const demo = await embeddedState(folders.demo);
  const choice = which === 'likely' ? chooseMirror(own, demo, config.service !== undefined) : which;
  if ((choice === 'own' ? own : demo) === 'absent') {
    throw new Unusable(
      `there is no mirror in ${folders[choice]} yet: "npm run demo" shows one, ` +
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
