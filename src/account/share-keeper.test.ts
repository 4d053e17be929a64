import { afterEach, describe, expect, it } from 'vitest';
import { Doorbell } from '@research-mirror/runtime/doorbell';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import type { LivingProcess } from '../postgres/lease.ts';
import type { Service } from '@research-mirror/runtime/service';
import { type SharedAccount, shareKeeper, shareOut } from './share-keeper.ts';

let keeper: Service;
afterEach(() => keeper.stop());

/** A daemon with its accounts, and what Postgres would answer it. */
function sceneOf(...accounts: string[]) {
  const clock = new VirtualClock();
  const bell = new Doorbell();
  const standing = new Map<string, ReturnType<SharedAccount['standing']>>(accounts.map((userId) => [userId, 'waits']));
  const owners = new Map<string, string | null>(accounts.map((userId) => [userId, null]));
  const living = new Map<string, LivingProcess>();
  const retired = new Set<string>();
  const done: string[] = [];
  const is = {
    others: false,
    leftMs: 12_000,
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
  const lives = (processId: string, serves?: readonly string[], version = '1'): void => {
    const process = { processId, version, command: 'start', pid: 1, startedTicks: '1' };
    const heartbeat = { here: false, prompt: true, leftMs: is.leftMs, aliveUntil: new Date(0) };
    living.set(processId, { ...process, ...heartbeat, serves: serves && new Set(serves) });
  };
  lives('self');
  keeper = shareKeeper(
    { processId: 'self', hasOthers: () => is.others, interruptedAt: () => is.interruptedAt, clock },
    { info: (line: unknown) => void done.push(String(line)) },
    { failed: (_place, text, error) => void done.push(`${text}: ${(error as Error).message}`) },
    {
      offer: async (serves) => {
        const list = [...serves];
        await note(`offer ${list.join(' ')}`);
        lives('self', list);
      },
      withdraw: () => note('withdraw'),
      wakeOthers: () => note('wake others'),
      look: async () => {
        await note('look');
        const rows = [...owners].map(([userId, owner]) => ({ userId, owner, retired: retired.has(userId) }));
        is.duringLook();
        return { living: [...living.values()], accounts: new Map(rows.map((row) => [row.userId, row])) };
      },
    },
    () => accounts.map(own),
    bell,
  );
  /** What was done since the last call, and in these milliseconds. */
  const after = async (ms: number): Promise<string[]> => {
    await clock.advance(ms);
    return done.splice(0);
  };
  /** Only what begins so. */
  const just = async (begin: string, ms: number): Promise<string[]> =>
    (await after(ms)).filter((each) => each.startsWith(begin));
  const start = async (): Promise<string[]> => {
    await keeper.start();
    return await after(0);
  };
  const rung = (ms = 0): Promise<string[]> => {
    bell.ring();
    return after(ms);
  };
  return { is, standing, owners, living, retired, lives, start, after, just, rung };
}

const but = (left: string, news: readonly string[]): string[] => news.filter((each) => each !== left);

describe('a daemon that is alone', () => {
  it('takes all its accounts, and sends no query afterwards', async () => {
    const { start, after, rung } = sceneOf('a', 'b');
    expect(await start()).toEqual(['look', 'offer a b', 'take a', 'take b']);
    expect(but('look', [...(await after(60_000)), ...(await rung(60_000))])).toEqual([]);
    expect(await after(60_000)).toEqual([]);
  });

  it('waits for an account that a command owns, and logs it once, at the second look', async () => {
    const { owners, lives, start, after, rung } = sceneOf('a');
    lives('sync');
    owners.set('a', 'sync');
    expect(await start()).toEqual(['look', 'offer a']);
    const held = 'account a is held by "research-mirror start" (process 1 on another machine)';
    expect(await after(13_000)).toEqual(['look', held, 'look', 'look']);
    owners.set('a', null);
    expect(await rung()).toEqual(['look', 'take a']);
  });

  it('takes no retired account until it is restored', async () => {
    const { retired, start, after } = sceneOf('a');
    retired.add('a');
    await start();
    const why = 'account a is retired: its key in MIRROR_API_KEY is not used';
    expect(but('look', await after(30_000))).toEqual([why]);
    retired.delete('a');
    expect(await after(4_000)).toContain('take a');
  });

  it('leaves accounts that it can’t serve to others, and offers them again later', async () => {
    const { standing, start, rung } = sceneOf('a', 'b');
    standing.set('b', 'unable');
    expect(await start()).toEqual(['look', 'offer a', 'take a']);
    standing.set('b', 'waits');
    expect(await rung(4_000)).toEqual(['look', 'offer a b', 'take b']);
  });

  it('tries again if the database does not answer', async () => {
    const { is, start, after } = sceneOf('a');
    is.fails = true;
    const news = [...(await start()), ...(await after(3_000))];
    expect(new Set(news)).toEqual(new Set(['look', 'sharing accounts: away']));
    is.fails = false;
    expect((await after(2_000)).slice(0, 3)).toEqual(['look', 'offer a', 'take a']);
  });

  it('offers its accounts again once a heartbeat has restored its row', async () => {
    const { living, lives, start, after, is } = sceneOf('a');
    await start();
    is.others = true;
    living.delete('self');
    await after(10_000);
    lives('self');
    expect(await after(4_000)).toContain('offer a');
  });
});

describe('a daemon beside another one', () => {
  const accounts = Array.from({ length: 40 }, (_, index) => `a${index + 10}`);
  const free = new Map(accounts.map((userId) => [userId, undefined]));
  const daemons = ['self', 'other'].map((id) => ({ id, serves: new Set(accounts), prompt: true }));
  const shareOf = (id: string): string[] =>
    [...shareOut(free, daemons)].filter(([, target]) => target === id).map(([userId]) => userId);

  it('gives up a few accounts at a time when another daemon comes', async () => {
    const { is, owners, lives, start, just } = sceneOf(...accounts);
    await start();
    lives('other', accounts);
    is.others = true;
    const given = await just('give up', 4_000);
    expect(given).toHaveLength(16);
    for (const each of given) owners.set(each.slice('give up '.length), 'other');
    const rest = await just('give up', 1_200);
    expect([...given, ...rest].toSorted()).toEqual(shareOf('other').map((each) => `give up ${each}`));
  });

  it('takes its own accounts, and logs its share once', async () => {
    const { is, lives, start, after } = sceneOf(...accounts);
    is.others = true;
    lives('other', accounts);
    const news = [...(await start()), ...(await after(10_000))];
    expect(news.filter((each) => each.startsWith('take'))).toEqual(shareOf('self').map((each) => `take ${each}`));
    expect(news.filter((each) => each.startsWith('share of this daemon'))).toEqual([
      'share of this daemon: 20 of 40 accounts, as one of 2 daemons',
    ]);
  });

  it('looks every four seconds once each has its share', async () => {
    const { is, owners, lives, start, after } = sceneOf('a', 'b');
    is.others = true;
    lives('other', ['c', 'd']);
    owners.set('c', 'other').set('d', 'other');
    await start();
    await after(5_000);
    expect(await after(60_000)).toEqual(Array(15).fill('look'));
  });

  it('offers its accounts again if the database has another list of them', async () => {
    const { is, lives, start, after } = sceneOf('a', 'b');
    is.others = true;
    await start();
    lives('self', ['b', 'a']);
    expect(await after(20_000)).not.toContain('offer a b');
    for (const list of [['a'], undefined, []]) {
      lives('self', list);
      expect(await after(5_000)).toContain('offer a b');
    }
  });

  it('looks again when another daemon’s heartbeat runs out', async () => {
    const { is, owners, living, lives, start, after } = sceneOf('a');
    is.others = true;
    is.leftMs = 1_500;
    lives('other', ['a']);
    owners.set('a', 'other');
    await start();
    living.delete('other');
    expect(await after(1_499)).toEqual([]);
    const news = await after(121);
    expect(but('share of this daemon: 1 of 1 account, as the only daemon', news)).toEqual(['look', 'take a']);
  });

  it('looks four times a second while a free account is left to another daemon', async () => {
    const { is, owners, living, lives, start, after, just } = sceneOf(...accounts);
    is.others = true;
    lives('other', accounts);
    await start();
    expect((await after(2_000)).length).toBeGreaterThan(4);
    // It ends before it takes them.
    living.delete('other');
    expect(await just('take', 400)).toHaveLength(20);
    expect([...owners.values()].every((owner) => owner === 'self')).toBe(true);
  });

  it('leaves accounts of a daemon of another version alone, and does not count on it', async () => {
    const { is, owners, lives, start, after } = sceneOf(...accounts);
    is.others = true;
    lives('other', accounts, '2');
    owners.set('a10', 'other');
    const news = [...(await start()), ...(await after(20_000))];
    expect(news.filter((each) => each.startsWith('take'))).toHaveLength(39);
    expect(news.filter((each) => each.startsWith('give up'))).toEqual([]);
    owners.set('a10', null);
    expect(await after(4_000)).toContain('take a10');
  });

  it('takes accounts again that it lost while asleep and that are free', async () => {
    const { is, standing, owners, start, after, rung } = sceneOf('a', 'b');
    await start();
    is.others = true;
    await after(8_000);
    // Taken from it, and one of them given up again; its work has ended (lease.ts).
    owners.set('a', null).set('b', 'other');
    standing.set('a', 'waits').set('b', 'waits');
    is.interruptedAt = 8_000;
    expect(but('look', await rung(100))).toEqual(['take a']);
  });

  it('does not give up an account that it took during the look', async () => {
    const { is, standing, owners, lives, start, after } = sceneOf(...accounts);
    const [theirs = ''] = shareOf('other');
    await start();
    is.others = true;
    lives('other', accounts);
    for (const userId of shareOf('other')) owners.set(userId, 'other');
    owners.set(theirs, null);
    standing.set(theirs, 'waits');
    // It was seen as nobody's, and stands as read when the look has its answer.
    is.duringLook = () => void standing.set(theirs, 'works');
    expect(await after(4_000)).not.toContain(`give up ${theirs}`);
  });

  it.each([
    ['its own heartbeat', { interruptedAt: 0 }],
    ['its look', { fails: true }],
  ])('considers no process dead just after %s failed: others may have been away', async (_, failing) => {
    const { is, owners, start, after } = sceneOf('a');
    Object.assign(is, { others: true, ...failing });
    owners.set('a', 'other');
    await start();
    is.fails = false;
    expect(await after(5_900)).not.toContain('take a');
    expect(await after(2_000)).toContain('take a');
  });

  it('withdraws when it is stopped, before its accounts are released', async () => {
    const { start, after } = sceneOf('a');
    await start();
    await keeper.stop();
    expect(await after(0)).toEqual(['withdraw', 'wake others']);
  });
});
