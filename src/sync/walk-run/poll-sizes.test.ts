import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { describe, expect, it } from 'vitest';
import { MemoryAccount } from '../../../test/support/sync/memory-account.ts';
import { WalkSource } from '../../../test/support/walks/walk-source.ts';
import { PRIORITY } from '../../budget/priorities.ts';

const NAME = 'research_jobs';
const { signal } = new AbortController();

/** An account with 1,200 rows, all of them mirrored. */
async function mirrored() {
  const clock = new VirtualClock();
  const list = new WalkSource({ order: 'falling', cursor: 'keyset', hasMore: 'exact', pageSize: 500 }, 1_200);
  const account = await MemoryAccount.make(clock, { [NAME]: list });
  await clock.runUntil(account.reader.read(NAME, { what: 'current', signal }));
  /** Limits of the requests of so many polls. */
  const poll = async (times = 1): Promise<number[]> => {
    account.sent.length = 0;
    for (let i = 0; i < times; i += 1) {
      const { error } = await clock.runUntil(account.reader.read(NAME, { what: 'poll', signal }));
      expect(error).toBeUndefined();
      await clock.advance(60_000);
    }
    return account.sent.map(({ limit = 0 }) => limit);
  };
  /** The same of a reading of one hinted row. */
  const hinted = async (key: string, known: boolean): Promise<(number | undefined)[]> => {
    account.sent.length = 0;
    const hinted = { whole: false, keys: [key], known: new Set(known ? [key] : []) };
    const request = { parent: '', hinted, requests: 5, priority: PRIORITY.HINT, signal };
    const { covers } = await clock.runUntil(account.reader.readHinted(NAME, request));
    expect(covers(key)).toBe(true);
    return account.sent.map(({ limit }) => limit);
  };
  return { account, list, poll, hinted };
}

describe('polls of a collection', () => {
  it('ask for full pages a hundred times, then for as few rows as these needed, and for a full one each tenth time', async () => {
    const { poll } = await mirrored();
    expect(new Set(await poll(100))).toEqual(new Set([500]));
    const small = Array<number>(9).fill(225);
    expect(await poll(20)).toEqual([...small, 500, ...small, 500]);
  });

  it('go on with a full page where the small one did not do, and ask for full ones from then on', async () => {
    const { account, list, poll } = await mirrored();
    await poll(100);
    for (let i = 0; i < 30; i += 1) list.insert();
    expect(await poll()).toEqual([225, 500]);
    expect(account.stale(NAME)).toEqual([]);
    expect(new Set(await poll(20))).toEqual(new Set([500]));
  });

  it('find a row that changed behind the small page within ten polls, and then ask for so many', async () => {
    const { account, list, poll } = await mirrored();
    await poll(100);
    list.update(300);
    expect((await poll(10)).at(-1)).toBe(500);
    expect(account.stale(NAME)).toEqual([]);
    // 301 rows and a tenth to spare: 400 would have held them all along.
    expect(new Set(await poll(100))).toEqual(new Set([400, 500]));
    expect(await poll()).toEqual([225]);
  });
});

describe('readings of hinted rows', () => {
  it('ask for twenty rows at a known one, and of a new one for those of a poll', async () => {
    const { list, poll, hinted } = await mirrored();
    expect(await hinted('600', true)).toEqual([20]);
    expect(await hinted(String(list.insert()), false)).toEqual([500]);
    await poll(101);
    expect(await hinted(String(list.insert()), false)).toEqual([225]);
  });
});
