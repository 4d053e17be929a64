import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { unannouncedBetween } from '../../../src/events/webhook-store.ts';
import { storeEvent } from '../../../src/events/event-store.ts';
import { testDatabase } from '../../support/databases/migrated-database.ts';
import { MirroredAccount } from '../../support/mirror/mirrored-account.ts';
import { recipes } from '../../support/rules/recipes.ts';
import { eventOf } from '../../support/webhooks/signing.ts';

const database = testDatabase();
let users = 0;

/** Seconds after an arbitrary noon. */
const at = (seconds: number): Date => new Date(Date.UTC(2026, 0, 5, 12) + seconds * 1000);

/** An account whose webhook was registered at 0, and whose first load ended at `loaded`. */
class Account {
  readonly userId: string;
  #changes = 0;
  private constructor(userId: string) {
    this.userId = userId;
  }

  static async make(loaded: number | undefined = 10): Promise<Account> {
    users += 1;
    const account = new Account(String(users));
    const { userId } = account;
    await database.db
      .sql`insert into mirror_sync.registration (_user_id, state, registered_at) values (${userId}, 'registered', ${at(0)})`;
    if (loaded === undefined) return account;
    await database.db.sql`
      insert into mirror.sync_log (_user_id, walk_id, collection, kind, started_at, ended_at, outcome, pages, items,
        inserted, updated, deleted, unchanged, quarantined, requests, rate_limited)
      select ${userId}, row_number() over (), name, 'full', ${at(0)}, ${at(loaded)}, 'completed', 1, 0, 0, 0, 0, 0, 0, 1, 0
      from unnest(array['research_jobs', 'bulk_research_jobs', 'lists']) as name`;
    return account;
  }

  /** A job came at `came` and has had `status` since `changed`; `before`: what it was until then. */
  async job(id: number, came: number, changed: number, status: string, before?: string): Promise<void> {
    await this.row('research_jobs', 'job_id', id, came, changed, { status }, before);
  }

  async row(
    table: string,
    key: string,
    id: number,
    came: number,
    changed: number,
    raw: object,
    before?: string,
  ): Promise<void> {
    const put = async (name: string, more: string, value: object, since: number): Promise<void> => {
      this.#changes += 1;
      await database.db.sql`
        insert into ${sql.table(`mirror.${name}`)}
          (_user_id, ${sql.ref(key)}, _first_seen_at, _changed_at, _change_id, _hash, _raw ${sql.raw(more)})
        values (${this.userId}, ${id}, ${at(came)}, ${at(since)}, ${this.#changes}, '', ${JSON.stringify(value)}::text::jsonb
          ${more === '' ? sql`` : sql`, ${at(came)}, ${at(changed)}, 'update'`})`;
    };
    if (before !== undefined) {
      await put(`${table}_history`, ', _valid_from, _valid_to, _op', { status: before }, came);
    }
    await put(table, '', raw, changed);
  }

  async event(collection: string, key: string, received: number): Promise<void> {
    this.#changes += 1;
    await database.db.sql`
      insert into mirror.events (_user_id, id, received_at, _raw, _collection, _key)
      values (${this.userId}, ${String(this.#changes)}, ${at(received)}, '{}', ${collection}, ${key})`;
  }

  /** How many changes after the registration, and until then, no event announced. */
  unannounced(until = 10_000): Promise<number> {
    return unannouncedBetween(database.db, this.userId, at(0), at(until));
  }
}

