import { afterEach, describe, expect, it } from 'vitest';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import type { StatusReport } from '../../../src/status/status-report.ts';
import { createFrozenSystem, type System } from '../../support/processes/system.ts';

// Rows that were changed by hand, or that Postgres keeps from changing: no command calls that equal, complete or healthy.

let system: System;
afterEach(() => system.close());

const gracePeriod = { MIRROR_SETTLE: '1s' };

async function mirrored(switches: Partial<SandboxOptions>, env = {}): Promise<System> {
  system = await createFrozenSystem(switches);
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

async function status(): Promise<{ code: number | null; report: StatusReport }> {
  const { code, stdout } = await system.run(['status', '--json']);
  return { code, report: JSON.parse(stdout) as StatusReport };
}

describe('a row whose newer version Postgres refuses', () => {
  it('is a difference for verify, a problem in status, and named by stale_rows', async () => {
    await mirrored({ jobs: 20 });
    const [id = ''] = await idsOf(1);
    await system.db.query('alter table mirror.research_jobs add column checked_by text');
    await system.db.query(`update mirror.research_jobs set checked_by = 'a DBA'`);
    await system.db.query('alter table mirror.research_jobs alter column checked_by set not null');
    await system.sandbox.control.mutate({
      op: 'update',
      collection: 'research_jobs',
      id,
      fields: { note: 'new' },
    });
    // Nothing says equal, whole or healthy.
    const synced = await system.run(['sync', '--full', 'research_jobs'], gracePeriod);
    expect([synced.code, synced.stderr]).toEqual([1, expect.stringContaining('mirror.stale_rows')]);
    const verified = await system.run(['verify', 'research_jobs']);
    expect([verified.code, verified.stdout]).toEqual([
      1,
      expect.stringMatching(new RegExp(`${id} different: .*Postgres refuses its newest version`)),
    ]);
    const { code, report } = await status();
    expect(code).toBe(1);
    expect(report.problems).toEqual([
      expect.objectContaining({ cause: 'rows_stale', affects: ['1001/research_jobs (1 row)'] }),
    ]);
    const stale = await system.db.query('select collection, key, reason from mirror.stale_rows');
    expect(stale.rows).toEqual([
      { collection: 'research_jobs', key: id, reason: expect.stringContaining('"checked_by"') as string },
    ]);
    // The remedy.
    await system.db.query(`alter table mirror.research_jobs alter column checked_by set default ''`);
    await system.sync(['--full', 'research_jobs'], { env: gracePeriod });
    expect((await system.run(['verify', 'research_jobs'])).code).toBe(0);
    expect((await status()).report.problems).toEqual([]);
  });
});

describe('a row that another table refers to, with MIRROR_DELETES=hard', () => {
  it('stays and is named; the others go', async () => {
    const hard = { MIRROR_DELETES: 'hard' };
    await mirrored({ jobs: 200 }, hard);
    const gone = await idsOf(5);
    const [noted = ''] = gone;
    await system.db.query(
      `create table public.note (user_id bigint, job_id bigint,
         foreign key (user_id, job_id) references mirror.research_jobs (_user_id, job_id))`,
    );
    await system.db.query(
      'insert into public.note select _user_id, job_id from mirror.research_jobs where job_id = $1',
      [noted],
    );
    await system.sandbox.control.mutate(
      ...gone.map((id) => ({ op: 'delete' as const, collection: 'research_jobs' as const, id })),
    );
    const synced = await system.run(['sync', '--full', 'research_jobs'], { ...gracePeriod, ...hard });
    expect(synced.stderr).toContain('Postgres refuses to delete 1 row that is gone');
    expect(synced.code).toBe(1);
    const left = await system.db.query(
      'select job_id as id from mirror.research_jobs where job_id = any($1)',
      [gone],
    );
    expect(left.rows).toEqual([{ id: noted }]);
    const { code, report } = await status();
    expect(code).toBe(1);
    expect(report.problems).toEqual([
      expect.objectContaining({
        cause: 'deletions_refused',
        what: expect.stringContaining('on table "note" (23503)') as string,
        affects: [`1001/research_jobs (1 row: ${noted})`],
        remedy: expect.stringContaining('MIRROR_DELETES=soft') as string,
      }),
    ]);
    const looked = await system.run(['doctor', '--json'], hard);
    expect(looked.stdout).toContain(
      `1001/research_jobs (1 row: ${noted}): Postgres refuses to delete rows of research_jobs that are gone: `,
    );
    expect(looked.stdout).toContain(`"${report.problems[0]?.remedy}"`);
    expect(report.deletions).toEqual([expect.objectContaining({ cause: 'refused', examples: [noted] })]);
    const verified = await system.run(['verify', 'research_jobs']);
    expect([verified.code, verified.stdout]).toEqual([
      1,
      expect.stringContaining(
        `${noted} extra: the service does not have it; its deletion is proven, and held back`,
      ),
    ]);
    // The remedy.
    await system.db.query('drop table public.note');
    await system.sync(['--full', 'research_jobs'], { env: { ...gracePeriod, ...hard } });
    expect((await status()).report.problems).toEqual([]);
  });
});
