import type { Db } from '../../db/connection/db.ts';
import { COLLECTION_NAMES } from '../../model/collections.ts';
import { type Table, tableOf } from '../table.ts';
import { versionsView, liveView } from '../views/table-views.ts';
import { extendView } from '../views/extend-view.ts';
import { sqlState } from '../../db/connection/sql-state.ts';

/** How long processes that change columns wait for each other. */
const TURN_TIMEOUT = '5s';
/** How long a change may wait for a table or a view: everybody else waits behind it. */
export const LOCK_TIMEOUT = '300ms';
export const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Begins a change of columns, and of what names them: processes take turns until their transaction ends, with those that
 * migrate, too. Any login could take an advisory lock, and keep it; and to wait for a row is to wait twice, for the row
 * and for its owner, longer than a statement may take.
 */
export async function takeTurn(trx: Db): Promise<void> {
  await trx.sql`select set_config('lock_timeout', ${TURN_TIMEOUT}, true),
    set_config('citus.multi_shard_modify_mode', 'sequential', true)`;
  await trx.sql`lock table ${trx.stateTable('migration')} in share row exclusive mode`;
  await trx.sql`select set_config('lock_timeout', ${LOCK_TIMEOUT}, true)`;
}

/**
 * Has all that names columns of several tables name those that are there, in words for tables that are distributed or
 * not. In a transaction that took its turn.
 */
export async function remakeFollowers(trx: Db): Promise<void> {
  await trx.sql`select ${trx.stateTable('make_companies')}(), ${trx.stateTable('make_as_of')}(), ${trx.stateTable('make_changes')}()`;
  await giveViewColumns(trx);
  await trx.sql`select ${trx.stateTable('bind_readers')}()`;
}

/**
 * The same where somebody may have made or dropped columns by hand. What its readers lock stays as it is until the next
 * time.
 */
export async function followColumns(db: Db): Promise<void> {
  await unlessLocked(db, remakeFollowers);
}

/** Has the views of every table show the columns that it was given by other ways than `addColumns`. */
export async function followRestoredColumns(trx: Db): Promise<void> {
  for (const name of COLLECTION_NAMES) await extendViews(trx, tableOf(trx.schema, name));
  await remakeFollowers(trx);
}

/** Brings a table's new columns into the views upon it. */
export async function extendViews(trx: Db, table: Table): Promise<void> {
  await extendView(trx, table, await liveView(trx, table));
  await extendView(trx, table, await versionsView(trx, table));
}

/**
 * Puts the columns of the `_live` views in order where that is open, and brings in what they lack: for mirrors of older
 * versions, at the start. A view that somebody reads for long is left for the next start.
 */
export async function arrangeLiveViews(db: Db): Promise<void> {
  for (const name of COLLECTION_NAMES) {
    const table = tableOf(db.schema, name);
    await unlessLocked(db, async (trx) => {
      await extendView(trx, table, await liveView(trx, table));
      await giveViewColumns(trx);
    });
  }
}

/** Gives who may read a view and not its tables the columns that it names now: it reads with its reader's rights. */
async function giveViewColumns(trx: Db): Promise<void> {
  await trx.sql`select ${trx.stateTable('give_view_columns')}()`;
}

async function unlessLocked(db: Db, change: (trx: Db) => Promise<void>): Promise<void> {
  try {
    await db.transaction(async (trx) => {
      await takeTurn(trx);
      await change(trx);
    });
  } catch (error) {
    if (sqlState(error) !== LOCK_NOT_AVAILABLE) throw error;
  }
}
