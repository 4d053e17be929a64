import { sql, type Kysely, type Transaction } from 'kysely';
import { databaseTime } from './database-time.ts';
import { mirrorTables, syncTables } from './tables.ts';

/** Nothing is sent and no webhook taken over, since then and for this reason. */
export interface Hold {
  readonly since: Date;
  readonly why: string;
}

/** What the row `installation` says of it. */
export interface HoldRow {
  readonly held_at: Date | null;
  readonly held_why: string | null;
}

/** After so long without a daemon, what is queued may have been sent by the database's original. Milliseconds. */
export const LONGEST_GAP = 600_000;

/** The hold, where there is one. */
export async function currentHold(db: Kysely<unknown>, schema: string): Promise<Hold | undefined> {
  const row = await syncTables(db, schema)
    .selectFrom('installation')
    .select(['held_at', 'held_why'])
    .executeTakeFirst();
  return row && holdOf(row);
}

/**
 * Whether submissions may be sent, in the transaction that is to claim one: no hold, and a heartbeat within the gap.
 * @throws RangeError where nobody has opened the installation: whoever sends has to
 */
export async function maySend(trx: Kysely<unknown>, schema: string, now: Date): Promise<boolean> {
  const row = await syncTables(trx, schema)
    .selectFrom('installation')
    .select(['held_at', 'alive_at'])
    .executeTakeFirst();
  if (row === undefined) throw new RangeError('openInstallation comes before the first submission');
  return (
    row.held_at === null && row.alive_at !== null && row.alive_at.getTime() > now.getTime() - LONGEST_GAP
  );
}

/** Ends the hold: what was held is queued again. @returns how many */
export async function releaseSubmissions(db: Kysely<unknown>, schema: string): Promise<number> {
  return db.transaction().execute(async (trx) => {
    const now = await databaseTime(trx);
    // Locks the row: an owner that is moving submissions to `held` is waited for (holdQueued).
    await sql`
      update ${sql.id(`${schema}_sync`, 'installation')} set held_at = null, held_why = null, alive_at = ${now}::timestamptz
      where singleton`.execute(trx);
    let released = 0;
    for (const userId of await accountsIn(trx, schema, 'held')) {
      released += await move(trx, schema, userId, 'held', 'queued');
    }
    return released;
  });
}

/**
 * Moves what the account has queued to `held` while there is a hold; for transactions of its owner.
 * @returns whether there is one
 */
export async function holdQueued(
  trx: Transaction<unknown>,
  schema: string,
  userId: string,
): Promise<boolean> {
  if ((await currentHold(trx, schema)) === undefined) return false;
  // A release that comes between would leave behind for ever what is moved after it.
  const { rows } = await sql<{ held: boolean }>`
    select held_at is not null as held from ${sql.id(`${schema}_sync`, 'installation')} for share`.execute(
    trx,
  );
  if (rows[0]?.held !== true) return false;
  await move(trx, schema, userId, 'queued', 'held');
  return true;
}

/** The hold that is there, or a new one where there is a reason. */
export async function holdFor(
  trx: Transaction<unknown>,
  schema: string,
  row: HoldRow,
  now: Date,
  why: string | undefined,
): Promise<Hold | undefined> {
  const there = holdOf(row);
  if (there === undefined && why === undefined) return undefined;
  if (there === undefined) {
    await sql`
      update ${sql.id(`${schema}_sync`, 'installation')} set held_at = ${now}::timestamptz, held_why = ${why}
      where singleton`.execute(trx);
  }
  for (const userId of await accountsIn(trx, schema, 'queued')) {
    await move(trx, schema, userId, 'queued', 'held');
  }
  return there ?? { since: now, why: why ?? '' };
}

function holdOf(row: HoldRow): Hold | undefined {
  return row.held_at === null ? undefined : { since: row.held_at, why: row.held_why ?? '' };
}

type Waiting = 'queued' | 'held';

async function accountsIn(trx: Transaction<unknown>, schema: string, state: Waiting): Promise<string[]> {
  const rows = await mirrorTables(trx, schema)
    .selectFrom('submissions')
    .select('_user_id')
    .distinct()
    .where('state', '=', state)
    .orderBy('_user_id')
    .execute();
  return rows.map(({ _user_id }) => _user_id);
}

async function move(
  trx: Transaction<unknown>,
  schema: string,
  userId: string,
  from: Waiting,
  to: Waiting,
): Promise<number> {
  const { numUpdatedRows } = await mirrorTables(trx, schema)
    .updateTable('submissions')
    .set({ state: to })
    .where('_user_id', '=', userId)
    .where('state', '=', from)
    .executeTakeFirst();
  return Number(numUpdatedRows);
}
