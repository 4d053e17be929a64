import type { Db } from '../../db/connection/db.ts';
import { sql } from 'kysely';
import { PLANNED_WITHOUT_VALUES } from '../../db/ownership/account-plans.ts';
import { SHADOW_PATTERN, shadowName } from '../../model/shadow-column.ts';
import { fillBatch, type RowsToFill } from '../columns/fill-batch.ts';
import { LOCK_TIMEOUT, remakeFollowers, takeTurn } from '../columns/follow-columns.ts';
import type { ColumnType } from '../rows/column-value.ts';
import type { FieldColumn } from '../rows/row-payload.ts';
import { dataTable, relation, type Table } from '../table.ts';
import type { RetypableColumn } from './retypable-column.ts';

/**
 * Batches in one transaction: a page makes a row and a version of each item that it changes, and waits its turn, so
 * fewer than two would never come to an end beside a busy writer. More would have pages wait for longer.
 */
const BATCHES = 4;

/** A column in the making, which is to take the place of another one. Pages are not written into it. */
export interface Shadow {
  readonly replaces: RetypableColumn;
  readonly column: FieldColumn;
  /** `''` and, where versions are archived with the column, `_history`. */
  readonly suffixes: readonly string[];
}

/** How far a shadow is filled, by account. */
export class FillProgress {
  /** Of every version up to this change ID, in table and history, the shadow has the value. */
  readonly through = new Map<string, string>();
  /** Change IDs of versions whose value does not fit, as far as they were noted. */
  readonly unfit = new Map<string, Set<string>>();

  /** Notes them from now on: a version that is met twice counts once. */
  noteUnfit(userId: string, ids: readonly string[]): void {
    const known = this.unfit.get(userId) ?? new Set();
    for (const id of ids) known.add(id);
    this.unfit.set(userId, known);
  }
}

/**
 * Makes an empty shadow, which takes the table for a moment. What is left of another one goes, and whoever is filling it fails:
 * the last one wins.
 * @throws a database error 55P03 when the table stays locked: nothing was made
 */
export async function makeShadow(db: Db, replaces: RetypableColumn, type: ColumnType): Promise<Shadow> {
  const { table, field, number, inHistory } = replaces;
  const suffixes = inHistory ? ['', '_history'] : [''];
  return db.transaction(async (trx) => {
    await takeTables(trx, table);
    await dropIn(trx, table);
    const { rows } = await trx.sql<{ last: number }>`
      select max(relnatts)::int as last from pg_class
      where oid in (${relation(table)}, ${relation(table, '_history')})`;
    const name = shadowName(number, (rows[0]?.last ?? 0) + 1);
    for (const suffix of suffixes) {
      await trx.sql`alter table ${dataTable(table, suffix)} add column ${sql.id(name)} ${sql.raw(type)}`;
    }
    await remakeFollowers(trx);
    return { replaces, column: { field, name, type }, suffixes };
  });
}

/** Removes what is left of shadows of the table. @throws a database error 55P03 when the table stays locked */
export async function dropShadows(db: Db, table: Table): Promise<void> {
  await db.transaction(async (trx) => {
    await takeTables(trx, table);
    await dropIn(trx, table);
    await remakeFollowers(trx);
  });
}

/** How long a change waits for vacuum, which gives way after a second, and for pages. Nobody waits behind it. */
const WRITERS_TIMEOUT = '5s';

/**
 * Begins a change of a table's columns when neither pages nor vacuum have it, and keeps them off: only readers are left
 * to be waited for. Pages wait for their account's row meanwhile, and hold nothing that readers want.
 * @throws a database error 55P03
 */
export async function takeTables(trx: Db, table: Table): Promise<void> {
  await takeTurn(trx);
  await trx.sql`select set_config('lock_timeout', ${WRITERS_TIMEOUT}, true)`;
  for (const suffix of ['', '_history']) {
    await trx.sql`lock table ${dataTable(table, suffix)} in share update exclusive mode`;
  }
  for (const userId of (await lastChangeIds(trx)).keys()) {
    await trx.sql`
      select ${PLANNED_WITHOUT_VALUES} from ${trx.stateTable('account')} as a
      where a._user_id = ${userId}::bigint for no key update`;
  }
  await trx.sql`select set_config('lock_timeout', ${LOCK_TIMEOUT}, true)`;
}

async function dropIn(trx: Db, table: Table): Promise<void> {
  for (const suffix of ['', '_history']) {
    const { rows } = await trx.sql<{ name: string }>`
      select attname as name from pg_attribute
      where attrelid = ${relation(table, suffix)} and attnum > 0 and not attisdropped and attname ~ ${SHADOW_PATTERN}`;
    for (const { name } of rows) {
      await trx.sql`alter table ${dataTable(table, suffix)} drop column ${sql.id(name)}`;
    }
  }
}

