import { html } from 'hono/html';
import { CELL_COLUMNS, NOTE_COLUMNS } from '../../model/collection-columns.ts';
import type { CollectionName } from '../../model/collections.ts';
import { rowPath } from '../../model/lookup/row-address.ts';
import type { AccountDetails, LatestChange } from '../../model/status/account-details.ts';
import { shortened } from '../../model/status/shortened.ts';
import type {
  AccountStatus,
  CollectionStatus,
  GroupBudgetStatus,
  StatusReport,
  SubmissionCounts,
  UpcomingReading,
  WaitingDeletion,
  WalkStatus,
  WebhookStatus,
} from '../../model/status/status-report.ts';
import { count, rate, relative, span, type Html } from './page-figures.ts';
import { chip, moment, type PageColumn, table, time } from './page-table.ts';

/** Around an account. */
interface Frame {
  readonly report: StatusReport;
  readonly details: AccountDetails | undefined;
  /** The way to the first page's folder. */
  readonly root: string;
  readonly isOwnPage: boolean;
}

/** Characters of a key that are shown. */
const KEY = 48;

/** One account: its collections, what changed, what waits, its webhook, submissions and budgets. */
export function accountParts(account: AccountStatus, { report, details, root, isOwnPage }: Frame): Html {
  const { userId, email, state, error, collections, walks, next, budgets, webhook, submissions } = account;
  const { at } = report;
  return html`<section class="account">
      <h2>${isOwnPage ? 'Collections' : `Account ${userId}`}</h2>
      ${email === null ? '' : html`<p class="quiet long">${email}</p>`}
      ${state === 'active' ? '' : chip(state === 'stopped' ? 'failing' : 'idle', state)}
      ${error === null ? '' : html`<p class="error">${error}</p>`}
      ${table(
        'Collection',
        collections,
        (row) => collectionName(row, userId, root),
        [
          ['State', ({ state }) => chip(state, state)],
          ...CELL_COLUMNS.map((column): PageColumn<CollectionStatus> => [
            column.cell.title,
            (row) => columnCell(column, row, at),
            column.kind === 'count',
          ]),
        ],
        `Collections of ${userId}`,
      )}
      ${next === null ? '' : upcoming(next, at)} ${walks.length === 0 ? '' : walkTable(walks, at)}
    </section>
    ${deletionsSection(
      report.deletions.filter((each) => each.userId === userId),
      at,
      root,
    )}
    ${changesSection(details, at, root)} ${lastDaySection(details, root)}
    ${connections(webhookTable(webhook, at), submissionsTable(submissions), budgets, at)}`;
}

function upcoming({ what, at: due, because }: UpcomingReading, at: string): Html {
  const when =
    Date.parse(due) <= Date.parse(at)
      ? 'as soon as it can be'
      : html`<time datetime="${due}">${relative(due, at)}</time>`;
  return html`<p class="quiet">Next: ${what} ${when}, because ${because}.</p>`;
}

/** It leads to the collection's newest rows. */
function collectionName(row: CollectionStatus, userId: string, root: string): Html {
  return html`<a href="${root}rows?user=${userId}&amp;collection=${row.collection}"
      ><code>${row.collection}</code></a
    >
    ${NOTE_COLUMNS.filter(({ field }) => row[field] > 0).map(
      ({ field, note: { words, warns } }) =>
        html`<small class="${warns ? 'warn' : ''}">${count(row[field])} ${words}</small>`,
    )}
    ${
      row.state === 'failing' && row.lastError !== null
        ? html`<small class="error">${row.lastError}</small>`
        : ''
    }`;
}

function columnCell(
  { field, kind, cell: { unknown } }: (typeof CELL_COLUMNS)[number],
  row: CollectionStatus,
  at: string,
): Html {
  const value = row[field];
  if (typeof value === 'number') {
    const deleted = field === 'liveRows' && row.deletedRows > 0;
    return html`<span
      >${count(value)} ${deleted ? html`<small>and ${count(row.deletedRows)} deleted</small>` : ''}</span
    >`;
  }
  // Once the time of what is to begin is past, it waits for its turn.
  const isDue = kind === 'due' && value !== null && Date.parse(value) <= Date.parse(at);
  return isDue ? time(value, 'due', at) : moment(value, at, unknown);
}

