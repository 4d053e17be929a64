import { describe, expect, it } from 'vitest';
import { type RegistrationStore, webhookStore } from '../../../src/events/webhook-store.ts';
import { LeaseLost } from '../../../src/model/errors.ts';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import {
  PUBLIC_URL,
  type RegisteredAccount,
  registeredAccounts,
} from '../../support/webhooks/registered-accounts.ts';

// The registrar with real Postgres and the emulated service; time passes by shifting what is stored.

const scene = registeredAccounts();
const { make, registered } = scene;

function storeOf(account: RegisteredAccount): RegistrationStore {
  return webhookStore(scene.database.db, account.fence, () => {});
}

interface WebhookRow {
  url: string;
  active: boolean;
  event_types: unknown;
  _first_seen_at: Date;
  _change_id: string;
  _deleted_at: Date | null;
  raw: string;
  version: string;
}

function webhookOf(account: RegisteredAccount): Promise<WebhookRow | undefined> {
  return account.row(
    `select *, _raw::text as raw, xmin::text as version from mirror.webhook where _user_id = ${account.userId}`,
  );
}

describe('a registration', () => {
  it('is at the service, its secret in the daemon’s own state alone, and its row for analysts', async () => {
    const account = await registered();
    const there = await account.sandbox.control.webhook();
    const url = `${PUBLIC_URL}/webhooks/${account.userId}`;
    expect(there?.url).toBe(url);
    expect(await account.registration()).toMatchObject({ url, secret: there?.secret, error: null });
    const row = await webhookOf(account);
    expect(row).toMatchObject({ url, active: true, event_types: null, _deleted_at: null });
    expect(row?.raw).not.toContain('secret');
    expect(account.changed).toEqual([`webhook ${row?._change_id}`]);
    expect(account.lines.join()).not.toContain(there?.secret);
  });

  it('follows a webhook that others replace: foreign, gone, ours again', async () => {
    const account = await registered();
    await account.sandbox.control.registerElsewhere({ url: 'https://other.example.com/T0/token' });
    await account.look();
    expect(await account.registration()).toMatchObject({ state: 'foreign' });
    expect((await account.registration())?.['error']).toContain('other.example.com');
    expect((await account.registration())?.['error']).not.toContain('token');
    const foreign = await webhookOf(account);
    expect(foreign).toMatchObject({ url: 'https://other.example.com/T0/token' });
    const ids = [foreign?._change_id];

    await account.stop();
    account.options = { takeover: 'never', publicUrl: undefined };
    await account.sandbox.control.registerElsewhere({ url: null });
    account.start();
    await eventually('the row to be deleted', async () => (await webhookOf(account))?._deleted_at !== null);
    ids.push((await webhookOf(account))?._change_id);
    expect(await account.asked('DELETE')).toBe(0);

    await account.stop();
    account.options = {};
    account.start();
    await account.until('registered');
    expect(await webhookOf(account)).toMatchObject({
      _deleted_at: null,
      _first_seen_at: foreign?._first_seen_at,
    });
    ids.push((await webhookOf(account))?._change_id);
    expect(new Set(ids).size).toBe(3);
    expect(ids).toEqual(ids.toSorted((a, b) => Number(a) - Number(b)));
  });

  it('is the same row again when it comes back unchanged', async () => {
    const account = await make();
    const foreign = { url: 'https://other.example.com/hooks' };
    account.options = { publicUrl: undefined };
    await account.sandbox.control.registerElsewhere(foreign);
    account.start();
    await eventually('the row', async () => (await webhookOf(account)) !== undefined);
    await account.sandbox.control.registerElsewhere({ url: null });
    await account.look();
    expect((await webhookOf(account))?._deleted_at).toBeInstanceOf(Date);
    await account.sandbox.control.registerElsewhere(foreign);
    await account.look();
    expect(await webhookOf(account)).toMatchObject({ ...foreign, _deleted_at: null });
    expect(new Set(account.changed).size).toBe(3);
    expect(account.changed.at(-1)).toBe(`webhook ${(await webhookOf(account))?._change_id}`);
  });

  it('belongs to the account’s owner: a former owner stops and stores nothing', async () => {
    const account = await registered();
    await account.row(
      `update mirror_sync.account set owner = 'another', token = 2 where _user_id = ${account.userId}`,
    );
    await account.age(16);
    const before = await account.registration();
    await account.restart();
    await eventually('the loop to end', () => account.ended !== undefined);
    expect(account.ended).toBeInstanceOf(LeaseLost);
    expect(await account.registration()).toEqual(before);
  });

  it('is left alone while the installation is held', async () => {
    const account = await make();
    await account.row(
      'insert into mirror_sync.installation (created_at, held_at) values (now(), now()) on conflict (singleton) do update set held_at = now()',
    );
    try {
      account.start();
      await eventually('a look', async () => (await account.asked('GET')) === 1);
      await eventually('what it means', async () => (await account.registration()) !== undefined);
      expect((await account.registration())?.['error']).toContain('submissions release');
      expect(await account.asked('POST')).toBe(0);
    } finally {
      await account.row('update mirror_sync.installation set held_at = null');
    }
    await account.restart();
    await account.until('registered');
  });

  it('that is answered with the same secret has no previous one; with another it has one for a day', async () => {
    const account = await make();
    const store = storeOf(account);
    const accept = (secret: string): Promise<void> => store.save(() => ({ secret }));
    await accept('one');
    const first = await account.registration();
    await accept('one');
    expect(await account.registration()).toEqual(first);
    expect(first).toMatchObject({ secret: 'one', previous_secret: null });
    await accept('two');
    const second = await account.registration();
    expect(second).toMatchObject({ secret: 'two', previous_secret: 'one' });
    const [until, since] = [second?.['previous_until'] as Date, second?.['secret_at'] as Date];
    expect(until.getTime() - since.getTime()).toBe(24 * 3_600_000);
  });

  it('has the URLs of its last acceptance, and those of no other account', async () => {
    const [account, another] = [await make(), await make()];
    const urlsOf = async (one: RegisteredAccount): Promise<readonly string[]> =>
      (await storeOf(one).load()).ownUrls.toSorted();
    for (const one of [account, another]) {
      await storeOf(one).save((now) => ({
        registeredAt: now,
        ownUrls: ['https://a', 'https://b', 'https://b'],
      }));
    }
    await account.row(
      `insert into mirror_sync.own_url values (${account.userId}, 'https://of-an-older-version', now() - interval '1 day')`,
    );
    expect(await urlsOf(account)).toEqual(['https://a', 'https://b']);
    await storeOf(account).save((now) => ({ registeredAt: now, ownUrls: ['https://b', 'https://c'] }));
    expect(await urlsOf(account)).toEqual(['https://b', 'https://c']);
    await storeOf(account).save(() => ({ ownUrls: [] }));
    expect(await urlsOf(account)).toEqual([]);
    expect(await urlsOf(another)).toEqual(['https://a', 'https://b']);
  });

  it('stores text that no column can hold as closely as possible', async () => {
    const account = await make();
    const store = storeOf(account);
    const source = String.raw`{"url":"https://a\u0000\ud800","event_types":["a\u0000"],"n":9007199254740993}`;
    const seen = { url: 'https://a\u0000\ud800', active: null, source };
    await store.save(() => ({ checkedAt: new Date() }), seen);
    const row = await webhookOf(account);
    expect(row).toMatchObject({ url: 'https://a\uFFFD\uFFFD', active: null, event_types: ['a\uFFFD'] });
    expect(row?.raw).toContain('9007199254740993');
    await store.save(() => ({}), seen);
    expect((await webhookOf(account))?.version).toBe(row?.version);
  });
});
