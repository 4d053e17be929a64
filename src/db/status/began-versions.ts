import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { type Collection, collection, type CollectionName } from '../../model/collections.ts';

/** Versions looked at of each table and its history. */
export const WINDOW = 50;
/** Superseded versions whose successors are looked up: changes that stand below a load in the table. */
const ENDED = 12;
/** Versions at which a count ends, of a table and of its history: `more` says that there are more. */
const MOST_COUNTED = 20_000;

/** A version of a row as it began. */
export interface BeganVersion {
  readonly collection: CollectionName;
  /** Its change ID. */
  readonly id: string;
  readonly at: Date;
  /** What it began by, as far as it shows in the row; null: the view `changes` tells. */
  readonly op: 'insert' | 'delete' | null;
  /** It stands in the table, and was found there. */
  readonly stands: boolean;
}

/** Rows that came or went, by their change IDs in `[rowsFrom, rowsTo)`. */
export interface RowsAtOnce {
  readonly collection: CollectionName;
  readonly op: 'insert' | 'delete';
  /** The newest of them. */
  readonly id: string;
  readonly at: Date;
  readonly rowsFrom: bigint;
  readonly rowsTo: bigint;
}

/**
 * The account's newest versions in each of the collections, the newest of a table first. Each part is the end of an
 * index, so that the size of the tables does not matter.
 * @param look collections, and below which change ID; null: from the newest
 */
export async function versionsBelow(
  db: Db,
  userId: string,
  look: readonly (readonly [Collection, bigint | null])[],
): Promise<BeganVersion[]> {
  const parts = look.map(([collection, below]) => versionsIn(db, userId, collection, below));
  const { rows } = await db.sql<BeganVersion>`
    select v.collection, v.id, v.at, v.op, v.stands from (${sql.join(parts, sql` union all `)}) as v
    order by v.id desc`;
  return rows;
}

function versionsIn(
  db: Db,
  userId: string,
  collection: Collection,
  below: bigint | null,
): RawBuilder<unknown> {
  const { name } = collection;
  const [table, history] = [db.table(name), db.table(`${name}_history`)];
  const user = sql`${userId}::bigint`;
  const bound = (column: string): RawBuilder<unknown> =>
    below === null ? sql`` : sql` and ${sql.ref(column)} < ${String(below)}::bigint`;
  const removed = removedRow(db, userId, collection);
  return sql`
    (select ${name}::text as collection, t._change_id as id, t._changed_at as at,
       case when t._deleted_at is not null then 'delete' when t._changed_at = t._first_seen_at then 'insert' end as op,
       true as stands
     from ${table} as t where t._user_id = ${user}${bound('t._change_id')}
     order by t._change_id desc limit ${WINDOW})
    union all
    (select ${name}::text, h._change_id, case when ${removed} then h._valid_to else h._valid_from end,
       case when ${removed} then 'delete' when h._valid_from = h._first_seen_at then 'insert' end, false
     from ${history} as h where h._user_id = ${user}${bound('h._change_id')}
     order by h._change_id desc limit ${WINDOW})
    union all
    (select ${name}::text, n.id, e._valid_to, null::text, false
     from (
       select h.* from ${history} as h where h._user_id = ${user}
       order by h._valid_to desc, h._change_id desc limit ${ENDED}) as e
     cross join lateral (
       select least(
         (select min(t._change_id) from ${table} as t where ${sameKey(userId, collection, 't', 'e')} and t._change_id > e._change_id),
         (select min(h._change_id) from ${history} as h where ${sameKey(userId, collection, 'h', 'e')} and h._change_id > e._change_id)
       ) as id) as n
     where n.id is not null${bound('n.id')})`;
}

/** How many rows those are, counted along an index. @returns in the order of `many` */
export async function countAtOnce(
  db: Db,
  userId: string,
  many: readonly RowsAtOnce[],
): Promise<{ readonly rows: number; readonly more: boolean }[]> {
  if (many.length === 0) return [];
  const user = sql`${userId}::bigint`;
  const parts = many.map(({ collection: name, op, rowsFrom, rowsTo }, place) => {
    const removed = removedRow(db, userId, collection(name));
    const [standing, ended] =
      op === 'insert'
        ? [
            sql`t._changed_at = t._first_seen_at and t._deleted_at is null`,
            sql`h._valid_from = h._first_seen_at and not (${removed})`,
          ]
        : [sql`t._deleted_at is not null`, removed];
    const found = (alias: string, which: string, counted: RawBuilder<unknown>): RawBuilder<unknown> => {
      const [version, id] = [sql.id(alias), sql.ref(`${alias}._change_id`)];
      return sql`
        select ${place}::int as place, count(*) filter (where ${counted}) as rows, count(*) as looked
        from (
          select * from ${db.table(which)} as ${version}
          where ${sql.ref(`${alias}._user_id`)} = ${user} and ${id} >= ${String(rowsFrom)}::bigint
            and ${id} < ${String(rowsTo)}::bigint
          order by ${id} desc limit ${MOST_COUNTED + 1}) as ${version}`;
    };
    return sql`${found('t', name, standing)} union all ${found('h', `${name}_history`, ended)}`;
  });
  const { rows } = await db.sql<{ rows: number; more: boolean }>`
    select least(sum(c.rows), ${MOST_COUNTED}::int)::float8 as rows, max(c.looked) > ${MOST_COUNTED}::int as more
    from (${sql.join(parts, sql` union all `)}) as c group by c.place order by c.place`;
  return rows;
}

/**
 * With MIRROR_DELETES=hard: the version `h` is the last one of a row, and has the deletion's own change ID.
 * `offset 0`: each is looked up, and never all rows put into a hash.
 */
function removedRow(db: Db, userId: string, collection: Collection): RawBuilder<unknown> {
  return sql`h._op = 'delete'
    and not exists (select 1 from ${db.table(collection.name)} as t where ${sameKey(userId, collection, 't', 'h')} offset 0)`;
}

/** `one` is the account's, and has the key of `other`. By the account itself: Citus follows no equality into a subquery. */
function sameKey(userId: string, collection: Collection, one: string, other: string): RawBuilder<unknown> {
  const sameColumns = keyOf(collection).map(
    (column) => sql`${sql.ref(`${one}.${column}`)} = ${sql.ref(`${other}.${column}`)}`,
  );
  return sql.join([sql`${sql.ref(`${one}._user_id`)} = ${userId}::bigint`, ...sameColumns], sql` and `);
}

/** Columns of the primary key after `_user_id`. */
function keyOf(collection: Collection): string[] {
  if (collection.kind === 'single') return [];
  return [...(collection.parent === undefined ? [] : [collection.parent.column]), collection.keyField];
}
