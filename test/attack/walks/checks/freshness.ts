import type pg from 'pg';
import type { Finding } from '../../support/attack.ts';
import { liveRows, type ListName } from './mirrored.ts';
import { rowName, type TruthLog } from '../source/truth-log.ts';

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
  { log, lagMs, moving }: { readonly log: TruthLog; readonly lagMs: number; readonly moving: boolean },
): Promise<Finding[]> {
  const problems: string[] = [];
  for (const name of names) {
    const told = await toldOf(db, name, user);
    if (told === undefined) continue;
    const rows = await liveRows(db, name, user);
    const now = Date.now();
    const [polled, complete] = [Number(told.polled ?? 0), Number(told.complete ?? 0)];
    for (const { scope, id } of log.rows().filter(({ scope }) => scope.collection === name)) {
      const what = rowName(scope, id);
      const key = `${scope.list}/${id}`;
      const here = rows.has(key);
      // Seen, but so soon after its deletion that it waits for a second sighting: polls do not answer for that.
      const since = told.returned.includes(key) ? complete : Math.max(polled, complete);
      if (!here && !moving && since > 0 && !log.absentWithin(scope, id, since - lagMs - 1, now)) {
        problems.push(`${what} was there since ${now - since} ms ago, as of when all is here, but it is not`);
      }
      if (here && complete > 0 && !log.presentWithin(scope, id, complete - 1, now)) {
        problems.push(`${what} is gone since before complete_as_of (${now - complete} ms ago), but is here`);
      }
    }
    if (Number(told.live) !== rows.size) problems.push(`${name} has ${rows.size} live rows, told are ${told.live}`);
    if (told.deleted !== told.gone) problems.push(`${name} has ${told.gone} deleted rows, told are ${told.deleted}`);
  }
  return problems.slice(0, 5).map((text) => ({ kind: 'claim', text: `freshness: ${text}` }));
}

/** What is told of a collection, moments in milliseconds since the epoch; `gone`: its deleted rows, counted. */
async function toldOf(db: pg.Pool, name: ListName, user: string) {
  const ms = (column: string): string => `floor(extract(epoch from ${column}) * 1000)::text`;
  const { rows } = await db.query<{
    polled: string | null;
    complete: string | null;
    live: string;
    deleted: string;
    gone: string;
    returned: string[];
  }>(
    `select ${ms('polled_at')} as polled, ${ms('complete_as_of')} as complete, live_rows as live,
       deleted_rows as deleted,
       (select count(*) from mirror.${name} where _user_id = $1 and _deleted_at is not null) as gone,
       array(select parent || '/' || key from mirror_sync.candidate
         where _user_id = $1 and collection = $2 and kind = 'returned') as returned
     from mirror._collections where _user_id = $1 and collection = $2`,
    [user, name],
  );
  return rows[0];
}

/** Deletions of the account that the brake blocks, and those that wait for a second proof. */
export async function openDeletions(db: pg.Pool, user: string): Promise<{ held: number; waiting: number }> {
  const { rows } = await db.query<{ held: string; waiting: string }>(
    `select coalesce(sum(held_deletions), 0) as held, coalesce(sum(waiting_deletions), 0) as waiting
     from mirror._collections where _user_id = $1`,
    [user],
  );
  return { held: Number(rows[0]?.held), waiting: Number(rows[0]?.waiting) };
}
