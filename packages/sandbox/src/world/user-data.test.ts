import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SandboxState } from '../sandbox-state.ts';
import { mutate } from '../control/mutation.ts';
import { readAll } from '../service/page.ts';
import { optionsWith } from '../../testing/options.ts';
import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { countVisible, lastChange } from './population-summary.ts';
import type { Population } from './population.ts';
import { Rankings } from './kinds/ranking.ts';

const EPOCH = Date.UTC(2026, 0, 1);

function stateWith(options: Partial<SandboxOptions>): SandboxState {
  return new SandboxState(
    optionsWith({ epoch: '2026-01-01T00:00:00Z', ...options }),
    new VirtualClock(EPOCH),
  );
}

function jobsOf(state: SandboxState): Population {
  return userOf(state).collection('research_jobs');
}

function userOf(state: SandboxState, userId = 1001) {
  const user = state.users.get(userId);
  if (user === undefined) throw new Error(`no user ${userId}`);
  return user.data;
}

function texts(state: SandboxState, population: Population, time: number): string[] {
  return [...readAll(population, new Rankings(), state.options, time)].map((ref) =>
    population.text(ref, time),
  );
}

function statuses(state: SandboxState, time: number): string[] {
  return texts(state, jobsOf(state), time).map((text) => (JSON.parse(text) as { status: string }).status);
}

