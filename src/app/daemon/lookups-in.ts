import type { Db } from '../../db/connection/db.ts';
import { readRow } from '../../mirror/lookup/read-row.ts';
import { newestRows, searchMirror } from '../../mirror/lookup/search-mirror.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import type { Lookups } from '../../status/lookup/lookup-routes.ts';
import type { OpenMirror } from '../process/open-mirror.ts';

/** Lookups at a time, each of them on a connection; the others wait for one. */
const AT_ONCE = 2;
/** Lookups under way and waiting, at most: what comes then is refused at once. */
const MOST = 10;
/** Every lookup is answered within this time, in milliseconds, its wait included. */
const PATIENCE_MS = 8_000;

/**
 * What the status page looks up, on two connections of its own: pages and reports never wait for viewers.
 * @param mirror undefined before it is open
 */
export function lookupsIn(
  mirror: () => Pick<OpenMirror, 'openPool'> | undefined,
  clock: Pick<Clock, 'sleep'>,
): Lookups {
  let pool: Promise<Db> | undefined;
  let underWay = 0;

  const open = (): Promise<Db> => {
    const opened = mirror();
    if (opened === undefined) {
      throw new DatabaseUnavailable('the database is not reached or not migrated yet');
    }
    // One that could not be opened is tried again by the next one who asks.
    pool ??= opened.openPool(AT_ONCE).catch((error: unknown) => {
      pool = undefined;
      throw error;
    });
    return pool;
  };

  const lookUp = async <T>(work: (db: Db) => Promise<T>): Promise<T> => {
    if (underWay >= MOST) {
      throw new DatabaseUnavailable('the search is busy: others are being answered; try again in a moment');
    }
    underWay += 1;
    const answered = new AbortController();
    const found = Promise.try(async () => work(await open())).finally(() => {
      underWay -= 1;
      answered.abort();
    });
    const late = (): never => {
      throw new DatabaseUnavailable(`the database did not answer within ${PATIENCE_MS / 1000} s`);
    };
    return Promise.race([found, clock.sleep(PATIENCE_MS, answered.signal).then(late, () => found)]);
  };

  return {
    search: (query) => lookUp((db) => searchMirror(db, query)),
    row: (address, entries) => lookUp((db) => readRow(db, address, entries)),
    rows: (asked) => lookUp((db) => newestRows(db, asked)),
  };
}
