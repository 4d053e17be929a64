import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SandboxState } from '../sandbox-state.ts';
import { ControlError, mutate, type Mutation } from '../control/mutation.ts';
import { readAll } from '../service/page.ts';
import { optionsWith } from '../../testing/sandbox.ts';
import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { countVisible, lastChange, type Population } from './population.ts';
import { Rankings } from './ranking.ts';

const EPOCH = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;
type Item = Record<string, unknown>;

/** A user's data; moments are milliseconds from the epoch. */
function worldOf(options: Partial<SandboxOptions>, userId = 1001) {
  const given = optionsWith({ epoch: '2026-01-01T00:00:00Z', ...options });
  const state = new SandboxState(given, new VirtualClock(EPOCH));
  const user = state.users.get(userId);
  if (user === undefined) throw new Error(`no user ${userId}`);
  const { data } = user;
  const jobs = data.collection('research_jobs');
  const refs = (population: Population, ms = 0, rankings = new Rankings()) => [
    ...readAll(population, rankings, state.options, EPOCH + ms),
  ];
  const texts = (population: Population, ms = 0): string[] =>
    refs(population, ms).map((ref) => population.text(ref, EPOCH + ms));
  const items = (population: Population, ms = 0): Item[] =>
    texts(population, ms).map((text) => JSON.parse(text) as Item);
  const statuses = (ms = 0): unknown[] => items(jobs, ms).map(({ status }) => status);
  const jobIds = (ms: number): unknown[] => items(jobs, ms).map((job) => job['job_id']);
  return { state, data, jobs, refs, texts, items, statuses, jobIds };
}

