import { STILL, type TestSandbox } from '@research-mirror/sandbox/testing/sandbox';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import type { Mode } from './peer.ts';

/**
 * The service that everybody reads: jobs of about 1 KB in pages of 500, without limits. All were completed long ago: one
 * that failed may be retried, so that we would read it again with the new ones, for an hour after it changed.
 */
export function serviceOptions(rows: number): Partial<SandboxOptions> {
  return {
    ...STILL,
    epoch: '2026-01-01T00:00:00Z',
    failedShare: 0,
    jobs: rows,
    bulkJobs: 0,
    lists: 0,
    itemsPerList: 0,
    watchlist: 0,
    limits: 'off',
  };
}

/** What happens to the source before a run, and what the run is to do. */
export interface Step {
  readonly name: string;
  readonly mode: Mode;
  change(sandbox: TestSandbox): Promise<void>;
}

/** Mutations sent at a time. */
const BATCH = 500;
const HOUR_MS = 3_600_000;

/** The steps that each peer goes through, for so many rows at the beginning. */
export function steps(rows: number): readonly Step[] {
  const [changed, fresh, deleted] = [rows / 100, rows / 100, Math.max(1, rows / 1000)].map(Math.round);
  return [
    { name: 'first load', mode: 'all', change: async () => {} },
    { name: 'unchanged', mode: 'all', change: async () => {} },
    {
      name: `${grouped(changed)} changed, all over`,
      mode: 'all',
      change: (sandbox) =>
        spread(sandbox, changed, (id) => ({
          op: 'update',
          collection: 'research_jobs',
          id,
          fields: { name: 'Renamed Ltd.', score: 1.5 },
        })),
    },
    {
      name: `${grouped(fresh)} new on top`,
      mode: 'new',
      async change({ control }) {
        for (let made = 0; made < (fresh ?? 0); made += BATCH) {
          const count = Math.min(BATCH, (fresh ?? 0) - made);
          await control.mutate(
            ...Array.from({ length: count }, () => ({ op: 'insert', collection: 'research_jobs' }) as const),
          );
        }
        // They are finished, like all others.
        await control.clock({ advanceMs: HOUR_MS });
      },
    },
    {
      name: `${grouped(deleted)} deleted, all over`,
      mode: 'all',
      change: (sandbox) => spread(sandbox, deleted, (id) => ({ op: 'delete', collection: 'research_jobs', id })),
    },
  ];
}

/** Does something to so many rows, at even distances. */
async function spread(
  { control }: TestSandbox,
  count: number | undefined = 0,
  mutation: (id: string) => Parameters<TestSandbox['control']['mutate']>[number],
): Promise<void> {
  const items = await control.truth({ collection: 'research_jobs' });
  const mutations = Array.from({ length: count }, (_, index) => {
    const item = items[Math.floor(((index + 0.5) * items.length) / count)] ?? '{}';
    return mutation(String((JSON.parse(item) as { job_id: number }).job_id));
  });
  for (let start = 0; start < mutations.length; start += BATCH) {
    await control.mutate(...mutations.slice(start, start + BATCH));
  }
}

/** 100,000. */
export function grouped(count: number | undefined = 0): string {
  return count.toLocaleString('en-US');
}
