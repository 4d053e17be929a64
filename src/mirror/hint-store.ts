import type { Db } from '../postgres/db.ts';
import { type Fence, fenced } from '../postgres/fenced.ts';
import { AHEAD_MS, hasCome } from '../postgres/clock-step.ts';
import { sql } from 'kysely';
import type { Scope } from '../model/collections.ts';
import type { HintedRow } from '../model/hint.ts';

export interface StoredHint {
  /** '' for the scope as a whole. */
  readonly key: string;
  /** Rises with each event that names the row, so that a later hint is not removed. */
  readonly seq: string;
  /** Time of the last event. */
  readonly hintedAt: Date;
  /** Readings since then without a change. */
  readonly step: number;
}

/** The next hints of an account's queue. */
export interface NextHints {
  readonly scope: Scope;
  /** Milliseconds until the scope's first hint is due, by the database's clock; 0: it is due. */
  readonly inMs: number;
  /** The scope's hints that are due, the oldest first. */
  readonly hints: readonly StoredHint[];
}

/** Most hints of one scope that are read together; the rest comes next time. */
const TOGETHER = 1_000;

/**
 * Makes rows due to be read now, in one statement. A row that is due already keeps its place, or one that is named
 * repeatedly would never be read. Any transaction may do this, without the fence. An unknown account gets no hint.
 * @param rows of mirrored collections
 * @param now by the database's clock
 */
export async function addHints(trx: Db, userId: string, rows: readonly HintedRow[], now: Date) {
  if (rows.length === 0) return;
  const column = (field: keyof HintedRow): string[] => rows.map((row) => row[field]);
  // In the order in which `updateHints` locks them.
  await trx.sql`
    insert into ${trx.stateTable('hint')} as h (_user_id, collection, parent, key, hinted_at, due_at)
    select distinct a._user_id, x.collection, x.parent, x.key collate "C" as key, ${now}::timestamptz, ${now}::timestamptz
    from ${trx.stateTable('account')} as a
    cross join unnest(${column('collection')}::text[], ${column('parent')}::text[], ${column('key')}::text[])
      as x (collection, parent, key)
    where a._user_id = ${userId}::bigint
    order by 2, 3, 4
    on conflict (_user_id, collection, parent, key) do update
    set seq = h.seq + 1, hinted_at = excluded.hinted_at, due_at = least(h.due_at, excluded.due_at), step = 0`;
}

/**
 * The scope whose hint is due first, now or later, with its due hints. Of one event's hints, lists come before their
 * items.
 * @param among mirrored collections
 * @param except scopes that are being read, or wait for a while
 */
export async function nextHints(
  db: Db,
  userId: string,
  among: readonly string[],
  except: readonly Pick<Scope, 'collection' | 'parent'>[],
): Promise<NextHints | undefined> {
  const isDue = hasCome(sql`h.due_at`, AHEAD_MS.hint, sql`statement_timestamp()`);
  const { rows } = await db.sql<Pick<Scope, 'collection' | 'parent'> & Pick<NextHints, 'inMs'> & StoredHint>`
    with first as (
      select h.collection, h.parent,
        case when ${isDue} then 0
          else ceil(extract(epoch from h.due_at - statement_timestamp()) * 1000) end::float8 as "inMs"
      from ${db.stateTable('hint')} as h
      where h._user_id = ${userId}::bigint and h.collection = any(${[...among]}::text[])
        and not exists (
          select from unnest(${except.map(({ collection }) => collection)}::text[], ${except.map(({ parent }) => parent)}::text[])
            as x (collection, parent)
          where x.collection = h.collection and x.parent = h.parent)
      order by "inMs", h.due_at, h.parent limit 1)
    select f.collection, f.parent, f."inMs", h.key, h.seq, h.hinted_at as "hintedAt", h.step
    from first as f
    join ${db.stateTable('hint')} as h on h.collection = f.collection and h.parent = f.parent
    where h._user_id = ${userId}::bigint and (f."inMs" > 0 or ${isDue})
    order by h.due_at, h.key limit ${TOGETHER}`;
  const [first] = rows;
  if (first === undefined) return undefined;
  const { collection, parent, inMs } = first;
  return { scope: { userId, collection, parent }, inMs, hints: inMs > 0 ? [] : rows };
}

/**
 * Updates hints whose rows were read, in a fenced transaction. A hint that an event has renewed meanwhile stays.
 * @param read the hints with the time when each is due again; null: it is removed
 */
export async function updateHints(
  trx: Db,
  { userId, collection, parent }: Scope,
  read: readonly (StoredHint & { readonly dueAt: Date | null })[],
): Promise<void> {
  if (read.length === 0) return;
  const hints = trx.stateTable('hint');
  const [keys, seqs] = [read.map(({ key }) => key), read.map(({ seq }) => seq)];
  const x = sql`unnest(${keys}::text[], ${seqs}::bigint[], ${read.map(({ dueAt }) => dueAt)}::timestamptz[])
    as x (key, seq, due_at)`;
  const inScope = sql`h.collection = ${collection} and h.parent = ${parent}`;
  // In the order in which `addHints` locks them, so that there is no deadlock.
  await trx.sql`
    select from ${hints} as h
    where h._user_id = ${userId}::bigint and ${inScope} and h.key = any(${keys}::text[])
    order by h.key for update`;
  await trx.sql`
    delete from ${hints} as h using ${x}
    where h._user_id = ${userId}::bigint and ${inScope} and h.key = x.key and h.seq = x.seq and x.due_at is null`;
  await trx.sql`
    update ${hints} as h set step = h.step + 1, due_at = x.due_at from ${x}
    where h._user_id = ${userId}::bigint and ${inScope} and h.key = x.key and h.seq = x.seq and x.due_at is not null`;
}

/** Removes hints of collections that are no longer mirrored. @throws LeaseLost */
export async function forgetOtherHints(db: Db, fence: Fence, mirrored: readonly string[]): Promise<void> {
  await fenced(db, fence, async (trx) => {
    await trx.sql`
      delete from ${trx.stateTable('hint')}
      where _user_id = ${fence.userId}::bigint and collection <> all(${[...mirrored]}::text[])`;
  });
}
