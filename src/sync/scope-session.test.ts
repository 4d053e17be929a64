import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StoredScope } from '../mirror/scope-store.ts';
import { collection, type ListCollection } from '../model/collections.ts';
import { ScopeSession, SessionPool } from './scope-session.ts';

const STORED: StoredScope = {
  scope: { userId: '1', collection: 'research_jobs', parent: '' },
  memory: {},
  lastReadAt: undefined,
  polledAt: undefined,
  fullAt: undefined,
  goneAt: undefined,
  fullWalk: undefined,
  lastObs: 41,
};

/** Waits as many turns of the microtask queue: an order of events that a schedule chooses, without time. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await Promise.resolve();
}

describe('a scope’s session', () => {
  it('has one request under way at most, and processes answers in the order of requests', async () => {
    const exchanges = fc.array(
      fc.record({ before: fc.nat(5), answer: fc.nat(8), write: fc.nat(12), fails: fc.boolean() }),
      { minLength: 1, maxLength: 8 },
    );
    await fc.assert(
      fc.asyncProperty(exchanges, async (schedule) => {
        const session = new ScopeSession(STORED, 'bigint');
        let underWay = 0;
        let writing = 0;
        const sent: number[] = [];
        const processed: number[] = [];
        const run = async ({ before, answer, write, fails }: (typeof schedule)[number]): Promise<void> => {
          await turns(before);
          await session.exchange(
            async () => {
              underWay += 1;
              expect(underWay).toBe(1);
              await turns(answer);
              underWay -= 1;
              if (fails) throw new Error('no answer');
            },
            async (_, obs) => {
              writing += 1;
              expect(writing).toBe(1);
              processed.push(obs);
              await turns(write);
              writing -= 1;
            },
          );
          sent.push(1);
        };
        const ended = await Promise.allSettled(schedule.map(run));
        expect(ended.filter(({ status }) => status === 'rejected')).toHaveLength(
          schedule.filter(({ fails }) => fails).length,
        );
        expect(processed).toEqual(processed.toSorted((a, b) => a - b));
        expect(processed).toHaveLength(sent.length);
        for (const obs of processed) expect(obs).toBeGreaterThan(STORED.lastObs);
      }),
    );
  });

  it('sends the next request while an answer is processed', async () => {
    const session = new ScopeSession(STORED, 'bigint');
    const written = Promise.withResolvers<void>();
    const first = session.exchange(
      () => Promise.resolve('a'),
      () => written.promise,
    );
    let sentMeanwhile = false;
    const second = session.exchange(
      () => {
        sentMeanwhile = true;
        return Promise.resolve('b');
      },
      (answer) => Promise.resolve(answer),
    );
    await turns(20);
    expect(sentMeanwhile).toBe(true);
    written.resolve();
    await first;
    await expect(second).resolves.toBe('b');
  });
});

const jobs = collection('research_jobs') as ListCollection;

/** A pool over one scope whose last committed observation is `lastObs`. */
function poolOver(stored: { lastObs: number; fails?: boolean }) {
  let opened = 0;
  const openScope = (): Promise<StoredScope> => {
    opened += 1;
    if (stored.fails === true) return Promise.reject(new Error('the database is away'));
    return Promise.resolve({ ...STORED, lastObs: stored.lastObs });
  };
  const pool = new SessionPool({ store: { openScope }, fence: { userId: '1' } } as never);
  return { pool, opened: () => opened };
}

const obsOf = (session: ScopeSession): Promise<number> =>
  session.exchange(
    () => Promise.resolve(),
    (_, obs) => Promise.resolve(obs),
  );

describe('the sessions of scopes', () => {
  it('are shared by all readers of the scope until the last one is done', async () => {
    const { pool, opened } = poolOver({ lastObs: 7 });
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const sessions: ScopeSession[] = [];
    const use = (until: Promise<void>): Promise<number> =>
      pool.use(jobs, '', async (session) => {
        sessions.push(session);
        await until;
        return obsOf(session);
      });
    const [one, two] = [use(first.promise), use(second.promise)];
    first.resolve();
    await expect(one).resolves.toBe(8);
    // The second is still there, so a third one joins it.
    const three = use(Promise.resolve());
    await expect(three).resolves.toBe(9);
    second.resolve();
    await expect(two).resolves.toBe(10);
    expect(new Set(sessions).size).toBe(1);
    expect(opened()).toBe(1);
  });

  it('begin with the stored state after the last reader is done', async () => {
    const stored = { lastObs: 7 };
    const { pool, opened } = poolOver(stored);
    await expect(pool.use(jobs, '', obsOf)).resolves.toBe(8);
    stored.lastObs = 20;
    await expect(pool.use(jobs, '', obsOf)).resolves.toBe(21);
    expect(opened()).toBe(2);
  });

  it('are not kept if they could not be opened', async () => {
    const stored = { lastObs: 7, fails: true };
    const { pool } = poolOver(stored);
    const uses = [pool.use(jobs, '', obsOf), pool.use(jobs, '', obsOf)];
    for (const use of uses) await expect(use).rejects.toThrow('the database is away');
    stored.fails = false;
    await expect(pool.use(jobs, '', obsOf)).resolves.toBe(8);
  });
});
