import { countOf, formatAge, formatCount, formatSpan } from '@research-mirror/runtime/figures';
import type { CellColumn } from '../model/collection-columns.ts';
import type { RegistrationState } from '../events/registration.ts';
import type {
  AccountStatus,
  CollectionStatus,
  KeyBudgetStatus,
  ProcessStatus,
  StatusReport,
  SubmissionCounts,
  WaitingDeletion,
  WalkStatus,
  WebhookStatus,
} from './status-report.ts';

// What page and `status` say in the same words. Names and messages in them are as others wrote them: whoever prints
// them escapes them. Moments are seen at `at`, when the report was made.

type Fact = readonly [name: string, words: string];

/** What of an account is no figure of a collection: walks, events, submissions, rate limits. */
export function accountFacts({ walks, webhook, submissions, budgets }: AccountStatus, at: string): Fact[] {
  const sent = submissionWords(submissions);
  return [
    ...walks.map((walk): Fact => ['full walk', walkWords(walk, at)]),
    ['webhook', webhookWords(webhook, at)],
    ...(sent === undefined ? [] : [['submissions', sent] as const]),
    ...budgets.flatMap(({ key, groups }) =>
      groups.map((each): Fact => [`key ${key}…, ${each.group}`, budgetWords(each, at)]),
    ),
  ];
}

function walkWords({ collection, listId, startedAt, pages, items }: WalkStatus, at: string): string {
  const where = `${collection}${listId === null ? '' : `, list ${listId}`}`;
  return `${where}: ${countOf(items, 'row')} in ${countOf(pages, 'page')}, begun ${age(startedAt, at)}`;
}

const REGISTRATION: Readonly<Record<RegistrationState, string>> = {
  none: 'none, polling only',
  registering: 'being registered',
  registered: 'registered',
  foreign: 'another’s, polling only',
  suspect: 'registered, but SUSPECT: signatures do not fit',
  stopped: 'STOPPED: another program takes its place again and again',
};

function webhookWords({ state, host, lastEventAt, hintsWaiting }: WebhookStatus, at: string): string {
  return [
    `${host === null ? '' : `${host}: `}${REGISTRATION[state]}`,
    ...(state === 'none' && lastEventAt === null ? [] : [`last event ${age(lastEventAt, at)}`]),
    ...(hintsWaiting === 0 ? [] : [`${formatCount(hintsWaiting)} to be read again`]),
  ].join('; ');
}

/** Undefined where none waits, and none ended in the last day. */
function submissionWords(counts: SubmissionCounts): string | undefined {
  const list = (...states: readonly (keyof SubmissionCounts)[]): string =>
    states.flatMap((each) => (counts[each] === 0 ? [] : `${formatCount(counts[each])} ${each}`)).join(', ');
  const waiting = list('queued', 'sending', 'held');
  const ended = list('accepted', 'rejected', 'unknown', 'cancelled');
  if (waiting === '' && ended === '') return undefined;
  return `${waiting === '' ? 'none waits' : waiting}${ended === '' ? '' : `; in the last 24 h ${ended}`}`;
}

function budgetWords(group: KeyBudgetStatus['groups'][number], at: string): string {
  const { used, size, limit, why, until, foreignUse, waiting, refused } = group;
  const span = until === null ? '' : `, for another ${formatSpan(Date.parse(until) - Date.parse(at))}`;
  const bound = why === null ? '' : `: ${why}${span}`;
  return [
    `${formatCount(used)} of ${formatCount(size)} requests in 60 s, of the service’s ${formatCount(limit)}${bound}`,
    ...(foreignUse === 0 ? [] : [`${formatCount(foreignUse)} used by others`]),
    ...(waiting === 0 ? [] : [`${formatCount(waiting)} waiting`]),
    ...(refused === 0 ? [] : [`${formatCount(refused)} refused (429)`]),
  ].join('; ');
}

export function cellWords({ field, kind, cell }: CellColumn, row: CollectionStatus, at: string): string {
  const value = row[field];
  if (typeof value === 'number') return formatCount(value);
  if (value === null) return cell.unknown;
  // Once the time of what is to begin is past, it waits for its turn.
  return kind === 'due' && Date.parse(value) <= Date.parse(at) ? 'due' : age(value, at);
}

/** Rows that look deleted and are still there: how many, why, and what happens without anybody. */
export function deletionWords(deletion: WaitingDeletion, at: string): string {
  const { rows, liveRows, since, what, byItself, due } = deletion;
  const isDue = due !== null && Date.parse(due) <= Date.parse(at);
  const when = due === null ? '' : ` (${isDue ? 'due' : age(due, at)})`;
  return `${formatCount(rows)} of ${formatCount(liveRows)}, missed since ${age(since, at)}: ${what}; by itself: ${byItself}${when}`;
}

export function processWords(
  { processId, command, version, host, pid, startedAt, alive }: ProcessStatus,
  { accounts, at }: Pick<StatusReport, 'accounts' | 'at'>,
): string {
  const owned = accounts.filter(({ owner }) => owner === processId).length;
  const reads = owned === 0 ? '' : `, reads ${countOf(owned, 'account')}`;
  const heard = alive ? '' : ' (no heartbeat: gone or hanging)';
  return `${command} ${version} on ${host}, process ${pid}, begun ${age(startedAt, at)}${reads}${heard}`;
}

export function age(moment: string | null, at: string): string {
  return moment === null ? 'never' : formatAge(Date.parse(at) - Date.parse(moment));
}

/** A text for people, at most `characters` of it: what was cut off shows as `…`. */
export function shortened(text: string, characters: number): string {
  return text.length <= characters ? text : `${text.slice(0, characters).toWellFormed()}…`;
}
