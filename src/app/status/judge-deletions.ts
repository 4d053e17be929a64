import { countOf } from '@research-mirror/runtime/figures';
import type { MissedRows } from '../../db/status/missed-rows.ts';
import type { StoredStatus } from '../../db/status/stored-status.ts';
import { FREE_ROWS, FREE_SHARE } from '../../mirror/deletion/brake.ts';
import type { AccountStatus, CollectionStatus } from '../../model/status/status-report.ts';
import type { FoundProblem } from './group-problems.ts';
import {
  DELETION_CAUSES,
  type DeletionCause,
  type WaitingDeletion,
} from '../../model/status/waiting-deletion.ts';

/** Keys that are shown for each cause. */
const EXAMPLES = 5;
/** Entries at most: with very many accounts the view data_quality has the rest. */
const ENTRIES = 100;
/** A second reading that was due so long ago (ms) has taken place, where a daemon runs. */
const READ_BY = 60_000;

/**
 * Why rows that look deleted are still there: one entry for each collection and cause, those first that need a person
 * (docs/design/deletions.md). A mirror with such rows may be healthy: only what the brake blocks is a problem, too.
 * @param accounts as judged; their collections
 * @param stored as of which moment, what runs, and the rows
 * @param gracePeriodMs `MIRROR_SETTLE`
 */
export function judgeDeletions(
  accounts: readonly Pick<AccountStatus, 'userId' | 'state' | 'collections'>[],
  { missed, now, processes }: Pick<StoredStatus, 'missed' | 'now' | 'processes'>,
  gracePeriodMs: number,
): WaitingDeletion[] {
  const running = processes.some(({ alive }) => alive);
  const known = new Map(
    accounts.flatMap(({ userId, state, collections }) =>
      collections.map((each) => [`${userId}/${each.collection}`, { each, active: state === 'active' }]),
    ),
  );
  const groups = Map.groupBy(missed, (rows) => {
    const held = known.get(placeOf(rows))?.each.heldDeletions ?? 0;
    return `${placeOf(rows)}/${causeOf(rows, held > 0, now, gracePeriodMs)}`;
  });
  const found = [...groups].flatMap(([name, alike]) => {
    const [first] = alike;
    const there = first === undefined ? undefined : known.get(placeOf(first));
    if (first === undefined || there === undefined) return [];
    const { userId, collection } = first;
    const cause = name.slice(name.lastIndexOf('/') + 1) as DeletionCause;
    const latest = new Date(Math.max(...alike.map((each) => each.latest.getTime())) + gracePeriodMs);
    const mirrored = running && there.active && there.each.state !== 'paused';
    const { why } = first;
    const words = wordsOf(cause, there.each, { dueAt: latest, now, mirrored, why });
    return {
      userId,
      collection,
      cause,
      rows: alike.reduce((sum, { rows }) => sum + rows, 0),
      liveRows: there.each.liveRows,
      since: new Date(Math.min(...alike.map((each) => each.since.getTime()))).toISOString(),
      ...words,
      examples: alike.flatMap(({ examples }) => examples).slice(0, EXAMPLES),
    };
  });
  const place = (cause: DeletionCause): number => DELETION_CAUSES.indexOf(cause);
  return found.toSorted((a, b) => place(a.cause) - place(b.cause)).slice(0, ENTRIES);
}

function placeOf({ userId, collection }: Pick<MissedRows, 'userId' | 'collection'>): string {
  return `${userId}/${collection}`;
}

function causeOf(
  { kind, keyless, walking, latest }: MissedRows,
  blocked: boolean,
  now: Date,
  gracePeriodMs: number,
): DeletionCause {
  if (kind === 'refused') return kind;
  if (kind === 'proven') return blocked ? 'brake' : 'proven';
  if (kind === 'returned') return 'second_sighting';
  // Such an item spoils each answer that is the whole list, and each whole walk; of others only its own page.
  const tried = now.getTime() > latest.getTime() + gracePeriodMs + READ_BY;
  if (keyless && (kind !== 'interval' || tried)) return 'item_without_id';
  if (kind === 'pair') return 'equal_walks';
  if (kind === 'interval' && walking) return 'walk_under_way';
  return tried ? 'full_walk' : 'second_proof';
}

