import { afterEach, expect, it } from 'vitest';
import type { StatusReport } from '../../../src/status/status-report.ts';
import { createFrozenSystem, type System } from '../../support/processes/system.ts';

let system: System;
afterEach(() => system.close());

const env = { MIRROR_SETTLE: '1s', MIRROR_DELETES: 'hard' };

async function status(): Promise<{ code: number | null; report: StatusReport }> {
  const { code, stdout } = await system.run(['status', '--json']);
  return { code, report: JSON.parse(stdout) as StatusReport };
}

// Postgres refuses the newer version of one row, and the deletion of another that a table refers to.
it('no command calls rows that Postgres keeps from changing equal, complete or healthy, until they are mended', async () => {
  system = await createFrozenSystem({ jobs: 200 });
  await system.sync(['--full'], { env });
  const { rows } = await system.db.query<{ id: string }>(
    'select job_id as id from mirror.research_jobs order by job_id limit 6',
  );
  const [noted = '', changed = '', ...gone] = rows.map(({ id }) => id);
  await system.db.query(`
    alter table mirror.research_jobs add column checked_by text;
    update mirror.research_jobs set checked_by = 'a DBA';
    alter table mirror.research_jobs alter column checked_by set not null;
    create table public.note (user_id bigint, job_id bigint,
      foreign key (user_id, job_id) references mirror.research_jobs (_user_id, job_id));
    insert into public.note select _user_id, job_id from mirror.research_jobs where job_id = ${noted}`);
  const collection = 'research_jobs';
  await system.sandbox.control.mutate(
    { op: 'update', collection, id: changed, fields: { note: 'new' } },
    ...[noted, ...gone].map((id) => ({ op: 'delete', collection, id }) as const),
  );

  const synced = await system.run(['sync', '--full', 'research_jobs'], env);
  expect(synced.code).toBe(1);
  expect(synced.stderr).toContain('mirror.stale_rows');
  expect(synced.stderr).toContain('Postgres refuses to delete 1 row that is gone');
  const left = await system.db.query('select job_id as id from mirror.research_jobs where job_id = any($1)', [
    [noted, ...gone],
  ]);
  expect(left.rows).toEqual([{ id: noted }]);
  const verified = await system.run(['verify', 'research_jobs']);
  expect(verified.code).toBe(1);
  expect(verified.stdout).toMatch(new RegExp(`${changed} different: .*Postgres refuses its newest version`));
  expect(verified.stdout).toContain(`${noted} extra: the service does not have it; its deletion is proven but blocked`);
  const { code, report } = await status();
  expect(code).toBe(1);
  const [, refused] = report.problems.toSorted((a, b) => b.cause.localeCompare(a.cause));
  expect(report.problems).toHaveLength(2);
  expect(report.problems).toContainEqual(
    expect.objectContaining({ cause: 'rows_stale', affects: ['1001/research_jobs (1 row)'] }),
  );
  expect(refused).toMatchObject({
    cause: 'deletions_refused',
    what: expect.stringContaining('on table "note" (23503)') as string,
    affects: [`1001/research_jobs (1 row: ${noted})`],
    remedy: expect.stringContaining('MIRROR_DELETES=soft') as string,
  });
  expect(report.deletions).toEqual([expect.objectContaining({ cause: 'refused', examples: [noted] })]);
  const { stdout } = await system.run(['doctor', '--json'], env);
  expect(stdout).toContain(
    `1001/research_jobs (1 row: ${noted}): Postgres refuses to delete rows of research_jobs that are gone: `,
  );
  expect(stdout).toContain(JSON.stringify(refused?.remedy));
  const stale = await system.db.query('select collection, key, reason from mirror.stale_rows');
  const reason = expect.stringContaining('"checked_by"') as string;
  expect(stale.rows).toEqual([{ collection, key: changed, reason }]);

  // The remedies.
  await system.db.query(`
    alter table mirror.research_jobs alter column checked_by set default ''; drop table public.note`);
  await system.sync(['--full', 'research_jobs'], { env });
  expect((await system.run(['verify', 'research_jobs'])).code).toBe(0);
  expect((await status()).report.problems).toEqual([]);
});
