import pg from 'pg';

/** Key of the advisory lock that every program on an embedded server holds in shared mode. */
const LOCK = 7_307_251;

/** What @types/pg leaves out. */
type Referenced = pg.Client & { ref(): void; unref(): void };

/**
 * A program's registration at the embedded server: one connection that holds a shared advisory lock as long as the
 * program lives. The server releases the lock when the program is killed. A program that wants to stop the server
 * takes the lock exclusively and keeps it until the server has stopped: a program that connects meanwhile waits for
 * the lock, loses its connection with the server, and starts the server again.
 */
export class ProgramSession {
  readonly #client: pg.Client;
  /** Resolves when the connection is closed or lost. */
  readonly lost: Promise<void>;

  private constructor(client: pg.Client) {
    this.#client = client;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.lost = promise;
    client.on('error', () => resolve());
    client.on('end', () => resolve());
  }

  /**
   * @param name `application_name` of the connection
   * @throws pg's errors: the server is not running, is starting or stopping, or rejects the password
   */
  static async open(url: string, name: string): Promise<ProgramSession> {
    const client = new pg.Client({
      connectionString: url,
      ssl: false,
      application_name: name,
      keepAlive: true,
      connectionTimeoutMillis: 5_000,
    });
    const session = new ProgramSession(client);
    try {
      await client.connect();
      await client.query('select pg_advisory_lock_shared($1)', [LOCK]);
    } catch (error) {
      client.end().catch(() => {});
      throw error;
    }
    // This connection alone does not keep the process alive.
    (client as Referenced).unref();
    return session;
  }

  /**
   * Gives up the shared lock and tries to take the exclusive one.
   * @returns true when no other program is registered: none can register until this session is closed. False when
   * another one is: this session's registration has ended
   */
  async lockOthersOut(): Promise<boolean> {
    (this.#client as Referenced).ref();
    await this.#client.query('select pg_advisory_unlock_shared($1)', [LOCK]);
    const { rows } = await this.#client.query<{ alone: boolean }>(
      'select pg_try_advisory_lock($1) as alone',
      [LOCK],
    );
    return rows[0]?.alone === true;
  }

  /**
   * What the C library or ICU sorts otherwise than when the database's texts were: its name, its version then and now.
   * Of what an index rests on; undefined where there is nothing.
   */
  async foreignCollation(): Promise<string | undefined> {
    // Who asks waits for the answer, perhaps with nothing else to do.
    (this.#client as Referenced).ref();
    const { rows } = await this.#client.query<{ name: string; made: string; here: string }>(
      `select name, made, here from (
         select datcollate as name, datcollversion as made, pg_database_collation_actual_version(oid) as here
         from pg_database where datname = current_database()
         union all
         select collname, collversion, pg_collation_actual_version(oid)
         from pg_collation where oid in (select unnest(indcollation::oid[]) from pg_index)
       ) as used where made <> here limit 1`,
    );
    (this.#client as Referenced).unref();
    const [found] = rows;
    return (
      found && `version ${found.made} of the collation "${found.name}", and this PostgreSQL has ${found.here}`
    );
  }

  async close(): Promise<void> {
    await this.#client.end().catch(() => {});
  }
}
