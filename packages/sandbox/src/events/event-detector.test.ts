import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { mutate, type Mutation } from '../control/mutation.ts';
import { SandboxState } from '../sandbox-state.ts';
import { readAll } from '../service/page.ts';
import { optionsWith } from '../../testing/options.ts';
import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import { watchThreshold } from '../world/kinds/account-kinds.ts';
import { Population } from '../world/population.ts';
import { Rankings } from '../world/kinds/ranking.ts';
import type { SandboxCollection } from '../world/user-data.ts';
import { COLLECTION_OF_EVENT, endEventType } from './event-types.ts';
import { EventDetector } from './event-detector.ts';

const EPOCH = Date.UTC(2026, 0, 1);
const USER = 1001;

interface World {
  readonly state: SandboxState;
  readonly detector: EventDetector;
  readonly now: () => number;
  /** Moves the data clock, and detects events. */
  readonly pass: (ms: number) => ReturnType<EventDetector['detect']>;
  readonly do: (mutation: Mutation) => string;
}

function worldWith(options: Partial<SandboxOptions>): World {
  const state = new SandboxState(
    optionsWith({ epoch: '2026-01-01T00:00:00Z', ...options }),
    new VirtualClock(EPOCH),
  );
  state.data.freeze();
  const detector = new EventDetector(dataOf(state), () => state.options, EPOCH);
  const now = (): number => state.data.now();
  return {
    state,
    detector,
    now,
    pass(ms) {
      state.data.set(now() + ms);
      return detector.detect(now());
    },
    do(mutation) {
      const done = mutate(state, mutation);
      if ('problem' in done) throw new Error(done.problem);
      return done.id;
    },
  };
}

function dataOf(state: SandboxState) {
  const user = state.users.get(USER);
  if (user === undefined) throw new Error('no such user');
  return user.data;
}

/** `status` of an item at a moment; undefined where it is not there. */
function statusAt(state: SandboxState, collection: SandboxCollection, id: string, time: number): unknown {
  const population = dataOf(state).collection(collection);
  const ref = population.find(id, time);
  if (ref === undefined || !population.visible(ref, time)) return undefined;
  return (JSON.parse(population.text(ref, time)) as { status?: unknown }).status;
}

function idsAt(state: SandboxState, collection: SandboxCollection, time: number): string[] {
  const population = dataOf(state).collection(collection);
  return [...readAll(population, new Rankings(), state.options, time)].map((ref) => population.idOf(ref));
}

const step = fc.record({
  ms: fc.integer({ min: 0, max: 90_000 }),
  op: fc.constantFrom('none', 'update', 'delete', 'restore', 'insert'),
  status: fc.constantFrom('queued', 'completed', 'failed', 'CANCELLED', 'partial_failure'),
  pick: fc.nat(),
});

const stepOf = (op: 'none' | 'delete', ms: number) =>
  ({ ms, op, status: 'queued', pick: 48_872_286 }) as const;

