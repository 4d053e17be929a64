import { describe, expect, it } from 'vitest';
import { storedOwnership } from '../../../test/support/sync/memory-ownership.ts';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { type Api, type ObjectRequest, Withheld } from '../../api/api.ts';
import { AccountMoved, KeyRefused, TransportError } from '../../model/errors.ts';
import { type OwnedKey, Ownership } from './ownership.ts';
import { PROOF_MS } from './proof-tracker.ts';

const WAITING = { signal: new AbortController().signal };
const ACCOUNT = { path: '/v1/account', route: '/v1/account', priority: 30, ...WAITING } as const;

/** A key whose requests take their time: `queueMs` until they are sent, and 10 ms until they are answered. */
class PlayedKey implements OwnedKey {
  readonly keyHash: string;
  readonly api: Api;
  /** What was sent, and when. */
  readonly sent: string[] = [];
  /** Whom it answers for, and what it answers instead. */
  owner: string | undefined = '7';
  failure: Error | undefined;
  /** Answers to come that a cache on the way gives. */
  cached = 0;
  queueMs = 0;
  readonly #clock: VirtualClock;

  constructor(keyHash: string, clock: VirtualClock) {
    this.keyHash = keyHash;
    this.#clock = clock;
    this.api = { object: (request: ObjectRequest) => this.#object(request) } as unknown as Api;
  }

  page(mayStart: () => boolean): Promise<string> {
    return this.#send('page', this.queueMs, mayStart, () => 'a page');
  }

  #object({ path, mayStart = () => true }: ObjectRequest) {
    const source = this.owner === undefined ? '{}' : `{"user_id":${this.owner}}`;
    return this.#send(path.slice('/v1/'.length), 0, mayStart, () => ({
      source,
      fields: {},
      served: { date: undefined, ageMs: this.cached > 0 ? this.cached-- * 1000 : 0 },
    }));
  }

  async #send<T>(what: string, queueMs: number, mayStart: () => boolean, answer: () => T): Promise<T> {
    if (queueMs > 0) await this.#clock.sleep(queueMs);
    if (!mayStart()) throw new Withheld('not now');
    this.sent.push(`${what} ${this.#clock.monotonic()}`);
    await this.#clock.sleep(10);
    if (this.failure !== undefined) throw this.failure;
    return answer();
  }
}

const WATCHLIST = {
  scope: { userId: '7', collection: 'watchlist', parent: '' },
  completeAsOf: new Date(0),
} as const;

function setUp() {
  const clock = new VirtualClock();
  const { told, ...store } = storedOwnership();
  const ownership = new Ownership({ userId: '7', store, clock });
  const page = (key: PlayedKey) => ownership.asOwner(key, WAITING, (mayStart) => key.page(mayStart));
  return { clock, told, ownership, page, key: (hash: string) => new PlayedKey(hash, clock) };
}

/** The same, with a key that has answered with a page. */
async function used() {
  const made = setUp();
  const own = made.key('a');
  await made.clock.runUntil(made.page(own));
  const proveAll = (): Promise<boolean> => made.clock.runUntil(made.ownership.proveAll(WAITING));
  return { ...made, own, proveAll };
}

