import { afterEach, describe, expect, it } from 'vitest';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { differences } from '../../support/mirror/mirror-truth.ts';
import { seeded } from '../../support/random.ts';
import { createSystem, type System } from '../../support/processes/system.ts';

let system: System;
afterEach(() => system.close());

/** A mirrored account whose data stand still but for what tests do. */
async function mirrored(switches: Partial<SandboxOptions> = {}): Promise<void> {
  system = await createSystem({ jobs: 2_000, maxLimit: 100, badLimit: 'clamped', ...switches });
  await system.sandbox.control.clock({ freeze: true });
  await system.sync(['--full']);
  expect(await differences(system)).toEqual([]);
}

async function newJobs(count: number): Promise<void> {
  const insert = { op: 'insert', collection: 'research_jobs', fields: { status: 'completed' } } as const;
  await system.sandbox.control.mutate(...Array.from({ length: count }, () => insert));
}

/** IDs of research jobs in the service's order. */
async function jobIds(): Promise<number[]> {
  const truth = await system.sandbox.control.truth({ collection: 'research_jobs' });
  return truth.map((text) => (JSON.parse(text) as { job_id: number }).job_id);
}

/** An ID that no job has yet, a few places from the newest. */
async function lateId(): Promise<string> {
  const ids = (await jobIds()).toSorted((a, b) => b - a);
  const place = ids.findIndex((id, index) => index > 20 && id - (ids[index + 1] ?? 0) > 1);
  return String((ids[place] ?? 0) - 1);
}

describe('sync', () => {
  it.each(['falling', 'rising'] as const)('brings what is new and what went on: order %s', async (order) => {
    await mirrored({ order, newJobsPerMinute: 6, jobSeconds: 60 });
    for (let minutes = 0; minutes < 2; minutes += 1) {
      await system.sandbox.control.clock({ advanceMs: 120_000 });
      const { collections } = await system.sync(['research_jobs']);
      expect(await differences(system)).toEqual([]);
      expect(collections[0]?.inserted).toBeGreaterThan(5);
      expect(collections[0]?.updated).toBeGreaterThan(0);
    }
  });

  it.each(['falling', 'rising'] as const)('brings what was committed late: order %s', async (order) => {
    await mirrored({ order });
    const id = await lateId();
    await newJobs(5);
    await system.sandbox.control.mutate({
      op: 'insert',
      collection: 'research_jobs',
      id,
      fields: { status: 'completed' },
    });
    const { collections } = await system.sync(['research_jobs']);
    expect(collections[0]).toMatchObject({ inserted: 6, error: null });
    expect(await differences(system)).toEqual([]);
  });

  it.each(['last-updated', 'unordered'] as const)(
    'reads everything where the order tells nothing: %s',
    async (order) => {
      await mirrored({ order, jobs: 500, newJobsPerMinute: 6 });
      await system.sandbox.control.clock({ advanceMs: 120_000 });
      await system.sync(['research_jobs']);
      expect(await differences(system)).toEqual([]);
    },
  );

  it('loses nothing when polls are killed in the middle, and new rows come meanwhile', async () => {
    await mirrored({ latencyMin: 20, latencyMax: 60 });
    const random = seeded(5);
    for (let kills = 0; kills < 5; kills += 1) {
      await newJobs(700);
      const before = (await system.sandbox.control.counters()).requests;
      const pages = 1 + Math.floor(random() * 5);
      const running = system.begin(['sync', 'research_jobs']);
      await eventually(`${pages} pages`, async () => {
        return (await system.sandbox.control.counters()).requests > before + pages;
      });
      running.child.kill('SIGKILL');
      await running.ended;
      await system.db.query('delete from mirror_sync.slot_block');
    }
    await newJobs(10);
    await system.sync(['research_jobs']);
    expect(await differences(system)).toEqual([]);
  });

  it('goes on with a full walk that was interrupted, and brings what has come since it began', async () => {
    await mirrored({ latencyMin: 20, latencyMax: 60 });
    const before = (await system.sandbox.control.counters()).requests;
    const running = system.begin(['sync', '--full', 'research_jobs']);
    await eventually('8 pages', async () => {
      return (await system.sandbox.control.counters()).requests > before + 8;
    });
    running.child.kill('SIGINT');
    expect((await running.ended).code).toBe(130);
    await newJobs(30);
    const passed = (await system.sandbox.control.counters()).requests - before;
    const { collections } = await system.sync(['--full', 'research_jobs']);
    expect(collections[0]?.requests).toBeLessThan(20 + 21 - passed + 2);
    expect(await differences(system)).toEqual([]);
  });

  it('reads an unordered collection once more after a full walk that was interrupted', async () => {
    await mirrored({ order: 'unordered', latencyMin: 20, latencyMax: 60 });
    const before = (await system.sandbox.control.counters()).requests;
    const running = system.begin(['sync', '--full', 'research_jobs']);
    await eventually('8 pages', async () => {
      return (await system.sandbox.control.counters()).requests > before + 8;
    });
    running.child.kill('SIGINT');
    await running.ended;
    await newJobs(30);
    await system.sync(['--full', 'research_jobs']);
    expect(await differences(system)).toEqual([]);
  });
});
