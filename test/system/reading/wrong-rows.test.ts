import { afterEach, describe, expect, it } from 'vitest';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { createSystem, type System } from '../../support/processes/system.ts';

/** Rows that somebody, or the database itself, made wrong: no command calls that equal, complete or healthy. */

let system: System;
afterEach(() => system.close());

const gracePeriod = { MIRROR_SETTLE: '1s' };

async function mirrored(switches: Partial<SandboxOptions>, env = {}): Promise<System> {
  system = await createSystem(switches);
  await system.sandbox.control.clock({ freeze: true });
  await system.sync(['--full'], { env: { ...gracePeriod, ...env } });
  return system;
}

async function idsOf(count: number): Promise<string[]> {
  const { rows } = await system.db.query<{ id: string }>(
    'select job_id as id from mirror.research_jobs where _deleted_at is null order by job_id limit $1',
    [count],
  );
  return rows.map(({ id }) => id);
}

describe('rows that are gone at the service and were undeleted by hand', () => {
  it('are deleted by full passes, and counted', async () => {
    await mirrored({ jobs: 1_200, order: 'unordered' });
    const gone = await idsOf(2);
    await system.sandbox.control.mutate(
      ...gone.map((id) => ({ op: 'delete' as const, collection: 'research_jobs' as const, id })),
    );
    await system.sync(['--full', 'research_jobs'], { env: gracePeriod });
    expect((await system.run(['verify', 'research_jobs'])).code).toBe(0);
    await system.db.query(
      `update mirror.research_jobs set _deleted_at = null, _changed_at = now() - interval '1 hour'
       where job_id = any($1)`,
      [gone],
    );
    expect((await system.run(['verify', 'research_jobs'])).code).toBe(1);
    await system.sync(['--full', 'research_jobs'], { env: gracePeriod });
    expect((await system.run(['verify', 'research_jobs'])).code).toBe(0);
    const counters = `select live_rows, deleted_rows from mirror.freshness where collection = 'research_jobs'`;
    expect((await system.db.query(counters)).rows).toEqual([{ live_rows: '1198', deleted_rows: '2' }]);
  });
});
