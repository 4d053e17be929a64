import { sql } from 'kysely';
import type { CollectionName, Scope } from '../../src/model/collections.ts';
import type { Fence } from '../../src/model/fence.ts';
import { collection } from '../../src/model/collections.ts';
import { fieldSource, sliceElements } from '../../src/model/json-text.ts';
import { readKey } from '../../src/model/key.ts';
import type { Item } from '../../src/model/page.ts';
import { createMirror } from '../../src/mirror/create-mirror.ts';
import type { Mirror, MirrorOptions } from '../../src/mirror/mirror.ts';
import type { PageResult, PageWrite } from '../../src/mirror/page-write.ts';
import { openScope, type StoredScope } from '../../src/mirror/scope-store.ts';
import type { MigratedDatabase } from './migrated-database.ts';

/** An account in a test database, and pages written for it. */
export class MirroredAccount {
  readonly database: MigratedDatabase;
  readonly mirror: Mirror;
  readonly fence: Fence;
  readonly #obs = new Map<string, number>();

  private constructor(database: MigratedDatabase, fence: Fence, options: Partial<MirrorOptions>) {
    this.database = database;
    this.fence = fence;
    this.mirror = createMirror(database.kysely, {
      schema: database.schema,
      schemaDrift: 'add',
      ignoreFields: noFields(),
      excludeFields: noFields(),
      settleMs: 60_000,
      deletes: 'soft',
      history: true,
      stateOf: (_collection, item) =>
        item.fields['status'] === 'failed'
          ? 'failed'
          : item.fields['status'] === 'open'
            ? 'open'
            : 'finished',
      ...options,
    });
  }

  static async make(
    database: MigratedDatabase,
    userId: string,
    options: Partial<MirrorOptions> = {},
  ): Promise<MirroredAccount> {
    await sql`
      insert into ${sql.id(`${database.schema}_sync`, 'account')} (_user_id, owner, token, created_at)
      values (${userId}, 'tests', 1, now()) on conflict do nothing`.execute(database.kysely);
    return new MirroredAccount(database, { userId, owner: 'tests', token: '1' }, options);
  }

  scope(name: CollectionName, parent = ''): Scope {
    return { userId: this.fence.userId, collection: name, parent };
  }

  /** Writes a page given as a JSON array of items, as the next observation of its scope. */
  async page(
    name: CollectionName,
    itemsJson: string,
    more: Partial<PageWrite> & { readonly parent?: string } = {},
  ): Promise<PageResult> {
    const { parent = '', ...write } = more;
    const scope = this.scope(name, parent);
    const id = `${name}/${parent}`;
    const last =
      this.#obs.get(id) ?? (await openScope(this.database.kysely, this.database.schema, scope)).lastObs;
    this.#obs.set(id, last + 1);
    return this.mirror.applyPage(this.fence, {
      scope,
      obs: last + 1,
      items: itemsOf(name, itemsJson),
      sentAgo: () => 0,
      decide: () => ({ scope: {} }),
      ...write,
    });
  }

  /** Writes an answer of the account endpoint. */
  async single(json: string): Promise<PageResult> {
    const stored = await openScope(this.database.kysely, this.database.schema, this.scope('account'));
    const [item] = itemsOf('account', `[${json}]`);
    if (item === undefined) throw new Error('no item');
    return this.mirror.applySingle(this.fence, {
      collection: 'account',
      obs: stored.lastObs + 1,
      item,
      sentAgo: () => 0,
      decide: () => ({ scope: {} }),
    });
  }

  storedScope(name: CollectionName, parent = ''): Promise<StoredScope> {
    return openScope(this.database.kysely, this.database.schema, this.scope(name, parent));
  }

  /** Rows of a query; `mirror` in it is the schema. */
  async query<T>(text: string): Promise<T[]> {
    return (await sql<T>`${sql.raw(text)}`.execute(this.database.kysely)).rows;
  }
}

/** Items as the API client cuts them out of a body. */
export function itemsOf(name: CollectionName, json: string): Item[] {
  const entry = collection(name);
  const parsed = JSON.parse(json) as Record<string, unknown>[];
  return sliceElements(json, []).map((source, index) => {
    const reading =
      entry.kind === 'list' ? readKey(entry.keyType, fieldSource(source, entry.keyField)) : { key: '' };
    return {
      source,
      fields: parsed[index] ?? {},
      key: 'key' in reading ? reading.key : undefined,
      problem: 'problem' in reading ? reading.problem : undefined,
    };
  });
}

export function noFields(): Record<CollectionName, readonly string[]> {
  return {
    account: [],
    research_jobs: [],
    bulk_research_jobs: [],
    lists: [],
    list_items: [],
    watchlist: [],
  };
}
