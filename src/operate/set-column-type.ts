import type { Clock } from '@research-mirror/runtime/clock';
import { Unusable } from '@research-mirror/runtime/errors';
import type { FilledBatch } from '../mirror/backfill.ts';
import type { PlannedColumn } from '../mirror/columns.ts';
import { addColumns } from '../mirror/table-columns.ts';
import { tableOf } from '../mirror/table.ts';
import type { CollectionName } from '../model/collections.ts';
import type { Db } from '../postgres/db.ts';
import { logAct, type Operator } from '../postgres/operator-log.ts';
import { sqlState } from '../postgres/sql-state.ts';
import {
  dropSecond,
  fillColumn,
  makeSecond,
  putInPlace,
  takeTables,
  type TypeChange,
  typeChange,
  viewsUpon,
} from './second-column.ts';

interface SetTypeRequest {
  readonly db: Db;
  readonly clock: Pick<Clock, 'sleep' | 'monotonic'>;
  readonly signal: AbortSignal;
  readonly table: CollectionName;
  readonly column: string;
  readonly type: string;
  readonly by: Operator;
}

/** How the present values would fit, of rows that are not deleted and of versions in history. */
export interface TypeTrial {
  values: number;
  /** Number of values that would not fit, by account: they become NULL. */
  readonly unfit: Map<string, number>;
  /** Number of those that the column has now, and some of these. */
  lost: number;
  readonly examples: (NonNullable<FilledBatch>['unfit'][number] & { readonly userId: string })[];
}

const EXAMPLES = 5;
const LOCK_NOT_AVAILABLE = '55P03';
const UNDEFINED_COLUMN = '42703';

/** How long a table that others lock is tried again, ms. Sessions behind an attempt wait 300 ms at most. */
const PATIENCE_MS = 60_000;

/**
 * Gives a column another type, beside readers and writers: a second column is filled from `_raw` in batches, as late
 * columns are, and then replaces the column at once. Rows get no new `_change_id`, `_changed_at` or version. A failed
 * change is undone; after a SIGKILL an unused column stays, which the next call for the table removes.
 * @param confirm gets what would not fit; false: nothing is done
 * @returns whether it was done
 * @throws TypeRefused; a database error 55P03 if the table stays locked; Unusable; the signal's reason
 */
export async function setColumnType(
  request: SetTypeRequest,
  confirm: (tried: TypeTrial) => Promise<boolean>,
): Promise<boolean> {
  const { db, signal } = request;
  const table = tableOf(db.schema, request.table);
  const change = await typeChange(db, table, request.column, request.type);
  await db.transaction((trx) => viewsUpon(trx, change));
  const tried = await tryType(request, change);
  if (!(await confirm(tried))) return false;

  const second = await whenFree(request, () => db.transaction((trx) => makeSecond(trx, change)));
  const through = new Map<string, string>();
  try {
    await whenFree(request, async () => {
      // The second pass fills what was written meanwhile, so that little is left for the moment of the replacement.
      for (let pass = 1; pass <= 2; pass += 1) {
        for await (const _ of fillColumn((work) => db.transaction(work), table, second, through)) {
          signal.throwIfAborted();
        }
      }
      await db.transaction(async (trx) => {
        await takeTables(trx, table);
        for await (const _ of fillColumn((work) => work(trx), table, second, through));
        await putInPlace(trx, change, second.name, tried.unfit);
        const given = { table: table.name, column: request.column, type: request.type };
        await logAct(trx, request.by, { act: 'columns set-type', given });
      });
    });
  } catch (error) {
    if (sqlState(error) === UNDEFINED_COLUMN) {
      throw new Unusable(
        `another "columns set-type" of ${table.name} has begun meanwhile: this one changed nothing`,
      );
    }
    await db.transaction((trx) => dropSecond(trx, table)).catch(() => {});
    throw error;
  }
  return true;
}

/** Tries every value of the field with the expressions that write pages. */
async function tryType({ db, signal }: SetTypeRequest, change: TypeChange): Promise<TypeTrial> {
  const tried: TypeTrial = { values: 0, unfit: new Map(), lost: 0, examples: [] };
  const { unfit, examples } = tried;
  const read = fillColumn((work) => db.transaction(work), change.table, change, new Map(), true);
  for await (const batch of read) {
    signal.throwIfAborted();
    const { userId } = batch;
    const lost = batch.unfit.filter(({ filled }) => filled);
    tried.values += batch.values;
    tried.lost += lost.length;
    unfit.set(userId, (unfit.get(userId) ?? 0) + batch.unfit.length);
    examples.push(...lost.slice(0, EXAMPLES - examples.length).map((each) => ({ userId, ...each })));
  }
  return tried;
}

/** Repeats work that needs the table for a moment while others lock it. */
async function whenFree<T>(
  { clock, signal }: Pick<SetTypeRequest, 'clock' | 'signal'>,
  work: () => Promise<T>,
): Promise<T> {
  const until = clock.monotonic() + PATIENCE_MS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (sqlState(error) !== LOCK_NOT_AVAILABLE || clock.monotonic() > until) throw error;
      await clock.sleep(1_000, signal);
    }
  }
}

/**
 * Adds the columns that a table's fields wait for, beside readers and writers; daemons fill them from `_raw`.
 * @param request.field this field alone; undefined: all of them
 * @returns the columns; those without a name found the table full
 * @throws a database error 55P03 if the table stays locked; the signal's reason
 */
export function acceptFields(
  request: Omit<SetTypeRequest, 'column' | 'type'> & { readonly field: string | undefined },
): Promise<readonly PlannedColumn[]> {
  const { db, by, table, field } = request;
  return whenFree(request, () =>
    db.transaction(async (trx) => {
      const planned = await addColumns(trx, tableOf(db.schema, table), new Map(), 'add', field);
      const columns = planned.flatMap(({ name }) => name ?? []);
      if (columns.length > 0) await logAct(trx, by, { act: 'columns accept', given: { table, columns } });
      return planned;
    }),
  );
}
