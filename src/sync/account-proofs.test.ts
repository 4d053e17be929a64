import { describe, expect, it } from 'vitest';
import { storedOwnership } from '../../test/support/sync/memory-ownership.ts';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import {
  type Api,
  type ObjectRequest,
  type OnceRequest,
  type PageRequest,
  type RawAnswer,
  Withheld,
} from '../service/api.ts';
import type { Budget } from '../service/budget.ts';
import { AccountMoved, KeyRefused, RequestRefused, TransportError } from '../model/errors.ts';
import { AccountSource } from './account-source.ts';
import type { OwnershipStore } from './account-store.ts';
import { PROOF_MS } from './proofs.ts';

const WAITING = { signal: new AbortController().signal };
const PAGE = { path: '/v1/lists', route: '/v1/lists', ...WAITING } as PageRequest;
const ACCOUNT = { path: '/v1/account', route: '/v1/account', priority: 30, ...WAITING } as const;
const REFUSED = new KeyRefused('refused', 401);
const RESET = new TransportError('reset');

/** A key whose requests take their time: `queueMs` until they are sent, and 10 ms until they are answered. */
function playedKey(keyHash: string, clock: VirtualClock) {
  const sent: string[] = [];
  const key = {
    keyHash,
    /** What was sent, and when. */
    sent,
    /** Whom it answers for; what it answers instead, and how many answers to come a cache on the way gives. */
    owner: '7',
    failure: undefined as Error | undefined,
    cached: 0,
    queueMs: 0,
    budget: {} as Budget,
    api: {
      page: ({ mayStart = () => true }: PageRequest) => send('page', key.queueMs, mayStart, () => 'a page'),
      once: async ({ claim }: OnceRequest) => {
        if ((await claim?.()) === false) return undefined;
        return send(
          'once',
          0,
          () => true,
          () => ({ status: 202 }) as RawAnswer,
        );
      },
      object: ({ path, mayStart = () => true }: ObjectRequest) =>
        send(path.slice('/v1/'.length), 0, mayStart, () => ({
          source: `{"user_id":${key.owner}}`,
          fields: {},
          served: { date: undefined, ageMs: key.cached > 0 ? key.cached-- * 1000 : 0 },
        })),
    } as unknown as Api,
  };
  async function send<T>(
    what: string,
    queueMs: number,
    mayStart: () => boolean,
    answer: () => T,
  ): Promise<T> {
    if (queueMs > 0) await clock.sleep(queueMs);
    if (!mayStart()) throw new Withheld('not now');
    sent.push(`${what} ${clock.monotonic()}`);
    await clock.sleep(10);
    if (key.failure !== undefined) throw key.failure;
    return answer();
  }
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
  const proveAll = () => clock.runUntil(source.proveAll(WAITING));
  const complete = (at = 0): void =>
    source.claimComplete({
      scope: { userId: '7', collection: 'watchlist', parent: '' },
      completeAsOf: new Date(clock.now() + at),
    });
  return { clock, told, source, page, account, ping, proveAll, complete, own, other };
}

/** The same, with a first key that has answered with a page. */
async function used() {
  const made = setUp();
  await made.page();
  return made;
}

