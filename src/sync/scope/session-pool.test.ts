import { describe, expect, it } from 'vitest';
import type { StoredScope } from '../../mirror/scope/scope-store.ts';
import { collection, type ListCollection, type Scope } from '../../model/collections.ts';
import type { ScopeSession } from './scope-session.ts';
import { SessionPool } from './session-pool.ts';

const jobs = collection('research_jobs') as ListCollection;
const scope: Scope = { userId: '1', collection: 'research_jobs', parent: '' };

/** A pool over one scope whose last committed observation is `lastObs`. */
function poolOver(stored: { lastObs: number; fails?: boolean }) {
  let opened = 0;
  const pool = new SessionPool({
    openScope: () => {
      opened += 1;
      if (stored.fails === true) return Promise.reject(new Error('the database is away'));
      return Promise.resolve({ scope, memory: {}, lastObs: stored.lastObs } as StoredScope);
    },
  });
  return { pool, opened: () => opened };
}

const obsOf = (session: ScopeSession): Promise<number> =>
  session.exchange(
    () => Promise.resolve(),
    (_, obs) => Promise.resolve(obs),
  );

describe('the sessions of scopes', () => {
  it('are shared by all who read the scope, until the last of them is done', async () => {
    const { pool, opened } = poolOver({ lastObs: 7 });
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const sessions: ScopeSession[] = [];
    const use = (until: Promise<void>): Promise<number> =>
      pool.use(scope, jobs, async (session) => {
        sessions.push(session);
        await until;
        return obsOf(session);
      });
    const [one, two] = [use(first.promise), use(second.promise)];
    first.resolve();
    await expect(one).resolves.toBe(8);
    // The second is still there: whoever comes now joins it.
    const three = use(Promise.resolve());
    await expect(three).resolves.toBe(9);
    second.resolve();
    await expect(two).resolves.toBe(10);
    expect(new Set(sessions).size).toBe(1);
    expect(opened()).toBe(1);
  });

  it('begin anew with what is committed once nobody reads the scope any more', async () => {
    const stored = { lastObs: 7 };
    const { pool, opened } = poolOver(stored);
    await expect(pool.use(scope, jobs, obsOf)).resolves.toBe(8);
    stored.lastObs = 8;
    await expect(pool.use(scope, jobs, obsOf)).resolves.toBe(9);
    expect(opened()).toBe(2);
  });

  it('are not kept when they could not be opened', async () => {
    const stored = { lastObs: 7, fails: true };
    const { pool } = poolOver(stored);
    const uses = [pool.use(scope, jobs, obsOf), pool.use(scope, jobs, obsOf)];
    for (const use of uses) await expect(use).rejects.toThrow('the database is away');
    stored.fails = false;
    await expect(pool.use(scope, jobs, obsOf)).resolves.toBe(8);
  });
});
