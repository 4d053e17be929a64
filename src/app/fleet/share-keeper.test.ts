import { afterEach, describe, expect, it } from 'vitest';
import { Doorbell } from '@research-mirror/runtime/doorbell';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import type { LivingProcess } from '../../db/ownership/lease.ts';
import type { Service } from '@research-mirror/runtime/service';
import { type Share, type SharedAccount, shareKeeper } from './share-keeper.ts';

let keeper: Service;
afterEach(() => keeper.stop());

/** A daemon with its accounts, and what Postgres would answer it. */
function sceneOf(...accounts: string[]) {
  const clock = new VirtualClock();
  const bell = new Doorbell();
  const standing = new Map<string, ReturnType<SharedAccount['standing']>>();
  const owners = new Map<string, string | null>();
  for (const userId of accounts) {
    standing.set(userId, 'waits');
    owners.set(userId, null);
  }
  const living = new Map<string, LivingProcess>();
  const retired = new Set<string>();
  const done: string[] = [];
  const shares: Share[] = [];
  const is = {
    others: false,
    expiresInMs: Infinity,
    fails: false,
    interruptedAt: -Infinity,
    /** Called behind what the look sees. */
    duringLook: () => {},
  };
  const note = async (what: string): Promise<void> => {
    done.push(what);
    if (is.fails) throw new Error('away');
  };
  const own = (userId: string): SharedAccount => ({
    userId,
    standing: () => standing.get(userId) ?? 'unable',
    take: () => {
      done.push(`take ${userId}`);
      standing.set(userId, 'works');
      owners.set(userId, 'self');
    },
    giveUp: () => {
      done.push(`give up ${userId}`);
      standing.set(userId, 'busy');
    },
  });
  keeper = shareKeeper({
    store: {
      offer: (serves) => note(`offer ${serves.join(' ')}`),
      withdraw: () => note('withdraw'),
      wakeOthers: () => note('wake others'),
      look: async () => {
        await note('look');
        const seen = [...owners].filter(([userId]) => !retired.has(userId));
        const all = seen.map(([userId, owner]) => ({ userId, owner }));
        is.duringLook();
        return { living, accounts: all, retired, expiresInMs: is.expiresInMs };
      },
    },
    self: 'self',
    accounts: () => accounts.map(own),
    hasOthers: () => is.others,
    interruptedAt: () => is.interruptedAt,
    bell,
    clock,
    onUnavailable: (userId, holder) =>
      done.push(`${userId} is held: ${holder === 'retired' ? holder : holder.processId}`),
    onShare: (share) => shares.push(share),
    onFailure: (error) => done.push(`failed: ${(error as Error).message}`),
  });
  const lives = (processId: string, serves?: readonly string[]): void => {
    const process = { processId, command: 'start', pid: 1, here: false, leftMs: 12_000, prompt: true };
    living.set(processId, { ...process, aliveUntil: new Date(0), serves: serves && new Set(serves) });
  };
  /** What was done since the last call, and in these milliseconds. */
  const after = async (ms: number): Promise<string[]> => {
    await clock.advance(ms);
    return done.splice(0);
  };
  const start = async (): Promise<string[]> => {
    await keeper.start();
    return await after(0);
  };
  const rung = (ms = 0): Promise<string[]> => {
    bell.ring();
    return after(ms);
  };
  return { is, standing, owners, living, retired, shares, lives, start, after, rung };
}

const but = (left: string, news: readonly string[]): string[] => news.filter((each) => each !== left);
const looks = (length: number): string[] => Array.from({ length }, () => 'look');

describe('a daemon that is alone', () => {
  it('takes all its accounts, and asks nothing after that, whoever rings', async () => {
    const { start, after, rung } = sceneOf('a', 'b');
    expect(await start()).toEqual(['offer a b', 'look', 'take a', 'take b']);
    expect([...(await after(60_000)), ...(await rung(60_000))]).toEqual([]);
  });

  it('waits for an account that a command has, and says so once', async () => {
    const { owners, lives, start, after, rung } = sceneOf('a');
    lives('sync');
    owners.set('a', 'sync');
    const news = [...(await start()), ...(await after(4_500))];
    expect(news).toEqual(['offer a', 'look', 'look', 'a is held: sync', 'look']);
    owners.set('a', null);
    expect(await rung()).toEqual(['look', 'take a']);
  });

  it('takes no retired account until it is none any more', async () => {
    const { retired, start, after } = sceneOf('a');
    retired.add('a');
    const news = [...(await start()), ...(await after(29_000))];
    expect(news).toEqual(['offer a', 'look', 'a is held: retired']);
    expect(await after(60_000)).toEqual(looks(2));
    retired.delete('a');
    expect(await after(34_000)).toEqual(['look', 'take a']);
  });

  it('leaves what it can’t serve to others, and offers it again later', async () => {
    const { standing, start, rung } = sceneOf('a', 'b');
    standing.set('b', 'unable');
    expect(await start()).toEqual(['offer a', 'look', 'take a']);
    standing.set('b', 'waits');
    expect(await rung(4_000)).toEqual(['offer a b', 'look', 'take b']);
  });

  it('tries again where the database does not answer', async () => {
    const { is, start, after } = sceneOf('a');
    is.fails = true;
    const news = [...(await start()), ...(await after(3_000))];
    expect(new Set(news)).toEqual(new Set(['offer a', 'failed: away']));
    is.fails = false;
    expect((await after(2_000)).slice(0, 3)).toEqual(['offer a', 'look', 'take a']);
  });
});

