import { html, type Html } from '../html.ts';
import { countOf } from '@research-mirror/runtime/figures';
import { affectedBy, type Problem, PROBLEMS, withoutPlace } from '../../model/status/problem.ts';
import { age, processWords } from '../../model/status/report-words.ts';
import type { AccountStatus, StatusReport } from '../../model/status/status-report.ts';
import { accountParts, NOT_KNOWN, rootOf, type Shown } from './account-parts.ts';
import { absolute, count } from './page-figures.ts';
import { chip, moment, table } from './page-table.ts';

/** The account that a page shows whole: its own, and on the first page the only one. */
export function wholeAccount(
  report: StatusReport | undefined,
  userId: string | undefined,
): AccountStatus | undefined {
  const accounts = report?.accounts ?? [];
  if (userId !== undefined) return accounts.find((each) => each.userId === userId);
  return accounts.length === 1 ? accounts[0] : undefined;
}

/** The page's content: everything that changes while it is open. @param report undefined: none was ever made */
export function reportView({
  report,
  ...about
}: Omit<Shown, 'report'> & { readonly report: StatusReport | undefined }): Html {
  const { userId, why } = about;
  if (report === undefined) return content(userId, unread(why ?? '', undefined), html``);
  const account = wholeAccount(report, userId);
  if (userId !== undefined && account === undefined) {
    const more = html`<p>No account has this ID. <a href="../">All accounts</a></p>`;
    return content(userId, { state: 'bad', words: `There is no account ${userId}`, more }, html``);
  }
  const shown = { report, ...about };
  const body = html`${
    report.notes.length === 0 || userId !== undefined
      ? ''
      : html`<ul class="notes" aria-label="Notes">
          ${report.notes.map((text) => html`<li>${text}</li>`)}
        </ul>`
  }
  ${tiles(account === undefined ? report.accounts : [account], report.at)}
  ${account === undefined ? accountsTable(report, why !== undefined) : accountParts(account, shown)}
  ${errors(report, userId)} ${processes(report)}`;
  return content(userId, why === undefined ? headline(shown) : unread(why, report.at), body);
}

/** @param why there is no newer report. @param at of the last one, which follows; undefined: there was none */
function unread(why: string, at: string | undefined): Headline {
  const more = html`<p>${why}</p>
    <p>
      ${at === undefined ? '' : html`What follows is old: as of <time datetime="${at}">${absolute(at, at)}</time>, ages, too.`}
      What was mirrored is safe. This page shows it as soon as the database answers.
      <span class="remedy">${PROBLEMS.database_unready[1]}</span>
    </p>`;
  return { state: 'bad', words: 'The status can’t be read now', more, isUnread: true };
}

interface Headline {
  /** A class of page.css. */
  readonly state: 'waiting' | 'good' | 'bad';
  readonly words: string;
  readonly more: Html;
  readonly isUnread?: boolean;
}

function content(userId: string | undefined, { state, words, more, isUnread }: Headline, body: Html): Html {
  const live = `${rootOf(userId)}live${userId === undefined ? '' : `?account=${userId}`}`;
  return html`<main
    id="content"
    tabindex="-1"
    data-title="${words} – research-mirror"
    data-live="${live}"
    ${isUnread === true ? 'data-unread' : ''}
  >
    <section class="headline ${state}">
      <div role="status"><h1>${words}</h1></div>
      ${more}
    </section>
    ${body}
  </main>`;
}

function headline({ report, userId }: Shown): Headline {
  const { accounts, at, service, database, schema } = report;
  const found = report.problems.filter(({ affects }) => concerns(affects, userId));
  const state = accounts.length === 0 ? 'waiting' : found.length === 0 ? 'good' : 'bad';
  const what = userId === undefined ? 'The mirror' : `Account ${userId}`;
  return {
    state,
    words: {
      waiting: 'Nothing is mirrored yet',
      good: `${what} is healthy`,
      bad: `${what} needs attention`,
    }[state],
    more: html`<p>
        ${userId === undefined ? '' : html`<a href="../">All accounts</a> of `}
        ${service === null ? '' : html`${service} → `}${database}, schema <code>${schema}</code>, as of
        <time datetime="${at}">${absolute(at, at)}</time>
      </p>
      ${found.length === 0 ? '' : problems(found, at)}`,
  };
}

/** @param affects accounts and collections; none: the whole mirror */
function concerns(affects: readonly string[], userId: string | undefined): boolean {
  return userId === undefined || affects.length === 0 || affects.some((each) => isOf(each, userId));
}

/** @param where `42` or `42/lists` */
function isOf(where: string, userId: string): boolean {
  return where === userId || where.startsWith(`${userId}/`);
}

function problems(all: readonly Problem[], at: string): Html {
  return html`<ul class="problems">
    ${all.map(
      (problem) =>
        html`<li data-cause="${problem.cause}">
          <b>${problem.what}</b>
          ${affectedBy(problem) === '' ? '' : html`<span>affects ${affectedBy(problem)}</span>`}
          ${problem.since === null ? '' : html`<span>since ${age(problem.since, at)}</span>`}
          <span>by itself: ${problem.byItself}</span>
          ${problem.remedy === null ? '' : html`<span class="remedy">${problem.remedy}</span>`}
        </li>`,
    )}
  </ul>`;
}