/** Rows that are proven gone, and that Postgres keeps. */
export function refusedDeletions(missed: readonly MissedRows[]): FoundProblem[] {
  return missed
    .filter(({ kind }) => kind === 'refused')
    .map(({ userId, collection, rows, examples, since, why }) => ({
      cause: 'deletions_refused',
      ...refusal(collection, why),
      since: since.toISOString(),
      where: `${userId}/${collection} (${countOf(rows, 'row')}: ${examples.join(', ')}${rows > examples.length ? ', …' : ''})`,
    }));
}

function refusal(collection: string, why: string | null): Pick<Words, 'what' | 'byItself' | 'remedy'> {
  return {
    what: `Postgres refuses to delete rows of ${collection} that are gone: ${why ?? 'no reason is known'}`,
    byItself: 'they are tried again with each full walk; all others go',
    remedy: `take away what keeps them (rows of another table that refer to them, a constraint, a trigger), or keep deleted rows for references (MIRROR_DELETES=soft); then research-mirror sync ${collection} --full`,
  };
}

interface Outlook {
  /** When a second reading may be a proof. */
  readonly dueAt: Date;
  readonly now: Date;
  /** A daemon runs, and mirrors the collection. */
  readonly mirrored: boolean;
  readonly why: string | null;
}

type Words = Pick<WaitingDeletion, 'what' | 'byItself' | 'due' | 'remedy'>;

function wordsOf(
  cause: DeletionCause,
  { collection, nextFullAt }: CollectionStatus,
  outlook: Outlook,
): Words {
  const words = whileMirrored(cause, collection, nextFullAt, outlook);
  // What a person has to decide stays as it is, whoever runs.
  if (outlook.mirrored) return words;
  return { ...words, byItself: 'nothing: no daemon mirrors this collection now', due: null };
}

function whileMirrored(
  cause: DeletionCause,
  collection: string,
  nextFullAt: string | null,
  { dueAt, why }: Outlook,
): Words {
  const sync = `research-mirror sync ${collection} --full`;
  const byFullWalk = {
    due: nextFullAt,
    ...(nextFullAt === null
      ? { byItself: 'nothing: no full walk is due (MIRROR_FULL_CRON)', remedy: sync }
      : { byItself: 'the next full walk decides', remedy: null }),
  };
  switch (cause) {
    case 'brake':
      return {
        what: `the brake holds them: more than ${FREE_ROWS} rows and more than ${FREE_SHARE * 100} % of the collection within a day look like a fault of the service`,
        byItself: 'they go as soon as fewer are missing, or the share falls within a day',
        due: null,
        remedy: `if they are gone on purpose: ${sync} --accept-deletions`,
      };
    case 'refused':
      return { ...refusal(collection, why), due: null };
    case 'item_without_id':
      return {
        what: 'an item without a usable ID stands in their list: it may be any of them, and what it stands on proves nothing',
        byItself: 'they are judged again once the service has given the item an ID, or has it no more',
        due: null,
        remedy: `research-mirror quarantine list ${collection}`,
      };
    case 'second_proof':
      return {
        what: 'one reading has missed them; a second one has to, at least MIRROR_SETTLE later',
        byItself: 'they are read again',
        due: dueAt.toISOString(),
        remedy: null,
      };
    case 'full_walk':
      return { what: 'they were read again, and neither seen nor proven gone', ...byFullWalk };
    case 'walk_under_way':
      return {
        what: 'the full walk that missed them has not ended: they may have moved to where it comes later',
        byItself: 'it goes on, and they are read again after it',
        due: null,
        remedy: null,
      };
    case 'equal_walks':
      return {
        what: 'the order of their list is not known: only two whole walks that read the same prove anything',
        ...byFullWalk,
      };
    case 'second_sighting':
      return {
        what: 'they are back, or what they were before, so soon that the page may have been stale',
        byItself: 'seen once more they are believed, else it is forgotten',
        due: null,
        remedy: null,
      };
    case 'proven':
      return {
        what: 'they are proven gone',
        byItself: 'they are deleted by the next reading',
        due: null,
        remedy: null,
      };
  }
}
