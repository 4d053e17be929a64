import type { Clock } from '@research-mirror/runtime/clock';
import { Unusable } from '@research-mirror/runtime/errors';
import type { UnfitValue } from '../mirror/backfill.ts';
import type { PlannedColumn } from '../mirror/column-plan.ts';
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

/** How the values that there are would fit: of rows that are not deleted, and of versions in history. */
export interface TriedType {
  values: number;
  /** How many would not fit, by account: they become NULL. */
  readonly unfit: Map<string, number>;
  /** How many of them stand in the column now, and some of these. */
  lost: number;
  readonly examples: (UnfitValue & { readonly userId: string })[];
}

const EXAMPLES = 5;
const LOCK_NOT_AVAILABLE = '55P03';
const UNDEFINED_COLUMN = '42703';

/** For so long (ms) a table that others hold is tried again. Whoever comes behind a try waits 300 ms at most. */
const PATIENCE_MS = 60_000;

/**
 * Gives a column another type, beside readers and writers: a second column is filled from `_raw` in batches, as late
 * columns are, and then takes the column's place. Rows get no new `_change_id`, `_changed_at` or version. Readers see the
 * old column up to a moment, and the new one from then on. What is broken off is cleared away; after a SIGKILL an unused
 * column is left, which the next call for the table removes.
 * @param confirm is told first what would not fit; false: nothing is done
 * @returns whether it was done
 * @throws TypeRefused; a database error 55P03 where the table stays locked; Unusable; the signal's reason
 */
export async function setColumnType(
  request: SetTypeRequest,
  confirm: (tried: TriedType) => Promise<boolean>,
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
      // The second time what was written meanwhile: little is left for the moment when the columns change places.
      for (let pass = 1; pass <= 2; pass += 1) {
        for await (const _ of fillColumn((work) => db.transaction(work), table, second, through)) {
          signal.throwIfAborted();
        }
      }
      await db.transaction(async (trx) => {
        await takeTables(trx, table);
        for await (const _ of fillColumn((work) => work(trx), table, second, through));
        await putInPlace(trx, change, second.name, tried.unfit);
        const { column, type } = request;
        await logAct(trx, request.by, {
          act: 'columns set-type',
          given: { table: table.name, column, type },
        });
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

/** Tries every value of the field by what writes pages. */
async function tryType({ db, signal }: SetTypeRequest, change: TypeChange): Promise<TriedType> {
  const tried: TriedType = { values: 0, unfit: new Map(), lost: 0, examples: [] };
  const { unfit, examples } = tried;
  for await (const batch of fillColumn(
    (work) => db.transaction(work),
    change.table,
    change,
    new Map(),
    true,
  )) {
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

type WaitRequest = Pick<SetTypeRequest, 'clock' | 'signal'>;

/** Does what needs the table for a moment, again and again while others hold it. */
async function whenFree<T>({ clock, signal }: WaitRequest, work: () => Promise<T>): Promise<T> {
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

/** What waits in a table for its columns: all of it, or one field. */
type AcceptRequest = Omit<SetTypeRequest, 'column' | 'type'> & { readonly field: string | undefined };

/**
 * Makes the columns that fields wait for, beside readers and writers; daemons fill them from `_raw`.
 * @returns them; those without a name found the table full
 * @throws a database error 55P03 where the table stays locked; the signal's reason
 */
export function acceptFields(request: AcceptRequest): Promise<readonly PlannedColumn[]> {
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
