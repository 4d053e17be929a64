import { sql } from 'kysely';
import { afterEach } from 'vitest';
import { createApi } from '../../../src/service/api.ts';
import { createTransport, type Transport } from '../../../src/service/transport.ts';
import { PRIORITY } from '../../../src/service/rate-groups.ts';
import { receivingAccounts } from '../../../src/events/receiving-accounts.ts';
import { webhookStore } from '../../../src/events/webhook-store.ts';
import type { Fence } from '../../../src/postgres/fenced.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { Stopped } from '@research-mirror/runtime/service';
import { registrar, type RegistrarOptions } from '../../../src/events/registrar.ts';
import { type MigratedDatabase, testDatabase } from '../databases/migrated-database.ts';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { openBudget } from '../budget/open-budget.ts';
import { startTestSandbox, STILL, type TestSandbox } from '@research-mirror/sandbox/testing/sandbox';
import { earlier } from '../postgres/earlier.ts';

export const PUBLIC_URL = 'https://mirror.example.com';

/** An account's registrar between real Postgres and the emulated service; and receivers, as in other processes. */
export class RegisteredAccount {
  readonly sandbox: TestSandbox;
  readonly database: MigratedDatabase;
  readonly userId: string;
  readonly changed: string[] = [];
  readonly lines: string[] = [];
  /** Secrets that receivers asked to hide. */
  readonly hidden = new Set<string>();
  options: Partial<RegistrarOptions> = {};
  fence: Fence;
  /** The error that ended the registrar's loop. */
  ended: unknown;
  #jobs = 0;
  readonly #transport: Transport;
  #life = new AbortController();
  #running: Promise<void> = Promise.resolve();

  private constructor(sandbox: TestSandbox, database: MigratedDatabase) {
    this.sandbox = sandbox;
    this.database = database;
    this.userId = String(sandbox.userId);
    this.fence = { userId: this.userId, owner: 'tests', token: '1' };
    this.#transport = createTransport({ baseUrl: sandbox.url, clock: systemClock, userAgent: 'tests' });
  }

  /** @param nth of the database's accounts */
  static async make(database: MigratedDatabase, nth: number): Promise<RegisteredAccount> {
    const keys = `key-${nth}=${nth}`;
    const sandbox = await startTestSandbox({ ...STILL, limits: 'off', jobs: 0, keys });
    await sql`
      insert into ${database.db.stateTable('account')} (_user_id, owner, token, created_at)
      values (${sandbox.userId}, 'tests', 1, now())`.execute(database.kysely);
    return new RegisteredAccount(sandbox, database);
  }

