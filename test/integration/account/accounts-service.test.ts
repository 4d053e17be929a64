import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { accountRunner, accountsService, type AccountsService } from '../../../src/account/accounts-service.ts';
import { createBudgetStore } from '../../../src/service/budget-store.ts';
import { pauseKeeper } from '../../../src/daemon/pause-keeper.ts';
import { databaseTime } from '../../../src/postgres/db.ts';
import { removeData, retireAccount } from '../../../src/operate/accounts.ts';
import { ensureAccount, releaseAccount, takeAccount } from '../../../src/postgres/lease.ts';
import type { Fence } from '../../../src/postgres/fenced.ts';
import type { ProcessContext } from '../../../src/account/process.ts';
import { askOwner, type ServiceLink } from '../../../src/account/account-keys.ts';
import { hashOfKey, Secret } from '../../../src/config/secret.ts';
import { TransportError } from '../../../src/model/errors.ts';
import { type Clock, systemClock } from '@research-mirror/runtime/clock';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { createTestAccount, type TestAccount } from '../../support/sync/read-account.ts';
import { OPERATOR } from '../../support/mirror/operator.ts';

let account: TestAccount;
let service: AccountsService;
let userId: string;
const open = async (...options: Parameters<typeof createTestAccount>): Promise<void> => {
  account = await createTestAccount(...options);
  await account.current.close();
  userId = String(account.sandbox.userId);
  service = accountsService(account.parts, account.config.service.keys);
};
beforeEach(() => open());
afterEach(async () => {
  await service.stop();
  await account.close();
});

/** The account's budget as soon as the account runs. */
const running = () => eventually('the account to run', () => service.runners()[0]?.current());

const accountRow = async () =>
  (
    await account.query<{ owner: string | null; token: string; state: string; error: string | null }>(
      'select owner, token, state, error from mirror_sync.account',
    )
  )[0];

/** The process's parts with another clock or way to the service. */
const linked = (clock: Clock, get = account.parts.link.transport.get): ProcessContext => {
  const { link } = account.parts;
  return { ...account.parts, link: { ...link, clock, transport: { ...link.transport, get } } };
};

/** A clock whose waits are short, where `passes` says so of a wait of so many milliseconds. */
const hastened = (passes: (ms: number) => boolean | Promise<boolean>): Clock => ({
  ...systemClock,
  sleep: async (ms, signal) => {
    if (!(await passes(ms))) await systemClock.sleep(ms, signal);
  },
});

/** A runner that takes its account as soon as it may. */
const takingRunner = (parts: ProcessContext) => {
  const { keys } = account.config.service;
  const onStanding = (): void => {
    if (runner.standing() === 'waits') runner.take();
  };
  const runner = accountRunner(parts, userId, keys, onStanding, () => {});
  return runner;
};

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
  it.each([
    ['its row names nobody', `update mirror_sync.account set owner = null, token = token + 1`],
    ['the database’s clock stepped, as its heartbeat saw', undefined],
  ])('is opened again within a heartbeat: %s', async (_, change) => {
    await service.start();
    const before = await running();
    const { owned, db, processId } = account.parts;
    if (change === undefined) await owned.reopen(db);
    else await account.query(change);
    await owned.releaseStrays(db, processId);
    const again = await eventually('the account to run again', () => {
      const now = service.runners()[0]?.current();
      return now !== before && now;
    });
    expect(Number(again.fence.token)).toBeGreaterThan(Number(before.fence.token));
    expect(await accountRow()).toMatchObject({ owner: processId, token: again.fence.token });
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
    const token = (await accountRow())?.token;
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
    const begun: (string | undefined)[] = [];
    service = accountsService(account.parts, account.config.service.keys, () => {
      begun.push(service.runners()[0]?.current()?.fence.userId);
    });
    await service.start();
    await eventually('a ring', () => begun.length > 0);
    expect(begun).toEqual([userId]);
  });

  it('has its next full walks stored before any of them has begun: a restart would forget those that come due', async () => {
    const read = Promise.withResolvers<void>();
    account.onRequest = (path) => (path.includes('/ping') ? undefined : read.promise);
    await service.start();
    await running();
    const runs = await account.query<{ collection: string; at: Date | null }>(
      'select collection, next_full_at as at from mirror.freshness',
    );
    read.resolve();
    expect(runs.map(({ collection }) => collection).toSorted()).toEqual([...account.config.collections].toSorted());
    for (const { at } of runs) expect(at?.getTime()).toBeGreaterThan(Date.now());
  });
});

