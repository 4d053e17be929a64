import { countOf, formatAge, formatCount, formatSpan } from '@research-mirror/runtime/figures';
import type { RegistrationState } from '../events/registration.ts';
import type { CellColumn, CollectionFigures } from '../model/collection-columns.ts';
import type { CollectionName } from '../model/collections.ts';
import type { SubmissionState } from '../model/submission.ts';
import type { Problem } from './problem.ts';

/**
 * The report behind `research-mirror status`, the status page, `/api/status`, the metrics and the log. Plain JSON:
 * times are ISO 8601 in UTC, null is "not yet" or "unknown". It holds no secret: keys are shown by a short hash.
 */
export interface StatusReport {
  /** No problem: `status` ends with 0. */
  readonly healthy: boolean;
  /** One for each cause, the worst first. */
  readonly problems: readonly Problem[];
  /** What is not wrong, but a person may act on. */
  readonly notes: readonly string[];
  readonly version: string;
  /** When the report was made, by the database's clock. */
  readonly at: string;
  /** `{base_url}` of the service; null for a command without it. */
  readonly service: string | null;
  /** The mirror's database in words, without password: `embedded Postgres, port 54329`. */
  readonly database: string;
  /** Size of the database with other programs' tables, as of the last minute; null before the migration. */
  readonly databaseBytes: number | null;
  readonly schema: string;
  /** The configured keys by state; null for a command without keys. */
  readonly keys: Readonly<Record<(typeof KEY_STATES)[number], number>> | null;
  readonly processes: readonly (Readonly<Record<'processId' | 'command' | 'version' | 'host' | 'startedAt', string>> & {
    readonly pid: number;
    readonly alive: boolean;
  })[];
  readonly accounts: readonly AccountStatus[];
  /** The last few errors of all accounts, the newest first, each with account and collection: `42/lists`. */
  readonly errors: readonly Readonly<Record<'at' | 'where' | 'message', string>>[];
  /** Rows that look deleted and are still mirrored, those that need a person first; 100 entries at most. */
  readonly deletions: readonly WaitingDeletion[];
  /** Submissions are on hold after a restore or copy of the database: since when and why; null: they are sent. */
  readonly held: { readonly since: string; readonly why: string } | null;
  /** The database last went back, within a week. `open`: what it may have lost is not read again yet. */
  readonly recovery: { readonly at: string; readonly reason: string; readonly open: boolean } | null;
}

/** The report before it is judged. */
export type Facts = Omit<StatusReport, 'healthy' | 'problems' | 'notes'>;

/** `moved`: the service answered for another account than before; `unasked`: the key's account is not known yet. */
export const KEY_STATES = ['good', 'refused', 'moved', 'unasked'] as const;

export interface AccountStatus {
  /** Decimal digits of a bigint. */
  readonly userId: string;
  readonly email: string | null;
  /** `stopped`: `error` says why; `retired`: taken out by an operator. */
  readonly state: 'active' | 'stopped' | 'retired';
  readonly error: string | null;
  /** `processId` of the program that reads this account. */
  readonly owner: string | null;
  readonly collections: readonly CollectionStatus[];
  /** `listId`: null for a whole collection. */
  readonly walks: readonly (Readonly<Record<'pages' | 'items', number>> & {
    readonly collection: CollectionName;
    readonly listId: string | null;
    readonly startedAt: string;
  })[];
  /** Rate limits of each API key. `waiting` and `foreignUse` are known only of keys that this program uses. */
  readonly budgets: readonly {
    /** First digits of the key's SHA-256. */
    readonly key: string;
    /**
     * `limit`: the service's, for 60 s; `size`: this program's part of it; `foreignUse`: requests of others with the
     * key in the last 60 s; `refused`: answers with status 429 since the program began. `why` `size` is below its share
     * of the specification's limit, and `until` when; null: it is not, or unknown.
     */
    readonly groups: readonly (Readonly<
      Record<'limit' | 'size' | 'used' | 'waiting' | 'foreignUse' | 'refused', number>
    > &
      Readonly<Record<'why' | 'until', string | null>> & { readonly group: string })[];
  }[];
  /**
   * `host`: of the registered URL, ours or not; `error`: with the remedy; `renewedSince`: when ours was last found
   * removed or changed within a day, null if it is not registered again; `hintsWaiting`: rows and scopes to read again.
   */
  readonly webhook: Readonly<Record<'host' | 'error' | 'renewedSince' | 'lastEventAt', string | null>> & {
    readonly state: RegistrationState;
    readonly hintsWaiting: number;
  };
  /** Those that wait, and those that ended in the last 24 hours. */
  readonly submissions: Readonly<Record<SubmissionState, number>>;
  /**
   * Decimal digits, as of the last minute: the account's credits, and by how much they fell in 24 hours, top-ups aside
   * (null without history). Null: not mirrored, or the service tells none.
   */
  readonly credits: { readonly left: string; readonly burntLastDay: string | null } | null;
}