function walkTable(walks: readonly WalkStatus[], at: string): Html {
  const age = ({ startedAt }: WalkStatus): number => Date.parse(at) - Date.parse(startedAt);
  return html`<h3>Reading now</h3>
    ${table(
      'Walk',
      walks,
      ({ kind, collection, listId }) =>
        html`${kind} <code>${collection}</code>${listId === null ? '' : ` of list ${listId}`}`,
      [
        ['For', (walk) => span(age(walk)), true],
        ['Pages', ({ pages }) => count(pages), true],
        ['Rows', ({ items }) => count(items), true],
        ['Rows/s', (walk) => rate(walk.items, age(walk) / 1000), true],
      ],
      'Walks under way',
    )}`;
}

/** Rows that look deleted and are still there: why, and who has to do what. */
function deletionsSection(deletions: readonly WaitingDeletion[], at: string, root: string): Html {
  if (deletions.length === 0) return html``;
  return html`<section aria-labelledby="deletions">
    <h2 id="deletions">Deletions that wait</h2>
    <p class="quiet">
      Rows that the service seems to have no more. Until that is proven they are mirrored as they were.
    </p>
    <ul class="deletions">
      ${deletions.map(
        ({ userId, collection, rows, liveRows, since, what, byItself, due, remedy, examples }) =>
          html`<li>
            <b>${count(rows)} of ${count(liveRows)}</b> in <code>${collection}</code>, missed since
            <time datetime="${since}">${relative(since, at)}</time>: ${what}; by itself:
            ${byItself}${dueIn(due, at)} ${remedy === null ? '' : html`<span class="remedy">${remedy}</span>`}
            <small
              >${examples.map((key, index) => html`${index === 0 ? '' : ', '}${rowLink(userId, collection, key, root)}`)}</small
            >
          </li>`,
      )}
    </ul>
  </section>`;
}

function dueIn(due: string | null, at: string): string {
  if (due === null) return '';
  return Date.parse(due) > Date.parse(at) ? `, ${relative(due, at)}` : ', which is due';
}

/** Its colour, and its words. */
const OPS: Readonly<Record<LatestChange['op'], readonly [string, string]>> = {
  insert: ['current', 'new'],
  update: ['reading', 'changed'],
  delete: ['failing', 'deleted'],
};

function changesSection(details: AccountDetails | undefined, at: string, root: string): Html {
  if (details?.latestChanges.length === 0) return html``;
  return html`<section class="changes" aria-labelledby="latest-changes">
    <h2 id="latest-changes">Latest changes</h2>
    ${
      details === undefined
        ? UNREAD
        : table(
            'Row',
            details.latestChanges,
            ({ userId, collection, key }) =>
              html`<code>${collection}</code> ${rowLink(userId, collection, key, root)}`,
            [
              ['Change', ({ op }) => chip(...OPS[op])],
              ['When', (change) => moment(change.at, at, '')],
            ],
            'The rows that changed last',
          )
    }
  </section>`;
}

const UNREAD = html`<p class="quiet">This can’t be read now.</p>`;

/** It leads to what happened to the row. @param key as in the view `changes` */
function rowLink(userId: string, collection: CollectionName, key: string, root: string): Html {
  const path = rowPath({ userId, collection, key });
  return html`<a class="key" href="${root}${path}">${shortened(key, KEY)}</a>`;
}

/** Units from the foot of a drawing to its highest bar. */
const HEIGHT = 40;

function lastDaySection(details: AccountDetails | undefined, root: string): Html {
  return html`<section aria-labelledby="last-day">
    <h2 id="last-day">Last 24 hours</h2>
    ${
      details === undefined
        ? UNREAD
        : html`<div class="charts">
            ${chart('Changes', details.lastDay.changes)} ${chart('Requests', details.lastDay.requests)}
          </div>`
    }
    <p class="quiet">
      Each bar has the walks that ended in half an hour. Grafana draws freshness and rows over time, from
      <a href="${root}metrics">the metrics</a>: docs/operations.md, “Prometheus and Grafana”.
    </p>
  </section>`;
}