/** Every account, with the last change ID that it gave. */
export async function lastChangeIds(db: Db): Promise<ReadonlyMap<string, string>> {
  const { rows } = await db.sql<{ user: string; last: string }>`
    select a._user_id as user, a.change_id as last from ${db.stateTable('account')} as a order by a._user_id`;
  return new Map(rows.map(({ user, last }) => [user, last]));
}

interface FillOptions {
  /** Whether values that do not fit are noted. */
  readonly noting: boolean;
  readonly signal: AbortSignal;
  readonly onRows: (rows: number) => void;
}

/**
 * Fills the shadow of what every account wrote since `progress`, and moves that. In batches, a few in a transaction that
 * holds the account's row as those of pages do: a page waits for one such transaction at most.
 *
 * Rows first, in the order of their change IDs, then versions. A row that changes meanwhile gets a later change ID, and
 * comes last or with the next call; the version that it leaves was filled before, or is in history when that is filled.
 * @returns how many rows and versions were looked at
 */
export async function fillShadow(
  db: Db,
  shadow: Shadow,
  progress: FillProgress,
  { noting, signal, onRows }: FillOptions,
): Promise<number> {
  const { through } = progress;
  let looked = 0;
  for (const [userId, until] of await lastChangeIds(db)) {
    const after = through.get(userId) ?? NONE;
    for (const suffix of shadow.suffixes) {
      for (let done: string | undefined = after; done !== undefined;) {
        signal.throwIfAborted();
        const from: string = done;
        const filled = await db.transaction(async (trx) => {
          await trx.sql`
            select ${PLANNED_WITHOUT_VALUES} from ${trx.stateTable('account')} as a
            where a._user_id = ${userId}::bigint for no key update`;
          return fillSome(trx, shadow, suffix, userId, { from, until, batches: BATCHES });
        });
        done = filled.done;
        looked += filled.looked;
        if (noting) progress.noteUnfit(userId, filled.unfit);
        onRows(filled.looked);
      }
    }
    through.set(userId, until);
  }
  return looked;
}

/** The same for what was written since, in one transaction that has locked the tables; it notes what does not fit. */
export async function fillRest(trx: Db, shadow: Shadow, progress: FillProgress): Promise<void> {
  for (const userId of (await lastChangeIds(trx)).keys()) {
    for (const suffix of shadow.suffixes) {
      const from = progress.through.get(userId) ?? NONE;
      const range = { from, until: LAST, batches: Number.POSITIVE_INFINITY };
      const { unfit } = await fillSome(trx, shadow, suffix, userId, range);
      progress.noteUnfit(userId, unfit);
    }
  }
}

/** Below and above every change ID. */
const NONE = String(-(2n ** 63n));
const LAST = String(2n ** 63n - 1n);

interface FilledPart {
  /** Up to where it came; undefined where nothing is left. */
  readonly done: string | undefined;
  /** How many rows or versions it looked at. */
  readonly looked: number;
  /** Change IDs of those whose value does not fit. */
  readonly unfit: readonly string[];
}

async function fillSome(
  trx: Db,
  { replaces: { table }, column }: Shadow,
  suffix: string,
  userId: string,
  range: { readonly from: string; readonly until: string; readonly batches: number },
): Promise<FilledPart> {
  let done: string = range.from;
  let looked = 0;
  const unfit: string[] = [];
  for (let batch = 0; batch < range.batches; batch += 1) {
    const rest: RowsToFill = {
      table: dataTable(table, suffix),
      left: sql`t._change_id > ${done}::bigint and t._change_id <= ${range.until}::bigint`,
      moment: sql`null::text`,
      order: sql`t._change_id`,
      upTo: ({ id }) => sql`t._change_id <= ${id}::bigint`,
    };
    const filled = await fillBatch(trx, table, userId, rest, column);
    if (filled === undefined) return { done: undefined, looked, unfit };
    done = filled.last.id;
    looked += filled.rows;
    unfit.push(...filled.unfit);
  }
  return { done, looked, unfit };
}

/**
 * How many versions of an account, up to a change ID, have a value that the shadow lacks: it does not fit. Reads all of
 * them.
 */
export async function countUnfit(
  patient: Db,
  { replaces: { table, field }, column, suffixes }: Shadow,
  userId: string,
  until: string,
): Promise<number> {
  // A version that is archived because its row was deleted stands in the table, too.
  const parts = suffixes.map(
    (suffix) => sql`
      select count(*) from ${dataTable(table, suffix)} as t
      where t._user_id = ${userId}::bigint and t._change_id <= ${until}::bigint and t.${sql.id(column.name)} is null
        and coalesce(t._raw -> ${field}::text, 'null') <> 'null' ${suffix === '' ? sql`and t._deleted_at is null` : sql``}`,
  );
  const { rows } = await patient.sql<{ count: string }>`select (${sql.join(parts, sql`) + (`)}) as count`;
  return Number(rows[0]?.count ?? 0);
}
