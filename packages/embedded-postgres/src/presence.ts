import pg from 'pg';

/** `key` of the advisory lock by which the programs on one embedded server know of each other. */
const LOCK = 7_307_251;

/** What @types/pg leaves out. */
type Referenced = pg.Client & { ref(): void; unref(): void };

/**
 * A program's presence at the embedded server: one connection that holds a shared advisory lock for as long as the
 * program lives; the server itself releases it when the program is killed. Who wants to stop the server needs the
 * lock alone, and keeps it until the server is gone: whoever arrives in between waits, and starts it again.
 */
export class Presence {
  readonly #client: pg.Client;
  /** Resolves when the connection is gone. */
  readonly lost: Promise<void>;

  private constructor(client: pg.Client) {
    this.#client = client;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.lost = promise;
    client.on('error', () => resolve());
    client.on('end', () => resolve());
  }

  /** @throws pg's errors: the server is absent, starting or stopping, or the password is wrong */
  static async at(url: string, name: string): Promise<Presence> {
    const client = new pg.Client({
      connectionString: url,
      ssl: false,
      application_name: name,
      keepAlive: true,
      connectionTimeoutMillis: 5_000,
    });
    const presence = new Presence(client);
    try {
      await client.connect();
      await client.query('select pg_advisory_lock_shared($1)', [LOCK]);
    } catch (error) {
      client.end().catch(() => {});
      throw error;
    }
    // A program that has nothing else to do may end without saying goodbye.
    (client as Referenced).unref();
    return presence;
  }

  /**
   * True when no other program is present, and none will be let in until this connection ends.
   * False when another one is: this one's presence has ended then.
   */
  async isLast(): Promise<boolean> {
    (this.#client as Referenced).ref();
    await this.#client.query('select pg_advisory_unlock_shared($1)', [LOCK]);
    const { rows } = await this.#client.query<{ alone: boolean }>(
      'select pg_try_advisory_lock($1) as alone',
      [LOCK],
    );
    return rows[0]?.alone === true;
  }

  /** Waits until no other client's transaction is open, `bound` milliseconds at most by the server's clock. */
  async drain(bound: number): Promise<void> {
    await this.#client.query(
      `do $$
       declare give_up timestamptz := clock_timestamp() + ${Math.trunc(bound)} * interval '1 ms';
       begin
         while clock_timestamp() < give_up and exists (
           select 1 from pg_stat_activity
           where backend_type = 'client backend' and pid <> pg_backend_pid() and xact_start is not null
         ) loop
           perform pg_sleep(0.02);
           perform pg_stat_clear_snapshot();
         end loop;
       end $$`,
    );
  }

  async end(): Promise<void> {
    await this.#client.end().catch(() => {});
  }
}
