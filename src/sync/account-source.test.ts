import { describe, expect, it } from 'vitest';
import type { Api, OnceRequest, PageRequest, RawAnswer } from '../api/api.ts';
import type { Budget } from '../budget/budget.ts';
import type { FreedSlots } from '../budget/store.ts';
import { KeyRefused, RequestRefused, TransportError } from '../model/errors.ts';
import { AccountSource, type AccountKey } from './account-source.ts';

const REQUEST = {
  path: '/v1/lists',
  route: '/v1/lists',
  signal: new AbortController().signal,
} as PageRequest;

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
    object: () => answer('ping'),
    once: async () => {
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
    const source = new AccountSource([old, fresh]);
    await expect(source.page(REQUEST)).resolves.toBe('new');
    await expect(source.page(REQUEST)).resolves.toBe('new');
    expect(old.asked).toEqual(['page', 'ping']);
  });

  it('are all refused: the account is told so, without another request', async () => {
    const bad = key('bad', { page: refused, ping: refused });
    const source = new AccountSource([bad]);
    await expect(source.page(REQUEST)).rejects.toBe(refused);
    await expect(source.page(REQUEST)).rejects.toThrow(KeyRefused);
    expect(bad.asked).toEqual(['page', 'ping']);
  });

  it('are good although one endpoint says 403: that endpoint is refused, not the key', async () => {
    const source = new AccountSource([key('plan', { page: new KeyRefused('not in your plan', 403) })]);
    await expect(source.page(REQUEST)).rejects.toThrow(RequestRefused);
    await expect(source.object({ ...REQUEST })).resolves.toBe('plan');
  });

  it('are not judged by a ping that could not be asked', async () => {
    const source = new AccountSource([key('k', { page: refused, ping: new TransportError('reset') })]);
    await expect(source.page(REQUEST)).rejects.toThrow('reset');
  });

  it('are asked about once, however many requests are refused at a time', async () => {
    const bad = key('bad', { page: refused, ping: refused });
    const plan = key('plan', { page: new KeyRefused('not in your plan', 403) });
    for (const each of [bad, plan]) {
      const source = new AccountSource([each]);
      const all = await Promise.allSettled(Array.from({ length: 5 }, () => source.page(REQUEST)));
      expect(all.every(({ status }) => status === 'rejected')).toBe(true);
      expect(each.asked.filter((what) => what === 'ping')).toHaveLength(1);
    }
    // What comes later is asked about anew.
    const source = new AccountSource([plan]);
    await expect(source.page(REQUEST)).rejects.toThrow(RequestRefused);
    await expect(source.page(REQUEST)).rejects.toThrow(RequestRefused);
    expect(plan.asked.filter((what) => what === 'ping')).toHaveLength(3);
  });

  it('are good again once a ping says so', async () => {
    const answers: { page?: Error; ping?: Error } = { page: refused, ping: refused };
    const source = new AccountSource([key('k', answers)]);
    await expect(source.page(REQUEST)).rejects.toBe(refused);
    const signal = new AbortController().signal;
    await expect(source.ping({ priority: 30, signal })).rejects.toBe(refused);
    delete answers.page;
    delete answers.ping;
    await source.ping({ priority: 30, signal });
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
    const source = new AccountSource([withBudget('a'), withBudget('b')]);
    source.putBack(source.takeFreed());
    expect(back).toEqual(['a:a', 'b:b']);
  });
});

describe('a request that is sent once', () => {
  const request = { path: '/v1/research' } as OnceRequest;
  const ping = { priority: 50, signal: new AbortController().signal } as const;

  it('is sent with the first good key alone: a 401 is an answer, with the key that it is about', async () => {
    const [old, fresh] = [key('old', { ping: refused }), key('new', {})];
    const source = new AccountSource([old, fresh]);
    expect(await source.once(request)).toEqual({ status: 401, keyHash: 'old' });
    expect([old.asked, fresh.asked]).toEqual([['once'], []]);
    expect(await source.isGood('old', ping)).toBe(false);
    expect(await source.once(request)).toEqual({ status: 401, keyHash: 'new' });
    expect(await source.isGood('new', ping)).toBe(true);
  });

  it('is asked of no other key when it fails', async () => {
    const [first, second] = [key('a', { once: new TransportError('reset') }), key('b', {})];
    await expect(new AccountSource([first, second]).once(request)).rejects.toThrow('reset');
    expect(second.asked).toEqual([]);
  });

  it('stops the account when the last key turns out to be refused', async () => {
    const source = new AccountSource([key('k', { ping: refused })]);
    await source.once(request);
    expect(await source.isGood('k', ping)).toBe(false);
    await expect(source.once(request)).rejects.toThrow(KeyRefused);
  });

  it('leaves a key in use whose ping could not be asked', async () => {
    const source = new AccountSource([key('k', { ping: new TransportError('reset') })]);
    await expect(source.isGood('k', ping)).rejects.toThrow('reset');
    await expect(source.once(request)).resolves.toMatchObject({ keyHash: 'k' });
  });
});