describe('what a key answers', () => {
  it('is asked for once a ping has named its owner, and anew a minute after that was sent', async () => {
    const { clock, page, own } = await used();
    await clock.advance(PROOF_MS - 20);
    await clock.runUntil(page(own));
    await clock.runUntil(page(own));
    expect(own.sent).toEqual(['ping 0', 'page 10', 'page 60000', 'ping 60010', 'page 60020']);
  });

  it('is not asked for where the proof aged while the request waited for its slot', async () => {
    const { clock, page, own } = await used();
    own.queueMs = PROOF_MS - 19;
    await clock.runUntil(page(own));
    // Withheld at 60001, when its slot was there; then a ping, and the same wait again.
    expect(own.sent).toEqual(['ping 0', 'page 10', 'ping 60001', 'page 119992']);
  });

  it('needs no ping where it names its owner itself', async () => {
    const { clock, ownership, page, key } = setUp();
    const own = key('a');
    await clock.runUntil(ownership.readOwned(own, ACCOUNT));
    await clock.runUntil(page(own));
    expect(own.sent).toEqual(['account 0', 'page 10']);
  });

  it('is not proven by what a cache on the way answers', async () => {
    const { clock, ownership, page, key, told } = setUp();
    const own = key('a');
    own.cached = 2;
    await clock.runUntil(page(own));
    expect(own.sent).toEqual(['ping 0', 'ping 10', 'ping 20', 'page 30']);
    own.cached = 1;
    await clock.runUntil(ownership.readOwned(own, ACCOUNT));
    expect(own.sent.slice(4)).toEqual(['account 40', 'account 50']);
    own.cached = 3;
    await expect(clock.runUntil(ownership.proveAll(WAITING))).rejects.toThrow('Age above 0');
    expect(told).toEqual(['a']);
    own.cached = 1;
    own.owner = '8';
    await expect(clock.runUntil(ownership.readOwned(own, ACCOUNT))).rejects.toThrow('account 8, not 7');
    expect(told).toEqual(['a']);
  });

  it('is refused where the ping is: nothing of it is sent', async () => {
    const { clock, page, key } = setUp();
    const own = key('a');
    own.failure = new KeyRefused('refused', 401);
    await expect(clock.runUntil(page(own))).rejects.toMatchObject({ refusal: own.failure });
    own.failure = new TransportError('reset');
    await expect(clock.runUntil(page(own))).rejects.toThrow('reset');
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
    const { clock, ownership, page, key, told } = setUp();
    const [one, two] = [key('a'), key('b')];
    await clock.runUntil(page(one));
    await clock.runUntil(page(two));
    ownership.claimComplete(WATCHLIST);
    await clock.runUntil(ownership.proveAll(WAITING));
    // Until the second one is proven, too, not everything is.
    expect(told).toEqual(['a', 'b', 'a', 'b watchlist']);
    expect([one, two].map(({ sent }) => sent.length)).toEqual([3, 3]);
  });

  it('makes true what was claimed before it was asked for, and nothing later', async () => {
    const { clock, ownership, told, proveAll } = await used();
    ownership.claimComplete(WATCHLIST);
    const proof = ownership.proveAll(WAITING);
    await clock.advance(5);
    ownership.claimComplete({ ...WATCHLIST, completeAsOf: new Date(1) });
    await clock.runUntil(proof);
    expect(told).toEqual(['a', 'a watchlist']);
    expect(ownership.hasClaims).toBe(true);
    await proveAll();
    expect(told).toEqual(['a', 'a watchlist', 'a watchlist']);
    expect(ownership.hasClaims).toBe(false);
  });

  it('leaves to the next one what was claimed where it fails', async () => {
    const { ownership, told, proveAll, own } = await used();
    ownership.claimComplete(WATCHLIST);
    own.failure = new TransportError('reset');
    await expect(proveAll()).rejects.toThrow('reset');
    own.failure = undefined;
    await proveAll();
    expect(told).toEqual(['a', 'a watchlist']);
  });

  it('never comes of a key that is refused by now: what it answered is not built upon', async () => {
    const { ownership, told, proveAll, own } = await used();
    ownership.claimComplete(WATCHLIST);
    own.failure = new KeyRefused('refused', 401);
    expect(await proveAll()).toBe(false);
    expect(told).toEqual(['a', '?']);
    expect(ownership.hasClaims).toBe(false);
    expect(await proveAll()).toBe(true);
  });
});

describe('a key that answers for another account', () => {
  it('ends everything: what is under way counts no more, and nothing else is sent', async () => {
    const { clock, ownership, page, key, told } = setUp();
    const [own, other] = [key('a'), key('b')];
    await clock.runUntil(page(own));
    own.owner = '8';
    const proof = ownership.proveAll(WAITING).catch((error: unknown) => error);
    expect(await clock.runUntil(proof)).toEqual(new AccountMoved('a answers for 8'));
    expect(() => ownership.assertOwn()).toThrow('a answers for 8');
    await expect(clock.runUntil(page(other))).rejects.toThrow(AccountMoved);
    await expect(clock.runUntil(ownership.readOwned(own, ACCOUNT))).rejects.toThrow(AccountMoved);
    expect(told).toEqual(['a', '!a']);
    expect(other.sent).toEqual([]);
  });

  it('is found out by the account that it answers with', async () => {
    const { clock, ownership, key } = setUp();
    const own = key('a');
    own.owner = '8';
    await expect(clock.runUntil(ownership.readOwned(own, ACCOUNT))).rejects.toThrow(AccountMoved);
  });

  it('is in force before it is stored', async () => {
    const clock = new VirtualClock();
    const store = storedOwnership();
    const contradicted = Promise.withResolvers<string>();
    const ownership = new Ownership({
      userId: '7',
      store: { ...store, contradicted: () => contradicted.promise },
      clock,
    });
    const own = new PlayedKey('a', clock);
    own.owner = '8';
    const proof = ownership.prove(own, WAITING).catch((error: unknown) => error);
    await clock.advance(10);
    expect(() => ownership.assertOwn()).toThrow('API key a… answers for account 8, not 7');
    contradicted.resolve('why');
    expect(await clock.runUntil(proof)).toEqual(new AccountMoved('why'));
  });
});
