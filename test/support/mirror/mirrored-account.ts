import { sql } from 'kysely';
import { earlier } from '../postgres/earlier.ts';
import { type CollectionName, type Scope, collection, COLLECTION_NAMES } from '../../../src/model/collections.ts';
import type { Fence } from '../../../src/postgres/fenced.ts';
import { type Item, stateOf } from '../../../src/model/page.ts';
import { fieldSource, sliceElements } from '../../../src/model/json-text.ts';
import { readKey } from '../../../src/model/key.ts';
import { newMemory } from '../../../src/walk/memory.ts';
import { beginPoll } from '../../../src/walk/poll.ts';
import type { DeletionResult } from '../../../src/mirror/apply-deletions.ts';
import { Mirror, type MirrorOptions } from '../../../src/mirror/mirror.ts';
import type { PageResult, ScopeChange } from '../../../src/mirror/page-record.ts';
import { openScope, type StoredScope } from '../../../src/mirror/scope-store.ts';
import { suspectsOf } from '../../../src/mirror/suspect-store.ts';
import type { SuspectedDeletion } from '../../../src/model/absence.ts';
import type { MigratedDatabase } from '../databases/migrated-database.ts';
import { lines } from './lines.ts';
import { OPERATOR } from './operator.ts';
import { type GivenPage, pageRecord } from './page-record.ts';

/** The account's nth change ID: in tests they begin beyond the clock, so that they count up by one. */
export function changeId(nth: number): string {
  return String(9_000_000_000_000_000n + BigInt(nth));
}

/** The accounts' monotonic clock stands still. */
const NOW = 0;

/** @param sentAgo milliseconds since the page's request was sent */
type PageOptions = GivenPage & { readonly parent?: string; readonly sentAgo?: number };

const POLL = beginPoll(newMemory('bigint'), { overlapKey: null, now: 0 }).walk;

/** An account in a test database, and pages written for it. */
export class MirroredAccount {
  readonly database: MigratedDatabase;
  readonly mirror: Mirror;
  readonly fence: Fence;
  /** MIRROR_SETTLE, milliseconds. */
  readonly gracePeriodMs: number;
  /** Observations by scope, as a session knows them; a scope whose list is deleted counts from the beginning. */
  readonly #committed = new Map<string, number>();

  private constructor(database: MigratedDatabase, fence: Fence, options: Partial<MirrorOptions>) {
    this.database = database;
    this.fence = fence;
    this.gracePeriodMs = options.gracePeriodMs ?? 60_000;
    this.mirror = new Mirror(database.db, {
      schemaDrift: 'add',
      ignoreFields: noFields(),
      excludeFields: noFields(),
      gracePeriodMs: this.gracePeriodMs,
      deletes: 'soft',
      history: true,
      clock: { monotonic: () => NOW },
      ...options,
    });
  }

  static async make(
    database: MigratedDatabase,
    userId: string,
    options: Partial<MirrorOptions> = {},
  ): Promise<MirroredAccount> {
    await sql`
      insert into ${database.db.stateTable('account')} (_user_id, owner, token, change_id, created_at)
      values (${userId}, 'tests', 1, ${changeId(0)}::bigint, now()) on conflict do nothing`.execute(database.kysely);
    return new MirroredAccount(database, { userId, owner: 'tests', token: '1' }, options);
  }

  scope(name: CollectionName, parent = ''): Scope {
    return { userId: this.fence.userId, collection: name, parent };
  }

  /** Writes a page given as a JSON array of items, as the next observation of its scope. */
  async page(
    name: CollectionName,
    itemsJson: string,
    { parent = '', sentAgo = 0, ...given }: PageOptions = {},
  ): Promise<PageResult> {
    const scope = this.scope(name, parent);
    const id = `${name}/${parent}`;
    const last = this.#committed.get(id) ?? (await this.storedScope(name, parent)).lastObs;
    this.#committed.delete(id);
    const { obs = last + 1, after = last } = given;
    const record = pageRecord(
      { scope, obs, after },
      { items: itemsOf(name, itemsJson), sentAfter: NOW - sentAgo, ...given },
    );
    const result = await this.mirror.applyPage(this.fence, record);
    if (result.state === 'applied') this.#committed.set(id, obs);
    return result;
  }

