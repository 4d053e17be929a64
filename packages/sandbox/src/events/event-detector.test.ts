import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { mutate, type Mutation } from '../control/mutation.ts';
import { SandboxState } from '../sandbox-state.ts';
import { readAll } from '../service/page.ts';
import { optionsWith } from '../../testing/sandbox.ts';
import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import { watchThreshold } from '../world/item-kinds.ts';
import { Rankings } from '../world/ranking.ts';
import type { SandboxCollection } from '../world/user-data.ts';
import { COLLECTION_OF_EVENT, endEventType } from './event-types.ts';
import { EventDetector } from './event-detector.ts';

const EPOCH = Date.UTC(2026, 0, 1);

function worldWith(options: Partial<SandboxOptions>) {
  const given = optionsWith({ epoch: '2026-01-01T00:00:00Z', ...options });
  const state = new SandboxState(given, new VirtualClock(EPOCH));
  state.data.freeze();
  const user = state.users.get(1001);
  if (user === undefined) throw new Error('no such user');
  const { data } = user;
  const detector = new EventDetector(data, () => state.options, EPOCH);
  const now = (): number => state.data.now();
  return {
    data,
    detector,
    now,
    /** Moves the data clock, and detects events. */
    pass: (ms: number) => {
      state.data.set(now() + ms);
      return detector.detect(now());
    },
    do: (mutation: Mutation): void => {
      mutate(state, mutation);
    },
    /** `status` of an item at a moment; undefined where it is not there. */
    statusAt: (collection: SandboxCollection, id: string, time: number): unknown => {
      const population = data.collection(collection);
      const ref = population.find(id, time);
      if (ref === undefined || !population.visible(ref, time)) return undefined;
      return (JSON.parse(population.text(ref, time)) as { status?: unknown }).status;
    },
    idsAt: (collection: SandboxCollection, time: number): string[] => {
      const population = data.collection(collection);
      const refs = readAll(population, new Rankings(), state.options, time);
      return [...refs].map((ref) => population.idOf(ref));
    },
  };
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
          const statusAt = (id: string, time: number): unknown => world.statusAt(collection, id, time);
          const before = new Map(world.idsAt(collection, EPOCH).map((id) => [id, statusAt(id, EPOCH)]));
          const told = steps.flatMap(({ ms, op, status, pick }) => {
            const ids = world.idsAt(collection, world.now());
            const id = ids[pick % ids.length];
            if (op === 'insert') world.do({ op, collection, fields: { status: 'queued' } });
            else if (op !== 'none' && id !== undefined)
              world.do({ op, collection, id, ...(op === 'update' ? { fields: { status } } : {}) });
            const found = world.pass(ms).filter(({ type }) => COLLECTION_OF_EVENT[type] === collection);
            // Here, not in the end: the next step may delete it in the same millisecond.
            for (const event of found)
              expect(endEventType(collection, statusAt(event.id, event.at))).toBe(event.type);
            return found;
          });
          // Two at one moment: an update that says once more what is so.
          const moments = told.map(({ type, id, at }) => `${type} ${id} ${at}`);
          expect(new Set(moments).size).toBe(moments.length);
          for (const id of world.idsAt(collection, world.now())) {
            const status = statusAt(id, world.now());
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
    const watchlist = world.data.collection('watchlist');
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

  it('ignores silent changes, and what was true before it started', () => {
    const world = worldWith({ jobs: 50, newJobsPerMinute: 0 });
    const [id = ''] = world.idsAt('research_jobs', EPOCH);
    const silent = { op: 'update', collection: 'research_jobs', silent: true } as const;
    world.do({ ...silent, id, fields: { status: 'failed' } });
    expect(world.pass(0)).toEqual([]);
  });

  it('leaves out most events of a clock step over years, and counts them', () => {
    const world = worldWith({ newJobsPerMinute: 600 });
    expect(world.pass(365 * 86_400_000).length).toBeLessThan(250_000);
    expect(world.detector.missed).toBeGreaterThan(300_000_000);
  });
});
