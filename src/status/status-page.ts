import { countOf, formatCount as count } from '@research-mirror/runtime/figures';
import { readFileSync } from 'node:fs';
import { LONGEST_QUERY } from './lookup-store.ts';
import { absolute, accountChip, accountParts, chip, moment, NOT_KNOWN, type PageData, table } from './page-parts.ts';
import { affectedBy, type Problem, PROBLEMS, withoutPlace } from './problem.ts';
import { html, type Html, raw } from './reply.ts';
import { type AccountStatus, age, processWords, type StatusReport } from './status-report.ts';

/** The account that the page shows in full: its own; on the first page the only one. */
export function wholeAccount(report: StatusReport | undefined, userId: string | undefined) {
  const accounts = report?.accounts ?? [];
  if (userId !== undefined) return accounts.find((each) => each.userId === userId);
  return accounts.length === 1 ? accounts[0] : undefined;
}

type PageOf = Omit<PageData, 'report'> & { readonly report: StatusReport | undefined };

/** The part of the page that changes while it is open. @param page `report`: undefined if none was ever made */
export function reportView(page: PageOf): Html {
  const { report, why } = page;
  const { state, words, more } = headline(page);
  return html`<main
    id="content"
    tabindex="-1"
    data-title="${words} – research-mirror"
    ${why === undefined ? '' : 'data-unread'}
  >
    <section class="headline ${state}">
      <div role="status"><h1>${words}</h1></div>
      ${more}
    </section>
    ${report === undefined ? '' : body({ ...page, report })}
  </main>`;
}

function body(page: PageData): Html | undefined {
  const { report, userId, why } = page;
  const { notes, accounts, at, processes, version } = report;
  const account = wholeAccount(report, userId);
  if (account === undefined && userId !== undefined) return undefined;
  return html`${
      notes.length === 0 || userId !== undefined
        ? ''
        : html`<ul class="notes" aria-label="Notes">
            ${notes.map((text) => html`<li>${text}</li>`)}
          </ul>`
    }
    ${tiles(account === undefined ? accounts : [account], at)}
    ${account === undefined ? accountsTable(report, why !== undefined) : accountParts(account, page)}
    ${errors(report, userId)}
    <footer class="quiet">
      ${processes.map((each) => html`<p>${processWords(each, report)}</p>`)}
      <p>Version ${version}. Times are in UTC.</p>
    </footer>`;
}

function headline({ report, userId, why }: PageOf): { state: string; words: string; more: Html } {
  if (report !== undefined && userId !== undefined && wholeAccount(report, userId) === undefined) {
    const more = html`<p>No account has this ID. <a href="../">All accounts</a></p>`;
    return { state: 'bad', words: `There is no account ${userId}`, more };
  }
  if (report === undefined || why !== undefined) {
    const at = report?.at;
    const more = html`<p>${why}</p>
      <p>
        ${at === undefined ? '' : html`The figures and ages below are from <time datetime="${at}">${absolute(at, at)}</time>.`}
        Mirrored rows are safe. This page is live again as soon as the database answers.
      </p>
      <p class="remedy">${PROBLEMS.database_unready[1]}</p>`;
    return { state: 'bad', words: 'The status can’t be read right now', more };
  }
  const { accounts, at, service, database, schema } = report;
  const found = report.problems.filter(
    ({ affects }) => userId === undefined || affects.length === 0 || affects.some((each) => isOf(each, userId)),
  );
  const what = userId === undefined ? 'The mirror' : `Account ${userId}`;
  const more = html`<p>
      ${userId === undefined ? '' : html`<a href="../">All accounts</a> of `}
      ${service === null ? '' : html`${service} → `}${database}, schema <code>${schema}</code>, as of
      <time datetime="${at}">${absolute(at, at)}</time>
    </p>
    ${found.length === 0 ? '' : problems(found, at)}`;
  if (accounts.length === 0) return { state: 'waiting', words: 'Nothing is mirrored yet', more };
  return found.length === 0
    ? { state: 'good', words: `${what} is healthy`, more }
    : { state: 'bad', words: `${what} needs attention`, more };
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
          ${problem.since === null ? '' : html`<span>began ${age(problem.since, at)}</span>`}
          <span>meanwhile: ${problem.byItself}</span>
          ${problem.remedy === null ? '' : html`<span class="remedy">${problem.remedy}</span>`}
        </li>`,
    )}
  </ul>`;
}

/** The main figures of the accounts. */
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
      ? ['New rows and changes', 'not yet', 'after the first poll of each collection']
      : ['New rows and changes', age(polled, at), 'oldest poll of a collection'],
    complete === null
      ? ['Complete as of', 'not yet', 'after the first full walk of each collection']
      : ['Complete as of', age(complete, at), 'oldest collection, deletions included'],
    ['Requests in 60 s', requests(accounts), `${count(sumOfGroups(accounts, 'refused'))} refused (429)`],
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

