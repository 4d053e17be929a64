import { describe, expect, it } from 'vitest';
import { storedOwnership } from '../../test/support/sync/memory-ownership.ts';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { type Api, type OnceRequest, type PageRequest, type RawAnswer, Withheld } from '../service/api.ts';
import type { Budget } from '../service/budget.ts';
import { AccountMoved, KeyRefused, RequestRefused, TransportError } from '../model/errors.ts';
import { AccountSource } from './account-source.ts';
import type { OwnershipStore } from './account-store.ts';
import { PROOF_MS } from './proofs.ts';

const WAITING = { signal: new AbortController().signal };
const PAGE = { path: '/v1/lists', route: '/v1/lists', ...WAITING } as PageRequest;
const ACCOUNT = { path: '/v1/account', route: '/v1/account', priority: 30, ...WAITING } as const;
const ONCE = { method: 'POST', path: '/v1/research', ...WAITING } as OnceRequest;
const REFUSED = new KeyRefused('refused', 401);
const NOT_IN_PLAN = new KeyRefused('not in your plan', 403);
const RESET = new TransportError('reset');

/** A key whose requests take their time: pages `queueMs` until they are sent, and all 10 ms until they are answered. */
function playedKey(keyHash: string, clock: VirtualClock) {
  const send = async <T>(
    what: 'page' | 'ping' | 'account' | 'once',
    mayStart: () => boolean,
    answer: () => T,
  ): Promise<T> => {
    // It waits for its slot.
    await clock.sleep(what === 'page' ? key.queueMs : 0);
    if (!mayStart()) throw new Withheld('not now');
    key.sent.push(`${what} ${clock.monotonic()}`);
    await clock.sleep(10);
    const failure = key.failures[what] ?? key.failures.all;
    if (failure !== undefined) throw failure;
    return answer();
  };
  const api: Api = {
    page: ({ mayStart = () => true }) => send('page', mayStart, () => keyHash as never),
    once: async ({ claim }) => {
      if ((await claim?.()) === false) return undefined;
      return send(
        'once',
        () => true,
        () => ({ status: 401 }) as RawAnswer,
      );
    },
    object: ({ path, mayStart = () => true }) =>
      send(path.slice('/v1/'.length) as 'ping', mayStart, () => ({
        source: `{"user_id":${key.owner}}`,
        fields: {},
        served: { date: undefined, ageMs: key.cached > 0 ? key.cached-- * 1000 : 0 },
      })),
  };
  const key = {
    keyHash,
    /** What was sent, and when. */
    sent: [] as string[],
    /** Whom it answers for; what it answers instead; how many answers to come are from a cache on the way. */
    owner: '7',
    failures: {} as Partial<Record<'all' | 'page' | 'ping' | 'account' | 'once', Error>>,
    cached: 0,
    queueMs: 0,
    budget: {} as Budget,
    api,
  };
  return key;
}

/** An account with keys a and b; its requests run to their end. */
function setUp(more: Partial<OwnershipStore> = {}) {
  const clock = new VirtualClock();
  const { told, ...store } = storedOwnership();
  const [own, other] = [playedKey('a', clock), playedKey('b', clock)];
  const source = new AccountSource('7', [own, other], { ...store, ...more }, clock);
  const page = () => clock.runUntil(source.page(PAGE));
  const account = () => clock.runUntil(source.object(ACCOUNT));
  const ping = () => clock.runUntil(source.ping(WAITING));
  const once = (more: object = {}) => clock.runUntil(source.once({ ...ONCE, ...more }));
  const isGood = (hash: string) => clock.runUntil(source.isGood(hash, WAITING));
  const proveAll = () => clock.runUntil(source.proveAll(WAITING));
  const complete = (at = 0): void =>
    source.claimComplete({
      scope: { userId: '7', collection: 'watchlist', parent: '' },
      completeAsOf: new Date(clock.now() + at),
    });
  return { clock, told, source, page, account, ping, once, isGood, proveAll, complete, own, other };
}

