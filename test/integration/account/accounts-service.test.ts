import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  accountRunner,
  accountsService,
  type AccountsService,
} from '../../../src/account/accounts-service.ts';
import { createBudgetStore } from '../../../src/service/budget-store.ts';
import { pauseKeeper } from '../../../src/daemon/pause-keeper.ts';
import { databaseTime } from '../../../src/postgres/db.ts';
import { removeData, retireAccount } from '../../../src/operate/accounts.ts';
import { ensureAccount, releaseAccount, takeAccount } from '../../../src/postgres/lease.ts';
import type { Fence } from '../../../src/postgres/fenced.ts';
import { askOwner, type ServiceLink } from '../../../src/account/account-keys.ts';
import { hashOfKey } from '../../../src/config/secret.ts';
import { TransportError } from '../../../src/model/errors.ts';
import { type Clock, systemClock } from '@research-mirror/runtime/clock';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { createTestAccount, type TestAccount } from '../../support/sync/read-account.ts';
import { OPERATOR } from '../../support/mirror/operator.ts';

let account: TestAccount;
let service: AccountsService;
beforeEach(async () => {
  account = await createTestAccount();
  await account.current.close();
  service = accountsService(account.parts, account.config.service.keys);
});
afterEach(async () => {
  await service.stop();
  await account.close();
});

/** The account's budget as soon as the account runs. */
function running() {
  return eventually('the account to run', () => service.runners()[0]?.current());
}

it('an account that runs forgets hints of collections that an earlier configuration mirrored', async () => {
  await account.query(
    `insert into mirror_sync.hint (_user_id, collection, parent, key, hinted_at, due_at)
     select _user_id, 'was_mirrored', '', '1', now(), now() from mirror_sync.account`,
  );
  await service.start();
  const hints = () => account.query('select from mirror_sync.hint');
  await eventually('the hint to go', async () => (await hints()).length === 0);
  expect(await hints()).toEqual([]);
});

describe('an account that was taken from the only daemon, which has nothing to write', () => {
  const owner = async () =>
    (
      await account.query<{ owner: string | null; token: string }>(
        'select owner, token from mirror_sync.account',
      )
    )[0];

  it.each([
    ['its row names nobody', `update mirror_sync.account set owner = null, token = token + 1`],
    ['the database’s clock stepped, as its heartbeat saw', undefined],
  ])('is opened again within a heartbeat: %s', async (_, change) => {
    await service.start();
    const before = await running();
    const { token } = (await owner()) ?? { token: '' };
    const { owned, db, processId } = account.parts;
    if (change === undefined) await owned.reopen(db);
    else await account.query(change);
    await owned.releaseStrays(db, processId);
    await eventually('another fence', async () => Number((await owner())?.token) > Number(token));
    await eventually('the account to run again', () => {
      const now = service.runners()[0]?.current();
      return now !== undefined && now !== before;
    });
    expect(await owner()).toMatchObject({ owner: processId });
  });

  it('is opened again also while it is being opened', async () => {
    const opening = Promise.withResolvers<void>();
    const { owned, db, starts } = account.parts;
    let opened = 0;
    const begin: typeof starts.begin = async (task, signal) => {
      opened += 1;
      if (opened === 1) await opening.promise;
      return starts.begin(task, signal);
    };
    service = accountsService({ ...account.parts, starts: { begin } }, account.config.service.keys);
    await service.start();
    await eventually('it to be opened', () => opened === 1);
    const { token } = (await owner()) ?? {};
    await owned.reopen(db);
    opening.resolve();
    const now = await eventually('the account to run under another fence', () => {
      const current = service.runners()[0]?.current();
      return current?.fence.token !== token && current;
    });
    expect(Number(now.fence.token)).toBeGreaterThan(Number(token));
  });
});

describe('an account that begins to run', () => {
  it('rings, so that work that came due while no process ran begins at once', async () => {
    let rings = 0;
    const begun: (string | undefined)[] = [];
    service = accountsService(account.parts, account.config.service.keys, () => {
      rings += 1;
      begun.push(service.runners()[0]?.current()?.fence.userId);
    });
    await service.start();
    await eventually('a ring', () => rings > 0);
    expect(begun).toEqual([String(account.sandbox.userId)]);
  });
});