function pace({ left, burntLastDay }: NonNullable<AccountStatus['credits']>): string {
  const burnt = Number(burntLastDay);
  if (burntLastDay === null) return 'daily use unknown: history is off';
  if (burnt <= 0) return 'none used in the last 24 h';
  const days = Math.max(0, Number(left)) / burnt;
  return `${count(burnt)} used in the last 24 h: ${days < 1 ? 'less than a day' : `${count(Math.floor(days))} d`} left`;
}

/** One line per account, those with problems first, to be seen without scrolling. */
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
        html`<a href="accounts/${userId}">${userId}</a> ${email === null ? '' : html`<small>${email}</small>`}`,
      [
        ['State', (account) => (isOld ? NOT_KNOWN : stateOf(account, isTroubled(account)))],
        ['Rows', (account) => count(rowsOf([account])), true],
        ['New rows and changes as of', (account) => moment(oldest([account], 'polledAt'), at, 'not yet')],
        ['Complete as of', (account) => moment(oldest([account], 'completeAsOf'), at, 'not yet')],
        ['Credits', ({ credits }) => (credits === null ? '–' : count(Number(credits.left))), true],
        ['Requests in 60 s', (account) => requests([account]), true],
      ],
      'Accounts',
    )}
  </section>`;
}

function stateOf({ state, collections }: AccountStatus, isTroubled: boolean): Html {
  if (state !== 'active') return accountChip(state);
  const failing = collections.filter((each) => each.state === 'failing').length;
  if (failing > 0) return chip('failing', `${count(failing)} failing`);
  if (isTroubled) return chip('overdue', 'needs attention');
  return collections.some((each) => each.state === 'new') ? chip('new', 'new') : chip('current', 'current');
}

function rowsOf(accounts: readonly AccountStatus[]): number {
  return accounts.flatMap((each) => each.collections).reduce((sum, { liveRows }) => sum + liveRows, 0);
}

/** The oldest time of the collections that are mirrored; null if one has none. */
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

/** Each message once, as it last occurred. */
function errors({ errors: all, at }: StatusReport, userId: string | undefined): Html {
  const shown = all.filter(({ where }) => userId === undefined || isOf(where, userId));
  if (shown.length === 0) return html``;
  const alike = [...Map.groupBy(shown, ({ message }) => withoutPlace(message)).values()];
  const line = ({ at: met, where, message }: StatusReport['errors'][number], others: number): Html =>
    html`<li>
      <time datetime="${met}" title="${met}">${age(met, at)}</time>
      <span><code>${where}</code>${others === 0 ? '' : ` and ${countOf(others, 'other')}`}</span>
      <span>${message}</span>
    </li>`;
  return html`<section>
    <h2>Last errors</h2>
    <ol class="errors">
      ${alike.map(([error, ...others]) => error && line(error, others.length))}
    </ol>
  </section>`;
}

const STYLE = ['page.css', 'lookup.css'].map((name) => raw(readFileSync(new URL(name, import.meta.url), 'utf8')));
const SCRIPT = raw(readFileSync(new URL('page.js', import.meta.url), 'utf8'));

/** In the address itself: without it browsers ask for /favicon.ico. */
const ICON = raw(
  `data:image/svg+xml,${encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#3157d5"/><path d="M4 12V4l4 5 4-5v8" fill="none" stroke="#fff" stroke-width="2" stroke-linejoin="round"/></svg>',
  )}`,
);

/** The document around a view of the report; reloads itself without scripts. @param root path to the first page */
export function statusPage(view: Html, nonce: string, root: string): Html {
  const live = html`<noscript><meta http-equiv="refresh" content="15" /></noscript>
    <script type="module" nonce="${nonce}">
      ${SCRIPT};
    </script>`;
  return pageAround(view, nonce, 'research-mirror', root, '', live);
}

/** The document around other content, without scripts. @param query what was searched for */
export function stillPage(content: Html, nonce: string, title: string, query: string): Html {
  const view = html`<main id="content" tabindex="-1">${content}</main>`;
  return pageAround(view, nonce, `${title} – research-mirror`, '', query, html``);
}

/** The whole document: it loads nothing else. @param nonce the content policy's */
function pageAround(view: Html, nonce: string, title: string, root: string, query: string, live: Html): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        ${live}
        <title>${title}</title>
        <link rel="icon" href="${ICON}" />
        <style nonce="${nonce}">
          ${STYLE}
        </style>
      </head>
      <body>
        <a class="skip" href="#content">Skip to the content</a>
        <header class="bar">
          <a class="name" href="${root}./">research-mirror</a>
          <span id="live" role="status"></span>
          <form class="search" role="search" action="${root}search">
            <label for="q">Search</label>
            <input
              id="q"
              name="q"
              type="search"
              maxlength="${LONGEST_QUERY}"
              placeholder="ID, domain or e-mail"
              autocomplete="off"
              spellcheck="false"
              value="${query}"
            />
            <button>Find</button>
          </form>
          <nav aria-label="Status for programs">
            <a href="${root}api/status">JSON</a> <a href="${root}metrics">Metrics</a>
          </nav>
        </header>
        ${view}
      </body>
    </html>`;
}
