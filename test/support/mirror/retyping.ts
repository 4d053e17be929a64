import { systemClock } from '@research-mirror/runtime/clock';
import type { Db } from '../../../src/db/connection/db.ts';
import { type Retyped, retypeColumn } from '../../../src/mirror/retype/retype-column.ts';
import { retypableColumn } from '../../../src/mirror/retype/retypable-column.ts';
import { tableOf } from '../../../src/mirror/table.ts';

/** Does what `columns retype` does. @param onRows called with each batch: what happens meanwhile */
export async function retype(
  db: Db,
  column: string,
  type: string,
  { onRows = () => {}, signal = new AbortController().signal, clock = systemClock } = {},
): Promise<Retyped> {
  const [table = '', name = ''] = column.split('.');
  const found = await retypableColumn(db, tableOf(db.schema, table), name, type);
  return retypeColumn(db, { ...found, patient: db, clock, signal, onRows });
}
