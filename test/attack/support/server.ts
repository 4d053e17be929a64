import { rm } from 'node:fs/promises';
import { openDatabase } from '../../../src/postgres/pool.ts';
import { distributeMirror, hasCitus } from '../../support/databases/distributed-database.ts';
import { migrateTo } from '../../support/databases/migrated-database.ts';
import { ask, openPool } from '../../support/postgres/on-connection.ts';
import { type AttackOptions, type AttackReport, type GameResult, type Games, playGames } from './attack.ts';
import { joinTestServer } from '../../support/postgres/postgres.ts';
import { openFolder } from '../../support/postgres/quick-folder.ts';

/**
 * Starts an embedded server in a temporary folder, for the attacks that do not attack it, and stops it when `work` is
 * over. `database` makes an empty database and gives its URL.
 */
export async function withServer<T>(
  work: (server: { readonly database: () => Promise<string> }) => Promise<T>,
): Promise<T> {
  const folder = await openFolder('research-mirror-attack');
  const server = await joinTestServer(folder);
  let databases = 0;
  const database = async (): Promise<string> => {
    databases += 1;
    const name = `attack_${databases}`;
    await ask(server.url, `create database ${name} template template0`);
    return Object.assign(new URL(server.url), { pathname: `/${name}` }).href;
  };
  try {
    return await work({ database });
  } finally {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Plays games on a database each, of one server. */
export function playOnServer(
  options: AttackOptions,
  {
    play,
    ...games
  }: Omit<Games, 'play'> & {
    readonly play: (seed: number, url: string, index: number) => Promise<GameResult>;
  },
): Promise<AttackReport> {
  return withServer(({ database }) =>
    playGames(options, { ...games, play: async (seed, index) => play(seed, await database(), index) }),
  );
}

/**
 * A migrated database, with a pool for the program's own queries and one for the checks; one of a Citus cluster is
 * distributed.
 */
export async function openTable(url: string) {
  const schema = 'mirror';
  await migrateTo(url, schema);
  const db = openPool(url, 10);
  if (await hasCitus(db)) await distributeMirror(url, schema);
  const database = await openDatabase({ url, schema, program: 'research-mirror attack', max: 30 });
  return {
    database: { ...database, url },
    db,
    close: async () => {
      await Promise.all([db.end(), database.close()]);
    },
  };
}