/** The same if both keys have answered and the first one is good again. */
async function bothUsed() {
  const made = await used();
  made.own.failure = REFUSED;
  await made.ping();
  await made.page();
  made.own.failure = undefined;
  await made.ping();
  await made.page();
  return made;
}

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
    const stopped = source.page({ ...PAGE, signal: stop.signal }).catch((error: unknown) => error);
    const others = [source.page(PAGE), source.page(PAGE)];
    await clock.advance(5);
    expect(own.sent).toEqual(['ping 0']);
    own.failure = new Error('stop');
    stop.abort(own.failure);
    const late = new AbortController();
    const leaves = source.page({ ...PAGE, stop: late.signal }).catch((error: unknown) => error);
    late.abort(new Error('left'));
    // It leaves at once, and the ping goes on.
    expect(await leaves).toEqual(new Error('left'));
    expect(await clock.runUntil(stopped)).toEqual(new Error('stop'));
    own.failure = undefined;
    expect(await clock.runUntil(Promise.all(others))).toEqual(['a page', 'a page']);
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
    await expect(account()).rejects.toThrow('GET /v1/account was answered with account 8, not 7');
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

  it('exists once a ping was sent after the last answer of each key', async () => {
    const { proveAll, own, other } = await used();
    await proveAll();
    await proveAll();
    expect([own.sent, other.sent]).toEqual([['ping 0', 'page 10', 'ping 20'], ['ping 30']]);
  });

  it('needs a ping of every key that was used', async () => {
    const { proveAll, complete, told } = await bothUsed();
    complete();
    told.length = 0;
    await proveAll();
    // Until the second one is proven, too, not everything is.
    expect(told).toEqual(['a', 'b', '= watchlist']);
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
    const asked = own.sent.length + other.sent.length;
    told.length = 0;
    // The page was committed after the proof of its answer.
    complete();
    await proveAll();
    expect([told, source.hasClaims]).toEqual([['= watchlist'], false]);
    expect(own.sent.length + other.sent.length).toBe(asked);
  });

  it('leaves the claims to the next proof if it fails', async () => {
    const { told, proveAll, complete, own } = await used();
    complete();
    own.failure = RESET;
    await expect(proveAll()).rejects.toThrow('reset');
    own.failure = undefined;
    await proveAll();
    expect(told).toEqual(['a', 'a', '= watchlist', 'b']);
  });

  it('never exists for a key that is refused by now: nothing rests on its answers', async () => {
    const { source, told, proveAll, complete, own } = await used();
    complete();
    own.failure = REFUSED;
    expect(await proveAll()).toBe(false);
    expect([told, source.hasClaims]).toEqual([['a', '?', 'b'], false]);
    expect(await proveAll()).toBe(true);
  });

  it('never exists if no key is good any more, even if it is requested after the refusal', async () => {
    const { proveAll, own, other } = await used();
    own.failure = REFUSED;
    other.failure = REFUSED;
    expect([await proveAll(), await proveAll()]).toEqual([false, false]);
  });

  it('covers refusals, too: a list that does not exist may be another account’s', async () => {
    const { page, proveAll, own } = await used();
    await proveAll();
    own.failure = new RequestRefused('no such list', 404);
    await expect(page()).rejects.toThrow('no such list');
    own.failure = undefined;
    await proveAll();
    expect(own.sent.slice(3)).toEqual(['page 40', 'ping 50']);
  });
});

describe('a key that answers for another account', () => {
  it('stops the account: requests in flight count no more, and nothing else is sent', async () => {
    const { clock, source, page, account, proveAll, own, other, told } = await used();
    const [underWay, proof] = [source.page(PAGE), proveAll()].map((each) =>
      each.catch((error: unknown) => error),
    );
    own.owner = '8';
    const moved = new AccountMoved('a answers for 8');
    expect(await clock.runUntil(Promise.resolve(proof))).toEqual(moved);
    expect(await underWay).toEqual(moved);
    expect(() => source.assertOwn()).toThrow('a answers for 8');
    await expect(page()).rejects.toThrow(AccountMoved);
    await expect(account()).rejects.toThrow(AccountMoved);
    await expect(proveAll()).rejects.toThrow(AccountMoved);
    expect([told, other.sent]).toEqual([['a', '!a'], []]);
  });

  it('sends no request that still waits for its slot', async () => {
    const { clock, source, own } = await used();
    own.owner = '8';
    own.queueMs = 50;
    const waits = source.page(PAGE).catch((error: unknown) => error);
    await clock.runUntil(source.proveAll(WAITING).catch((error: unknown) => error));
    expect(await clock.runUntil(waits)).toBeInstanceOf(AccountMoved);
    expect(own.sent).toEqual(['ping 0', 'page 10', 'ping 20']);
  });

  it('does not invalidate a request that was sent once before: its answer counts', async () => {
    const { clock, source, own } = await used();
    const claims: string[] = [];
    const claim = (): Promise<boolean> => Promise.resolve(claims.push('claimed') > 0);
    const request = { method: 'POST', path: '/v1/research', claim, ...WAITING } as unknown as OnceRequest;
    own.owner = '8';
    const proof = source.proveAll(WAITING).catch((error: unknown) => error);
    await clock.advance(5);
    const sent = source.once(request);
    expect(await clock.runUntil(proof)).toBeInstanceOf(AccountMoved);
    expect(await clock.runUntil(sent)).toMatchObject({ status: 202 });
    await expect(source.once(request)).rejects.toThrow(AccountMoved);
    expect(claims).toEqual(['claimed']);
  });

  it('stops the account before that is stored', async () => {
    const contradicted = Promise.withResolvers<string>();
    const { clock, source, own } = setUp({ contradicted: () => contradicted.promise });
    own.owner = '8';
    const proof = source.ping(WAITING).catch((error: unknown) => error);
    await clock.advance(10);
    expect(() => source.assertOwn()).toThrow('API key a… answers for account 8, not 7');
    contradicted.resolve('why');
    expect(await clock.runUntil(proof)).toEqual(new AccountMoved('why'));
  });
});
