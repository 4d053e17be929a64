import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import type { StatusReport } from '../../../src/model/status/status-report.ts';
import { createSystem, type System } from '../../support/processes/system.ts';

let system: System;
beforeAll(async () => {
  system = await createSystem();
});
afterAll(() => system.close());

const sum = (values: readonly (number | null)[] | undefined): number =>
  (values ?? []).reduce<number>((total, each) => total + (each ?? 0), 0);

it('the last day has what daemons did that were stopped, every row and every request', async () => {
  const env = { MIRROR_POLL_CRON: 'never' };
  for (const rows of [446, 447]) {
    const daemon = await system.daemon(env);
    await eventually('everything is mirrored', async () => {
      const { rows: found } = await system.db.query<{ rows: string; complete: boolean }>(
        'select sum(live_rows) as rows, bool_and(polled_at is not null) as complete from mirror.freshness',
      );
      return Number(found[0]?.rows) === rows && found[0]?.complete;
    });
    expect((await daemon.stop()).code).toBe(0);
    await system.sandbox.control.mutate({
      op: 'insert',
      collection: 'research_jobs',
      fields: { status: 'done' },
    });
  }
  const { stdout } = await system.run(['status', '--json']);
  const { accounts } = JSON.parse(stdout) as StatusReport;
  const activity = accounts[0]?.activity;
  // With the account's own row, whose credits may have changed until the second start.
  expect([447, 448]).toContain(sum(activity?.changes));
  expect(activity?.liveRows.findLast((value) => value !== null)).toBe(447);
  expect(activity?.ageSeconds.some((value) => value !== null)).toBe(true);
  const { requests, byRouteAndStatus } = await system.sandbox.control.counters();
  // The first ping says whose the key is: nobody's account has sent it.
  const pings = byRouteAndStatus['GET /v1/ping 200'] ?? 0;
  expect(sum(activity?.requests)).toBeLessThanOrEqual(requests);
  expect(sum(activity?.requests)).toBeGreaterThanOrEqual(requests - pings);
});
