import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { createSystem, type System } from '../../support/processes/system.ts';

let system: System;
afterEach(() => system.close());

/** Waits for a moment of the clock's minute, at which cron lines fire: seconds. */
function secondIs(what: string, within: (second: number) => boolean): Promise<boolean> {
  return eventually(what, () => within((Date.now() % 60_000) / 1_000), 70_000);
}

/** Full walks of research jobs that have begun since then, and ended. */
async function fullWalksSince(moment: Date): Promise<number> {
  const walks = `select from mirror.sync_log
    where kind = 'full' and collection = 'research_jobs' and started_at >= $1`;
  return (await system.db.query(walks, [moment])).rows.length;
}

describe('a daemon that was asleep when its cron lines fired', () => {
  it('begins the full walk within seconds of waking', async () => {
    system = await createSystem();
    const daemon = await system.daemon({ MIRROR_FULL_CRON: '* * * * *', MIRROR_POLL_CRON: 'never' });
    await eventually('the first load', async () => (await fullWalksSince(new Date(0))) > 0);
    await secondIs('the end of a minute', (second) => second > 56 && second < 59);
    daemon.child.kill('SIGSTOP');
    await secondIs('the next minute', (second) => second > 2 && second < 50);
    const woken = new Date();
    daemon.child.kill('SIGCONT');
    // Accounts are spread over a quarter of the line's interval; the next run is most of a minute away.
    await eventually('the full walk', async () => (await fullWalksSince(woken)) > 0, 25_000);
    expect(await daemon.stop()).toMatchObject({ code: 0 });
  });
});