describe('the next full walks of an account that begins to run', () => {
  const runs = async (): Promise<Map<string, Date | null>> => {
    const rows = await account.query<{ collection: string; next_full_at: Date | null }>(
      'select collection, next_full_at from mirror.freshness',
    );
    return new Map(rows.map((row) => [row.collection, row.next_full_at]));
  };

  /** Lets no answer in but a ping's, until the function that it gives is called. */
  const blockReads = (): (() => void) => {
    const blocked = Promise.withResolvers<void>();
    account.onRequest = (path) => (path.includes('/ping') ? undefined : blocked.promise);
    return blocked.resolve;
  };

  it('are stored before any of them has begun: a restart would forget those that come due meanwhile', async () => {
    const read = blockReads();
    await service.start();
    await running();
    const scheduledRuns = await runs();
    read();
    expect([...scheduledRuns.keys()].toSorted()).toEqual([...account.config.collections].toSorted());
    for (const at of scheduledRuns.values()) expect(at?.getTime()).toBeGreaterThan(Date.now());
  });
});

describe('a key whose owner was asked for while another process owned the account', () => {
  it('begins with the slots that the other one used', async () => {
    const { db } = account.database;
    const { identity } = account.parts;
    const userId = String(account.sandbox.userId);
    await ensureAccount(db, userId, new Date());
    await account.query(`insert into mirror_sync.process values
      ('other', 'start', '1', 'elsewhere', 'another machine', 1, '1', now(), now() + interval '12 seconds')`);
    const taken = await takeAccount(db, userId, 'other', identity);
    const fence = (taken as { readonly fence: Fence }).fence;
    await service.start();
    await eventually('the owner to be known', () => service.runners().length > 0);

    const [key] = account.config.service.keys.map(hashOfKey);
    const block = { group: 'other', blockId: 1, size: 20, validForMs: 10_000 } as const;
    await createBudgetStore(db, fence).reserve(key ?? '', block, {
      keyHash: key ?? '',
      blocks: [],
      learnt: [],
    });
    // Nothing of what the account itself reads is counted yet.
    const reads = Promise.withResolvers<void>();
    let inFlight = 0;
    account.onRequest = () => {
      inFlight += 1;
      return reads.promise;
    };
    await releaseAccount(db, fence);
    const { source } = await running();
    const other = source.keys[0]?.budget.snapshot().groups.find(({ group }) => group === 'other');
    reads.resolve();
    expect((other?.used ?? 0) - inFlight).toBe(21);
  });
});

describe('a key that is asked for while the service is not there yet', () => {
  it('has slots left when the service comes, though unsent pings count in their reservations', async () => {
    const { link } = account.parts;
    const away: ServiceLink = {
      ...link,
      transport: {
        ...link.transport,
        get: () => Promise.reject(new TransportError('refused the connection', { sent: false })),
      },
    };
    const register = { db: account.database.db, link: away };
    const signal = new AbortController().signal;
    const [key] = account.config.service.keys;
    if (key === undefined) throw new Error('no key is configured');
    for (let times = 0; times < 3; times += 1) {
      await expect(askOwner(register, key, signal)).rejects.toThrow(TransportError);
    }
    const begun = performance.now();
    expect(await askOwner(account.parts, key, signal)).toBe(String(account.sandbox.userId));
    expect(performance.now() - begun).toBeLessThan(5_000);
  });
});

describe('a key that is refused after the service could not be reached', () => {
  it('is asked again as soon as any other: earlier failures were no refusals', async () => {
    const { link } = account.parts;
    const waits: number[] = [];
    let pings = 0;
    const get: ServiceLink['transport']['get'] = (path, _, signal, wanted) => {
      pings += 1;
      // Five attempts each time that it is asked for.
      if (pings <= 15) return Promise.reject(new TransportError('no route', { sent: false }));
      return link.transport.get(path, 'a wrong key', signal, wanted);
    };
    const clock: Clock = {
      ...systemClock,
      sleep: (ms, signal) => {
        if (ms < 1_000) return systemClock.sleep(ms, signal);
        waits.push(ms);
        return waits.length > 5 ? systemClock.sleep(ms, signal) : Promise.resolve();
      },
    };
    const parts = { ...account.parts, link: { ...link, clock, transport: { ...link.transport, get } } };
    service = accountsService(parts, account.config.service.keys);
    await service.start();
    await eventually('its third refusal', () => waits.length > 5);
    expect(waits).toEqual([1_000, 2_000, 4_000, 30_000, 60_000, 300_000]);
  });
});