describe('a daemon beside another one', () => {
  it('gives up some accounts at a time when the other one has come', async () => {
    const accounts = Array.from({ length: 40 }, (_, index) => `a${index + 10}`);
    const { is, owners, shares, lives, start, after } = sceneOf(...accounts);
    const givenUp = async (ms: number): Promise<string[]> =>
      (await after(ms)).filter((each) => each.startsWith('give up'));
    await start();
    lives('other', accounts);
    is.others = true;
    const given = await givenUp(4_000);
    expect(given).toHaveLength(16);
    for (const each of given) owners.set(each.slice('give up '.length), 'other');
    expect(await givenUp(1_200)).toHaveLength(4);
    expect(shares.at(-1)).toEqual({ own: 20, of: 40, daemons: 2 });
  });

  it('looks each four seconds once each has its share', async () => {
    const { is, owners, lives, start, after } = sceneOf('a', 'b');
    is.others = true;
    lives('other', ['c', 'd']);
    owners.set('c', 'other').set('d', 'other');
    await start();
    await after(5_000);
    expect(await after(60_000)).toEqual(looks(15));
  });

  it('offers its accounts again where the database has another list of them', async () => {
    const { is, lives, start, after } = sceneOf('a', 'b');
    is.others = true;
    lives('self', ['b', 'a']);
    const news = [...(await start()), ...(await after(20_000))];
    expect(news.filter((each) => each.startsWith('offer'))).toEqual(['offer a b']);
    for (const list of [['a'], undefined, []]) {
      lives('self', list);
      const offered = await after(5_000);
      lives('self', ['a', 'b']);
      expect([...offered, ...(await after(5_000))]).toContain('offer a b');
    }
  });

  it('looks again in the moment in which another one’s heartbeat runs out', async () => {
    const { is, owners, living, lives, start, after } = sceneOf('a');
    is.others = true;
    lives('other', ['a']);
    owners.set('a', 'other');
    is.expiresInMs = 1_500;
    expect(await start()).toEqual(['offer a', 'look', 'wake others']);
    living.delete('other');
    expect(await after(1_499)).toEqual([]);
    expect(await after(121)).toEqual(['look', 'take a']);
  });

  it('looks again soon while nobody has what it left to another one, which may leave it to this one', async () => {
    const { is, owners, living, lives, start, after, rung } = sceneOf('a', 'b');
    is.others = true;
    owners.set('b', 'other').set('c', 'other').set('d', 'other');
    lives('other', ['b', 'c', 'd']);
    expect(await start()).toContain('take a');
    lives('third', ['b']);
    owners.set('b', null);
    await rung();
    await after(100);
    // The third looked before, when it had no turn, and ended.
    living.delete('third');
    expect(but('look', await after(600))).toEqual(['take b']);
  });

  it('looks once a second at what others leave for longer', async () => {
    const { is, lives, start, after } = sceneOf('a', 'b');
    is.others = true;
    lives('other', ['b']);
    await start();
    await after(10_000);
    expect(await after(11_000)).toEqual(looks(10));
  });

  it('takes anew what it lost while it was asleep, and nobody has', async () => {
    const { is, standing, owners, lives, start, after, rung } = sceneOf('a', 'b');
    const begun = await start();
    is.others = true;
    lives('other', ['a', 'b', 'c', 'd']);
    owners.set('c', 'other').set('d', 'other');
    const news = but('look', [...begun, ...(await after(8_000))]);
    expect(news).toEqual(['offer a b', 'take a', 'take b']);
    // Taken from it, and one of them given up again; its work has ended (owned-accounts.ts).
    owners.set('a', null).set('b', 'other');
    standing.set('a', 'waits').set('b', 'waits');
    expect(await rung(100)).toEqual(['look', 'take a']);
  });

  it('does not give up what it has just taken, though the look began before', async () => {
    const { is, standing, owners, lives, start, after } = sceneOf('a', 'b');
    await start();
    is.others = true;
    lives('other', []);
    standing.set('b', 'waits');
    owners.set('b', null);
    // It was seen as nobody's, and stands as read when the look has its answer.
    is.duringLook = () => {
      standing.set('b', 'works');
      owners.set('b', 'self');
    };
    expect(await after(4_000)).not.toContain('give up b');
  });

  it.each([
    ['its own heartbeat', { interruptedAt: 0 }],
    ['its look', { fails: true }],
  ])('takes nobody for dead just after %s failed: others may have been away as well', async (_, failing) => {
    const { is, owners, start, after } = sceneOf('a');
    Object.assign(is, { others: true, ...failing });
    owners.set('a', 'other');
    await start();
    is.fails = false;
    expect(await after(5_900)).not.toContain('take a');
    expect(await after(2_000)).toContain('take a');
  });

  it('takes part no longer once it is stopped, before its accounts are released', async () => {
    const { start, after } = sceneOf('a');
    await start();
    await keeper.stop();
    expect(await after(0)).toEqual(['withdraw', 'wake others']);
  });
});