describe('the data of a user', () => {
  it('are the same bytes for the same seed and time, and differ for another seed or user', () => {
    const keys = 'a=1001,b=1002';
    const [one, same, other] = [stateWith({ keys }), stateWith({ keys }), stateWith({ keys, seed: 2 })];
    for (const name of ['research_jobs', 'bulk_research_jobs', 'lists', 'watchlist'] as const) {
      const read = (state: SandboxState, user: number): string[] =>
        texts(state, userOf(state, user).collection(name), EPOCH + 3_600_000);
      expect(read(one, 1001)).toEqual(read(same, 1001));
      expect(read(one, 1001)).not.toEqual(read(other, 1001));
      expect(read(one, 1001)).not.toEqual(read(one, 1002));
    }
  });

  it('are as old as they should be at the epoch, with scores that have changed and companies that lists share', () => {
    const state = stateWith({ ageDays: 14, overlap: 0.5, jobCredits: 1 });
    const data = userOf(state);
    const read = (population: Population, time = EPOCH): Record<string, unknown>[] =>
      texts(state, population, time).map((text) => JSON.parse(text) as Record<string, unknown>);
    const jobs = read(jobsOf(state));
    const days = new Set(jobs.map((job) => String(job['created_at']).slice(0, 10)));
    expect(days.size).toBeGreaterThanOrEqual(14);
    expect(days.size).toBeLessThanOrEqual(16);
    const lists = [...readAll(data.collection('lists'), new Rankings(), state.options, EPOCH)];
    const listed = new Set(lists.flatMap((list) => read(data.items(list)).map((item) => item['domain'])));
    const share = (items: Record<string, unknown>[]): number =>
      items.filter((item) => listed.has(item['domain'])).length / items.length;
    expect(share(jobs)).toBeCloseTo(0.5, 1);
    const watched = read(data.collection('watchlist'));
    expect(share(watched)).toBeGreaterThan(0.4);
    expect(watched.filter((entry) => entry['previous_score'] !== null).length).toBeGreaterThan(100);
  });

  it('are JSON objects with their ID, unicode, nulls, floats and nested values; a research job about 1 KB', () => {
    const state = stateWith({ jobs: 500 });
    const all = texts(state, jobsOf(state), EPOCH + 60_000);
    const bytes = all.reduce((sum, text) => sum + Buffer.byteLength(text), 0) / all.length;
    expect(bytes).toBeGreaterThan(800);
    expect(bytes).toBeLessThan(1300);
    expect(all.join('')).toMatch(/[^\u0020-\u007e]/);
    expect(all.join('')).toMatch(/"employee_count":null/);
    const done = all
      .map((text) => JSON.parse(text) as Record<string, unknown>)
      .find((job) => job['status'] === 'completed');
    expect(done).toMatchObject({
      job_id: expect.any(Number),
      document_id: expect.any(Number),
      completed_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      location: { lat: expect.any(Number) },
      technologies: [expect.any(String), expect.any(String), expect.any(String)],
      revenue_usd: expect.any(Number),
    });
  });

  it('take no memory for ten million jobs', () => {
    const before = process.memoryUsage().heapUsed;
    const state = stateWith({ jobs: 10_000_000 });
    const jobs = jobsOf(state);
    for (const slot of [0, 1, 4_999_999, 9_999_999]) {
      const text = jobs.text(slot, EPOCH);
      const id = String((JSON.parse(text) as { job_id: number }).job_id);
      expect(jobs.find(id, EPOCH)).toBe(slot);
    }
    expect(countVisible(jobs, EPOCH)).toBe(10_000_000);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(10_000_000);
  });

  it('change with time: jobs are queued, processed, then finished; new ones appear at the rate', () => {
    const state = stateWith({ jobs: 0, newJobsPerMinute: 1, failedShare: 0 });
    expect(statuses(state, EPOCH + 59_999)).toEqual([]);
    expect(statuses(state, EPOCH + 60_000)).toEqual(['queued']);
    expect(statuses(state, EPOCH + 60_000 + 20_000)).toEqual(['processing']);
    expect(statuses(state, EPOCH + 600_000)).toHaveLength(10);
    expect(statuses(state, EPOCH + 3_600_000).at(-1)).toBe('completed');
  });

  it('fail, are retried and get stuck in the shares of the switches', () => {
    const late = EPOCH + 86_400_000;
    const still = { jobs: 2000, newJobsPerMinute: 0, failedShare: 0.5 };
    const failed = statuses(stateWith(still), late).filter((status) => status === 'failed').length;
    expect(failed).toBeGreaterThan(900);
    expect(failed).toBeLessThan(1100);
    expect(new Set(statuses(stateWith({ ...still, retriedShare: 1 }), late))).toEqual(new Set(['completed']));
    expect(new Set(statuses(stateWith({ ...still, stuckShare: 1 }), late))).toEqual(new Set(['processing']));
  });

  it('vanish at the rate, each item once', () => {
    const state = stateWith({ jobs: 100, newJobsPerMinute: 0, vanishingJobsPerMinute: 10 });
    const ids = (minutes: number): string[] =>
      texts(state, jobsOf(state), EPOCH + minutes * 60_000).map((text) => text.slice(0, 16));
    expect(ids(0)).toHaveLength(100);
    expect(ids(3)).toHaveLength(70);
    expect(ids(9).every((id) => ids(3).includes(id))).toBe(true);
    expect(ids(60)).toEqual([]);
  });

  it('of a list change scores at the rate, and the list’s row follows unless that is switched off', () => {
    const options = { lists: 1, newListsPerMinute: 0, newListItemsPerMinute: 0, scoreChangesPerMinute: 1 };
    const read = (state: SandboxState, minutes: number) => {
      const time = EPOCH + minutes * 60_000;
      const user = userOf(state);
      const [row = ''] = texts(state, user.collection('lists'), time);
      return { row, items: texts(state, user.items(0), time) };
    };
    const follows = stateWith(options);
    const [before, after] = [read(follows, 30.01), read(follows, 35.01)];
    expect(after.items.filter((item, index) => item !== before.items[index])).toHaveLength(5);
    expect(after.row).not.toBe(before.row);
    const silent = stateWith({ ...options, listRowsFollow: 'off' });
    expect(read(silent, 35).row).toBe(read(silent, 30).row);
    expect(read(silent, 35).items).not.toEqual(read(silent, 30).items);
  });

  it('are committed late in the share of the switch: a lower ID appears after higher ones', () => {
    const state = stateWith({ jobs: 0, newJobsPerMinute: 60, lateShare: 0.5, lateSeconds: 30 });
    const time = EPOCH + 120_000;
    const early = new Set(texts(state, jobsOf(state), time).map((text) => text.slice(0, 14)));
    const later = texts(state, jobsOf(state), time + 60_000).map((text) => text.slice(0, 14));
    const newest = later.findIndex((text) => early.has(text));
    expect(later.slice(newest).filter((text) => !early.has(text)).length).toBeGreaterThan(0);
    expect(countVisible(jobsOf(state), time)).toBe(early.size);
    expect(later).toHaveLength(countVisible(jobsOf(state), time + 60_000));
  });

  it('exist once, even where an inserted item took the ID of a later one', () => {
    const state = stateWith({ jobs: 3, newJobsPerMinute: 1 });
    const jobs = jobsOf(state);
    const id = jobs.idOf(4);
    mutate(state, { op: 'insert', collection: 'research_jobs', id, fields: { status: 'early' } });
    const later = EPOCH + 180_000;
    const all = texts(state, jobs, later);
    expect(all).toHaveLength(6);
    expect(all.filter((text) => text.startsWith(`{"job_id":${id},`))).toEqual([
      `{"job_id":${id},"status":"early"}`,
    ]);
    expect(countVisible(jobs, later)).toBe(6);
  });

  it('spell states and times as the switches say', () => {
    const words = (states: SandboxOptions['states']): Set<unknown> =>
      new Set(statuses(stateWith({ jobs: 400, states }), EPOCH));
    expect(words('upper')).toContain('COMPLETED');
    expect(words('mixed')).toContain('Completed');
    expect(words('null')).toContain(null);
    expect([...words('many')].length).toBeGreaterThan(4);
    const created = (times: SandboxOptions['times']): unknown => {
      const state = stateWith({ jobs: 1, times });
      return (JSON.parse(texts(state, jobsOf(state), EPOCH)[0] ?? '') as Record<string, unknown>)[
        'created_at'
      ];
    };
    expect(created('epoch')).toBeTypeOf('number');
    expect(Date.parse(String(created('z'))) / 1000).toBe(created('epoch'));
  });
});