describe('an account that this daemon can’t open', () => {
  it('is left to others for longer each time, and is not offered before its keys are checked', async () => {
    const { link } = account.parts;
    const waits: number[] = [];
    const enough = Promise.withResolvers<void>();
    const clock: Clock = {
      ...systemClock,
      sleep: (ms, signal) => {
        if (ms < 5_000) return systemClock.sleep(ms, signal);
        waits.push(ms);
        if (waits.length < 6) return Promise.resolve();
        enough.resolve();
        return systemClock.sleep(ms, signal);
      },
    };
    await account.query('alter table mirror_sync.slot_block rename to gone');
    const userId = String(account.sandbox.userId);
    const { keys } = account.config.service;
    const parts = { ...account.parts, link: { ...link, clock } };
    const onStanding = (): void => {
      if (runner.standing() === 'waits') runner.take();
    };
    const runner = accountRunner(parts, userId, keys, onStanding, () => {});
    expect(runner.standing()).toBe('unable');
    await runner.start();
    await enough.promise;
    expect(waits).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
    expect(runner.standing()).toBe('unable');
    expect(await account.query('select owner from mirror_sync.account')).toEqual([{ owner: null }]);
    await runner.stop();
    await account.query('alter table mirror_sync.gone rename to slot_block');
  });
});

describe('an account whose keys are refused beside other daemons', () => {
  it('is released, pinged with growing delays, and read again once a key is good', async () => {
    const { link } = account.parts;
    const waits: number[] = [];
    let isGood = false;
    const asked: string[] = [];
    const states: unknown[] = [];
    const get: ServiceLink['transport']['get'] = (path, key, signal, wanted) => {
      asked.push(path);
      return link.transport.get(path, isGood ? key : 'a wrong key', signal, wanted);
    };
    const clock: Clock = {
      ...systemClock,
      sleep: async (ms, signal) => {
        // Others wait so long, too.
        if (runner.standing() !== 'unable') return systemClock.sleep(ms, signal);
        waits.push(ms);
        states.push(await account.query('select owner, state from mirror_sync.account'), runner.standing());
        asked.length = 0;
        isGood = waits.length > 2;
      },
    };
    const parts = { ...account.parts, hasOthers: () => true };
    const own = { ...parts, link: { ...link, clock, transport: { ...link.transport, get } } };
    const { keys } = account.config.service;
    const onStanding = (): void => {
      if (runner.standing() === 'waits') runner.take();
    };
    const runner = accountRunner(own, String(account.sandbox.userId), keys, onStanding, () => {});
    await runner.start();
    await eventually(
      'its third refusal, and work',
      () => waits.length === 3 && runner.standing() === 'works',
    );
    expect(waits).toEqual([30_000, 60_000, 300_000]);
    const released = [[{ owner: null, state: 'stopped' }], 'unable'];
    expect(states).toEqual([...released, ...released, ...released]);
    expect(asked[0]).toBe('/v1/ping');
    const now = await account.query('select owner, state, error from mirror_sync.account');
    expect(now).toEqual([{ owner: 'tests', state: 'active', error: null }]);
    await runner.stop();
  });
});

it('a retired account is given up and gets no row any more, also if its data are removed at once', async () => {
  const { db } = account.database;
  const userId = String(account.sandbox.userId);
  await service.start();
  await running();
  expect(await retireAccount(db, userId, { now: await databaseTime(db), by: OPERATOR, remove: true })).toBe(
    'done',
  );
  await removeData(db, userId);
  const keeper = pauseKeeper(account.parts, service);
  await keeper.start();
  await eventually('it to be given up', () => service.runners()[0]?.current() === undefined);
  const [state] = await account.query('select state, owner from mirror_sync.account');
  expect(state).toEqual({ state: 'retired', owner: null });
  for (const table of ['mirror._collections', 'mirror.research_jobs', 'mirror_sync.scope']) {
    expect(await account.query(`select from ${table}`)).toEqual([]);
  }
  await keeper.stop();
});