describe('the keys of an account', () => {
  it('begin with the slots that another process used while their owner was asked for', async () => {
    const { db } = account.database;
    await ensureAccount(db, userId, new Date());
    await account.query(`insert into mirror_sync.process values
      ('other', 'start', '1', 'elsewhere', 'another machine', 1, '1', now(), now() + interval '12 seconds')`);
    const taken = await takeAccount(db, userId, 'other', account.parts.identity);
    const fence = (taken as { readonly fence: Fence }).fence;
    await service.start();
    await eventually('the owner to be known', () => service.runners().length > 0);

    const [key = ''] = account.config.service.keys.map(hashOfKey);
    const block = { group: 'other', blockId: 1, size: 20, validForMs: 10_000 } as const;
    await createBudgetStore(db, fence).reserve(key, block, { keyHash: key, blocks: [], learnt: [] });
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

  it('have slots left when the service comes at last, though unsent pings count in their reservations', async () => {
    const away = () => Promise.reject(new TransportError('refused the connection', { sent: false }));
    const register = { db: account.database.db, link: linked(systemClock, away).link };
    const signal = new AbortController().signal;
    const [key] = account.config.service.keys;
    if (key === undefined) throw new Error('no key is configured');
    for (let times = 0; times < 3; times += 1) {
      await expect(askOwner(register, key, signal)).rejects.toThrow(TransportError);
    }
    const begun = performance.now();
    expect(await askOwner(account.parts, key, signal)).toBe(userId);
    expect(performance.now() - begun).toBeLessThan(5_000);
  });

  it('are asked again after a refusal as soon as any other, though the service could not be reached before', async () => {
    const { transport } = account.parts.link;
    const waits: number[] = [];
    let pings = 0;
    const get: ServiceLink['transport']['get'] = (path, _, signal, wanted) => {
      pings += 1;
      // Five attempts each time that it is asked for.
      if (pings <= 15) return Promise.reject(new TransportError('no route', { sent: false }));
      return transport.get(path, 'a wrong key', signal, wanted);
    };
    const clock = hastened((ms) => ms >= 1_000 && waits.push(ms) <= 5);
    service = accountsService(linked(clock, get), account.config.service.keys);
    await service.start();
    await eventually('its third refusal', () => waits.length > 5);
    expect(waits).toEqual([1_000, 2_000, 4_000, 30_000, 60_000, 300_000]);
  });

  it('that are met at the same time are found one by one, and end in one runner with all of them', async () => {
    await account.close();
    const keys = ['a', 'b', 'c', 'd'];
    // Slow enough that a runner still ends while the next key is found.
    await open({ keys: keys.map((key) => `${key}=1001`).join(), latencyMin: 100, latencyMax: 200 });
    const secrets = keys.map((key) => new Secret(key));
    service = accountsService(account.parts, secrets);
    await service.start();
    await eventually('all keys to be known', async () => {
      const known = await account.query('select from mirror_sync.api_key where _user_id is not null');
      return known.length === keys.length;
    });
    await eventually('the account to run with all keys', () => {
      const current = service.runners()[0]?.current();
      return current?.source.keys.length === keys.length && current;
    });
    expect(service.runners()).toHaveLength(1);
    expect(service.unknownKeys().size).toBe(0);
    await service.stop();
    expect(await accountRow()).toMatchObject({ owner: null });
  });
});

it('an account that this daemon can’t open is left to others for longer each time, and not offered before its keys are checked', async () => {
  const waits: number[] = [];
  const clock = hastened((ms) => ms >= 5_000 && waits.push(ms) < 6);
  await account.query('alter table mirror_sync.slot_block rename to gone');
  const runner = takingRunner(linked(clock));
  expect(runner.standing()).toBe('unable');
  await runner.start();
  await eventually('its sixth wait', () => waits.length === 6);
  expect(waits).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
  expect(runner.standing()).toBe('unable');
  expect(await accountRow()).toMatchObject({ owner: null });
  await runner.stop();
  await account.query('alter table mirror_sync.gone rename to slot_block');
});

it('an account whose keys are refused beside other daemons is released, pinged with growing delays, and read again once a key is good', async () => {
  const { transport } = account.parts.link;
  const waits: number[] = [];
  const asked: string[] = [];
  const states: string[] = [];
  const get: ServiceLink['transport']['get'] = (path, key, signal, wanted) => {
    asked.push(path);
    return transport.get(path, waits.length > 2 ? key : 'a wrong key', signal, wanted);
  };
  const clock = hastened(async (ms) => {
    // Others wait so long, too.
    if (runner.standing() !== 'unable') return false;
    waits.push(ms);
    const row = await accountRow();
    states.push(`${row?.owner} ${row?.state} ${runner.standing()}`);
    asked.length = 0;
    return true;
  });
  const runner = takingRunner({ ...linked(clock, get), hasOthers: () => true });
  await runner.start();
  await eventually('its third refusal, and work', () => waits.length === 3 && runner.standing() === 'works');
  expect(waits).toEqual([30_000, 60_000, 300_000]);
  expect(states).toEqual(Array(3).fill('null stopped unable'));
  expect(asked[0]).toBe('/v1/ping');
  expect(await accountRow()).toMatchObject({ owner: 'tests', state: 'active', error: null });
  await runner.stop();
});

it('a retired account is given up and gets no row any more, also if its data are removed at once', async () => {
  const { db } = account.database;
  await service.start();
  await running();
  const retired = await retireAccount(db, userId, {
    now: await databaseTime(db),
    by: OPERATOR,
    remove: true,
  });
  expect(retired).toBe('done');
  await removeData(db, userId);
  const keeper = pauseKeeper(account.parts, service);
  await keeper.start();
  await eventually('it to be given up', () => service.runners()[0]?.current() === undefined);
  expect(await accountRow()).toMatchObject({ state: 'retired', owner: null });
  for (const table of ['mirror._collections', 'mirror.research_jobs', 'mirror_sync.scope']) {
    expect(await account.query(`select from ${table}`)).toEqual([]);
  }
  await keeper.stop();
});