/** What is still to be done in a collection, as of the last minute. */
export interface Backlog {
  /** Lists whose items are not read yet; 0 except for `list_items`. */
  readonly dueLists: number;
  readonly unfinishedRows: number;
  /** Fields with a new column that is not filled in all older rows yet. */
  readonly fieldsToFill: number;
}

/** A collection's columns of `freshness` and `data_quality` (src/model/collection-columns.ts), and its backlog. */
export interface CollectionStatus extends CollectionFigures, Backlog {
  readonly collection: CollectionName;
  /** `new`: never read to its end; `failing`: has a `lastError`; `overdue`: a due poll or full walk has not begun. */
  readonly state: 'new' | 'current' | 'failing' | 'overdue' | 'paused';
}

/** Why rows that look deleted are still mirrored (docs/deletions.md), those that need a person first. */
export const DELETION_CAUSES = ['refused', 'brake', 'item_without_id', 'second_proof', 'full_walk'] as const;

/**
 * Rows of one collection that look deleted (`data_quality` counts them) and wait for one cause. `liveRows`: of the
 * whole collection; `what`: why they wait, without a full stop; `due`: when `byItself` happens, if known; `remedy`:
 * null if a person can do nothing; `examples`: some of their keys, as in `changes`.
 */
export interface WaitingDeletion
  extends
    Readonly<Record<'userId' | 'since' | 'what' | 'byItself', string>>,
    Readonly<Record<'due' | 'remedy', string | null>>,
    Readonly<Record<'rows' | 'liveRows', number>> {
  readonly collection: CollectionName;
  readonly cause: (typeof DELETION_CAUSES)[number];
  readonly examples: readonly string[];
}

// Words that the page and `status` share. Texts of others in them are not escaped. Ages are as of `at`, the time of the
// report.

type Fact = readonly [name: string, words: string];

/** Facts of an account beside its collections' figures: walks, events, submissions, rate limits. */
export function accountFacts(account: AccountStatus, at: string): Fact[] {
  const walks = account.walks.map(({ collection, listId, startedAt, pages, items }) => {
    const where = `${collection}${listId === null ? '' : `, list ${listId}`}`;
    return `${where}: ${countOf(items, 'row')} in ${countOf(pages, 'page')}, started ${age(startedAt, at)}`;
  });
  const sent = submissionWords(account.submissions);
  return [
    ...walks.map((words): Fact => ['full walk', words]),
    ['webhook', webhookWords(account.webhook, at)],
    ...(sent === undefined ? [] : [['submissions', sent] as const]),
    ...account.budgets.flatMap(({ key, groups }) =>
      groups.map((each): Fact => [`key ${key}…, ${each.group}`, budgetWords(each, at)]),
    ),
  ];
}

