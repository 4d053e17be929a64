import type pg from 'pg';
import type { Finding } from '../../support/attack.ts';
import { liveRows, type ListName } from './mirrored.ts';
import { rowName, type TruthLog } from '../source/truth-log.ts';

interface Told {
  /** Milliseconds since the epoch; null: nothing is claimed. */
  readonly polled: string | null;
  readonly complete: string | null;
  readonly live: string;
  readonly deleted: string;
  readonly held: string;
}

/**
 * What `freshness` claims, against the source's own log and the rows: nothing may be writing for the account.
 * - `polled_at`: every row that has been there since then is here
 * - `complete_as_of`: also, no row is here that was gone by then and has not come back
 * - the counters are those of the rows
 * @param given.lagMs what was read may be as old as this
 * @param given.moving the list's order follows a changing value: a row, or the one that is the cursor, may pass the
 *   place of a walk that is under way, so that the walk does not meet what was there all the time. No client can help it
 */
export async function checkFreshness(
  db: pg.Pool,
  names: readonly ListName[],
  user: string,
  given: { readonly log: TruthLog; readonly lagMs: number; readonly moving: boolean },
): Promise<Finding[]> {
  const { log, lagMs, moving } = given;
  const problems: string[] = [];
  for (const name of names) {
    const told = await toldOf(db, name, user);
    if (told === undefined) continue;
    const rows = await liveRows(db, name, user);
    const returned = await returnedRows(db, name, user);
    const now = Date.now();
    const { polled, complete } = told;
    for (const { scope, id } of log.rows().filter(({ scope }) => scope.collection === name)) {
      const what = rowName(scope, id);
      const here = rows.has(`${scope.list}/${id}`);
      // Seen, but so soon after its deletion that it waits for a second sighting: polls do not answer for that.
      const ofPolls = returned.has(`${scope.list}/${id}`) ? 0 : Number(polled ?? 0);
      const since = Math.max(ofPolls, Number(complete ?? 0));
      if (!here && !moving && since > 0 && !log.absentWithin(scope, id, since - lagMs - 1, now)) {
        problems.push(`${what} was there since ${ago(since, now)}, as of when all is here, but it is not`);
      }
      if (here && complete !== null && !log.presentWithin(scope, id, Number(complete) - 1, now)) {
        problems.push(
          `${what} is gone since before complete_as_of (${ago(Number(complete), now)}), but is here`,
        );
      }
    }
    if (Number(told.live) !== rows.size)
      problems.push(`${name} has ${rows.size} live rows, told are ${told.live}`);
    const gone = await deletedRows(db, name, user);
    if (told.deleted !== gone) problems.push(`${name} has ${gone} deleted rows, told are ${told.deleted}`);
  }
  return problems.slice(0, 5).map((text) => ({ kind: 'claim', text: `freshness: ${text}` }));
}

/** Deletions of the account that the brake blocks, and those that wait for a second proof. */
export async function openDeletions(
  db: pg.Pool,
  user: string,
): Promise<{ readonly held: number; readonly waiting: number }> {
  const { rows } = await db.query<{ held: string; waiting: string }>(
    `select coalesce(sum(held_deletions), 0) as held, coalesce(sum(waiting_deletions), 0) as waiting
     from mirror._collections where _user_id = $1`,
    [user],
  );
  return { held: Number(rows[0]?.held), waiting: Number(rows[0]?.waiting) };
}

async function toldOf(db: pg.Pool, name: ListName, user: string): Promise<Told | undefined> {
  const ms = (column: string): string => `floor(extract(epoch from ${column}) * 1000)::text`;
  const { rows } = await db.query<Told>(
    `select ${ms('polled_at')} as polled, ${ms('complete_as_of')} as complete, live_rows as live,
       deleted_rows as deleted, held_deletions as held
     from mirror._collections where _user_id = $1 and collection = $2`,
    [user, name],
  );
  return rows[0];
}

async function returnedRows(db: pg.Pool, name: ListName, user: string): Promise<ReadonlySet<string>> {
  const { rows } = await db.query<{ row: string }>(
    `select parent || '/' || key as row from mirror_sync.candidate
     where _user_id = $1 and collection = $2 and kind = 'returned'`,
    [user, name],
  );
  return new Set(rows.map(({ row }) => row));
}

async function deletedRows(db: pg.Pool, name: ListName, user: string): Promise<string> {
  const { rows } = await db.query<{ gone: string }>(
    `select count(*) as gone from mirror.${name} where _user_id = $1 and _deleted_at is not null`,
    [user],
  );
  return rows[0]?.gone ?? '';
}

function ago(at: number, now: number): string {
  return `${now - at} ms ago`;
}