describe('what was computed of a population', () => {
  const steps = fc.array(
    fc.oneof(
      fc.record({ kind: fc.constant('wait' as const), ms: fc.nat({ max: 90_000 }) }),
      fc.record({
        kind: fc.constantFrom('delete' as const, 'restore' as const, 'update' as const, 'insert' as const),
        slot: fc.nat({ max: 40 }),
      }),
      fc.record({ kind: fc.constant('extra' as const), id: fc.integer({ min: 990, max: 1300 }) }),
    ),
    { maxLength: 25 },
  );

  it('stays correct through creations, vanishings, late commits, scores and mutations', () => {
    fc.assert(
      fc.property(
        steps,
        fc.constantFrom('last-updated', 'score', 'unordered', 'falling', 'created'),
        (script, order) => {
          const state = stateWith({
            order,
            jobs: 30,
            watchlist: 30,
            newWatchEntriesPerMinute: 3,
            newJobsPerMinute: 3,
            vanishingJobsPerMinute: 0.5,
            vanishingWatchEntriesPerMinute: 0.5,
            lateShare: 0.3,
          });
          const kept = new Rankings();
          for (const name of ['research_jobs', 'watchlist'] as const) {
            const population = userOf(state).collection(name);
            for (const step of script) {
              if (step.kind === 'wait') {
                state.data.set(state.data.now() + step.ms);
              } else if (step.kind === 'extra') {
                mutate(state, { op: 'insert', collection: name, id: String(step.id), fields: { score: 50 } });
              } else {
                const id = step.kind === 'insert' ? undefined : population.idOf(step.slot);
                const fields = { score: step.slot };
                mutate(state, {
                  op: step.kind,
                  collection: name,
                  ...(id === undefined ? {} : { id }),
                  fields,
                });
              }
              const time = state.data.now();
              const fresh = [...readAll(population, new Rankings(), state.options, time)];
              expect([...readAll(population, kept, state.options, time)]).toEqual(fresh);
              expect(countVisible(population, time)).toBe(fresh.length);
              expect(new Set(fresh.map((ref) => population.idOf(ref))).size).toBe(fresh.length);
            }
          }
        },
      ),
      { numRuns: 40 },
    );
  });

  it('says when a list’s items last changed', () => {
    const state = stateWith({
      lists: 3,
      itemsPerList: 10,
      newListItemsPerMinute: 2,
      vanishingListItemsPerMinute: 1,
      scoreChangesPerMinute: 3,
      lateShare: 0.3,
    });
    const items = userOf(state).items(1);
    const moments = new Set<number>();
    for (let minute = 1; minute < 60; minute += 1) {
      const time = EPOCH + minute * 61_234;
      const last = Math.max(EPOCH, lastChange(items, time));
      expect(texts(state, items, last)).toEqual(texts(state, items, time));
      moments.add(last);
    }
    expect(moments.size).toBeGreaterThan(40);
  });
});
