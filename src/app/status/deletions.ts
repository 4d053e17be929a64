import { sql } from 'kysely';
import type { Db } from '../../db/connection/db.ts';
import { FREE_ROWS, FREE_SHARE } from '../../mirror/deletion/brake.ts';
import { PROBLEMS, refusedDeletionRemedy } from '../../model/status/problem.ts';
import {
  type AccountStatus,
  DELETION_CAUSES,
  type DeletionCause,
  type WaitingDeletion,
} from '../../model/status/status-report.ts';

/** Suspected deletions of one collection that wait for the same. */
export interface SuspectedRows extends Pick<
  WaitingDeletion,
  'userId' | 'collection' | 'cause' | 'rows' | 'examples'
> {
  /** When the first and the last of them were missed. */
  readonly since: Date;
  readonly latest: Date;
  /** Why Postgres refuses one of them; null: it does not. */
  readonly why: string | null;
}

/** Keys that are shown for each cause. */
const EXAMPLES = 5;
/** Entries at most: with very many accounts the view data_quality has the rest. */
const ENTRIES = 100;
/** A second reading that was due so long ago (ms) has taken place. */
const READ_BY_MS = 60_000;

/** All suspected deletions by what they wait for. One look at each: 200,000 at most come of one observation. */
export async function readSuspects(db: Db, now: Date, gracePeriodMs: number): Promise<SuspectedRows[]> {
  const suspects = db.stateTable('candidate');
  const readAgain = new Date(now.getTime() - gracePeriodMs - READ_BY_MS);
  const part = sql`case
    when c.proven_at is not null then case when c.refused_at is null then 'proven' else 'refused' end
    when c.kind in ('snapshot', 'interval') and c.at < ${readAgain}::timestamptz then c.kind || ' read again'
    else c.kind end`;
  // An item without ID spoils each answer that is the whole list, and each whole walk; of others only its own page.
  const { rows } = await db.sql<SuspectedRows>`
    select g._user_id as "userId", g.collection, g.cause, g.rows, g.since, g.latest, g.why, array(
        select case when c.parent = '' then c.key else c.parent || ':' || c.key end
        from ${suspects} as c
        where c._user_id = g._user_id and c.collection = g.collection and c.parent = any(g.parents)
          and c.parent || ' ' || ${part} = any(g.parts)
        limit ${EXAMPLES}) as examples
    from (
      select s._user_id, s.collection, s.cause, sum(s.rows)::float8 as rows, min(s.since) as since,
        max(s.latest) as latest, min(s.why) as why, (array_agg(s.parent order by s.parent))[1:${EXAMPLES}::int] as parents,
        array_agg(s.parent || ' ' || s.part) as parts
      from (
        select p.*,
          case
            when p.part = 'refused' then 'refused'
            when p.part = 'proven' and f.held_deletions > 0 then 'brake'
            when p.part in ('proven', 'returned') then 'second_proof'
            when q.parent is not null and p.part <> 'interval' then 'item_without_id'
            when p.part in ('snapshot', 'interval') then 'second_proof'
            else 'full_walk'
          end as cause
        from (
          select c._user_id, c.collection, c.parent, ${part} as part, count(*) as rows, min(c.at) as since,
            max(c.at) as latest, min(c.refused) as why
          from ${suspects} as c group by c._user_id, c.collection, c.parent, 4) as p
        left join ${db.table('_collections')} as f on f._user_id = p._user_id and f.collection = p.collection
        left join (
          select distinct _user_id, collection, parent from ${db.table('quarantine')} where key is null
        ) as q on q._user_id = p._user_id and q.collection = p.collection and q.parent = p.parent
      ) as s group by s._user_id, s.collection, s.cause) as g
    order by g._user_id, g.collection, g.cause`;
  return rows;
}

/**
 * Why rows that look deleted are still there: one entry for each collection and cause, those first that need a person
 * (docs/design/deletions.md). What the brake and Postgres keep is a problem, too.
 * @param running a daemon runs
 */
export function waitingDeletions(
  accounts: readonly Pick<AccountStatus, 'userId' | 'state' | 'collections'>[],
  suspects: readonly SuspectedRows[],
  running: boolean,
  gracePeriodMs: number,
): WaitingDeletion[] {
  const known = new Map(accounts.map((account) => [account.userId, account]));
  const found = suspects.flatMap(({ since, latest, why, ...group }): WaitingDeletion[] => {
    const { userId, collection, cause } = group;
    const account = known.get(userId);
    const figures = account?.collections.find((each) => each.collection === collection);
    if (account === undefined || figures === undefined) return [];
    const { liveRows, nextFullAt, state } = figures;
    const second = new Date(latest.getTime() + gracePeriodMs).toISOString();
    const due = cause === 'second_proof' ? second : cause === 'full_walk' ? nextFullAt : null;
    const mirrored = running && account.state === 'active' && state !== 'paused';
    const alone = { byItself: 'nothing: no daemon mirrors this collection now', due: null };
    const words = { ...wordsOf(cause, collection, nextFullAt, why), due, ...(mirrored ? {} : alone) };
    return [{ ...group, liveRows, since: since.toISOString(), ...words }];
  });
  const place = ({ cause }: WaitingDeletion): number => DELETION_CAUSES.indexOf(cause);
  return found.toSorted((a, b) => place(a) - place(b)).slice(0, ENTRIES);
}

function wordsOf(
  cause: DeletionCause,
  collection: string,
  nextFullAt: string | null,
  why: string | null,
): Pick<WaitingDeletion, 'what' | 'byItself' | 'remedy'> {
  const sync = `research-mirror sync ${collection} --full`;
  switch (cause) {
    case 'refused':
      return {
        what: `Postgres refuses to delete rows of ${collection} that are gone: ${why ?? 'no reason is known'}`,
        byItself: PROBLEMS.deletions_refused[0],
        remedy: refusedDeletionRemedy(collection),
      };
    case 'brake':
      return {
        what: `the brake holds them: more than ${FREE_ROWS} rows and more than ${FREE_SHARE * 100} % of the collection within a day look like a fault of the service`,
        byItself: PROBLEMS.deletions_blocked[0],
        remedy: `if they are gone on purpose: ${sync} --accept-deletions`,
      };
    case 'item_without_id':
      return {
        what: 'an item without a usable ID stands in their list: it may be any of them, and what it stands on proves nothing',
        byItself: 'they are judged again once the service has given the item an ID, or has it no more',
        remedy: `research-mirror quarantine list ${collection}`,
      };
    case 'second_proof':
      return {
        what: 'two readings have to say the same of them, at least MIRROR_SETTLE apart',
        byItself: 'the next reading of them decides',
        remedy: null,
      };
    case 'full_walk':
      return {
        what: 'only a full walk can prove them gone: they were read again in vain, or the order of their list is not known',
        ...(nextFullAt === null
          ? { byItself: 'nothing: no full walk is due (MIRROR_FULL_CRON)', remedy: sync }
          : { byItself: 'the next full walk decides', remedy: null }),
      };
  }
}
