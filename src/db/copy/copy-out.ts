import pg from 'pg';
import { databaseError } from '../connection/sql-state.ts';

/** Bytes that are handed on together; a row that has more goes alone. */
const PIECE = 256 * 1024;

/**
 * Runs `copy … to stdout`. No more than some pieces are in memory: while `take` works, nothing is read from the server.
 * @param take gets whole rows, and how many there were so far; its error ends the connection, and is thrown
 * @returns how many rows there were
 */
export async function copyOut(
  client: pg.Client,
  text: string,
  take: (piece: Buffer, rows: number) => Promise<void>,
): Promise<number> {
  const { stream } = client.connection;
  let rows = 0;
  let pieces = new Pieces();
  /** What was taken so far; its first failure ends all. */
  let taken = Promise.resolve();
  let untaken = 0;
  let failure: unknown;
  const takeNext = async (before: Promise<void>, piece: Buffer, soFar: number): Promise<void> => {
    await before;
    if (failure !== undefined) return;
    try {
      await take(piece, soFar);
    } catch (error) {
      failure = error;
      stream.destroy();
    }
    untaken -= 1;
    if (untaken === 0) stream.resume();
  };
  const handOn = (piece: Buffer): void => {
    untaken += 1;
    stream.pause();
    taken = takeNext(taken, piece, rows);
  };
  try {
    await new Promise<void>((resolve, reject) => {
      const statement = new CopyOut(text, (row) => {
        rows += 1;
        pieces = pieces.with(row, handOn);
      });
      statement.on('end', () => resolve());
      statement.on('error', reject);
      client.query(statement);
    });
  } catch (error) {
    await taken;
    throw failure ?? databaseError(error);
  }
  pieces.rest(handOn);
  await taken;
  if (failure !== undefined) throw failure;
  return rows;
}

/** The driver drops a copy's rows where there is no `handleCopyData`. */
class CopyOut extends pg.Query {
  readonly #onRow: (row: Buffer) => void;

  constructor(text: string, onRow: (row: Buffer) => void) {
    super(text);
    this.#onRow = onRow;
  }

  handleCopyData(message: { readonly chunk: Buffer }): void {
    this.#onRow(message.chunk);
  }
}

/** Rows joined into pieces: the driver uses the memory of a row again for the next one. */
class Pieces {
  readonly #buffer = Buffer.allocUnsafe(PIECE);
  #used = 0;

  with(row: Buffer, handOn: (piece: Buffer) => void): Pieces {
    if (this.#used + row.length <= PIECE) {
      this.#used += row.copy(this.#buffer, this.#used);
      return this;
    }
    this.rest(handOn);
    if (row.length <= PIECE) return new Pieces().with(row, handOn);
    handOn(Buffer.from(row));
    return new Pieces();
  }

  rest(handOn: (piece: Buffer) => void): void {
    if (this.#used > 0) handOn(this.#buffer.subarray(0, this.#used));
    this.#used = 0;
  }
}
