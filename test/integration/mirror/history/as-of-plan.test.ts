import { expect, it } from 'vitest';
import { accountsWithHistory } from '../../../support/mirror/accounts-with-history.ts';

const scene = accountsWithHistory();

/** Every node of a plan that reads something: its kind and what it reads. */
function readings(plan: unknown): string[] {
  if (Array.isArray(plan)) return plan.flatMap(readings);
  if (typeof plan !== 'object' || plan === null) return [];
  const node = plan as Record<string, unknown>;
  const own = [node['Index Name'], node['Function Name'], node['Relation Name']].find(
    (name) => typeof name === 'string',
  );
  const kind = node['Node Type'];
  const children = Object.values(node).flatMap(readings);
  return typeof own === 'string' && typeof kind === 'string' ? [`${kind}: ${own}`, ...children] : children;
}

it('takes the conditions of a query into table and history: a job comes by its key, the check runs once', async () => {
  await scene.open(scene.first);
  const jobs = (a: number) =>
    JSON.stringify(Array.from({ length: 200 }, (_, index) => ({ job_id: index + 1, a })));
  await scene.first.page('research_jobs', jobs(1));
  await scene.first.page('research_jobs', jobs(2));
  await scene.first.query('analyze mirror.research_jobs, mirror.research_jobs_history');
  await scene.database.db.transaction(async (trx) => {
    await trx.sql`set local enable_seqscan = off`;
    const { rows } = await trx.sql<{ 'QUERY PLAN': unknown }>`
      explain (format json) select * from mirror.research_jobs_as_of(now() - interval '1 day')
      where _user_id = 1 and job_id = 1`;
    const plan = rows[0]?.['QUERY PLAN'];
    expect(readings(plan)).toEqual([
      'Index Scan: research_jobs_pkey',
      'Index Scan: research_jobs_history_pkey',
    ]);
    expect(JSON.stringify(plan)).toContain('One-Time Filter');
  });
});
