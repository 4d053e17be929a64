import { systemClock } from '@research-mirror/runtime/clock';
import { setColumnType, type TypeTrial } from '../../../src/operate/set-column-type.ts';
import type { Db } from '../../../src/postgres/db.ts';
import type { CollectionName } from '../../../src/model/collections.ts';
import { OPERATOR } from './operator.ts';

/** Does what `columns set-type --yes` does. @returns what it said first */
export async function setType(
  db: Db,
  column: string,
  type: string,
  { signal = new AbortController().signal, clock = systemClock } = {},
): Promise<TypeTrial | undefined> {
  const [table = '', name = ''] = column.split('.');
  let told: TypeTrial | undefined;
  const request = { db, clock, signal, table: table as CollectionName, column: name, type, by: OPERATOR };
  await setColumnType(request, (tried) => {
    told = tried;
    return Promise.resolve(true);
  });
  return told;
}
