import { describe, expect, it } from 'vitest';
import { storedOwnership } from '../../../test/support/sync/memory-ownership.ts';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { type Api, type ObjectRequest, Withheld } from '../../api/api.ts';
import { AccountMoved, KeyRefused, TransportError } from '../../model/errors.ts';
import { Ownership, type OwnershipStore } from './ownership.ts';
import { PROOF_MS } from './proof-tracker.ts';

const WAITING = { signal: new AbortController().signal };
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
    /** Whom it answers for, what it answers instead, and how many answers to come a cache on the way gives. */
    owner: '7',
    failure: undefined as Error | undefined,
    cached: 0,
    queueMs: 0,
    page: (mayStart: () => boolean) => send('page', key.queueMs, mayStart, () => 'a page'),
    api: {
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
type PlayedKey = ReturnType<typeof playedKey>;

/** An account with its keys a and b; what is asked of it runs to its end. */
function setUp(more: Partial<OwnershipStore> = {}) {
  const clock = new VirtualClock();
  const { told, ...store } = storedOwnership();
  const ownership = new Ownership({ userId: '7', store: { ...store, ...more }, clock });
  const page = (key: PlayedKey): Promise<string> =>
    clock.runUntil(ownership.asOwner(key, WAITING, (mayStart) => key.page(mayStart)));
  const account = (key: PlayedKey) => clock.runUntil(ownership.readOwned(key, ACCOUNT));
  const proveAll = (): Promise<boolean> => clock.runUntil(ownership.proveAll(WAITING));
  const complete = (at = 0): void =>
    ownership.claimComplete({
      scope: { userId: '7', collection: 'watchlist', parent: '' },
      completeAsOf: new Date(at),
    });
  const [own, other] = [playedKey('a', clock), playedKey('b', clock)];
  return { clock, told, ownership, page, account, proveAll, complete, own, other };
}

/** The same, with a key that has answered with a page. */
async function used() {
  const made = setUp();
  await made.page(made.own);
  return made;
}

describe('what a key answers', () => {
  it('is asked for once a ping has named its owner, and anew a minute after that was sent', async () => {
    const { clock, page, own } = await used();
    await clock.advance(PROOF_MS - 20);
    await page(own);
    await page(own);
    expect(own.sent).toEqual(['ping 0', 'page 10', 'page 60000', 'ping 60010', 'page 60020']);
  });

  it('is not asked for where the proof aged while the request waited for its slot', async () => {
    const { page, own } = await used();
    own.queueMs = PROOF_MS - 19;
    await page(own);
    // Withheld at 60001, when its slot was there; then a ping, and the same wait again.
    expect(own.sent).toEqual(['ping 0', 'page 10', 'ping 60001', 'page 119992']);
  });

  it('needs no ping where it names its owner itself', async () => {
    const { account, page, own } = setUp();
    await account(own);
    await page(own);
    expect(own.sent).toEqual(['account 0', 'page 10']);
  });

  it('is not proven by what a cache on the way answers', async () => {
    const { account, page, proveAll, own, told } = setUp();
    own.cached = 2;
    await page(own);
    expect(own.sent).toEqual(['ping 0', 'ping 10', 'ping 20', 'page 30']);
    own.cached = 1;
    await account(own);
    expect(own.sent.slice(4)).toEqual(['account 40', 'account 50']);
    own.cached = 3;
    await expect(proveAll()).rejects.toThrow('Age above 0');
    expect(told).toEqual(['a']);
    own.cached = 1;
    own.owner = '8';
    await expect(account(own)).rejects.toThrow('account 8, not 7');
    expect(told).toEqual(['a']);
  });

  it('is refused where the ping is: nothing of it is sent', async () => {
    const { page, own } = setUp();
    own.failure = REFUSED;
    await expect(page(own)).rejects.toMatchObject({ refusal: REFUSED });
    own.failure = RESET;
    await expect(page(own)).rejects.toThrow('reset');
    expect(own.sent).toEqual(['ping 0', 'ping 10']);
  });
});

describe('a proof of all that was answered', () => {
  it('is sent after the last answer, also where another one was under way by then', async () => {
    const { clock, ownership, told, own } = await used();
    const early = ownership.prove(own, WAITING);
    await clock.advance(5);
    const [late, same] = [ownership.proveAll(WAITING), ownership.proveAll(WAITING)];
    expect(await clock.runUntil(Promise.all([early, late, same]))).toEqual([undefined, true, true]);
    expect(own.sent).toEqual(['ping 0', 'page 10', 'ping 20', 'ping 30']);
    expect(told).toEqual(['a', 'a', 'a']);
  });

  it('is of every key that was used', async () => {
    const { page, proveAll, complete, own, other, told } = await used();
    await page(other);
    complete();
    await proveAll();
    // Until the second one is proven, too, not everything is.
    expect(told).toEqual(['a', 'b', 'a', 'b watchlist']);
    expect([own, other].map(({ sent }) => sent.length)).toEqual([3, 3]);
  });

  it('makes true what was claimed before it was asked for, and nothing later', async () => {
    const { clock, ownership, told, proveAll, complete } = await used();
    complete();
    const proof = ownership.proveAll(WAITING);
    await clock.advance(5);
    complete(1);
    await clock.runUntil(proof);
    expect([told, ownership.hasClaims]).toEqual([['a', 'a watchlist'], true]);
    await proveAll();
    expect([told, ownership.hasClaims]).toEqual([['a', 'a watchlist', 'a watchlist'], false]);
  });

  it('leaves to the next one what was claimed where it fails', async () => {
    const { told, proveAll, complete, own } = await used();
    complete();
    own.failure = RESET;
    await expect(proveAll()).rejects.toThrow('reset');
    own.failure = undefined;
    await proveAll();
    expect(told).toEqual(['a', 'a watchlist']);
  });

  it('never comes of a key that is refused by now: what it answered is not built upon', async () => {
    const { ownership, told, proveAll, complete, own } = await used();
    complete();
    own.failure = REFUSED;
    expect(await proveAll()).toBe(false);
    expect([told, ownership.hasClaims]).toEqual([['a', '?'], false]);
    expect(await proveAll()).toBe(true);
  });
});

describe('a key that answers for another account', () => {
  it('ends everything: what is under way counts no more, and nothing else is sent', async () => {
    const { ownership, page, account, proveAll, own, other, told } = await used();
    own.owner = '8';
    await expect(proveAll()).rejects.toEqual(new AccountMoved('a answers for 8'));
    expect(() => ownership.assertOwn()).toThrow('a answers for 8');
    await expect(page(other)).rejects.toThrow(AccountMoved);
    await expect(account(own)).rejects.toThrow(AccountMoved);
    expect([told, other.sent]).toEqual([['a', '!a'], []]);
  });

  it('is found out by the account that it answers with', async () => {
    const { account, own } = setUp();
    own.owner = '8';
    await expect(account(own)).rejects.toThrow(AccountMoved);
  });

  it('is in force before it is stored', async () => {
    const contradicted = Promise.withResolvers<string>();
    const { clock, ownership, own } = setUp({ contradicted: () => contradicted.promise });
    own.owner = '8';
    const proof = ownership.prove(own, WAITING).catch((error: unknown) => error);
    await clock.advance(10);
    expect(() => ownership.assertOwn()).toThrow('API key a… answers for account 8, not 7');
    contradicted.resolve('why');
    expect(await clock.runUntil(proof)).toEqual(new AccountMoved('why'));
  });
});
