import type { Db } from '../../db/connection/db.ts';
import { COLLECTION_NAMES } from '../../model/collections.ts';
import { tableOf } from '../table.ts';
import { extendView } from '../views/extend-view.ts';
import { remakeFollowers } from './follow-columns.ts';
import { liveView } from '../views/live-view.ts';
import { versionsView } from '../views/versions-view.ts';

/** Has the views of every table show the columns that it was given by other ways than `addColumns`. */
export async function followRestoredColumns(trx: Db): Promise<void> {
  for (const name of COLLECTION_NAMES) {
    const table = tableOf(trx.schema, name);
    await extendView(trx, table, await liveView(trx, table));
    await extendView(trx, table, await versionsView(trx, table));
  }
  await remakeFollowers(trx);
}
