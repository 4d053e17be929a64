import type { Db } from '../../../src/postgres/db.ts';
import { sql } from 'kysely';
import { beforeEach } from 'vitest';
import { storeEvent } from '../../../src/events/event-store.ts';
import type { Fence } from '../../../src/postgres/fenced.ts';
import { type MigratedDatabase, testDatabase } from '../databases/migrated-database.ts';
import { MirroredAccount } from '../mirror/mirrored-account.ts';
import { eventOf } from './signing.ts';

/** A row of `events`. */
export interface EventRow {
  readonly id: string;
  readonly type: string | null;
  readonly created_at: string | null;
  readonly data: string | null;
  readonly raw: string;
  readonly verbatim: string | null;
  readonly names: string | null;
}

/** An account whose events are stored, each on an ID of its own. */
export class EventAccount {
  static #users = 0;
  readonly userId: string;
  readonly fence: Fence;
  readonly #database: MigratedDatabase;

  private constructor(database: MigratedDatabase, userId: string, fence: Fence) {
    this.#database = database;
    this.userId = userId;
    this.fence = fence;
  }

  static async make(database: MigratedDatabase): Promise<EventAccount> {
    EventAccount.#users += 1;
    const userId = String(EventAccount.#users);
    const { fence } = await MirroredAccount.make(database, userId);
    return new EventAccount(database, userId, fence);
  }

  store(body: string, db: Db = this.#database.db): Promise<'stored' | 'known'> {
    const event = eventOf(body);
    return storeEvent(db, this.userId, event, event.rows);
  }

  /** In the order in which they came. */
  async events(): Promise<EventRow[]> {
    const { rows } = await sql<EventRow>`
      select id, type, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') as created_at, data::text as data,
        _raw::text as raw, _verbatim as verbatim, _collection || '/' || _key as names
      from mirror.events where _user_id = ${this.userId} order by received_at, id`.execute(
      this.#database.kysely,
    );
    return rows;
  }

  /** As `collection/parent/key/seq`. */
  async hints(): Promise<string[]> {
    const { rows } = await sql<{ hint: string }>`
      select concat_ws('/', collection, parent, key, seq) as hint from mirror_sync.hint
      where _user_id = ${this.userId} order by 1`.execute(this.#database.kysely);
    return rows.map(({ hint }) => hint);
  }
}

/** To be called once in a test file: one database, and an account of its own for each test. */
export function eventAccounts(): { readonly database: MigratedDatabase; readonly account: EventAccount } {
  const database = testDatabase();
  const scene = { database, account: {} as EventAccount };
  beforeEach(async () => {
    scene.account = await EventAccount.make(database);
  });
  return scene;
}
