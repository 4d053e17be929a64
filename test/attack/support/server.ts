import { rm } from 'node:fs/promises';
import type pg from 'pg';
import { openDatabase, type Database } from '../../../src/postgres/pool.ts';
import { distributeMirror, hasCitus } from '../../support/databases/distributed-database.ts';
import { migrateTo } from '../../support/databases/migrated-database.ts';
import { ask, openPool } from '../../support/postgres/on-connection.ts';
import { type AttackOptions, type AttackReport, type GameResult, type Games, playGames } from './attack.ts';
import { joinTestServer } from '../../support/postgres/postgres.ts';
import { openFolder } from '../../support/postgres/quick-folder.ts';

/** A database server for the attacks that do not attack it. */
interface Server {
  /** URL of a database of its own on it, empty. */
  database(): Promise<string>;
}

/** Starts an embedded server in a temporary folder, and stops it when `work` is over. */
export async function withServer<T>(work: (server: Server) => Promise<T>): Promise<T> {
  const folder = await openFolder('research-mirror-attack');
  const server = await joinTestServer(folder);
  let databases = 0;
  const database = async (): Promise<string> => {
    databases += 1;
    const name = `attack_${databases}`;
    await ask(server.url, `create database ${name} template template0`);
    const url = new URL(server.url);
    url.pathname = `/${name}`;
    return url.href;
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
  games: Omit<Games, 'play'> & {
    readonly play: (seed: number, url: string, index: number) => Promise<GameResult>;
  },
): Promise<AttackReport> {
  return withServer((server) =>
    playGames(options, {
      ...games,
      play: async (seed, index) => games.play(seed, await server.database(), index),
    }),
  );
}

/**
 * A migrated database, with a pool for the program's own queries and one for the checks; one of a Citus cluster is
 * distributed.
 */
export async function openTable(
  url: string,
): Promise<{ database: Database & { url: string }; db: pg.Pool; close(): Promise<void> }> {
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