/** The same, with a first key that has answered with a page. */
async function used() {
  const made = setUp();
  await made.page();
  return made;
}

const thrown = (promise: Promise<unknown>) => promise.catch((error: unknown) => error);
const pings = ({ sent }: { readonly sent: readonly string[] }) => sent.filter((what) => what.startsWith('ping')).length;

describe('the keys of an account', () => {
  it('replace each other: the first good one is used from then on', async () => {
    const { page, own } = setUp();
    own.failures = { all: REFUSED };
    expect([await page(), await page()]).toEqual(['b', 'b']);
    // The first ping is refused already.
    expect(own.sent).toEqual(['ping 0']);
  });

  it('end a request without sending it if all are refused, and are good again after a good ping', async () => {
    const { page, ping, own, other } = setUp();
    own.failures = { all: REFUSED };
    other.failures = { all: REFUSED };
    for (const request of [page, page]) await expect(request()).rejects.toBe(REFUSED);
    expect([own.sent, other.sent]).toEqual([['ping 0'], ['ping 10']]);
    await expect(ping()).rejects.toBe(REFUSED);
    own.failures = {};
    await ping();
    expect(await page()).toBe('a');
  });

  it('stay good if one endpoint answers 403: that endpoint is refused, not the key', async () => {
    const { page, account, own } = setUp();
    own.failures = { page: NOT_IN_PLAN };
    await expect(page()).rejects.toThrow(RequestRefused);
    await expect(account()).resolves.toMatchObject({ source: '{"user_id":7}' });
  });

  it('are not judged by a ping without an answer', async () => {
    const { page, own } = setUp();
    own.failures = { page: REFUSED, ping: RESET };
    await expect(page()).rejects.toThrow('reset');
  });

  it('are checked by one ping, however many requests are refused at a time', async () => {
    const { clock, source, page, own, other } = setUp();
    own.failures = { all: REFUSED };
    other.failures = { page: NOT_IN_PLAN };
    const all = Array.from({ length: 5 }, () => thrown(source.page(PAGE)));
    for (const refusal of await clock.runUntil(Promise.all(all))) expect(refusal).toBeInstanceOf(RequestRefused);
    // The first pings, and one for the second key’s refusals; a later refusal is checked again.
    expect([pings(own), pings(other)]).toEqual([1, 2]);
    await expect(page()).rejects.toThrow(RequestRefused);
    expect(pings(other)).toBe(3);
  });

  it('get their own freed slots back if those could not be stored', () => {
    const { source, own, other } = setUp();
    const back: string[] = [];
    for (const key of [own, other]) {
      const takeFreed = () => ({ keyHash: key.keyHash, blocks: [], learnt: [] });
      const putBack = (given: { keyHash: string }) => back.push(`${key.keyHash}:${given.keyHash}`);
      Object.assign(key.budget, { takeFreed, putBack });
    }
    source.putBack(source.takeFreed());
    expect(back).toEqual(['a:a', 'b:b']);
  });
});

describe('a request that is sent once', () => {
  it('is sent with the first good key only: a 401 is an answer, and comes with that key', async () => {
    const { once, isGood, own, other } = setUp();
    expect(await once()).toEqual({ status: 401, keyHash: 'a' });
    expect([own.sent, other.sent]).toEqual([['ping 0', 'once 10'], []]);
    own.failures = { ping: REFUSED };
    expect(await isGood('a')).toBe(false);
    expect(await once()).toEqual({ status: 401, keyHash: 'b' });
    expect(await isGood('b')).toBe(true);
  });

  it('is not repeated with another key when it fails', async () => {
    const { once, own, other } = setUp();
    own.failures = { once: RESET };
    await expect(once()).rejects.toThrow('reset');
    expect(other.sent).toEqual([]);
  });

  it('stops the account when its last key is refused, and keeps a key whose ping had no answer', async () => {
    const { once, isGood, own, other } = setUp();
    other.failures = { all: REFUSED };
    await once();
    own.failures = { ping: RESET };
    await expect(isGood('a')).rejects.toThrow('reset');
    await expect(once()).resolves.toMatchObject({ keyHash: 'a' });
    own.failures = { ping: REFUSED };
    expect(await isGood('a')).toBe(false);
    await expect(once()).rejects.toThrow(KeyRefused);
  });
});

