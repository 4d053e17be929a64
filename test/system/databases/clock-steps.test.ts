import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { type Cluster, createSite, type Site } from '../../support/databases/cluster.ts';
import { isFaketimeTested, stepClock, withOwnClock } from '../../support/clocks/stepping-clock.ts';
import { createSystem, type System } from '../../support/processes/system.ts';

const HOUR = 3_600_000;
/** A heartbeat notices a step within 4 s; a busy machine takes longer for what follows. */
const SOON_MS = 30_000;

describe.runIf(isFaketimeTested())('the database’s clock steps under a lone daemon', () => {
  let site: Site;
  let cluster: Cluster;
  let system: System;
  beforeAll(async () => {
    site = await createSite(withOwnClock);
  });
  afterEach(() => system.close());
  afterAll(() => site.remove());

  /** A daemon that has loaded its account and has nothing to do before the next minute. */
  const idle = async () => {
    cluster = await site.cluster();
    await stepClock(cluster, 0);
    await cluster.start();
    // So few lists that the rate limit lets the account be opened five times a minute.
    system = await createSystem({ lists: 2 }, { url: cluster.url, drop: () => cluster.remove() });
    const daemon = await system.daemon();
    const loaded = `select count(*) > 5 and bool_and(state = 'current' and next_poll_at > now()) from mirror.freshness`;
    await eventually('the first load', () => system.one<boolean>(loaded));
    return daemon;
  };
  /** By the clock as it is now everything was polled, and will be. */
  const polled = () => {
    const isPolled = `select bool_and(polled_at between now() - interval '1 minute' and now()
      and next_poll_at < now() + interval '2 minutes') from mirror.freshness`;
    return eventually('polls by the clock as it is now', () => system.one<boolean>(isPolled), SOON_MS);
  };

  it('back: the daemon reads on within seconds, also where the clock was ahead and is put right', async () => {
    const daemon = await idle();
    await stepClock(cluster, -HOUR);
    await polled();
    expect(daemon.output()).toContain('the database’s clock went back by 60 min: accounts are opened again');
    expect(await system.run(['status'])).toMatchObject({ code: 0 });
    for (const aheadMs of [HOUR, 0]) {
      await stepClock(cluster, aheadMs);
      await polled();
    }
    const wentBack = expect.stringContaining('the database’s clock went back by') as string;
    expect(await system.run(['status'])).toMatchObject({ code: 0, stdout: wentBack });
    // A daemon that is gone reads nothing, and its last poll lies ahead.
    expect(await daemon.stop('SIGKILL')).toMatchObject({ signal: 'SIGKILL' });
    await stepClock(cluster, -HOUR);
    const late = await system.run(['status']);
    expect(late.stdout).toMatch(/nothing has been read since the database’s clock went back.*no daemon is running/s);
    expect(late.code).toBe(1);
    const next = await system.daemon();
    await polled();
    expect(await next.stop()).toMatchObject({ code: 0 });
    expect((await system.db.query('select from mirror.recoveries')).rows).toEqual([]);
  });

  it('ahead: the daemon sends what is queued, and keeps what is old by that clock alone', async () => {
    const daemon = await idle();
    await system.db.query(`insert into mirror.events (_user_id, id, type, data, received_at, _raw)
      select _user_id, 'kept', 'job.completed', '{}', now(), '{}' from mirror_sync.account`);
    await system.db.query(`select mirror.submit('research', '{"company_url": "https://a.example"}')`);
    await stepClock(cluster, 400 * 24 * HOUR);
    await system.db.query(`select mirror.submit('research', '{"company_url": "https://b.example"}')`);
    const sent = `select bool_and(state = 'accepted') from mirror.submissions`;
    await eventually('both to be sent', () => system.one<boolean>(sent));
    await polled();
    await eventually('the reason why nothing is removed', () =>
      daemon.output().includes('old data is not removed: the database’s clock is'),
    );
    expect((await system.db.query('select from mirror.events')).rowCount).toBe(1);
    expect(await daemon.stop()).toMatchObject({ code: 0 });
  });
});
