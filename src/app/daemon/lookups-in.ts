import type { Db } from '../../db/connection/db.ts';
import { readRowStory } from '../../mirror/lookup/read-row-story.ts';
import { searchMirror } from '../../mirror/lookup/search-mirror.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { LOOKUPS_AT_ONCE, type Lookups } from '../../status/lookup/lookups.ts';
import type { OpenMirror } from '../process/open-mirror.ts';

/**
 * What the status page looks up, on connections of its own: pages and reports never wait for viewers.
 * @param mirror undefined before it is open
 */
export function lookupsIn(
  mirror: () => Pick<OpenMirror, 'openPool'> | undefined,
  clock: Pick<Clock, 'monotonic'>,
): Lookups {
  let pool: Promise<Db> | undefined;
  const open = async (): Promise<Db> => {
    const opened = mirror();
    if (opened === undefined)
      throw new DatabaseUnavailable('the database is not reached or not migrated yet');
    // One that could not be opened is tried again by the next one who asks.
    pool ??= opened.openPool(LOOKUPS_AT_ONCE).catch((error: unknown) => {
      pool = undefined;
      throw error;
    });
    return pool;
  };
  return {
    search: async (query) => searchMirror(await open(), query, clock),
    row: async (address, entries) => readRowStory(await open(), address, entries),
  };
}
