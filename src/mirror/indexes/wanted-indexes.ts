import type { Db } from '../../db/connection/db.ts';

/** In the table of wishes: all that are suggested, those included whose columns come later. */
const ALL = '*';

/** What operators asked for: kept by the daemon. */
export interface WantedIndexes {
  readonly all: boolean;
  /** Asked for by name, or made because of `all`: an index of such a name is ours. */
  readonly names: ReadonlySet<string>;
  /** Left out of `all`. */
  readonly without: ReadonlySet<string>;
}

export async function readWanted(db: Db): Promise<WantedIndexes> {
  const { rows } = await db.sql<{ name: string; wanted: boolean }>`
    select name, wanted from ${db.stateTable('wanted_index')}`;
  const named = rows.filter(({ name }) => name !== ALL);
  return {
    all: rows.length > named.length,
    names: new Set(named.filter(({ wanted }) => wanted).map(({ name }) => name)),
    without: new Set(named.filter(({ wanted }) => !wanted).map(({ name }) => name)),
  };
}

/** Has these indexes kept. */
export async function wantIndexes(db: Db, names: readonly string[]): Promise<void> {
  await db.sql`
    insert into ${db.stateTable('wanted_index')} (name, wanted, since)
    select name, true, statement_timestamp() from unnest(${[...names]}::text[]) as name
    on conflict (name) do update set wanted = true, since = excluded.since`;
}

/** Has all kept that are suggested, now or later. */
export async function wantAllIndexes(db: Db): Promise<void> {
  await db.transaction(async (trx) => {
    await trx.sql`delete from ${trx.stateTable('wanted_index')} where not wanted`;
    await wantIndexes(trx, [ALL]);
  });
}

/** Keeps an index no longer; where all are wanted, all but this one. */
export async function unwantIndex(db: Db, name: string): Promise<void> {
  await db.transaction(async (trx) => {
    await trx.sql`delete from ${trx.stateTable('wanted_index')} where name = ${name}`;
    await trx.sql`
      insert into ${trx.stateTable('wanted_index')} (name, wanted, since)
      select ${name}, false, statement_timestamp() from ${trx.stateTable('wanted_index')} where name = ${ALL}`;
  });
}

/** Keeps none of those any longer that are suggested later. */
export async function unwantAll(db: Db): Promise<void> {
  await db.sql`delete from ${db.stateTable('wanted_index')} where name = ${ALL} or not wanted`;
}
