import type { Config } from '../config/config.ts';
import { MAX_COLUMNS } from '../mirror/columns.ts';
import { FREE_ROWS, FREE_SHARE } from '../mirror/delete-rows.ts';
import type { CollectionName } from '../model/collections.ts';
import type { Db } from '../postgres/db.ts';
import { PROBLEMS } from './problem.ts';
import type { Finding } from './problems.ts';
import { type AccountStatus, DELETION_CAUSES, shortened, type WaitingDeletion } from './status-report.ts';

/** Suspected deletions of one collection with the same cause. */
export type SuspectedRows = Pick<WaitingDeletion, 'userId' | 'collection' | 'cause' | 'rows' | 'examples'> & {
  /** When the first and the last row was missed. */
  readonly since: Date;
  readonly latest: Date;
  /** Why Postgres refuses one of them; null: it does not. */
  readonly why: string | null;
};

const EXAMPLES = 5;
/** Most entries: the view data_quality has the rest. */
const ENTRIES = 100;
/** A second reading that has been due for this time has taken place, ms. */
const READ_BY_MS = 60_000;

/** All suspected deletions by cause. One look at each; one observation makes 200,000 at most. */
export async function readSuspects(db: Db, now: Date, gracePeriodMs: number): Promise<SuspectedRows[]> {
  const readAgain = new Date(now.getTime() - gracePeriodMs - READ_BY_MS);
  // An item without ID spoils an answer that is the whole list, and a whole walk; otherwise only its own page.
  const { rows } = await db.sql<SuspectedRows>`
    select s._user_id as "userId", s.collection, s.cause, count(*)::float8 as rows, min(s.at) as since,
      max(s.at) as latest, min(s.refused) as why, (array_agg(s.name))[1:${EXAMPLES}::int] as examples
    from (
      select c._user_id, c.collection, c.at, c.refused,
        case when c.parent = '' then c.key else c.parent || ':' || c.key end as name,
        case
          when c.proven_at is not null and c.refused_at is not null then 'refused'
          when c.proven_at is not null and f.held_deletions > 0 then 'brake'
          when c.proven_at is not null or c.kind = 'returned' then 'second_proof'
          when q.parent is not null and (c.kind <> 'interval' or c.at < ${readAgain}::timestamptz) then 'item_without_id'
          when c.kind in ('snapshot', 'interval') and c.at >= ${readAgain}::timestamptz then 'second_proof'
          else 'full_walk'
        end as cause
      from ${db.stateTable('candidate')} as c
      left join ${db.table('_collections')} as f on f._user_id = c._user_id and f.collection = c.collection
      left join (
        select distinct _user_id, collection, parent from ${db.table('quarantine')} where key is null
      ) as q on q._user_id = c._user_id and q.collection = c.collection and q.parent = c.parent
    ) as s group by 1, 2, 3 order by 1, 2, 3`;
  return rows;
}

/** One entry per collection and cause (docs/design/deletions.md). @param running whether a daemon runs */
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
    const isMirrored = running && account.state === 'active' && state !== 'paused';
    const sync = `research-mirror sync ${collection} --full`;
    const [what, itself, remedy] = WORDS[cause]({ collection, sync, nextFullAt, why });
    const byItself = isMirrored ? itself : 'nothing, because no daemon is mirroring this collection';
    const words = { what, byItself, due: isMirrored ? due : null, remedy };
    return [{ ...group, liveRows, since: since.toISOString(), ...words }];
  });
  const place = ({ cause }: WaitingDeletion): number => DELETION_CAUSES.indexOf(cause);
  return found.toSorted((a, b) => place(a) - place(b)).slice(0, ENTRIES);
}

/** `sync`: the command that walks the collection. */
type Waiting = Record<'collection' | 'sync', string> & Record<'nextFullAt' | 'why', string | null>;

/** What is wrong, what happens by itself, and the remedy. */
const WORDS: Readonly<Record<WaitingDeletion['cause'], (of: Waiting) => [string, string, string | null]>> = {
  refused: ({ collection, sync, why }) => [
    `Postgres refuses to delete rows of ${collection} that are gone: ${why ?? 'the reason is unknown'}`,
    PROBLEMS.deletions_refused[0],
    `remove what keeps them (rows of another table that refer to them, a constraint, a trigger), or set MIRROR_DELETES=soft to keep deleted rows for references; then run "${sync}"`,
  ],
  brake: ({ sync }) => [
    `the brake holds them, because more than ${FREE_ROWS} rows and more than ${FREE_SHARE * 100} % of the collection within a day look like a fault of the service`,
    PROBLEMS.deletions_blocked[0],
    `if they were deleted on purpose, run "${sync} --accept-deletions"`,
  ],
  item_without_id: ({ collection }) => [
    'their list has an item without a usable ID. It may be any of them, so no answer that contains it proves anything',
    'they are checked again once the service gives the item an ID or removes it',
    `run "research-mirror quarantine list ${collection}" to see the item`,
  ],
  second_proof: () => [
    'two readings, at least MIRROR_SETTLE apart, must agree on them',
    'the next reading decides',
    null,
  ],
  full_walk: ({ sync, nextFullAt }) => [
    'only a full walk can prove them gone: another reading proved nothing, or the order of their list is unknown',
    nextFullAt === null
      ? 'nothing, because no full walk is scheduled (MIRROR_FULL_CRON)'
      : 'the next full walk decides',
    nextFullAt === null ? `run "${sync}"` : null,
  ],
};

/** Most fields that are named, and most characters of each name. */
const NAMED = 4;
const SHOWN = 40;

/** With MIRROR_SCHEMA_DRIFT=freeze: collections with fields that wait for a column; those of a full table do not. */
export async function waitingFields(
  db: Db,
  { schemaDrift, excludeFields }: Pick<Config, 'schemaDrift' | 'excludeFields'>,
): Promise<Finding[]> {
  if (schemaDrift !== 'freeze') return [];
  const { rows } = await db.sql<{ collection: CollectionName; count: number; fields: string[]; since: Date }>`
    select c.collection, count(*)::float8 as count, min(c.first_seen_at) as since,
      (array_agg(c.field order by c.first_seen_at, c.field))[1:${NAMED}::int] as fields
    from ${db.table('_columns')} as c
    where c.column_name is null
      and not ${JSON.stringify(excludeFields)}::jsonb -> c.collection ?| array[c.field, '**.' || c.field]
      and ${MAX_COLUMNS} > (
        select count(*) from pg_attribute as a
        where a.attrelid = to_regclass(format('%I.%I', ${db.schema}::text, c.collection))
          and a.attnum > 0 and not a.attisdropped)
    group by c.collection order by c.collection`;
  return rows.map(({ collection, count, fields, since }) => {
    const names = fields.map((field) => JSON.stringify(shortened(field, SHOWN))).join(', ');
    const more = count > fields.length ? ` and ${count - fields.length} more` : '';
    return {
      cause: 'fields_waiting',
      what: `new fields of ${collection} have no column, because MIRROR_SCHEMA_DRIFT=freeze`,
      where: `${collection} (${names}${more})`,
      since: since.toISOString(),
      remedy: `run "research-mirror columns accept ${collection}" to add columns for them`,
    };
  });
}