  /** Writes a page as a walk does: what it shows about suspected deletions is judged and stored with it. */
  observe(name: CollectionName, itemsJson: string, page: PageOptions = {}): Promise<PageResult> {
    return this.page(name, itemsJson, { walk: POLL, ...page });
  }

  /** Stores a change of the scope, as at the end of a walk. */
  async note(name: CollectionName, change: ScopeChange, parent = ''): Promise<void> {
    const { lastObs } = await this.storedScope(name, parent);
    await this.mirror.endWalk(this.fence, this.scope(name, parent), { scope: change }, lastObs);
  }

  async applyDeletions(name: CollectionName, { parent = '', accept = false } = {}): Promise<DeletionResult> {
    this.#committed.clear();
    const { lastObs } = await this.storedScope(name, parent);
    return this.mirror.applyDeletions(this.fence, this.scope(name, parent), {
      accept: accept && OPERATOR,
      obs: lastObs,
    });
  }

  suspects(name: CollectionName, parent = ''): Promise<SuspectedDeletion[]> {
    return suspectsOf(this.database.db, this.scope(name, parent));
  }

  /** Lets time pass: everything that happened in the account so far did so `ms` milliseconds earlier. */
  async age(ms: number): Promise<void> {
    const moments = new Map([
      ['mirror_sync.candidate', ['at', 'served_at', 'proven_at']],
      ['mirror_sync.deletions', ['hour']],
    ]);
    for (const name of COLLECTION_NAMES) {
      moments.set(`mirror.${name}`, ['_first_seen_at', '_changed_at', '_deleted_at']);
      moments.set(`mirror.${name}_history`, ['_changed_at', '_valid_from', '_valid_to']);
    }
    const updates = [...moments].map(([table, columns]) => {
      const set = columns.map((name) => `${name} = ${earlier(name, `${ms} milliseconds`)}`).join();
      return `update ${table} set ${set} where _user_id = ${this.fence.userId}`;
    });
    await this.query(updates.join(';'));
  }

  /**
   * Writes an answer of the account endpoint.
   * @param copiedMs age of the answer in an intermediate cache
   */
  single(json: string, copiedMs?: number): Promise<PageResult> {
    const copied = { sentAgo: copiedMs ?? 0, served: { date: undefined, ageMs: copiedMs ?? 0 } };
    return this.page('account', `[${json}]`, copiedMs === undefined ? {} : copied);
  }

  storedScope(name: CollectionName, parent = ''): Promise<StoredScope> {
    return openScope(this.database.db, this.scope(name, parent));
  }

  /** Rows of a query; `mirror` in it is the schema. */
  async query<T>(text: string): Promise<T[]> {
    return (await sql<T>`${sql.raw(text)}`.execute(this.database.kysely)).rows;
  }

  /** The account's rows of a table, each as its values with a blank between; NULL: `-`. */
  rowsOf(columns: string, table: string, more = 'order by 1'): Promise<readonly string[]> {
    return lines(this, `select ${columns} from ${table} where _user_id = ${this.fence.userId} ${more}`);
  }
}

/** Items as the API client cuts them out of a body. */
export function itemsOf(name: CollectionName, json: string): Item[] {
  const entry = collection(name);
  const parsed = JSON.parse(json) as Record<string, unknown>[];
  return sliceElements(json, []).map((source, index) => {
    const reading = entry.kind === 'list' ? readKey(entry.keyType, fieldSource(source, entry.keyField)) : { key: '' };
    return {
      source,
      state: stateOf(parsed[index] ?? {}),
      key: 'key' in reading ? reading.key : undefined,
      problem: 'problem' in reading ? reading.problem : undefined,
    };
  });
}

export function noFields(): Record<CollectionName, readonly string[]> {
  return Object.fromEntries(COLLECTION_NAMES.map((name) => [name, []])) as never;
}
