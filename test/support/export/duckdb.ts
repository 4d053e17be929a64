import { DuckDBInstance } from '@duckdb/node-api';

/** DuckDB in memory: a reader of Parquet and CSV that shares no code with the writer. */
export interface DuckDb {
  /** The rows of an answer. */
  ask(text: string): Promise<readonly (readonly unknown[])[]>;
  /** Columns of a file and their types, as DuckDB understands them. */
  typesOf(path: string): Promise<Readonly<Record<string, string>>>;
  close(): void;
}

export async function openDuckDb(): Promise<DuckDb> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  const ask = async (text: string): Promise<unknown[][]> => {
    const answer = await connection.runAndReadAll(text);
    return answer.getRows();
  };
  return {
    ask,
    typesOf: async (path) => {
      const rows = await ask(`describe select * from ${quoted(path)}`);
      return Object.fromEntries(rows.map(([name, type]) => [String(name), String(type)]));
    },
    close: () => {
      connection.closeSync();
      instance.closeSync();
    },
  };
}

/** As a literal of SQL: a text, the name of a file. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