  start(): void {
    this.#life = new AbortController();
    const { signal } = this.#life;
    const { db } = this.database;
    const api = createApi({
      transport: this.#transport,
      key: this.sandbox.key,
      budget: openBudget(),
      clock: systemClock,
      random: Math.random,
      scrub: (text) => text,
    });
    const say = (line: unknown): void => void this.lines.push(String(line));
    const run = registrar({
      userId: this.userId,
      publicUrl: PUBLIC_URL,
      takeover: 'if-empty',
      service: async (request) => {
        const answer = await api.once({
          ...request,
          path: request.route,
          signal: new AbortController().signal,
          priority: PRIORITY.HINT,
        });
        return answer && { ...answer, words: '' };
      },
      store: webhookStore(db, this.fence, ({ table, changeId }) => this.changed.push(`${table} ${changeId}`)),
      clock: systemClock,
      log: { info: say, warn: say, debug: say },
      hide: () => {},
      whyAstray: () => Promise.resolve(undefined),
      onRegistered: () => {},
      ...this.options,
    });
    this.#running = run(signal).catch((error: unknown) => {
      if (!signal.aborted) this.ended = error;
    });
  }

  /** Its registrar looks at once what is registered, as that of a process which takes the account. */
  async restart(): Promise<void> {
    await this.stop();
    this.start();
  }

  async stop(): Promise<void> {
    this.#life.abort(new Stopped('the registrar'));
    await this.#running;
  }

  /** Receivers of a process of their own: what they remember is theirs. */
  receivers(options: Partial<Parameters<typeof receivingAccounts>[0]> = {}) {
    return receivingAccounts({
      db: this.database.db,
      clock: systemClock,
      allPinged: () => true,
      hide: (secret) => this.hidden.add(secret),
      ...options,
    });
  }

  /** Moves all stored moments of the registration back by so many minutes, as if time had passed. */
  async age(minutes: number): Promise<void> {
    const before = (name: string) => sql.raw(earlier(name, `${minutes} minutes`));
    const moments = [
      'secret_at',
      'previous_until',
      'registering_at',
      'registered_at',
      'checked_at',
      'verified_at',
    ].map((name) => sql`${sql.id(name)} = ${before(name)}`);
    const own = `${this.database.db.schema}_sync`;
    await this.database.kysely.transaction().execute(async (trx) => {
      await sql`
        update ${sql.id(own, 'registration')} set ${sql.join(moments)},
          replaced_at = array(select ${before('at')} from unnest(replaced_at) as at)
        where _user_id = ${this.userId}`.execute(trx);
      await sql`
        update ${sql.id(own, 'own_url')} set registered_at = ${before('registered_at')}
        where _user_id = ${this.userId}`.execute(trx);
    });
  }

  /** Stores `count` finished jobs that a reading found eleven minutes ago and no verified delivery announced. */
  async finish(count: number): Promise<void> {
    const { kysely } = this.database;
    const at = sql.raw(`now() - interval '11 minutes'`);
    await sql`
      insert into mirror.sync_log (_user_id, walk_id, collection, kind, started_at, ended_at, outcome, pages, items,
        inserted, updated, deleted, unchanged, quarantined, requests, rate_limited)
      values (${this.userId}, 1, 'research_jobs', 'full', now() - interval '2 days', now() - interval '2 days', 'completed',
        1, 0, 0, 0, 0, 0, 0, 1, 0)
      on conflict do nothing`.execute(kysely);
    for (let each = 0; each < count; each += 1) {
      this.#jobs += 1;
      await sql`
        insert into mirror.research_jobs (_user_id, job_id, _first_seen_at, _changed_at, _change_id, _hash, _raw)
        values (${this.userId}, ${this.#jobs}, ${at}, ${at}, ${this.#jobs}, '', '{"status":"completed"}')`.execute(
        kysely,
      );
    }
  }

  /** The one row of a query; `mirror` in it is the schema. */
  async row<T>(text: string): Promise<T | undefined> {
    return (await sql<T>`${sql.raw(text)}`.execute(this.database.kysely)).rows[0];
  }

  registration(): Promise<Record<string, unknown> | undefined> {
    return this.row(`select * from mirror_sync.registration where _user_id = ${this.userId}`);
  }

  /** Requests of that method: `GET`, `POST` (registers), `DELETE`. */
  async asked(method: string): Promise<number> {
    return (await this.sandbox.control.log()).filter((request) => request.method === method).length;
  }

  /** Lets the account's next registrar look some time later, and waits until it has stored what it saw. */
  async look(minutes = 16): Promise<void> {
    await this.age(minutes);
    const before = await this.registration();
    await this.restart();
    await eventually('a look at the webhook', async () => {
      const { checked_at: checkedAt } = (await this.registration()) ?? {};
      return String(checkedAt) !== String(before?.['checked_at']);
    });
  }

  /** Waits until the registration is in this state. */
  async until(state: string): Promise<void> {
    await eventually(`state ${state}`, async () => (await this.registration())?.['state'] === state);
  }

  async close(): Promise<void> {
    await this.stop();
    await Promise.all([this.#transport.close(), this.sandbox.stop()]);
  }
}

/**
 * Accounts with a registrar and a service of their own each, in one database. To be called once in a test file; an
 * account is closed after the test that made it.
 */
export function registeredAccounts() {
  const database = testDatabase();
  let users = 0;
  const open: RegisteredAccount[] = [];
  afterEach(async () => {
    for (const account of open.splice(0)) await account.close();
  });
  /** Its registrar does not run yet. */
  const make = async (): Promise<RegisteredAccount> => {
    users += 1;
    const account = await RegisteredAccount.make(database, users);
    open.push(account);
    return account;
  };
  const registered = async (): Promise<RegisteredAccount> => {
    const account = await make();
    account.start();
    await account.until('registered');
    return account;
  };
  return { database, make, registered };
}
