import { scratchKeys } from '@research-mirror/runtime/testing/scratch-keys';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import type { PageRequest } from '../service/api.ts';
import { PRIORITY } from '../service/rate-groups.ts';
import type { PageResult } from '../mirror/page-record.ts';
import { LeaseLost } from '../model/errors.ts';
import { collection, type ListCollection, type Scope } from '../model/collections.ts';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import type { Page } from '../model/page.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { beginFull } from '../walk/full.ts';
import { observeAll, type ReadingContext } from './reading-context.ts';
import { ScopeSession } from './scope-session.ts';
import { runWalk } from './walk-run.ts';

const scope: Scope = { userId: '7', collection: 'research_jobs', parent: '' };
const jobs = collection('research_jobs') as ListCollection;
const stored = {
  scope,
  memory: {},
  fullWalk: undefined,
  fullAt: undefined,
  lastObs: 0,
};

/** Pages of three jobs in falling order, without end. */
function pageAfter(cursor: string | undefined): Page {
  const top = cursor === undefined ? 1_000 : Number(cursor) - 1;
  const items = [top, top - 1, top - 2].map((id) => ({
    source: `{"job_id":${id}}`,
    state: 'finished' as const,
    key: String(id),
    problem: undefined,
  }));
  return { items, hasMore: true, nextCursor: undefined };
}

/** A full walk of a scope, with what its context has beside the usual. */
function walking(more: object) {
  const session = new ScopeSession(stored as never, 'bigint');
  const context = {
    fence: { userId: '7', owner: 'o', token: '1' },
    clock: systemClock,
    observer: observeAll([]),
    onChanged: () => {},
    store: {},
    ...more,
  } as unknown as ReadingContext;
  const begun = beginFull(session.memory, { liveRows: 0, now: 0 });
  const options = { collection: jobs, priority: PRIORITY.FULL, signal: new AbortController().signal };
  return { session, result: runWalk({ context, session, ...options }, () => begun) };
}

const sourceOf = (page: (request: PageRequest) => Promise<Page>) => ({
  takeFreed: () => [],
  putBack: () => {},
  page,
});

describe('a walk whose page can’t be written', () => {
  it.each<[string, () => Promise<PageResult>, string]>([
    ['fails', () => Promise.reject(new DatabaseUnavailable('the database is away')), 'failed'],
    ['finds its list deleted', () => Promise.resolve({ state: 'parent_deleted' }), 'parent-deleted'],
  ])('ends, also when the next page has arrived meanwhile: the write %s', async (_, write, outcome) => {
    const second = Promise.withResolvers<void>();
    let asked = 0;
    let written = 0;
    const { session, result } = walking({
      source: sourceOf(async ({ cursor }) => {
        asked += 1;
        if (asked === 2) second.resolve();
        return pageAfter(cursor);
      }),
      mirror: {
        endWalk: async () => {},
        applyPage: async () => {
          written += 1;
          await second.promise;
          // Several turns of the event loop: the second answer stands in the write lane now.
          await new Promise((resolve) => {
            setImmediate(resolve);
          });
          return write();
        },
      },
    });
    expect((await result).outcome).toBe(outcome);
    expect({ asked, written }).toEqual({ asked: 2, written: 1 });
    // The scope's lanes are free: another walk can use them.
    await expect(
      session.exchange(
        async () => 'answer',
        async (answer) => answer,
      ),
    ).resolves.toBe('answer');
  });
});

describe('a walk whose account another daemon has taken', () => {
  it('throws, and observers see its end', async () => {
    const told: string[] = [];
    const { result } = walking({
      observer: observeAll([
        { walkStarted: ({ kind }) => told.push(kind), walkEnded: ({ outcome }) => told.push(outcome) },
      ]),
      source: sourceOf(async () => pageAfter(undefined)),
      mirror: { applyPage: () => Promise.reject(new LeaseLost('another has it')) },
    });
    await expect(result).rejects.toThrow(LeaseLost);
    expect(told).toEqual(['full', 'interrupted']);
  });
});

describe('a page', () => {
  it('is as old as its request, waiting included', async () => {
    const clock = new VirtualClock();
    let age = Number.NaN;
    const { result } = walking({
      clock,
      gracePeriodMs: 60_000,
      keys: scratchKeys,
      source: sourceOf(async () => {
        await clock.sleep(5_000);
        return { ...pageAfter(undefined), hasMore: false };
      }),
      mirror: {
        applyPage: async (_: unknown, { sentAfter }: { readonly sentAfter: number }) => {
          await clock.sleep(70);
          age = clock.monotonic() - sentAfter;
          return { state: 'parent_deleted' };
        },
        endWalk: async () => {},
      },
    });
    await clock.advance(10_000);
    await result;
    expect(age).toBe(5_070);
  });
});
