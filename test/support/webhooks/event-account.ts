import { beforeEach } from 'vitest';
import { storeEvent } from '../../../src/events/event-store.ts';
import type { Db } from '../../../src/postgres/db.ts';
import type { Fence } from '../../../src/postgres/fenced.ts';
import { type MigratedDatabase, testDatabase } from '../databases/migrated-database.ts';
import { MirroredAccount } from '../mirror/mirrored-account.ts';
import { eventOf } from './signing.ts';

/** An account whose events are stored, each on an ID of its own. */
export class EventAccount {
  static #users = 0;
  readonly fence: Fence;
  readonly #db: Db;

  private constructor({ database: { db }, fence }: MirroredAccount) {
    this.#db = db;
    this.fence = fence;
  }

  static async make(database: MigratedDatabase): Promise<EventAccount> {
    return new EventAccount(await MirroredAccount.make(database, String((EventAccount.#users += 1))));
  }

  get userId(): string {
    return this.fence.userId;
  }

  store(body: string, db: Db = this.#db): Promise<'stored' | 'known'> {
    const event = eventOf(body);
    return storeEvent(db, this.userId, event, event.rows);
  }

  /** In the order in which they came. */
  async events() {
    const { rows } = await this.#db.sql<Record<'id' | 'raw' | 'names', string | null>>`
      select id, type, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') as created_at, data::text as data,
        _raw::text as raw, _verbatim as verbatim, _collection || '/' || _key as names
      from mirror.events where _user_id = ${this.userId} order by received_at, id`;
    return rows;
  }

  /** As `collection/parent/key/seq`. */
  async hints(): Promise<string[]> {
    const { rows } = await this.#db.sql<{ hint: string }>`
      select concat_ws('/', collection, parent, key, seq) as hint from mirror_sync.hint
      where _user_id = ${this.userId} order by 1`;
    return rows.map(({ hint }) => hint);
  }
}

/** To be called once in a test file: one database, and an account of its own for each test. */
export function eventAccounts() {
  const database = testDatabase();
  const scene = { database, account: {} as EventAccount };
  beforeEach(async () => {
    scene.account = await EventAccount.make(database);
  });
  return scene;
}
