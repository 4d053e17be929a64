import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { mutate } from '../control/mutation.ts';
import { SandboxState } from '../sandbox-state.ts';
import { readAll } from '../service/page.ts';
import { optionsWith } from '../../testing/sandbox.ts';
import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import { watchThreshold } from '../world/item-kinds.ts';
import { Rankings } from '../world/ranking.ts';
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
  /** Moves the data clock, and detects events. */
  const pass = (ms: number) => {
    state.data.set(now() + ms);
    return detector.detect(now());
  };
  return { state, data, detector, now, pass };
}

const step = fc.record({
  ms: fc.integer({ min: 0, max: 90_000 }),
  op: fc.constantFrom('none', 'update', 'delete', 'restore', 'insert'),
  status: fc.constantFrom('queued', 'completed', 'failed', 'CANCELLED', 'partial_failure'),
  pick: fc.nat(),
});
const stepOf = (op: 'none' | 'delete', ms: number) => ({ ms, op, status: 'queued', pick: 48_872_286 }) as const;

describe('the event detector', () => {
  it('finds what a reader at every time would find: each final state of each item, once, when it is reached', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('research_jobs', 'bulk_research_jobs', 'lists'),
        fc.nat({ max: 1000 }),
        fc.array(step, { minLength: 1, maxLength: 12 }),
        (collection, seed, steps) => {
          const { state, data, now, pass } = worldWith({
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
          const population = data.collection(collection);
          const idsAt = (time: number): string[] =>
            [...readAll(population, new Rankings(), state.options, time)].map((ref) => population.idOf(ref));
          /** Undefined where the item is not there. */
          const statusAt = (id: string, time: number): unknown => {
            const ref = population.find(id, time);
            if (ref === undefined || !population.visible(ref, time)) return undefined;
            return (JSON.parse(population.text(ref, time)) as { status?: unknown }).status;
          };
          const before = new Map(idsAt(EPOCH).map((id) => [id, statusAt(id, EPOCH)]));
          const told = steps.flatMap(({ ms, op, status, pick }) => {
            const ids = idsAt(now());
            const id = ids[pick % ids.length];
            if (op === 'insert') mutate(state, { op, collection, fields: { status: 'queued' } });
            else if (op !== 'none' && id !== undefined)
              mutate(state, { op, collection, id, ...(op === 'update' ? { fields: { status } } : {}) });
            const found = pass(ms).filter(({ type }) => COLLECTION_OF_EVENT[type] === collection);
            // Here, not in the end: the next step may delete it in the same millisecond.
            for (const event of found) expect(endEventType(collection, statusAt(event.id, event.at))).toBe(event.type);
            return found;
          });
          // Two at one moment: an update that says once more what is so.
          const moments = told.map(({ type, id, at }) => `${type} ${id} ${at}`);
          expect(new Set(moments).size).toBe(moments.length);
          for (const id of idsAt(now())) {
            const type = endEventType(collection, statusAt(id, now()));
            if (type === undefined || statusAt(id, now()) === before.get(id)) continue;
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
    const { data, now, pass } = worldWith({
      watchlist: 12,
      watchChangesPerMinute: 30,
      newWatchEntriesPerMinute: 2,
    });
    const watchlist = data.collection('watchlist');
    const told = new Set<string>();
    for (let passed = 0; passed < 600_000; passed += 7777)
      for (const { type, id, at } of pass(7777)) if (type === 'watchlist.change_detected') told.add(`${id} ${at}`);
    const wanted = new Set<string>();
    for (let k = 0; watchlist.plan.scoreChanges.at(k) <= now(); k += 1) {
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
    const { state, data, pass } = worldWith({ jobs: 50, newJobsPerMinute: 0 });
    const id = data.collection('research_jobs').idOf(49);
    mutate(state, {
      op: 'update',
      collection: 'research_jobs',
      silent: true,
      id,
      fields: { status: 'failed' },
    });
    expect(pass(0)).toEqual([]);
  });

  it('leaves out most events of a clock step over years, and counts them', () => {
    const { detector, pass } = worldWith({ newJobsPerMinute: 600 });
    expect(pass(365 * 86_400_000).length).toBeLessThan(250_000);
    expect(detector.missed).toBeGreaterThan(300_000_000);
  });
});
