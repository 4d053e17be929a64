import type { Db } from '../../db/connection/db.ts';
import { commitDurably } from '../../db/connection/durable-commit.ts';
import { databaseTime } from '../../db/connection/database-time.ts';
import { beginChangeIds, takeChangeIds } from '../../db/ownership/change-ids.ts';
import { type Erased, eraseRow } from '../../mirror/forgotten/erase-row.ts';
import type { ListCollection, Scope } from '../../model/collections.ts';
import { forgottenHash } from '../../model/forgotten-key.ts';

/** A row by its key. */
export interface RowName {
  /** The list that it is an item of; '' outside lists. */
  readonly parent: string;
  readonly key: string;
}

/** What became of one row. */
export interface ForgottenRow extends RowName, Erased {
  /** It was forgotten before: what had come since was erased. */
  readonly already: boolean;
  /** Nothing of it was here: nothing is recorded. */
  readonly unknown: boolean;
}

export interface NamedRows {
  readonly userId: string;
  readonly list: ListCollection;
  readonly rows: readonly RowName[];
}

export interface ForgetOptions extends NamedRows {
  /** Says what would go, and lets it stay. */
  readonly dryRun: boolean;
  readonly monotonic: () => number;
}

/** What was forgotten. */
export interface Forgetting {
  readonly rows: readonly ForgottenRow[];
  /** The watermark of the last row that was recorded; undefined where none was. */
  readonly changeId: string | undefined;
}

/**
 * Forgets rows for good, in one transaction: erases them wherever they are, and records hashes of their keys, so that
 * no page, event or retry brings them back. A hash gets a change ID: it is what a reader of the watermark sees of the
 * deletion. The account is taken from its owner, as by a takeover: a daemon has the rows in memory. It takes the
 * account again within seconds.
 * @returns undefined where there is no such account
 */
export async function forgetRows(db: Db, options: ForgetOptions): Promise<Forgetting | undefined> {
  try {
    return await db.transaction(async (trx) => {
      const forgetting = await forgetIn(trx, options);
      if (options.dryRun) throw new DryRun(forgetting);
      return forgetting;
    });
  } catch (error) {
    if (error instanceof DryRun) return error.forgetting;
    throw error;
  }
}

/** Rolls back what was only tried. */
class DryRun extends Error {
  readonly forgetting: Forgetting | undefined;

  constructor(forgetting: Forgetting | undefined) {
    super('only tried');
    this.forgetting = forgetting;
  }
}

async function forgetIn(
  trx: Db,
  { userId, list, rows, monotonic }: ForgetOptions,
): Promise<Forgetting | undefined> {
  // A crash must not bring back what the user knows to be erased.
  await commitDurably(trx);
  if (!(await takeFromOwner(trx, userId))) return undefined;
  const at = await databaseTime(trx);
  const done: ForgottenRow[] = [];
  const fresh = new Set<string>();
  for (const { parent, key } of rows) {
    const scope: Scope = { userId, collection: list.name, parent };
    const hash = forgottenHash(scope, key);
    const already = fresh.has(hash) || (await isForgotten(trx, scope, hash));
    const erased = await eraseRow(trx, list, scope, key, at);
    const unknown = !already && Object.values(erased).every((count) => count === 0);
    done.push({ parent, key, ...erased, already, unknown });
    if (!already && !unknown) fresh.add(hash);
  }
  return { rows: done, changeId: fresh.size === 0 ? undefined : await record([...fresh]) };

  async function record(hashes: readonly string[]): Promise<string> {
    const { rows: installed } = await trx.sql<{ floor: string }>`
      select change_floor as floor from ${trx.stateTable('installation')}`;
    const floor = BigInt(installed[0]?.floor ?? 0);
    beginChangeIds(trx, { now: BigInt(at.getTime()) * 1000n, floor, monotonic });
    const before = await takeChangeIds(trx, userId, hashes.length);
    await trx.sql`
      insert into ${trx.table('forgotten')} (_user_id, collection, key_hash, _change_id, forgotten_at)
      select a._user_id, ${list.name}, decode(x.hash, 'hex'), ${String(before)}::bigint + x.place, ${at}::timestamptz
      from ${trx.stateTable('account')} as a
      cross join unnest(${[...hashes]}::text[]) with ordinality as x (hash, place)
      where a._user_id = ${userId}::bigint`;
    return String(before + BigInt(hashes.length));
  }
}

/** As a takeover does, without a new owner. @returns whether there is such an account */
async function takeFromOwner(trx: Db, userId: string): Promise<boolean> {
  const { numAffectedRows } = await trx.sql`
    update ${trx.stateTable('account')} set token = token + 1, owner = null where _user_id = ${userId}::bigint`;
  return Number(numAffectedRows ?? 0n) > 0;
}

async function isForgotten(trx: Db, { userId, collection }: Scope, hash: string): Promise<boolean> {
  const { rows } = await trx.sql`
    select 1 from ${trx.table('forgotten')}
    where _user_id = ${userId}::bigint and collection = ${collection} and key_hash = decode(${hash}, 'hex')`;
  return rows.length > 0;
}

/**
 * Lets rows be mirrored again: the next full walk, which is due at once, brings those that the service has.
 * @returns of each whether it was forgotten; undefined where there is no such account
 */
export async function rememberRows(
  db: Db,
  { userId, list, rows }: NamedRows,
): Promise<readonly boolean[] | undefined> {
  return db.transaction(async (trx) => {
    if (!(await takeFromOwner(trx, userId))) return undefined;
    const at = await databaseTime(trx);
    const found: boolean[] = [];
    for (const { parent, key } of rows) {
      const hash = forgottenHash({ userId, collection: list.name, parent }, key);
      const { numAffectedRows } = await trx.sql`
        delete from ${trx.table('forgotten')}
        where _user_id = ${userId}::bigint and collection = ${list.name} and key_hash = decode(${hash}, 'hex')`;
      found.push(Number(numAffectedRows ?? 0n) > 0);
    }
    if (found.includes(true)) {
      await trx.sql`
        update ${trx.table('_collections')} set next_full_at = ${at}::timestamptz
        where _user_id = ${userId}::bigint and collection = ${list.name}`;
    }
    return found;
  });
}
