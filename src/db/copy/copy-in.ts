import { once } from 'node:events';
import pg from 'pg';
import { databaseError } from '../connection/sql-state.ts';

/**
 * Runs `copy … from stdin` with `pieces`, at the pace at which the server takes them.
 * @returns how many rows went in
 * @throws what `pieces` throws, which rolls the statement back
 */
export async function copyIn(
  client: pg.Client,
  text: string,
  pieces: AsyncIterable<Buffer>,
): Promise<number> {
  let failure: unknown;
  try {
    return await new Promise<number>((resolve, reject) => {
      const feed = async (connection: CopyConnection): Promise<void> => {
        try {
          for await (const piece of pieces) {
            if (statement.over) return;
            connection.sendCopyFromChunk(piece);
            await drained(connection);
          }
          connection.endCopyFrom();
        } catch (error) {
          failure = error;
          connection.sendCopyFail('what is copied can’t be read');
        }
      };
      const statement = new CopyIn(text, (connection) => void feed(connection));
      statement.on('end', (result) => resolve((result as unknown as pg.QueryResult).rowCount ?? 0));
      statement.on('error', (error) => {
        statement.over = true;
        reject(error);
      });
      client.query(statement);
    });
  } catch (error) {
    throw failure ?? databaseError(error);
  }
}

/** What the driver has for COPY, and its types lack. */
interface CopyConnection extends pg.Connection {
  sendCopyFromChunk(piece: Buffer): void;
  endCopyFrom(): void;
  sendCopyFail(message: string): void;
}

/** Waits until the connection takes more. Of one that breaks the statement itself is told. */
async function drained({ stream }: pg.Connection): Promise<void> {
  if (!stream.writableNeedDrain || stream.destroyed) return;
  const either = new AbortController();
  const { signal } = either;
  await Promise.race([once(stream, 'drain', { signal }), once(stream, 'close', { signal })]).catch(() => {});
  either.abort();
}

class CopyIn extends pg.Query {
  readonly #onReady: (connection: CopyConnection) => void;
  /** The server has refused it: it reads no more. */
  over = false;

  constructor(text: string, onReady: (connection: CopyConnection) => void) {
    super(text);
    this.#onReady = onReady;
  }

  handleCopyInResponse(connection: CopyConnection): void {
    this.#onReady(connection);
  }
}
