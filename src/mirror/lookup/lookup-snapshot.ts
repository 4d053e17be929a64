import type { Db } from '../../db/connection/db.ts';

/** Milliseconds of one statement. */
export const STATEMENT_MS = 3_000;

/**
 * Runs `work` on one snapshot, where a statement takes seconds at most and tables are read by their indexes: what is
 * looked up is a few rows of many, whatever the statistics say or leave out. Times are in UTC.
 * @throws DatabaseUnavailable where a statement takes longer
 */
export function lookupSnapshot<T>(db: Db, work: (trx: Db) => Promise<T>): Promise<T> {
  return db.snapshot(async (trx) => {
    await trx.raw(
      `set local statement_timeout = ${STATEMENT_MS}; set local timezone = 'UTC'; set local jit = off; ` +
        'set local enable_seqscan = off; set local enable_hashjoin = off; set local enable_mergejoin = off',
    );
    return work(trx);
  });
}
