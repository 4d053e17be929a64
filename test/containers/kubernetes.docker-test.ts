import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { makeFolder } from '../support/processes/program.ts';
import { type Daemons, type Pod, runDaemons } from './daemons.ts';

const ACCOUNTS = 12;
const DAEMONS = 4;
/** Milliseconds. */
const PATIENCE = 60_000;
const WAIT = { timeout: 1.5 * PATIENCE, interval: 500 };

/** In this order, on one set of daemons: each test finds what the one before has left. */
describe('four daemons that run as the Deployment says', () => {
  const folder = makeFolder();
  let daemons: Daemons;
  let client: pg.Client;

  beforeAll(async () => {
    daemons = await runDaemons(folder.path, ACCOUNTS, DAEMONS);
    for (const pod of daemons.pods) await daemons.start(pod);
    client = await eventually('the database', async () => {
      const trying = new pg.Client({ connectionString: daemons.databaseUrl });
      return trying.connect().then(
        () => trying,
        () => false as const,
      );
    });
  });

  afterAll(async () => {
    await client.end();
    await daemons.end();
    folder.remove();
  });

  const answers = async (pod: Pod, path: string, token?: string): Promise<number> => {
    const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return fetch(pod.url + path, { headers }).then(
      ({ status }) => status,
      () => 0,
    );
  };
  const query = async <Row extends pg.QueryResultRow>(text: string): Promise<Row[]> =>
    (await client.query<Row>(text)).rows;
  /** How many accounts each process owns, those of dead ones aside. */
  const shares = async (): Promise<number[]> => {
    const rows = await query<{ owned: number }>(
      `select count(*)::int as owned from mirror_sync.account where owner is not null group by owner`,
    );
    return rows.map(({ owned }) => owned).toSorted((a, b) => a - b);
  };
  const evenly = (among: number): number[] => Array.from({ length: among }, () => ACCOUNTS / among);
  const polledSince = async (moment: Date): Promise<number | undefined> => {
    const [row] = await query<{ polled: number }>(
      `select count(*)::int as polled from mirror.freshness
       where collection = 'research_jobs' and polled_at > '${moment.toISOString()}'`,
    );
    return row?.polled;
  };

  it('are alive and ready by the probes, and show their page to who has the one token', async () => {
    for (const pod of daemons.pods) {
      await eventually(`${pod.name} ready`, async () => (await answers(pod, '/readyz')) === 200, PATIENCE);
      expect(await answers(pod, '/healthz')).toBe(200);
      expect(await answers(pod, '/')).toBe(401);
      // 503 while the first load is under way.
      expect([200, 503]).toContain(await answers(pod, '/api/status', daemons.secrets['status-token']));
    }
  });

  it('share the accounts evenly', async () => {
    await expect.poll(shares, WAIT).toEqual(evenly(DAEMONS));
  });

  it('mirror every account', async () => {
    const since = new Date(0);
    await expect.poll(() => polledSince(since), WAIT).toBe(ACCOUNTS);
    const [row] = await query<{ accounts: number }>(
      'select count(distinct _user_id)::int as accounts from mirror.research_jobs',
    );
    expect(row?.accounts).toBe(ACCOUNTS);
  });

  it('share out anew when one is killed, and when it is back', async () => {
    const [, second] = daemons.pods;
    if (second === undefined) throw new Error('there is no second one');
    await daemons.kill(second);
    await expect.poll(shares, WAIT).toEqual(evenly(DAEMONS - 1));
    await daemons.start(second);
    await expect.poll(shares, WAIT).toEqual(evenly(DAEMONS));
  });

  it('are restarted one after another, and every account is polled on', async () => {
    for (const pod of daemons.pods) {
      await daemons.stop(pod);
      await daemons.start(pod);
      await eventually(`${pod.name} ready`, async () => (await answers(pod, '/readyz')) === 200, PATIENCE);
    }
    const since = new Date();
    await expect.poll(() => polledSince(since), WAIT).toBe(ACCOUNTS);
  });

  it('were never refused by the rate limit, and nobody reads a secret in what Docker tells', async () => {
    const counters = await daemons.control<{ readonly rateLimited: number }>('/counters');
    expect(counters.rateLimited).toBe(0);
    for (const pod of daemons.pods) {
      const told = (await daemons.inspect(pod)) + (await daemons.logs(pod));
      for (const key of daemons.secrets['api-key'].split('\n')) expect(told).not.toContain(key);
      expect(told).not.toContain(new URL(daemons.secrets['database-url']).password);
      expect(told).not.toContain(daemons.secrets['status-token']);
    }
  });
});
