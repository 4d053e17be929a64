import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Api, OnceRequest, PageRequest, RawAnswer } from '../service/api.ts';
import type { Budget } from '../service/budget.ts';
import type { FreedSlots } from '../service/slot-store.ts';
import { KeyRefused, RequestRefused, TransportError } from '../model/errors.ts';
import type { ObjectAnswer } from '../service/envelope.ts';
import { storedOwnership } from '../../test/support/sync/memory-ownership.ts';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { AccountSource, type AccountKey } from './account-source.ts';

const { signal } = new AbortController();
const REQUEST = { path: '/v1/lists', route: '/v1/lists', signal } as PageRequest;
const ONCE = { path: '/v1/research', signal } as OnceRequest;
const OWN: ObjectAnswer = { source: '{"user_id":7}', fields: { user_id: 7 } };

const refused = new KeyRefused('bad key', 401);
const notInPlan = new KeyRefused('not in your plan', 403);
const reset = new TransportError('reset');

function sourceOf(...keys: readonly AccountKey[]): AccountSource {
  return new AccountSource('7', keys, storedOwnership(), new VirtualClock());
}

interface Answers {
  page?: Error;
  ping?: Error;
  once?: Error;
}

/** A key whose endpoints throw as told, by now; the others give a good answer. */
function key(keyHash: string, answers: Answers = {}): AccountKey & { asked: string[] } {
  const asked: string[] = [];
  const answer = async (what: keyof Answers): Promise<never> => {
    asked.push(what);
    if (answers[what] !== undefined) throw answers[what];
    return keyHash as never;
  };
  const api: Api = {
    page: () => answer('page'),
    object: async ({ mayStart }) => {
      // It waits for its slot.
      await setImmediate();
      mayStart?.();
      await answer('ping');
      return OWN;
    },
    once: async (request) => {
      await request.claim?.();
      await answer('once');
      return { status: 401 } as RawAnswer;
    },
  };
  return { keyHash, api, budget: {} as Budget, asked };
}

const badKey = () => key('bad', { page: refused, ping: refused });
const pings = ({ asked }: { readonly asked: readonly string[] }) =>
  asked.filter((what) => what === 'ping').length;

describe('the keys of an account', () => {
  it('replace each other: the first good one is used from then on', async () => {
    const old = badKey();
    const source = sourceOf(old, key('new'));
    await expect(source.page(REQUEST)).resolves.toBe('new');
    await expect(source.page(REQUEST)).resolves.toBe('new');
    // The first ping is refused already.
    expect(old.asked).toEqual(['ping']);
  });

  it('end a request without sending it if all are refused', async () => {
    const bad = badKey();
    const source = sourceOf(bad);
    await expect(source.page(REQUEST)).rejects.toBe(refused);
    await expect(source.page(REQUEST)).rejects.toThrow(KeyRefused);
    expect(bad.asked).toEqual(['ping']);
  });

  it('stay good if one endpoint answers 403: that endpoint is refused, not the key', async () => {
    const source = sourceOf(key('plan', { page: notInPlan }));
    await expect(source.page(REQUEST)).rejects.toThrow(RequestRefused);
    await expect(source.object({ ...REQUEST })).resolves.toBe(OWN);
  });

  it('are not judged by a ping without an answer', async () => {
    const source = sourceOf(key('k', { page: refused, ping: reset }));
    await expect(source.page(REQUEST)).rejects.toThrow('reset');
  });

  it('are checked by one ping, however many requests are refused at a time', async () => {
    const plan = key('plan', { page: notInPlan });
    // The first pings, and one for the second key’s refusals.
    for (const [each, asked] of [
      [badKey(), 1],
      [plan, 2],
    ] as const) {
      const source = sourceOf(each);
      const all = await Promise.allSettled(Array.from({ length: 5 }, () => source.page(REQUEST)));
      expect(all.every(({ status }) => status === 'rejected')).toBe(true);
      expect(pings(each)).toBe(asked);
    }
    // A later refusal is checked again.
    const source = sourceOf(plan);
    await expect(source.page(REQUEST)).rejects.toThrow(RequestRefused);
    await expect(source.page(REQUEST)).rejects.toThrow(RequestRefused);
    expect(pings(plan)).toBe(5);
  });

  it('are good again after a good ping', async () => {
    const answers: Answers = { page: refused, ping: refused };
    const source = sourceOf(key('k', answers));
    await expect(source.page(REQUEST)).rejects.toBe(refused);
    await expect(source.ping({ signal })).rejects.toBe(refused);
    delete answers.page;
    delete answers.ping;
    await source.ping({ signal });
    await expect(source.page(REQUEST)).resolves.toBe('k');
  });

  it('get their own freed slots back if those could not be stored', () => {
    const back: string[] = [];
    const withBudget = (keyHash: string): AccountKey => {
      const freed: FreedSlots = { keyHash, blocks: [], learnt: [] };
      const putBack = (given: FreedSlots) => back.push(`${keyHash}:${given.keyHash}`);
      return { ...key(keyHash), budget: { takeFreed: () => freed, putBack } as unknown as Budget };
    };
    const source = sourceOf(withBudget('a'), withBudget('b'));
    source.putBack(source.takeFreed());
    expect(back).toEqual(['a:a', 'b:b']);
  });
});

describe('a request that is sent once', () => {
  it('is sent with the first good key only: a 401 is an answer, and comes with that key', async () => {
    const answers: Answers = {};
    const [old, fresh] = [key('old', answers), key('new')];
    const source = sourceOf(old, fresh);
    expect(await source.once(ONCE)).toEqual({ status: 401, keyHash: 'old' });
    expect([old.asked, fresh.asked]).toEqual([['ping', 'once'], []]);
    answers.ping = refused;
    expect(await source.isGood('old', { signal })).toBe(false);
    expect(await source.once(ONCE)).toEqual({ status: 401, keyHash: 'new' });
    expect(await source.isGood('new', { signal })).toBe(true);
  });

  it('is not repeated with another key when it fails', async () => {
    const second = key('b');
    await expect(sourceOf(key('a', { once: reset }), second).once(ONCE)).rejects.toThrow('reset');
    expect(second.asked).toEqual([]);
  });

  it('stops the account when its last key is refused, and keeps a key whose ping had no answer', async () => {
    const answers: Answers = {};
    const source = sourceOf(key('k', answers));
    await source.once(ONCE);
    answers.ping = reset;
    await expect(source.isGood('k', { signal })).rejects.toThrow('reset');
    await expect(source.once(ONCE)).resolves.toMatchObject({ keyHash: 'k' });
    answers.ping = refused;
    expect(await source.isGood('k', { signal })).toBe(false);
    await expect(source.once(ONCE)).rejects.toThrow(KeyRefused);
  });
});
