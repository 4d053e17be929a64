import { expect, it } from 'vitest';
import type { Db } from '../../db/connection/db.ts';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { systemClock } from '@research-mirror/runtime/clock';
import { lookupsIn } from './lookups-in.ts';

it('waits for no database: before it is open, lookups are refused; a pool that fails is opened anew', async () => {
  const opened: number[] = [];
  const openPool = async (connections: number): Promise<Db> => {
    opened.push(connections);
    throw new DatabaseUnavailable('away');
  };
  let mirror: { readonly openPool: typeof openPool } | undefined;
  const lookups = lookupsIn(() => mirror, systemClock);
  await expect(lookups.search('1')).rejects.toThrow(DatabaseUnavailable);
  mirror = { openPool };
  await expect(lookups.search('1')).rejects.toThrow('away');
  await expect(lookups.search('1')).rejects.toThrow('away');
  expect(opened).toEqual([2, 2]);
});