describe('changes into a finished state', () => {
  it('are announced if an event came before their page was written', async () => {
    const account = await Account.make();
    await account.job(1, 20, 40, 'completed', 'processing');
    await account.event('research_jobs', '1', 39);
    await account.job(2, 20, 40, 'Failed', 'processing');
    await account.event('research_jobs', '2', 41);
    await account.job(3, 20, 40, 'completed', 'processing');
    await account.job(4, 20, 40, 'processing', 'queued');
    expect(await account.unannounced()).toBe(2);
  });

  it('include those of bulk jobs and lists, with either field of their state', async () => {
    const account = await Account.make();
    await account.row('bulk_research_jobs', 'bulk_job_id', 1, 20, 40, { state: 'done' }, 'running');
    await account.event('bulk_research_jobs', '1', 39);
    await account.row('lists', 'list_id', 1, 20, 40, { status: 'analyzed' }, 'analyzing');
    // A key is that of its own table.
    await account.event('research_jobs', '1', 39);
    expect(await account.unannounced()).toBe(1);
  });

  it('include rows that came finished, except those of the first load', async () => {
    const account = await Account.make(10);
    await account.job(1, 5, 5, 'completed');
    await account.job(2, 30, 30, 'completed');
    await account.event('research_jobs', '2', 29);
    await account.job(3, 31, 31, 'completed');
    expect(await account.unannounced()).toBe(1);
    const unloaded = await Account.make(undefined);
    await unloaded.job(1, 5, 5, 'completed');
    expect(await unloaded.unannounced()).toBe(0);
  });

  it('exclude changes before the registration, and later changes of finished rows', async () => {
    const account = await Account.make();
    await account.job(1, -50, -40, 'completed', 'processing');
    await account.job(2, 20, 40, 'completed', 'failed');
    expect(await account.unannounced()).toBe(0);
  });

  it('exclude later changes', async () => {
    const account = await Account.make();
    await account.job(1, 20, 40, 'completed', 'processing');
    await account.job(2, 20, 50, 'completed', 'processing');
    expect(await account.unannounced(40)).toBe(1);
  });

  it('are not announced by the event of an earlier change', async () => {
    const account = await Account.make();
    await account.event('research_jobs', '1', 30);
    // Finished at 30, opened again at 200, finished again at 400 without an event.
    await account.job(1, 200, 400, 'completed', 'processing');
    expect(await account.unannounced()).toBe(1);
  });

  it('include only the 1,000 rows of a table that changed last', async () => {
    const account = await Account.make();
    const { userId } = account;
    await database.db.sql`
      insert into mirror.research_jobs (_user_id, job_id, _first_seen_at, _changed_at, _change_id, _hash, _raw)
      select ${userId}, n, ${at(100)}::timestamptz + n * interval '1 second', ${at(100)}::timestamptz + n * interval '1 second',
        100 + n, '', '{"status": "completed"}'
      from generate_series(1, 1100) as n`;
    await database.db.sql`
      insert into mirror.events (_user_id, id, received_at, _raw, _collection, _key)
      select ${userId}, n::text, ${at(100)}::timestamptz, '{}', 'research_jobs', n::text
      from generate_series(1, 150) as n`;
    expect(await account.unannounced()).toBe(950);
  });
});

/** docs/recipes.md, "Events, and what they told". */
const RECIPE =
  (await recipes()).find(({ statement }) => statement.includes('as polled_first'))?.statement ?? '';

describe('the recipe that compares changes with events', () => {
  it('counts a change that an event announced, and those that a poll found first', async () => {
    const account = await MirroredAccount.make(database, '9001');
    const jobs = (...states: readonly string[]): string =>
      JSON.stringify(states.map((status, index) => ({ job_id: index + 1, status })));
    await account.page('research_jobs', jobs('queued', 'queued', 'queued', 'queued'));
    const deliver = async (id: number): Promise<void> => {
      const body = `{"id":"evt_${id}","type":"research.completed","data":{"job_id":${id}}}`;
      const event = eventOf(body);
      await storeEvent(database.db, account.fence.userId, event, event.rows);
    };
    await deliver(1);
    await account.page('research_jobs', jobs('completed', 'completed', 'failed', 'processing'));
    // Too late.
    await deliver(2);
    const { rows } = await sql<object>`${sql.raw(RECIPE.replaceAll('$1', account.fence.userId))}`.execute(
      database.kysely,
    );
    expect(rows).toEqual([{ collection: 'research_jobs', announced: '1', polled_first: '2' }]);
  });
});