describe('the event detector', () => {
  it('finds what a reader at every time would find: each final state of each item, once, when it is reached', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('research_jobs', 'bulk_research_jobs', 'lists'),
        fc.nat({ max: 1000 }),
        fc.array(step, { minLength: 1, maxLength: 12 }),
        (collection, seed, steps) => {
          const world = worldWith({
            seed,
            jobs: 30,
            bulkJobs: 30,
            lists: 30,
            newJobsPerMinute: 4,
            newBulkJobsPerMinute: 4,
            newListsPerMinute: 4,
            vanishingJobsPerMinute: 2,
            jobSeconds: 40,
            failedShare: 0.4,
            retriedShare: 0.5,
            stuckShare: 0.1,
            lateShare: 0.3,
          });
          const { state } = world;
          const before = new Map(
            idsAt(state, collection, EPOCH).map((id) => [id, statusAt(state, collection, id, EPOCH)]),
          );
          const told = steps.flatMap(({ ms, op, status, pick }) => {
            const ids = idsAt(state, collection, world.now());
            const id = ids[pick % ids.length];
            if (op === 'insert') world.do({ op, collection, fields: { status: 'queued' } });
            else if (op !== 'none' && id !== undefined)
              world.do({ op, collection, id, ...(op === 'update' ? { fields: { status } } : {}) });
            const found = world.pass(ms).filter(({ type }) => COLLECTION_OF_EVENT[type] === collection);
            // Here, not in the end: the next step may delete it in the same millisecond.
            for (const event of found)
              expect(endEventType(collection, statusAt(state, collection, event.id, event.at))).toBe(
                event.type,
              );
            return found;
          });
          // Two at one moment: an update that says once more what is so.
          const moments = told.map(({ type, id, at }) => `${type} ${id} ${at}`);
          expect(new Set(moments).size).toBe(moments.length);
          for (const id of idsAt(state, collection, world.now())) {
            const status = statusAt(state, collection, id, world.now());
            const type = endEventType(collection, status);
            if (type === undefined || status === before.get(id)) continue;
            expect(told.findLast((each) => each.id === id)?.type).toBe(type);
          }
        },
      ),
      {
        numRuns: 150,
        examples: [['lists', 0, [stepOf('none', 90_000), stepOf('delete', 0), stepOf('none', 0)]]],
      },
    );
  });

  it('finds score changes of at least the threshold of a watched company, and no others', () => {
    const world = worldWith({ watchlist: 12, watchChangesPerMinute: 30, newWatchEntriesPerMinute: 2 });
    const watchlist = dataOf(world.state).collection('watchlist');
    const told = new Set<string>();
    for (let passed = 0; passed < 600_000; passed += 7777)
      for (const { type, id, at } of world.pass(7777))
        if (type === 'watchlist.change_detected') told.add(`${id} ${at}`);
    const wanted = new Set<string>();
    for (let k = 0; watchlist.plan.scoreChanges.at(k) <= world.now(); k += 1) {
      const at = watchlist.plan.scoreChanges.at(k);
      for (let slot = 0; slot < watchlist.sequence.size(at - 1); slot += 1) {
        const moved = Math.abs(watchlist.score(slot, at) - watchlist.score(slot, at - 1));
        if (moved >= watchThreshold(watchlist.plan.hashOf(slot))) wanted.add(`${watchlist.idOf(slot)} ${at}`);
      }
    }
    expect(told).toEqual(wanted);
    expect(told.size).toBeGreaterThan(100);
  });

  it('finds a score that is set from outside, when it differs by the threshold', () => {
    const world = worldWith({ watchlist: 3, watchChangesPerMinute: 0 });
    const collection = 'watchlist' as const;
    const [id = ''] = idsAt(world.state, collection, EPOCH);
    const events = (score: number): number => {
      world.do({ op: 'update', collection, id, fields: { score } });
      return world.pass(1).filter(({ type }) => type === 'watchlist.change_detected').length;
    };
    events(50);
    expect([events(50.5), events(99), events(98), events(20)]).toEqual([0, 1, 0, 1]);
  });

  it('ignores silent changes, and what was true before it started', () => {
    const world = worldWith({ jobs: 50, newJobsPerMinute: 0 });
    const collection = 'research_jobs' as const;
    const [id = ''] = idsAt(world.state, collection, EPOCH);
    world.do({ op: 'update', collection, id, silent: true, fields: { status: 'failed' } });
    expect(world.pass(0)).toEqual([]);
  });

  it('reads only the unfinished ones of ten million jobs', () => {
    const looks = vi.spyOn(Population.prototype, 'createdAt');
    const world = worldWith({ jobs: 10_000_000 });
    expect(world.pass(60_000).length).toBeGreaterThan(5);
    expect(looks.mock.calls.length).toBeLessThan(100_000);
    looks.mockRestore();
  });

  it('leaves out most events of a clock step over years, and counts them', () => {
    const world = worldWith({ newJobsPerMinute: 600 });
    const told = world.pass(365 * 86_400_000);
    expect(told.length).toBeLessThan(250_000);
    expect(world.detector.missed).toBeGreaterThan(300_000_000);
  });
});
