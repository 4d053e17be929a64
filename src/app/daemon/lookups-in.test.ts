import { expect, it } from 'vitest';
import type { Db } from '../../db/connection/db.ts';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { lookupsIn } from './lookups-in.ts';

const never = (): Promise<Db> => new Promise(() => {});

it('waits for no database: before it is open, lookups are refused; a pool that fails is opened anew', async () => {
  const opened: number[] = [];
  const openPool = async (connections: number): Promise<Db> => {
    opened.push(connections);
    throw new DatabaseUnavailable('away');
  };
  let mirror: { readonly openPool: typeof openPool } | undefined;
  const lookups = lookupsIn(() => mirror, new VirtualClock());
  await expect(lookups.search('1')).rejects.toThrow(DatabaseUnavailable);
  mirror = { openPool };
  await expect(lookups.search('1')).rejects.toThrow('away');
  await expect(lookups.search('1')).rejects.toThrow('away');
  expect(opened).toEqual([2, 2]);
});

it('refuses what is too many, and answers within eight seconds whatever the database does', async () => {
  const clock = new VirtualClock();
  const lookups = lookupsIn(() => ({ openPool: never }), clock);
  const began = clock.monotonic();
  const all = Array.from({ length: 10 }, (_, n) => lookups.search(String(n)));
  await expect(lookups.search('one more')).rejects.toThrow(DatabaseUnavailable);
  await expect(lookups.search('one more')).rejects.toThrow(/busy/);
  const settled = await clock.runUntil(Promise.allSettled(all));
  for (const each of settled) {
    expect(each).toMatchObject({
      reason: expect.objectContaining({ message: expect.stringContaining('8 s') }),
    });
  }
  expect(clock.monotonic() - began).toBe(8_000);
});

it('makes room again when a lookup has failed', async () => {
  const lookups = lookupsIn(() => undefined, new VirtualClock());
  for (let n = 0; n < 30; n += 1) await expect(lookups.search('1')).rejects.toThrow('not reached');
});