const REGISTRATION: Readonly<Record<AccountStatus['webhook']['state'], string>> = {
  none: 'none, polling only',
  registering: 'registering',
  registered: 'registered',
  foreign: 'another program’s, polling only',
  suspect: 'registered, but SUSPECT: signatures do not match',
  stopped: 'STOPPED: another program keeps replacing it',
};

function webhookWords(webhook: AccountStatus['webhook'], at: string): string {
  const { state, host, lastEventAt, hintsWaiting } = webhook;
  return [
    `${host === null ? '' : `${host}: `}${REGISTRATION[state]}`,
    ...(state === 'none' && lastEventAt === null ? [] : [`last event ${age(lastEventAt, at)}`]),
    ...(hintsWaiting === 0 ? [] : [`${formatCount(hintsWaiting)} to read again`]),
  ].join('; ');
}

/** @returns undefined if none waits and none ended within a day */
function submissionWords(counts: AccountStatus['submissions']): string | undefined {
  const list = (...states: readonly (keyof typeof counts)[]): string =>
    states.flatMap((each) => (counts[each] === 0 ? [] : `${formatCount(counts[each])} ${each}`)).join(', ');
  const waiting = list('queued', 'sending', 'held');
  const ended = list('accepted', 'rejected', 'unknown', 'cancelled');
  if (waiting === '' && ended === '') return undefined;
  return `${waiting === '' ? 'none waiting' : waiting}${ended === '' ? '' : `; in the last 24 h: ${ended}`}`;
}

function budgetWords(group: AccountStatus['budgets'][number]['groups'][number], at: string): string {
  const { used, size, limit, why, until, foreignUse, waiting, refused } = group;
  const span = until === null ? '' : `, for another ${formatSpan(Date.parse(until) - Date.parse(at))}`;
  const bound = why === null ? '' : `: ${why}${span}`;
  return [
    `${formatCount(used)} of ${formatCount(size)} requests in 60 s (service limit: ${formatCount(limit)})${bound}`,
    ...(foreignUse === 0 ? [] : [`${formatCount(foreignUse)} used by others`]),
    ...(waiting === 0 ? [] : [`${formatCount(waiting)} waiting`]),
    ...(refused === 0 ? [] : [`${formatCount(refused)} refused (429)`]),
  ].join('; ');
}

export function cellWords({ field, kind, cell }: CellColumn, row: CollectionStatus, at: string): string {
  const value = row[field];
  if (typeof value === 'number') return formatCount(value);
  if (value === null) return cell.unknown;
  // What is due waits for its turn.
  return kind === 'due' && Date.parse(value) <= Date.parse(at) ? 'due' : age(value, at);
}

export function deletionWords(deletion: WaitingDeletion, at: string): string {
  const { rows, liveRows, since, what, byItself, due } = deletion;
  const isDue = due !== null && Date.parse(due) <= Date.parse(at);
  const when = due === null ? '' : ` (${isDue ? 'due' : age(due, at)})`;
  return `${formatCount(rows)} of ${countOf(liveRows, 'row')}, first missed ${age(since, at)}: ${what}. Meanwhile: ${byItself}${when}`;
}

export function processWords(
  { processId, command, version, host, pid, startedAt, alive }: StatusReport['processes'][number],
  { accounts, at }: Pick<StatusReport, 'accounts' | 'at'>,
): string {
  const owned = accounts.filter(({ owner }) => owner === processId).length;
  const reads = owned === 0 ? '' : `, reads ${countOf(owned, 'account')}`;
  const heard = alive ? '' : ' (no heartbeat: dead or hung)';
  return `${command} ${version} on ${host}, process ${pid}, started ${age(startedAt, at)}${reads}${heard}`;
}

export function age(moment: string | null, at: string): string {
  return moment === null ? 'never' : formatAge(Date.parse(at) - Date.parse(moment));
}

/** The text, cut to `characters` and `…`. */
export function shortened(text: string, characters: number): string {
  return text.length <= characters ? text : `${text.slice(0, characters).toWellFormed()}…`;
}
