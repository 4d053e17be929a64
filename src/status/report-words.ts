import { countOf, formatAge, formatCount, formatSpan } from '@research-mirror/runtime/figures';
import type { CellColumn } from '../model/collection-columns.ts';
import type { AccountStatus, CollectionStatus, StatusReport, WaitingDeletion } from './status-report.ts';

// Words that the page and `status` share. Texts of others in them are not escaped. Ages are as of `at`, the time of the
// report.

type Fact = readonly [name: string, words: string];

/** Facts of an account beside its collections' figures: walks, events, submissions, rate limits. */
export function accountFacts(account: AccountStatus, at: string): Fact[] {
  const walks = account.walks.map(({ collection, listId, startedAt, pages, items }) => {
    const where = `${collection}${listId === null ? '' : `, list ${listId}`}`;
    return `${where}: ${countOf(items, 'row')} in ${countOf(pages, 'page')}, begun ${age(startedAt, at)}`;
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
  registering: 'being registered',
  registered: 'registered',
  foreign: 'another’s, polling only',
  suspect: 'registered, but SUSPECT: signatures do not fit',
  stopped: 'STOPPED: another program takes its place again and again',
};

function webhookWords(webhook: AccountStatus['webhook'], at: string): string {
  const { state, host, lastEventAt, hintsWaiting } = webhook;
  return [
    `${host === null ? '' : `${host}: `}${REGISTRATION[state]}`,
    ...(state === 'none' && lastEventAt === null ? [] : [`last event ${age(lastEventAt, at)}`]),
    ...(hintsWaiting === 0 ? [] : [`${formatCount(hintsWaiting)} to be read again`]),
  ].join('; ');
}

/** @returns undefined if none waits and none ended within a day */
function submissionWords(counts: AccountStatus['submissions']): string | undefined {
  const list = (...states: readonly (keyof typeof counts)[]): string =>
    states.flatMap((each) => (counts[each] === 0 ? [] : `${formatCount(counts[each])} ${each}`)).join(', ');
  const waiting = list('queued', 'sending', 'held');
  const ended = list('accepted', 'rejected', 'unknown', 'cancelled');
  if (waiting === '' && ended === '') return undefined;
  return `${waiting === '' ? 'none waits' : waiting}${ended === '' ? '' : `; in the last 24 h ${ended}`}`;
}

function budgetWords(group: AccountStatus['budgets'][number]['groups'][number], at: string): string {
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
  // What is due waits for its turn.
  return kind === 'due' && Date.parse(value) <= Date.parse(at) ? 'due' : age(value, at);
}

export function deletionWords(deletion: WaitingDeletion, at: string): string {
  const { rows, liveRows, since, what, byItself, due } = deletion;
  const isDue = due !== null && Date.parse(due) <= Date.parse(at);
  const when = due === null ? '' : ` (${isDue ? 'due' : age(due, at)})`;
  return `${formatCount(rows)} of ${formatCount(liveRows)}, missed since ${age(since, at)}: ${what}; by itself: ${byItself}${when}`;
}

export function processWords(
  { processId, command, version, host, pid, startedAt, alive }: StatusReport['processes'][number],
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

/** The text, cut to `characters` and `…`. */
export function shortened(text: string, characters: number): string {
  return text.length <= characters ? text : `${text.slice(0, characters).toWellFormed()}…`;
}