/** A bar for each value, the last one of the time that goes on. */
function chart(title: string, values: readonly number[]): Html {
  const most = Math.max(...values);
  const total = values.reduce((sum, each) => sum + each, 0);
  const words = total === 0 ? 'none' : `${count(total)}, at most ${count(most)} in half an hour`;
  const bars = values.map((value, place) =>
    value === 0
      ? ''
      : `M${place} ${HEIGHT}v-${Math.max(1, Math.round((HEIGHT * value) / most))}h.8V${HEIGHT}z`,
  );
  return html`<div>
    <span aria-hidden="true">${title} <small>${words}</small></span>
    <svg
      role="img"
      aria-label="${title.toLowerCase()} in the last 24 hours: ${words}"
      viewBox="0 0 ${values.length} ${HEIGHT}"
      preserveAspectRatio="none"
    >
      <path d="${bars.join('')}" />
    </svg>
    <small class="axis" aria-hidden="true"><span>24 h ago</span> <span>now</span></small>
  </div>`;
}

function connections(
  webhook: Html | undefined,
  submissions: Html | undefined,
  budgets: AccountStatus['budgets'],
  at: string,
): Html {
  if (webhook === undefined && submissions === undefined && budgets.length === 0) return html``;
  return html`<section>
    <h2>Webhook, submissions, rate limits</h2>
    ${webhook ?? ''} ${submissions ?? ''}
    ${budgets.map(
      ({ key, groups }) =>
        html`<h3>Rate limits of key <code>${key}…</code></h3>
          ${table('Endpoints', groups, groupName, groupColumns(at), `Rate limits of key ${key}…`)}`,
    )}
  </section>`;
}

const REGISTRATION: Readonly<Record<WebhookStatus['state'], string>> = {
  none: 'none: polling only',
  registering: 'being registered',
  registered: 'registered',
  foreign: 'another’s: polling only',
  suspect: 'suspect: signatures do not fit',
  stopped: 'stopped: another program takes its place',
};

/** How the account hears of events; undefined where it never did. */
function webhookTable(webhook: WebhookStatus, at: string): Html | undefined {
  const { state, host, error, lastEventAt, hintsWaiting } = webhook;
  if (state === 'none' && error === null && lastEventAt === null) return undefined;
  const isBad = state === 'suspect' || state === 'stopped';
  const kind = state === 'registered' ? 'current' : isBad ? 'failing' : 'waiting';
  return html`<h3>Webhook</h3>
    ${table(
      'Registration',
      [webhook],
      () =>
        html`${chip(kind, REGISTRATION[state])} ${host === null ? '' : html`<small>${host}</small>`}
        ${error === null ? '' : html`<small class="${isBad ? 'error' : 'warn'}">${error}</small>`}`,
      [
        ['Last event', () => moment(lastEventAt, at, 'never')],
        ['To be read again', () => count(hintsWaiting), true],
      ],
      'Webhook',
    )}`;
}

/** Submissions that wait, and those of the last day; undefined where there are none. */
function submissionsTable(counts: SubmissionCounts): Html | undefined {
  const states = ['queued', 'sending', 'held', 'accepted', 'rejected', 'unknown', 'cancelled'] as const;
  if (states.every((state) => counts[state] === 0)) return undefined;
  return html`<h3>Submissions: waiting, and ended in the last 24 h</h3>
    ${table(
      'Submissions',
      [counts],
      () => html`${count(states.reduce((sum, state) => sum + counts[state], 0))} in all`,
      states.map((state): PageColumn<SubmissionCounts> => [state, () => count(counts[state]), true]),
      'Submissions by state',
    )}`;
}

function groupName({ group, pausedForMs }: GroupBudgetStatus): Html {
  const paused = pausedForMs > 0 ? chip('failing', `stopped for ${span(pausedForMs)}`) : '';
  return html`<code>${group}</code> ${paused}`;
}

const groupColumns = (at: string): readonly PageColumn<GroupBudgetStatus>[] => [
  [
    'Used in 60 s',
    ({ size, used }) =>
      html`<span class="use">
        <meter aria-hidden="true" min="0" max="${Math.max(1, size)}" value="${used}"></meter>
        ${count(used)} of ${count(size)}
      </span>`,
  ],
  [
    'Service’s limit',
    ({ limit, why, until }) =>
      html`${count(limit)}
      ${why === null ? '' : html`<small>${why}${until === null ? '' : `, over ${relative(until, at)}`}</small>`}`,
    true,
  ],
  ['Used by others', ({ foreignUse }) => count(foreignUse), true],
  ['Waiting', ({ waiting }) => count(waiting), true],
  ['Refused (429)', ({ refused }) => count(refused), true],
];
