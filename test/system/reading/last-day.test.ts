import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { createSystem, type System } from '../../support/processes/system.ts';

let system: System;
beforeAll(async () => {
  system = await createSystem();
});
afterAll(() => system.close());

/** What the chart of an account's page says. */
function drawn(page: string, what: 'changes' | 'requests'): number {
  const [, figure] = new RegExp(`aria-label="${what} in the last 24 hours: ([\\d,]+)`).exec(page) ?? [];
  return Number(figure?.replace(',', ''));
}

interface Logged {
  readonly userId: string;
  readonly changes: number;
  readonly requests: number;
}

it('an account’s page has what daemons did in the last day that were stopped, every row and request', async () => {
  // Without the account's own row, whose credits change all the time; a job that had not ended may change, too.
  for (const rows of [445, 446]) {
    const daemon = await system.daemon({ MIRROR_POLL_CRON: 'never' });
    await eventually(`a page with ${rows} changes or more, as they are logged`, async () => {
      const { rows: found } = await system.db.query<Logged>(
        `select _user_id as "userId", sum(requests)::int as requests,
           sum(inserted + updated) filter (where collection <> 'account')::int as changes
         from mirror.sync_log group by 1`,
      );
      const [logged] = found;
      if (logged === undefined || logged.changes < rows) return false;
      const page = await (await fetch(`${daemon.statusUrl}/accounts/${logged.userId}`)).text();
      return drawn(page, 'changes') === logged.changes && drawn(page, 'requests') === logged.requests;
    });
    expect((await daemon.stop()).code).toBe(0);
    await system.sandbox.control.mutate({
      op: 'insert',
      collection: 'research_jobs',
      fields: { status: 'done' },
    });
  }
});
