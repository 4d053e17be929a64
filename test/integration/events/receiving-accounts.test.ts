import { Db } from '../../../src/postgres/db.ts';
import { describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { type RegisteredAccount, registeredAccounts } from '../../support/webhooks/registered-accounts.ts';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';

// What receivers of any process read and report of registrations, with real Postgres and the emulated service.

const scene = registeredAccounts();
const { make, registered } = scene;

async function secretOf(account: RegisteredAccount): Promise<string> {
  return String((await account.registration())?.['secret']);
}

/** Somebody removes the webhook, and it is registered anew: with another secret. */
async function replaced(account: RegisteredAccount): Promise<void> {
  const before = await secretOf(account);
  await account.sandbox.control.registerElsewhere({ url: null });
  await account.look();
  await eventually('another registration', async () => (await secretOf(account)) !== before);
}

describe('receivers', () => {
  it('know the accounts by their IDs: 503 until all keys are pinged, 404 then', async () => {
    const account = await make();
    const receivers = account.receivers();
    expect(await receivers.secretsOf(account.userId, false)).toEqual({
      state: 'none',
      current: undefined,
      previous: undefined,
      now: expect.any(Date) as Date,
    });
    for (const id of ['4711', '0', '007', 'x', '', '99999999999999999999', "1' or '1'='1"]) {
      expect(await receivers.secretsOf(id, true)).toBe('none');
    }
    const early = account.receivers({ allPinged: () => false });
    expect(await early.secretsOf('4711', false)).toBe('unknown-yet');
    expect(await early.secretsOf(account.userId, false)).toMatchObject({ state: 'none' });
  });

  it('deny no account by a list that was begun before all keys were pinged', async () => {
    const account = await make();
    const clock = new VirtualClock();
    let pinged = false;
    const receivers = account.receivers({ clock, allPinged: () => pinged });
    expect(await receivers.secretsOf('4711', false)).toBe('unknown-yet');
    pinged = true;
    expect(await receivers.secretsOf('4711', false)).toBe('unknown-yet');
    await clock.advance(1_000);
    expect(await receivers.secretsOf('4711', false)).toBe('none');
  });

  it('know an account by its key, before it has a row', async () => {
    const account = await make();
    await account.row(
      `insert into mirror_sync.api_key (key_hash, _user_id, pinged_at) values ('of 4712', 4712, now())`,
    );
    expect(await account.receivers().secretsOf('4712', false)).toMatchObject({ current: undefined });
  });

  it('have the new secret at once if the old one does not fit, and the old one for a day', async () => {
    const account = await registered();
    const clock = new VirtualClock();
    const receivers = account.receivers({ clock });
    const first = await receivers.secretsOf(account.userId, false);
    await account.sandbox.control.registerElsewhere({ url: null });
    await account.look();
    await eventually('another registration', async () => (await account.asked('POST')) === 2);
    await account.until('registered');
    expect(await receivers.secretsOf(account.userId, false)).toEqual(first);
    await clock.advance(100);
    const second = await receivers.secretsOf(account.userId, true);
    if (typeof first === 'string' || typeof second === 'string') throw new Error('no secrets');
    expect(second.current?.secret).toBe((await account.sandbox.control.webhook())?.secret);
    expect(second.previous?.secret).toBe(first.current?.secret);
    const { previous, current, now } = second;
    expect((previous?.until.getTime() ?? 0) - (current?.since.getTime() ?? 0)).toBe(24 * 3_600_000);
    expect(now.getTime()).toBeGreaterThan(current?.since.getTime() ?? 0);
  });

  it('hide every secret before they return it', async () => {
    const account = await registered();
    const first = await secretOf(account);
    await replaced(account);
    const clock = new VirtualClock();
    const receivers = account.receivers({ clock });
    for (let reading = 0; reading < 3; reading += 1) {
      await receivers.secretsOf(account.userId, true);
      expect(account.hidden).toEqual(new Set([first, await secretOf(account)]));
      await clock.advance(100);
    }
  });

  it('write a success once a minute', async () => {
    const account = await registered();
    const clock = new VirtualClock();
    const receivers = account.receivers({ clock });
    const secret = await secretOf(account);
    await receivers.verified(account.userId, secret);
    const version = () =>
      account.row(
        `select xmin::text as version from mirror_sync.registration where _user_id = ${account.userId}`,
      );
    const before = await version();
    for (let times = 0; times < 50; times += 1) await receivers.verified(account.userId, secret);
    expect(await version()).toEqual(before);
    await account.row(
      `update mirror_sync.registration set verified_at = now() - interval '1 hour' where _user_id = ${account.userId}`,
    );
    const aged = await version();
    await clock.advance(2_000);
    await receivers.verified(account.userId, secret);
    expect(await version()).not.toEqual(aged);
  });

  it('do not count a success with a replaced secret for the new one', async () => {
    const account = await registered();
    const secret = await secretOf(account);
    await replaced(account);
    const before = await account.registration();
    await account.receivers().verified(account.userId, secret);
    expect(await account.registration()).toEqual(before);
  });

  it('have a registration renewed whose secret the service replaced', async () => {
    const account = await registered();
    await account.sandbox.control.rotateSecret();
    await account.age(70);
    await account.finish(3);

    const processes = [account.receivers(), account.receivers()];
    for (const receivers of [...processes, ...processes]) await receivers.mismatched(account.userId);
    expect(await account.registration()).toMatchObject({ mismatches: 3 });
    await account.restart();
    await eventually('another registration', async () => {
      const there = await account.sandbox.control.webhook();
      return (await account.registration())?.['secret'] === there?.secret;
    });
    expect(await account.registration()).toMatchObject({ mismatches: 0 });
  });

  it('trust a registration again after one success', async () => {
    const account = await registered();
    // So lately that it is not registered again at once.
    await account.age(20);
    await account.finish(3);
    const receivers = account.receivers();
    for (let times = 0; times < 10; times += 1) await receivers.mismatched(account.userId);
    await account.restart();
    await account.until('suspect');
    const secret = await secretOf(account);
    await account.receivers().verified(account.userId, secret);
    await account.restart();
    await account.until('registered');
    expect(await account.registration()).toMatchObject({ mismatches: 0, error: null });
    expect(await account.asked('POST')).toBe(1);
  });

  it('turn 10,000 forgeries into a handful of queries', async () => {
    const account = await registered();
    await account.age(20);
    let queries = 0;
    const counted = scene.database.kysely.withPlugin({
      transformQuery: ({ node }) => {
        queries += 1;
        return node;
      },
      transformResult: async ({ result }) => result,
    });
    const receivers = account.receivers({ db: new Db(counted, 'mirror') });
    const forge = async (number: number): Promise<void> => {
      await receivers.secretsOf(String(1_000_000 + number), false);
      await receivers.secretsOf(account.userId, false);
      await receivers.secretsOf(account.userId, true);
      await receivers.mismatched(account.userId);
    };
    const began = performance.now();
    for (let round = 0; round < 10; round += 1) {
      await Promise.all(Array.from({ length: 1_000 }, (_, each) => forge(round * 1_000 + each)));
    }
    const seconds = (performance.now() - began) / 1_000;
    // The accounts each second, the secrets ten times a second; at first both and three mismatches.
    expect(queries).toBeLessThanOrEqual(6 + Math.ceil(seconds * 11));
    expect(await account.registration()).toMatchObject({ mismatches: 3 });
  });
});
