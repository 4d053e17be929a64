import { describe, expect, it } from 'vitest';
import type { Api, OnceRequest, PageRequest, RawAnswer } from '../../api/api.ts';
import type { Budget } from '../../budget/budget.ts';
import type { FreedSlots } from '../../budget/store/store.ts';
import { KeyRefused, RequestRefused, TransportError } from '../../model/errors.ts';
import type { ObjectAnswer } from '../../api/envelope.ts';
import { memoryOwnership } from '../../../test/support/sync/memory-ownership.ts';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { AccountSource, type AccountKey } from './account-source.ts';

const REQUEST = {
  path: '/v1/lists',
  route: '/v1/lists',
  signal: new AbortController().signal,
} as PageRequest;

const OWN: ObjectAnswer = { source: '{"user_id":7}', fields: { user_id: 7 } };

function sourceOf(keys: readonly AccountKey[]): AccountSource {
  return new AccountSource(keys, memoryOwnership('7', new VirtualClock()));
}

/** A key whose endpoints answer as told: what is thrown, or undefined for a good answer. */
function key(
  keyHash: string,
  answers: { page?: Error; ping?: Error; once?: Error },
): AccountKey & { asked: string[] } {
  const asked: string[] = [];
  const answer = (what: 'page' | 'ping' | 'once'): Promise<never> => {
    asked.push(what);
    const error = answers[what];
    return error === undefined ? Promise.resolve(keyHash as never) : Promise.reject(error);
  };
  const api: Api = {
    page: () => answer('page'),
    object: async () => {
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

const refused = new KeyRefused('bad key', 401);

describe('the keys of an account', () => {
  it('stand in for each other: the first good one is used from then on', async () => {
    const old = key('old', { page: refused, ping: refused });
    const fresh = key('new', {});
    const source = sourceOf([old, fresh]);
    await expect(source.page(REQUEST)).resolves.toBe('new');
    await expect(source.page(REQUEST)).resolves.toBe('new');
    // The proof of whose it is, which comes before anything else, is refused already.
    expect(old.asked).toEqual(['ping']);
  });

  it('are all refused: the account is told so, without another request', async () => {
    const bad = key('bad', { page: refused, ping: refused });
    const source = sourceOf([bad]);
    await expect(source.page(REQUEST)).rejects.toBe(refused);
    await expect(source.page(REQUEST)).rejects.toThrow(KeyRefused);
    expect(bad.asked).toEqual(['ping']);
  });

  it('are good although one endpoint says 403: that endpoint is refused, not the key', async () => {
    const source = sourceOf([key('plan', { page: new KeyRefused('not in your plan', 403) })]);
    await expect(source.page(REQUEST)).rejects.toThrow(RequestRefused);
    await expect(source.object({ ...REQUEST })).resolves.toBe(OWN);
  });

  it('are not judged by a ping that could not be asked', async () => {
    const source = sourceOf([key('k', { page: refused, ping: new TransportError('reset') })]);
    await expect(source.page(REQUEST)).rejects.toThrow('reset');
  });

  it('are asked about once, however many requests are refused at a time', async () => {
    const bad = key('bad', { page: refused, ping: refused });
    const plan = key('plan', { page: new KeyRefused('not in your plan', 403) });
    for (const each of [bad, plan]) {
      const source = sourceOf([each]);
      const all = await Promise.allSettled(Array.from({ length: 5 }, () => source.page(REQUEST)));
      expect(all.every(({ status }) => status === 'rejected')).toBe(true);
    }
    // Whose it is, and of the other one besides what its refusals mean.
    expect([bad, plan].map(({ asked }) => asked.filter((what) => what === 'ping').length)).toEqual([1, 2]);
    // What comes later is asked about anew.
    const source = sourceOf([plan]);
    await expect(source.page(REQUEST)).rejects.toThrow(RequestRefused);
    await expect(source.page(REQUEST)).rejects.toThrow(RequestRefused);
    expect(plan.asked.filter((what) => what === 'ping')).toHaveLength(5);
  });

  it('are good again once a ping says so', async () => {
    const answers: { page?: Error; ping?: Error } = { page: refused, ping: refused };
    const source = sourceOf([key('k', answers)]);
    await expect(source.page(REQUEST)).rejects.toBe(refused);
    const signal = new AbortController().signal;
    await expect(source.ping({ signal })).rejects.toBe(refused);
    delete answers.page;
    delete answers.ping;
    await source.ping({ signal });
    await expect(source.page(REQUEST)).resolves.toBe('k');
  });

  it('get back the freed slots that could not be stored, each its own', () => {
    const back: string[] = [];
    const withBudget = (keyHash: string): AccountKey => {
      const freed: FreedSlots = { keyHash, blocks: [], learnt: [] };
      const budget = {
        takeFreed: () => freed,
        putBack: (given: FreedSlots) => back.push(`${keyHash}:${given.keyHash}`),
      };
      return { ...key(keyHash, {}), budget: budget as unknown as Budget };
    };
    const source = sourceOf([withBudget('a'), withBudget('b')]);
    source.putBack(source.takeFreed());
    expect(back).toEqual(['a:a', 'b:b']);
  });
});

describe('a request that is sent once', () => {
  const { signal } = new AbortController();
  const request = { path: '/v1/research', signal } as OnceRequest;
  const ping = { signal: new AbortController().signal } as const;

  it('is sent with the first good key alone: a 401 is an answer, with the key that it is about', async () => {
    const answers: { ping?: Error } = {};
    const [old, fresh] = [key('old', answers), key('new', {})];
    const source = sourceOf([old, fresh]);
    expect(await source.once(request)).toEqual({ status: 401, keyHash: 'old' });
    expect([old.asked, fresh.asked]).toEqual([['ping', 'once'], []]);
    answers.ping = refused;
    expect(await source.isGood('old', ping)).toBe(false);
    expect(await source.once(request)).toEqual({ status: 401, keyHash: 'new' });
    expect(await source.isGood('new', ping)).toBe(true);
  });

  it('is asked of no other key when it fails', async () => {
    const [first, second] = [key('a', { once: new TransportError('reset') }), key('b', {})];
    await expect(sourceOf([first, second]).once(request)).rejects.toThrow('reset');
    expect(second.asked).toEqual([]);
  });

  it('stops the account when the last key turns out to be refused', async () => {
    const answers: { ping?: Error } = {};
    const source = sourceOf([key('k', answers)]);
    await source.once(request);
    answers.ping = refused;
    expect(await source.isGood('k', ping)).toBe(false);
    await expect(source.once(request)).rejects.toThrow(KeyRefused);
  });

  it('leaves a key in use whose ping could not be asked', async () => {
    const answers: { ping?: Error } = {};
    const source = sourceOf([key('k', answers)]);
    await source.once(request);
    answers.ping = new TransportError('reset');
    await expect(source.isGood('k', ping)).rejects.toThrow('reset');
    await expect(source.once(request)).resolves.toMatchObject({ keyHash: 'k' });
  });
});
