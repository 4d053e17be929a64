import { afterEach, describe, expect, it } from 'vitest';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { createFrozenAccount, type TestAccount } from '../../support/sync/read-account.ts';

// Walks of one account against real Postgres and real HTTP, interrupted at chosen places.

let account: TestAccount;
afterEach(() => account.close());

const create = async (switches: Partial<SandboxOptions> = {}): Promise<void> => {
  account = await createFrozenAccount(switches);
};

/** Postgres refuses the scope's `obs`-th observation: that page can't be written. */
const refuseObservation = (obs: number): Promise<unknown> =>
  account.query(`
    create function refuse() returns trigger language plpgsql set search_path = '' as
    $$ begin raise 'the disk is full'; end $$;
    create trigger refuse before update on mirror_sync.scope for each row
    when (new.collection = 'research_jobs' and new.last_obs = ${obs}) execute function refuse()`);

const jobPaths = (from = 0): string[] =>
  account.asked.slice(from).filter((path) => path.startsWith('/v1/research?') || path === '/v1/research');

const count = async (): Promise<number> => (await account.query('select from mirror.research_jobs')).length;

const scope = async () => {
  const [row] = await account.query<{ last_obs: string; full_walk: unknown }>(`
    select last_obs, full_walk from mirror_sync.scope where collection = 'research_jobs'`);
  return row;
};

describe('a full walk whose page can’t be written', () => {
  it.each(['in the same process', 'in another one'])(
    'goes on after its last committed page, %s: two requests are repeated at most',
    async (where) => {
      await create();
      await refuseObservation(4);
      const { error } = await account.read('research_jobs', 'full');
      expect(error?.message).toContain('the disk is full');
      expect(await count()).toBe(150);
      const before = jobPaths();
      await account.query('drop trigger refuse on mirror_sync.scope');
      if (where === 'in another one') await account.reopen();
      const sent = account.asked.length;
      expect(await account.read('research_jobs', 'full')).toMatchObject({ error: undefined });
      expect(account.walks.findLast(({ kind }) => kind === 'full')).toMatchObject({ pages: 3 });
      // A poll follows.
      const after = jobPaths(sent).slice(0, 3);
      expect(after.filter((path) => before.includes(path)).length).toBeLessThanOrEqual(2);
      expect(after[0]).toBe(before[3]);
      expect(await count()).toBe(300);
      expect(await scope()).toMatchObject({ full_walk: null });
    },
  );

  it('leaves nothing of that page to the next walk, which has the same memory: no row is skipped', async () => {
    // Beyond the rows that the next poll rereads.
    await create({ jobs: 600 });
    await refuseObservation(8);
    const [first, second] = await Promise.all([
      account.read('research_jobs', 'full'),
      account.read('research_jobs', 'full'),
    ]);
    expect(first.error?.message).toContain('the disk is full');
    expect(second.error).toBeUndefined();
    expect(await count()).toBe(600);
  });
});

it('polls and a full walk of one collection take turns: one request at a time, none superseded, each page committed after the one before', async () => {
  await create({ jobs: 600, latencyMin: 1, latencyMax: 8 });
  await account.read('research_jobs', 'full');
  const sent = account.asked.length;
  account.mostAtOnce = 0;
  const outcomes = await Promise.all([
    account.read('research_jobs', 'full'),
    account.read('research_jobs', 'poll'),
    account.read('research_jobs', 'poll'),
  ]);
  expect(outcomes.map(({ error }) => error)).toEqual([undefined, undefined, undefined]);
  expect(account.mostAtOnce).toBe(1);
  // A request for the key's owner may have been sent as well.
  const requests = account.asked.slice(sent).filter((path) => path !== '/v1/ping').length;
  expect(requests).toBeGreaterThan(12 + 2);
  expect(Number((await scope())?.last_obs)).toBe(12 + requests);
});

it('answers that are no page change nothing of rows, order, frontier and freshness, whatever they are', async () => {
  await create();
  await account.read('research_jobs', 'full');
  const everything = (): Promise<unknown> =>
    account.query(`
      select job_id::text as key, xmin::text, _hash::text as value from mirror.research_jobs union all
      select 'scope', '', concat(memory, full_walk, polled_at, full_at, last_read_at, live_rows)
        from mirror_sync.scope where collection = 'research_jobs' union all
      select 'freshness', '', concat(polled_at, complete_as_of, live_rows, deleted_rows)
        from mirror._collections where collection = 'research_jobs' order by 1`);
  const before = await everything();
  const faults = 'Error200 Garbage Html Truncated Redirect 500 Reset 402'.split(' ');
  for (const fault of faults) {
    await account.sandbox.control.change({ [`fault${fault}`]: 1 });
    for (const what of ['poll', 'full'] as const) {
      const { error } = await account.read('research_jobs', what);
      expect({ fault, failed: error !== undefined }).toEqual({ fault, failed: true });
    }
    expect({ fault, stored: await everything() }).toEqual({ fault, stored: before });
    await account.sandbox.control.change({ [`fault${fault}`]: 0 });
  }
});