describe('the data of a user', () => {
  it('are the same bytes for the same seed and time, and differ for another seed or user', () => {
    for (const name of ['research_jobs', 'bulk_research_jobs', 'lists', 'watchlist'] as const) {
      const read = (seed: number, user: number): string[] => {
        const { texts, data } = worldOf({ keys: 'a=1001,b=1002', seed }, user);
        return texts(data.collection(name), 60 * MINUTE);
      };
      expect(read(1, 1001)).toEqual(read(1, 1001));
      expect(read(1, 1001)).not.toEqual(read(2, 1001));
      expect(read(1, 1001)).not.toEqual(read(1, 1002));
    }
  });

  it('are as old as they should be at the epoch, with scores that have changed and companies that lists share', () => {
    const { data, jobs, refs, items } = worldOf({ ageDays: 14, overlap: 0.5, jobCredits: 1 });
    const days = new Set(items(jobs).map((job) => String(job['created_at']).slice(0, 10)));
    expect(Math.abs(days.size - 15)).toBeLessThanOrEqual(1);
    const lists = refs(data.collection('lists'));
    const listed = new Set(lists.flatMap((list) => items(data.items(list)).map((item) => item['domain'])));
    const share = (all: Item[]): number => all.filter((item) => listed.has(item['domain'])).length / all.length;
    expect(share(items(jobs))).toBeCloseTo(0.5, 1);
    const watched = items(data.collection('watchlist'));
    expect(share(watched)).toBeGreaterThan(0.4);
    expect(watched.filter((entry) => entry['previous_score'] !== null).length).toBeGreaterThan(100);
  });

  it('have unicode, nulls, floats and nested values; a research job has about 1 KB', () => {
    const { jobs, texts } = worldOf({ jobs: 500 });
    const all = texts(jobs, MINUTE).join('');
    expect(Math.abs(Buffer.byteLength(all) / 500 - 1050)).toBeLessThan(250);
    for (const part of [/[^\u0020-\u007e]/, /"employee_count":null/, /"lat":-?\d+\.\d/, /"technologies":\["/])
      expect(all).toMatch(part);
  });

  it('take no memory for ten million jobs', () => {
    // What is garbage by then does not count: how much there is depends on the files before this one.
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const used = (): number => {
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    const before = used();
    const { jobs } = worldOf({ jobs: 10_000_000 });
    for (const slot of [0, 1, 4_999_999, 9_999_999]) expect(jobs.find(jobs.idOf(slot), EPOCH)).toBe(slot);
    expect(countVisible(jobs, EPOCH)).toBe(10_000_000);
    expect(used() - before).toBeLessThan(10_000_000);
    // It is held until here.
    expect(jobs.find('', EPOCH)).toBeUndefined();
  });

  it('change with time: jobs are queued, processed, then finished; new ones appear at the rate', () => {
    const { statuses } = worldOf({ jobs: 0, newJobsPerMinute: 1, failedShare: 0 });
    expect([MINUTE - 1, MINUTE, 80_000].map(statuses)).toEqual([[], ['queued'], ['processing']]);
    expect(statuses(10 * MINUTE)).toHaveLength(10);
    expect(statuses(60 * MINUTE).at(-1)).toBe('completed');
  });

  it('fail, are retried and get stuck in the shares of the switches', () => {
    const late = (more: Partial<SandboxOptions>): unknown[] =>
      worldOf({ jobs: 2000, newJobsPerMinute: 0, failedShare: 0.5, ...more }).statuses(86_400_000);
    const failed = late({}).filter((status) => status === 'failed').length;
    expect(Math.abs(failed - 1000)).toBeLessThan(100);
    expect(new Set(late({ retriedShare: 1 }))).toEqual(new Set(['completed']));
    expect(new Set(late({ stuckShare: 1 }))).toEqual(new Set(['processing']));
  });

  it('vanish at the rate, each item once', () => {
    const { jobIds } = worldOf({ jobs: 100, newJobsPerMinute: 0, vanishingJobsPerMinute: 10 });
    const [none, some, more, all] = [0, 3, 9, 60].map((minutes) => jobIds(minutes * MINUTE));
    expect([none?.length, some?.length, all?.length]).toEqual([100, 70, 0]);
    expect(some).toEqual(expect.arrayContaining(more ?? []));
  });

  it('of a list change scores at the rate, and the list’s row follows unless that is switched off', () => {
    const readings = (more: Partial<SandboxOptions>) => {
      const still = { lists: 1, newListsPerMinute: 0, newListItemsPerMinute: 0, scoreChangesPerMinute: 1 };
      const { data, texts } = worldOf({ ...still, ...more });
      return [30.01, 35.01].map((minutes) => ({
        row: texts(data.collection('lists'), minutes * MINUTE),
        items: texts(data.items(0), minutes * MINUTE),
      }));
    };
    const [before, after] = readings({});
    expect(after?.items.filter((item, index) => item !== before?.items[index])).toHaveLength(5);
    expect(after?.row).not.toEqual(before?.row);
    const [earlier, later] = readings({ listRowsFollow: 'off' });
    expect(later?.row).toEqual(earlier?.row);
    expect(later?.items).not.toEqual(earlier?.items);
  });

  it('are committed late in the share of the switch: a lower ID appears after higher ones', () => {
    const { jobIds } = worldOf({ jobs: 0, newJobsPerMinute: 60, lateShare: 0.5, lateSeconds: 30 });
    const early = new Set(jobIds(2 * MINUTE));
    const later = jobIds(3 * MINUTE);
    const below = later.slice(later.findIndex((id) => early.has(id)));
    expect(below.filter((id) => !early.has(id)).length).toBeGreaterThan(0);
  });

  it('exist once, even where an inserted item took the ID of a later one', () => {
    const { state, jobs, jobIds } = worldOf({ jobs: 3, newJobsPerMinute: 1 });
    const id = jobs.idOf(4);
    mutate(state, { op: 'insert', collection: 'research_jobs', id, fields: { status: 'early' } });
    const all = jobIds(3 * MINUTE);
    expect([all.length, new Set(all).size, countVisible(jobs, EPOCH + 3 * MINUTE)]).toEqual([6, 6, 6]);
    expect(all).toContain(Number(id));
  });

  it('spell states as the switches say', () => {
    const words = (states: SandboxOptions['states']): Set<unknown> =>
      new Set(worldOf({ jobs: 400, states }).statuses());
    expect(words('upper')).toContain('COMPLETED');
    expect(words('mixed')).toContain('Completed');
    expect(words('null')).toContain(null);
    expect(words('many').size).toBeGreaterThan(4);
  });
});

describe('what was computed of a population', () => {
  const step = fc.record({
    op: fc.constantFrom('wait', 'delete', 'restore', 'update', 'insert', 'extra'),
    ms: fc.nat({ max: 90_000 }),
    slot: fc.nat({ max: 40 }),
    id: fc.integer({ min: 990, max: 1300 }).map(String),
  });
  const orders = fc.constantFrom('last-updated', 'score', 'unordered', 'falling', 'created');

  it('stays correct through creations, vanishings, late commits, scores and mutations', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), orders, (script, order) => {
        const { state, data, refs } = worldOf({
          order,
          jobs: 30,
          watchlist: 30,
          newWatchEntriesPerMinute: 3,
          newJobsPerMinute: 3,
          vanishingJobsPerMinute: 0.5,
          vanishingWatchEntriesPerMinute: 0.5,
          lateShare: 0.3,
        });
        const tryTo = (mutation: Mutation): void => {
          try {
            mutate(state, mutation);
          } catch (error) {
            expect(error).toBeInstanceOf(ControlError);
          }
        };
        const kept = new Rankings();
        for (const collection of ['research_jobs', 'watchlist'] as const) {
          const population = data.collection(collection);
          for (const { op, ms, slot, id } of script) {
            const fields = { score: slot };
            if (op === 'wait') state.data.set(state.data.now() + ms);
            else if (op === 'extra') tryTo({ op: 'insert', collection, id, fields });
            else if (op === 'insert') tryTo({ op, collection, fields });
            else tryTo({ op, collection, id: population.idOf(slot), fields });
            const now = state.data.now() - EPOCH;
            const fresh = refs(population, now);
            expect(refs(population, now, kept)).toEqual(fresh);
            expect(countVisible(population, EPOCH + now)).toBe(fresh.length);
            expect(new Set(fresh.map((ref) => population.idOf(ref))).size).toBe(fresh.length);
          }
        }
      }),
      { numRuns: 40 },
    );
  });

  it('says when a list’s items last changed', () => {
    const { data, texts } = worldOf({
      lists: 3,
      itemsPerList: 10,
      newListItemsPerMinute: 2,
      vanishingListItemsPerMinute: 1,
      scoreChangesPerMinute: 3,
      lateShare: 0.3,
    });
    const items = data.items(1);
    const moments = new Set<number>();
    for (let ms = 61_234; ms < 60 * MINUTE; ms += 61_234) {
      const last = Math.max(0, lastChange(items, EPOCH + ms) - EPOCH);
      expect(texts(items, last)).toEqual(texts(items, ms));
      moments.add(last);
    }
    expect(moments.size).toBeGreaterThan(40);
  });
});
