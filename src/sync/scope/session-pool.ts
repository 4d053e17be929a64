import { type ListCollection, type Scope, scopeName } from '../../model/collections.ts';
import type { AccountStore } from '../reader/account-store.ts';
import { ScopeSession } from './scope-session.ts';

/**
 * One session for each scope that is being read: its readers share it. When the last of them is done, the session is
 * dropped: ten thousand lists are rows in Postgres, not memory, and after a failure with unknown outcome the next
 * reader begins with what the database has.
 */
export class SessionPool {
  readonly #store: Pick<AccountStore, 'openScope'>;
  readonly #open = new Map<string, { readonly session: Promise<ScopeSession>; users: number }>();

  constructor(store: Pick<AccountStore, 'openScope'>) {
    this.#store = store;
  }

  /** Runs `task` with the scope's session. @throws what the store or `task` throws */
  async use<T>(
    scope: Scope,
    { keyType }: ListCollection,
    task: (session: ScopeSession) => Promise<T>,
  ): Promise<T> {
    const name = scopeName(scope);
    const entry = this.#open.get(name) ?? {
      session: this.#store.openScope(scope).then((stored) => new ScopeSession(stored, keyType)),
      users: 0,
    };
    entry.users += 1;
    this.#open.set(name, entry);
    try {
      return await task(await entry.session);
    } finally {
      entry.users -= 1;
      if (entry.users === 0) this.#open.delete(name);
    }
  }
}
