import { inject } from 'vitest';
import { migrateTo } from '../support/databases/migrated-database.ts';
import { createTestDatabase, onEachNode } from '../support/postgres/postgres.ts';

/** A mirror on the coordinator that is not distributed yet, with a database of its name on each worker. */
export interface PlainMirror {
  readonly url: string;
  drop(): Promise<void>;
}

/** @param migrated brings the database to a version; the present one where nothing is said */
export async function createPlainMirror(
  migrated: (url: string) => Promise<unknown> = (url) => migrateTo(url, 'mirror'),
): Promise<PlainMirror> {
  const database = await createTestDatabase();
  const name = new URL(database.url).pathname.slice(1);
  const { workers } = inject('testServer');
  await onEachNode(workers, `create database ${name} template template0 encoding 'UTF8'`);
  await migrated(database.url);
  return {
    url: database.url,
    drop: async () => {
      await database.drop();
      await onEachNode(workers, `drop database if exists ${name} with (force)`);
    },
  };
}
