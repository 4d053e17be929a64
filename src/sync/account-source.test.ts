import { describe, expect, it } from 'vitest';
import type { Api, PageRequest } from '../api/api.ts';
import type { Budget } from '../budget/budget.ts';
import type { FreedSlots } from '../budget/store.ts';
import { KeyRefused, RequestRefused, TransportError } from '../model/errors.ts';
import { AccountSource, type AccountKey } from './account-source.ts';

const REQUEST = { path: '/v1/lists', route: '/v1/lists' } as PageRequest;

/** A key whose endpoints answer as told: what is thrown, or undefined for a good answer. */
function key(keyHash: string, answers: { page?: Error; ping?: Error }): AccountKey & { asked: string[] } {
  const asked: string[] = [];
  const answer = (what: 'page' | 'ping'): Promise<never> => {
    asked.push(what);
    const error = answers[what];
    return error === undefined ? Promise.resolve(keyHash as never) : Promise.reject(error);
  };
  const api: Api = { page: () => answer('page'), object: () => answer('ping') };
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