/** The figures that answer "is it all here, and how fresh", over some accounts. */
function tiles(accounts: readonly AccountStatus[], at: string): Html {
  if (accounts.length === 0) return html``;
  const collections = accounts.flatMap((account) => account.collections);
  const failing = collections.filter((each) => each.state === 'failing').length;
  const [polled, complete] = [oldest(accounts, 'polledAt'), oldest(accounts, 'completeAsOf')];
  const credits = accounts.length === 1 ? (accounts[0]?.credits ?? null) : null;
  const shown: readonly (readonly [name: string, figure: string, more: string])[] = [
    [
      'Rows mirrored',
      count(rowsOf(accounts)),
      `in ${count(collections.length)} collections${failing === 0 ? '' : `, ${count(failing)} failing`}`,
    ],
    polled === null
      ? ['New rows and changes', 'not all read yet', 'the first poll of each collection is due']
      : ['New rows and changes', age(polled, at), 'the collection polled longest ago'],
    complete === null
      ? ['Everything, deletions too', 'not proven yet', 'the first full walk of each collection proves it']
      : ['Everything, deletions too', age(complete, at), 'the collection proven longest ago'],
    ['Requests in 60 s', requests(accounts), `${count(sumOfGroups(accounts, 'refused'))} refused with 429`],
    ...(credits === null ? [] : [['Credits', count(Number(credits.left)), pace(credits)] as const]),
  ];
  return html`<dl class="tiles">
    ${shown.map(
      ([name, figure, more]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>
            <b>${figure}</b>
            <small>${more}</small>
          </dd>
        </div>`,
    )}
  </dl>`;
}

/** How long credits last, as they went in the last day. */
function pace({ left, burntLastDay }: NonNullable<AccountStatus['credits']>): string {
  const burnt = Number(burntLastDay);
  if (burntLastDay === null) return 'what a day takes is not known: no history is kept';
  if (burnt <= 0) return 'none burnt in the last 24 h';
  const days = Math.max(0, Number(left)) / burnt;
  return `${count(burnt)} burnt in the last 24 h: ${days < 1 ? 'less than a day' : `${count(Math.floor(days))} d`} left`;
}

/** One line for each account, those with trouble first: with many, what is wrong is seen without scrolling. */
function accountsTable({ accounts, problems: found, at }: StatusReport, isOld: boolean): Html {
  if (accounts.length === 0) return html``;
  const isTroubled = ({ userId }: AccountStatus): boolean =>
    found.some(({ affects }) => affects.some((each) => isOf(each, userId)));
  return html`<section class="accounts">
    <h2>${count(accounts.length)} accounts</h2>
    ${table(
      'Account',
      accounts.toSorted((a, b) => Number(isTroubled(b)) - Number(isTroubled(a))),
      ({ userId, email }) =>
        html`<a href="accounts/${userId}">${userId}</a>
          ${email === null ? '' : html`<small>${email}</small>`}`,
      [
        ['State', (account) => (isOld ? NOT_KNOWN : stateOf(account, isTroubled(account)))],
        ['Rows', (account) => count(rowsOf([account])), true],
        [
          'New rows and changes as of',
          (account) => moment(oldest([account], 'polledAt'), at, 'not all read yet'),
        ],
        ['Everything as of', (account) => moment(oldest([account], 'completeAsOf'), at, 'not proven yet')],
        ['Credits', ({ credits }) => (credits === null ? '–' : count(Number(credits.left))), true],
        ['Requests in 60 s', (account) => requests([account]), true],
      ],
      'Accounts',
    )}
  </section>`;
}

function stateOf({ state, collections }: AccountStatus, isTroubled: boolean): Html {
  if (state !== 'active') return chip(state === 'stopped' ? 'failing' : 'idle', state);
  const failing = collections.filter((each) => each.state === 'failing').length;
  if (failing > 0) return chip('failing', `${count(failing)} failing`);
  if (isTroubled) return chip('overdue', 'needs attention');
  return collections.some((each) => each.state === 'new') ? chip('new', 'new') : chip('current', 'current');
}

function rowsOf(accounts: readonly AccountStatus[]): number {
  return accounts.flatMap((each) => each.collections).reduce((sum, { liveRows }) => sum + liveRows, 0);
}

/** Of what somebody is asked to mirror; null: some of it has none. */
function oldest(accounts: readonly AccountStatus[], field: 'polledAt' | 'completeAsOf'): string | null {
  const asked = accounts.flatMap((each) => each.collections).filter(({ state }) => state !== 'paused');
  const moments = asked.map((each) => each[field]);
  return moments.includes(null) ? null : (moments.map(String).toSorted()[0] ?? null);
}

function requests(accounts: readonly AccountStatus[]): string {
  const size = sumOfGroups(accounts, 'size');
  return size === 0 ? '–' : `${count(sumOfGroups(accounts, 'used'))} of ${count(size)}`;
}

function sumOfGroups(accounts: readonly AccountStatus[], field: 'used' | 'size' | 'refused'): number {
  const groups = accounts.flatMap((account) => account.budgets.flatMap((key) => key.groups));
  return groups.reduce((sum, each) => sum + each[field], 0);
}

/** Each text once, as it was met last. */
function errors({ errors: all, at }: StatusReport, userId: string | undefined): Html {
  const shown = all.filter(({ where }) => userId === undefined || isOf(where, userId));
  if (shown.length === 0) return html``;
  const alike = [...Map.groupBy(shown, ({ message }) => withoutPlace(message)).values()];
  return html`<section>
    <h2>Last errors</h2>
    <ol class="errors">
      ${alike.flatMap(([error, ...others]) =>
        error === undefined
          ? []
          : html`<li>
              <time datetime="${error.at}" title="${error.at}">${age(error.at, at)}</time>
              <span
                ><code>${error.where}</code
                >${others.length === 0 ? '' : ` and ${countOf(others.length, 'other')}`}</span
              >
              <span>${error.message}</span>
            </li>`,
      )}
    </ol>
  </section>`;
}

function processes(report: StatusReport): Html {
  return html`<footer class="quiet">
    ${report.processes.map((each) => html`<p>${processWords(each, report)}</p>`)}
    <p>Shown by version ${report.version}. Moments are UTC.</p>
  </footer>`;
}
