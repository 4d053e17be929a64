import type { Clock } from '@research-mirror/runtime/clock';
import { DatabaseUnavailable, Unusable } from '@research-mirror/runtime/errors';
import type { Db } from '../../db/connection/db.ts';
import { sqlState } from '../../db/connection/sql-state.ts';
import { oldReaders } from '../../db/inspection/oldest-readers.ts';
import type { ColumnType } from '../rows/column-value.ts';
import type { RetypableColumn } from './retypable-column.ts';
import { countUnfit, dropShadows, FillProgress, fillShadow, makeShadow, type Shadow } from './shadow.ts';
import { obstaclesTo, refusedBy, swapColumns } from './swap-columns.ts';

export interface RetypeOptions {
  readonly column: RetypableColumn;
  readonly to: ColumnType;
  /** The same database, whose statements may take minutes: it counts, and waits for nobody. */
  readonly patient: Db;
  readonly clock: Pick<Clock, 'sleep' | 'monotonic'>;
  readonly signal: AbortSignal;
  /** @param rows that were read, in all */
  readonly onRows: (rows: number) => void;
}

/** What came of it. */
export interface Retyped {
  /** Rows and versions that were read. */
  readonly read: number;
  /** Values that did not fit, and are NULL: of rows that are not deleted, and of versions in history. */
  readonly unfit: number;
}

const LOCK_NOT_AVAILABLE = '55P03';
const UNDEFINED_COLUMN = '42703';

/** For so long (ms) a table that others hold is tried again. Whoever comes behind a try waits 300 ms at most. */
const PATIENCE_MS = 60_000;
const LONGEST_PAUSE_MS = 4_000;
/** So few rows (written while the last pass ran) may be left for the moment when the columns change places. */
const FEW = 1_000;
/** Where pages are written faster than this reads, what is left is more: all that was written during one pass. */
const MOST_PASSES = 5;

/**
 * Gives a column another type, beside readers and writers: a shadow column is filled from `_raw` in batches, by the
 * conversion that pages are written with, and then takes the column's place. Rows get no new `_change_id`,
 * `_changed_at` or version. Readers see the old column up to a moment, and the new one from then on.
 *
 * All or nothing: what is broken off is cleared away; after a SIGKILL an unused column is left, which the next retype of
 * the table removes.
 * @throws RetypeRefused; DatabaseUnavailable where the table stays locked; Unusable where another one has begun; the
 *   signal's reason
 */
export async function retypeColumn(db: Db, options: RetypeOptions): Promise<Retyped> {
  const { column, to, signal } = options;
  const inTheWay = await obstaclesTo(db, column);
  if (inTheWay.length > 0) throw refusedBy(column, inTheWay);
  const shadow = await whenFree(db, options, () => makeShadow(db, column, to));
  try {
    return await fillAndSwap(db, shadow, options);
  } catch (error) {
    if (sqlState(error) === UNDEFINED_COLUMN) throw displaced(column, error);
    const tidying = { ...options, signal: new AbortController().signal };
    await whenFree(db, tidying, () => dropShadows(db, column.table)).catch(() => {});
    signal.throwIfAborted();
    throw error;
  }
}

async function fillAndSwap(db: Db, shadow: Shadow, options: RetypeOptions): Promise<Retyped> {
  const { patient, signal, onRows } = options;
  const progress = new FillProgress();
  let read = 0;
  const fill = (noting: boolean): Promise<number> =>
    fillShadow(db, shadow, progress, { noting, signal, onRows: (rows) => onRows((read += rows)) });
  const catchUp = async (noting: boolean): Promise<void> => {
    for (let pass = 0; pass < MOST_PASSES && (await fill(noting)) > FEW; pass += 1);
  };
  await catchUp(false);
  const counted = new Map<string, number>();
  for (const [userId, until] of progress.through) {
    signal.throwIfAborted();
    counted.set(userId, await countUnfit(patient, shadow, userId, until));
  }
  const unfit = await whenFree(db, options, async () => {
    await catchUp(true);
    return swapColumns(db, shadow, progress, counted);
  });
  return { read, unfit };
}

/** Does what needs the table for a moment, again and again while others hold it, and says who that is. */
async function whenFree<T>(
  db: Db,
  { column, clock, signal }: RetypeOptions,
  work: () => Promise<T>,
): Promise<T> {
  const until = clock.monotonic() + PATIENCE_MS;
  for (let pause = 100; ; pause = Math.min(LONGEST_PAUSE_MS, pause * 2)) {
    try {
      return await work();
    } catch (error) {
      if (sqlState(error) !== LOCK_NOT_AVAILABLE) throw error;
      if (clock.monotonic() > until) throw await locked(db, column, error);
      await clock.sleep(pause, signal);
    }
  }
}

async function locked(db: Db, { table }: RetypableColumn, cause: unknown): Promise<DatabaseUnavailable> {
  const { found } = await oldReaders(db, LONGEST_PAUSE_MS);
  const [oldest] = found;
  const who =
    oldest === undefined
      ? ''
      : ` (the oldest transaction is of ${oldest.user}, ${oldest.program || 'a program without a name'}, process ${oldest.pid})`;
  return new DatabaseUnavailable(
    `${table.name} and its views were in use for a minute${who}: nothing was changed; try again when those queries are over`,
    { cause },
  );
}

function displaced({ table }: RetypableColumn, cause: unknown): Unusable {
  return new Unusable(
    `another "columns retype" of ${table.name} has begun meanwhile, or a column was dropped: this one changed nothing`,
    { cause },
  );
}
