import { openTable, withServer } from '../../support/server.ts';
import type { Table } from './play.ts';

/** Tables to play on. Where one account's history is off, `as_of` answers for none: those have a database of their own. */
export interface Tables {
  of(game: { readonly history: boolean }): Table;
  close(): Promise<void>;
}

/** @param database gives the URL of an empty database */
export async function openTables(database: () => Promise<string>): Promise<Tables> {
  const [withHistory, without] = [await openTable(await database()), await openTable(await database())];
  return {
    of: ({ history }) => (history ? withHistory : without),
    close: async () => {
      await Promise.all([withHistory.close(), without.close()]);
    },
  };
}

/** Tables on a server of their own, while `work` lasts. */
export function withTables<T>(work: (tables: Tables) => Promise<T>): Promise<T> {
  return withServer(async (server) => {
    const tables = await openTables(() => server.database());
    try {
      return await work(tables);
    } finally {
      await tables.close();
    }
  });
}