describe('a request with a key', () => {
  it('is sent after a ping has named the key’s owner, and needs another ping a minute later', async () => {
    const { clock, page, own } = await used();
    await clock.advance(PROOF_MS - 20);
    await page();
    await page();
    expect(own.sent).toEqual(['ping 0', 'page 10', 'page 60000', 'ping 60010', 'page 60020']);
  });

  it('is not sent if the proof expired while the request waited for its slot', async () => {
    const { page, own } = await used();
    own.queueMs = PROOF_MS - 19;
    await page();
    // Withheld at 60001, when its slot was there; then a ping, and the same wait again.
    expect(own.sent).toEqual(['ping 0', 'page 10', 'ping 60001', 'page 119992']);
  });

  it('is not proven by a cached answer', async () => {
    const { page, proveAll, own, told } = setUp();
    own.cached = 2;
    await page();
    expect(own.sent).toEqual(['ping 0', 'ping 10', 'ping 20', 'page 30']);
    own.cached = 3;
    await expect(proveAll()).rejects.toThrow('Age above 0');
    expect(told).toEqual(['a']);
  });

  it('shares one ping with all others that need it; if its sender is stopped, the next one sends it', async () => {
    const { clock, source, own } = setUp();
    const stop = new AbortController();
    const stopped = thrown(source.page({ ...PAGE, signal: stop.signal }));
    const others = [source.page(PAGE), source.page(PAGE)];
    await clock.advance(5);
    expect(own.sent).toEqual(['ping 0']);
    own.failures.all = new Error('stop');
    stop.abort(own.failures.all);
    const late = new AbortController();
    const leaves = thrown(source.page({ ...PAGE, stop: late.signal }));
    late.abort(new Error('left'));
    // It leaves at once, and the ping goes on.
    expect(await leaves).toEqual(new Error('left'));
    expect(await clock.runUntil(stopped)).toEqual(new Error('stop'));
    own.failures = {};
    expect(await clock.runUntil(Promise.all(others))).toEqual(['a', 'a']);
    expect(own.sent).toEqual(['ping 0', 'ping 10', 'page 20', 'page 20']);
  });

  it('is a proof if its answer names the owner, unless the answer is cached', async () => {
    const { clock, page, account, own, told } = await used();
    await clock.advance(PROOF_MS - 30);
    await account();
    await clock.advance(30);
    await page();
    expect(own.sent.slice(2)).toEqual(['account 59990', 'page 60030']);
    own.cached = 1;
    own.owner = '8';
    await expect(account()).rejects.toThrow('GET /v1/account returned account 8, not 7');
    expect(told).toEqual(['a', 'a']);
    await expect(account()).rejects.toThrow(AccountMoved);
    expect(told).toEqual(['a', 'a', '!a']);
  });
});

