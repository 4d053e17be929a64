import { CELL_COLUMNS } from '../../model/collection-columns.ts';
import { problemLine } from '../../model/status/problem.ts';
import type {
  AccountStatus,
  CollectionStatus,
  StatusReport,
  SubmissionCounts,
  WaitingDeletion,
  WebhookStatus,
} from '../../model/status/status-report.ts';
import { countOf, formatAge, formatCount, formatSpan } from '@research-mirror/runtime/figures';
import { formatTable, printable } from '../terminal/text-table.ts';

/** A status report for people. @param width of the terminal; undefined: nothing is cut */
export function describeStatus(report: StatusReport, width: number | undefined): string {
  const now = Date.parse(report.at);
  const lines = [
    `${report.healthy ? 'healthy' : 'NOT HEALTHY'} · ${report.database} · schema ${report.schema}`,
    ...report.problems.map((problem) => `  problem: ${printable(problemLine(problem, now))}`),
    ...report.notes.map((note) => `  note: ${printable(note)}`),
    ...report.processes
      .filter(({ alive }) => alive)
      .map(({ processId, command, pid, version, startedAt }) => {
        const begun = formatAge(now - Date.parse(startedAt));
        const owned = report.accounts.filter(({ owner }) => owner === processId).length;
        const reads = owned === 0 ? '' : `, reads ${countOf(owned, 'account')}`;
        return `  running: ${command} (process ${pid}, version ${version}), begun ${begun}${reads}`;
      }),
  ];
  const accounts = report.accounts.map((account) => describeAccount(account, now, width));
  const errors = report.errors.map(
    ({ at, where, message }) => `  ${formatAge(now - Date.parse(at))}  ${where}  ${printable(message)}\n`,
  );
  const deletions = report.deletions.map((each) => `  ${deletionLine(each, now)}\n`);
  return [
    `${lines.join('\n')}\n`,
    ...accounts,
    ...(deletions.length > 0 ? ['\ndeletions that wait\n', ...deletions] : []),
    ...(errors.length > 0 ? ['\nlast errors\n', ...errors] : []),
  ].join('');
}

/** Rows that look deleted and are still there, one line for each collection and cause. */
function deletionLine(deletion: WaitingDeletion, now: number): string {
  const { userId, collection, rows, liveRows, since, what, byItself, due, remedy, examples } = deletion;
  const when =
    due === null ? '' : Date.parse(due) > now ? ` (${formatAge(now - Date.parse(due))})` : ' (due)';
  return [
    `${userId}/${collection}: ${formatCount(rows)} of ${formatCount(liveRows)}, missed since ${formatAge(now - Date.parse(since))}: ${what}`,
    `by itself: ${byItself}${when}`,
    ...(remedy === null ? [] : [`do: ${remedy}`]),
    ...(examples.length === 0 ? [] : [`among them ${examples.map(printable).join(', ')}`]),
  ].join('; ');
}

function describeAccount(account: AccountStatus, now: number, width: number | undefined): string {
  const who = account.email === null ? account.userId : `${account.userId} (${printable(account.email)})`;
  const age = (at: string | null): string => (at === null ? 'never' : formatAge(now - Date.parse(at)));
  const next = (at: string | null): string => {
    if (at === null) return '–';
    return Date.parse(at) > now ? formatAge(now - Date.parse(at)) : 'due';
  };
  const table = formatTable(
    [
      { title: 'collection', align: 'left' },
      { title: 'state', align: 'left' },
      ...CELL_COLUMNS.map(({ cell }) => ({ title: cell.short, align: 'right' }) as const),
      { title: '', align: 'left' },
    ],
    account.collections.map((each: CollectionStatus) => [
      each.collection,
      each.state,
      ...CELL_COLUMNS.map(({ field, kind }) => {
        const value = each[field];
        if (typeof value === 'number') return formatCount(value);
        return kind === 'due' ? next(value) : age(value);
      }),
      each.lastError === null ? '' : `${age(each.lastErrorAt)}: ${each.lastError}`,
    ]),
    width,
  );
  const walks = account.walks.map(
    ({ collection, listId, kind, pages, items, startedAt }) =>
      `  ${kind} walk of ${collection}${listId === null ? '' : ` (list ${listId})`}: ${formatCount(items)} items in ` +
      `${formatCount(pages)} pages, begun ${age(startedAt)}\n`,
  );
  const budgets = account.budgets.flatMap(({ key, groups }) =>
    groups.map(
      ({ group, used, size, limit, why, until }) =>
        `  key ${key}…: ${used} of ${size} requests a minute in use (${group}, of the service's ${limit})` +
        `${why === null ? '' : `: ${why}`}${until === null ? '' : `, for another ${formatSpan(Date.parse(until) - now)}`}\n`,
    ),
  );
  const more = [webhookLine(account.webhook, age), submissionsLine(account.submissions)].map((line) =>
    line === undefined ? '' : `  ${line}\n`,
  );
  return `\naccount ${who}${account.state === 'active' ? '' : `, ${account.state.toUpperCase()}`}\n${table}${[...walks, ...budgets, ...more].join('')}`;
}

/** How an account hears of events, in one line. @param age `5 s ago`, or `never` */
export function webhookLine(
  { state, host, lastEventAt, hintsWaiting }: WebhookStatus,
  age: (at: string | null) => string,
): string {
  const at = host === null ? '' : ` at ${printable(host)}`;
  const is: Record<typeof state, string> = {
    none: 'none, polling only',
    registering: `being registered${at}`,
    registered: `registered${at}`,
    foreign: `another's${at}, polling only`,
    suspect: `registered${at}, but SUSPECT: signatures do not fit`,
    stopped: 'STOPPED: another program takes its place again and again',
  };
  const phrases = [is[state]];
  if (state !== 'none' || lastEventAt !== null) phrases.push(`last event ${age(lastEventAt)}`);
  if (hintsWaiting > 0) phrases.push(`${formatCount(hintsWaiting)} to be read again`);
  return `webhook: ${phrases.join('; ')}`;
}

/** Submissions that wait, and those of the last day; undefined where there are none. */
export function submissionsLine(counts: SubmissionCounts): string | undefined {
  const { queued, sending, held, accepted, rejected, unknown, cancelled } = counts;
  const list = (states: Readonly<Record<string, number>>): string =>
    Object.entries(states)
      .filter(([, count]) => count > 0)
      .map(([state, count]) => `${formatCount(count)} ${state}`)
      .join(', ');
  const waiting = list({ queued, sending, held });
  const ended = list({ accepted, rejected, unknown, cancelled });
  if (waiting === '' && ended === '') return undefined;
  return `submissions: ${waiting === '' ? 'none waits' : waiting}${ended === '' ? '' : `; in the last 24 h ${ended}`}`;
}