describe('a proof of all answers', () => {
  it('is sent after the last answer, even if another ping was in flight by then', async () => {
    const { clock, source, told, own, page } = await used();
    const early = source.isGood('a', WAITING);
    await clock.advance(5);
    await page();
    const [late, same] = [source.proveAll(WAITING), source.proveAll(WAITING)];
    expect(await clock.runUntil(Promise.all([early, late, same]))).toEqual([true, true, true]);
    expect(own.sent).toEqual(['ping 0', 'page 10', 'ping 20', 'page 25', 'ping 35']);
    // The second key was not used by this process, but maybe by one before.
    expect(told).toEqual(['a', 'a', 'a', 'b']);
  });

  it('confirms the claims made before it was requested, and no later ones', async () => {
    const { clock, source, told, page, proveAll, complete } = await used();
    complete();
    const proof = source.proveAll(WAITING);
    await clock.advance(5);
    await page();
    complete(1);
    await clock.runUntil(proof);
    expect([told, source.hasClaims]).toEqual([['a', 'a', '= watchlist', 'b'], true]);
    await proveAll();
    expect(told.slice(4)).toEqual(['a', '= watchlist']);
    expect(source.hasClaims).toBe(false);
  });

  it('confirms without another request a claim that was made after a proof had followed every answer', async () => {
    const { source, told, proveAll, complete, own, other } = await used();
    await proveAll();
    const sent = [own.sent.length, other.sent.length];
    told.length = 0;
    // The page was committed after the proof of its answer.
    complete();
    await proveAll();
    expect([told, source.hasClaims]).toEqual([['= watchlist'], false]);
    expect([own.sent.length, other.sent.length]).toEqual(sent);
  });

  it('never exists for a key that is refused by now: nothing rests on its answers', async () => {
    const { source, told, proveAll, complete, own } = await used();
    complete();
    own.failures = { all: REFUSED };
    expect(await proveAll()).toBe(false);
    expect([told, source.hasClaims]).toEqual([['a', '?', 'b'], false]);
    expect(await proveAll()).toBe(true);
  });

  it('never exists if no key is good any more, even if it is requested after the refusal', async () => {
    const { proveAll, own, other } = await used();
    own.failures = { all: REFUSED };
    other.failures = { all: REFUSED };
    expect([await proveAll(), await proveAll()]).toEqual([false, false]);
  });

  it('covers refusals, too: a list that does not exist may be another account’s', async () => {
    const { page, proveAll, own } = await used();
    await proveAll();
    own.failures = { page: new RequestRefused('no such list', 404) };
    await expect(page()).rejects.toThrow('no such list');
    await proveAll();
    expect(own.sent.slice(3)).toEqual(['page 40', 'ping 50']);
  });
});

describe('a key that answers for another account', () => {
  it('stops the account: requests in flight count no more, and nothing else is sent', async () => {
    const { clock, source, page, account, proveAll, own, other, told } = await used();
    const [underWay, proof] = [thrown(source.page(PAGE)), thrown(proveAll())];
    own.owner = '8';
    const moved = new AccountMoved('a answers for 8');
    expect(await clock.runUntil(proof)).toEqual(moved);
    expect(await underWay).toEqual(moved);
    expect(() => source.assertOwn()).toThrow('a answers for 8');
    for (const request of [page, account, proveAll]) await expect(request()).rejects.toThrow(AccountMoved);
    expect([told, other.sent]).toEqual([['a', '!a'], []]);
  });

  it('sends no request that still waits for its slot', async () => {
    const { clock, source, own } = await used();
    own.owner = '8';
    own.queueMs = 50;
    const waits = thrown(source.page(PAGE));
    await clock.runUntil(thrown(source.proveAll(WAITING)));
    expect(await clock.runUntil(waits)).toBeInstanceOf(AccountMoved);
    expect(own.sent).toEqual(['ping 0', 'page 10', 'ping 20']);
  });

  it('does not invalidate a request that was sent once before: its answer counts', async () => {
    const { clock, source, once, own } = await used();
    let claims = 0;
    const claim = async (): Promise<boolean> => (claims += 1) > 0;
    own.owner = '8';
    const proof = thrown(source.proveAll(WAITING));
    await clock.advance(5);
    const sent = source.once({ ...ONCE, claim });
    expect(await clock.runUntil(proof)).toBeInstanceOf(AccountMoved);
    expect(await clock.runUntil(sent)).toMatchObject({ status: 401 });
    await expect(once({ claim })).rejects.toThrow(AccountMoved);
    expect(claims).toBe(1);
  });

  it('stops the account before that is stored', async () => {
    const contradicted = Promise.withResolvers<string>();
    const { clock, source, own } = setUp({ contradicted: () => contradicted.promise });
    own.owner = '8';
    const proof = thrown(source.ping(WAITING));
    await clock.advance(10);
    expect(() => source.assertOwn()).toThrow('API key a… belongs to account 8, not 7');
    contradicted.resolve('why');
    expect(await clock.runUntil(proof)).toEqual(new AccountMoved('why'));
  });
});
