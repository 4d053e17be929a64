import { countOf } from '@research-mirror/runtime/figures';
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
  /** There is no newer report: what state it is in is not known. */
  readonly isOld: boolean;
}

/** The state where there is only an old report. */
export const NOT_KNOWN = chip('idle', 'not known');

/** Characters of a key that are shown. */
const KEY = 48;

/** One account: its collections, what else goes on, what waits, what changed. */
export function accountParts(account: AccountStatus, frame: Frame): Html {
  const { report, details, root, isOwnPage, isOld } = frame;
  const { userId, email, state, error, collections } = account;
  const { at, deletions } = report;
  return html`<section class="account">
      <h2>${isOwnPage ? 'Collections' : `Account ${userId}`}</h2>
      ${email === null ? '' : html`<p class="quiet long">${email}</p>`}
      ${state === 'active' ? '' : chip(state === 'stopped' ? 'failing' : 'idle', state)}
      ${error === null ? '' : html`<p class="error">${error}</p>`}
      ${table(
        'Collection',
        collections,
        (row) => collectionName(row, userId, frame),
        [
          ['State', ({ state }) => (isOld ? NOT_KNOWN : chip(state, state))],
          ...CELL_COLUMNS.map((column): PageColumn<CollectionStatus> => [
            column.cell.title,
            (row) => columnCell(column, row, at),
            column.kind === 'count',
          ]),
        ],
        `Collections of ${userId}`,
      )}
      <dl class="facts">
        ${factsOf(account, at).map(
          ([name, words]) =>
            html`<dt>${name}</dt>
              <dd>${words}</dd>`,
        )}
      </dl>
    </section>
    ${deletionsSection(
      deletions.filter((each) => each.userId === userId),
      at,
      root,
    )}
    ${changesSection(details, at, root)} ${lastDaySection(details, root)}`;
}

/** It leads to the collection's newest rows. Why they can't be read is said where no problem above says it. */
function collectionName(row: CollectionStatus, userId: string, { report, root, isOld }: Frame): Html {
  const isSaid =
    !isOld && report.problems.some(({ affects }) => affects.includes(`${userId}/${row.collection}`));
  return html`<a href="${root}rows?user=${userId}&amp;collection=${row.collection}"
      ><code>${row.collection}</code></a
    >
    ${NOTE_COLUMNS.filter(({ field }) => row[field] > 0).map(
      ({ field, note: { words, warns } }) =>
        html`<small class="${warns ? 'warn' : ''}">${count(row[field])} ${words}</small>`,
    )}
    ${
      row.state === 'failing' && row.lastError !== null && !isSaid
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

/** A name, and what is to be said of it. */
type Fact = readonly [string, Html | string];

/** What is read now, how the account hears of events, what it sends, and how much it may ask. */
function factsOf({ walks, webhook, submissions, budgets }: AccountStatus, at: string): Fact[] {
  return [
    ...walks.map((walk): Fact => ['Reading now', walkWords(walk, at)]),
    ...webhookFact(webhook, at),
    ...submissionsFact(submissions),
    ...budgets.flatMap(({ key, groups }) =>
      groups.map((group): Fact => [`Key ${key}…, ${group.group}`, budgetWords(group, at)]),
    ),
  ];
}

function walkWords(walk: WalkStatus, at: string): Html {
  const { kind, collection, listId, startedAt, pages, items } = walk;
  const age = Date.parse(at) - Date.parse(startedAt);
  return html`${kind} walk of <code>${collection}</code>${listId === null ? '' : ` of list ${listId}`} for
    ${span(age)}: ${countOf(items, 'row')} in ${countOf(pages, 'page')}, ${rate(items, age / 1000)} a second`;
}

const REGISTRATION: Readonly<Record<WebhookStatus['state'], string>> = {
  none: 'none: polling only',
  registering: 'being registered',
  registered: 'registered',
  foreign: 'another’s: polling only',
  suspect: 'suspect: signatures do not fit',
  stopped: 'stopped: another program takes its place',
};

/** None where the account never heard of events. */
function webhookFact({ state, host, error, lastEventAt, hintsWaiting }: WebhookStatus, at: string): Fact[] {
  if (state === 'none' && error === null && lastEventAt === null) return [];
  const isBad = state === 'suspect' || state === 'stopped';
  const kind = state === 'registered' ? 'current' : isBad ? 'failing' : 'waiting';
  const words = html`${chip(kind, REGISTRATION[state])} ${host ?? ''}, last event
  ${lastEventAt === null ? 'never' : relative(lastEventAt, at)}, ${count(hintsWaiting)} to be read again
  ${error === null ? '' : html`<small class="${isBad ? 'error' : 'warn'}">${error}</small>`}`;
  return [['Webhook', words]];
}

/** None where no submission waits, or ended in the last day. */
function submissionsFact(counts: SubmissionCounts): Fact[] {
  const waiting = ['queued', 'sending', 'held'] as const;
  const ended = ['accepted', 'rejected', 'unknown', 'cancelled'] as const;
  if ([...waiting, ...ended].every((state) => counts[state] === 0)) return [];
  const words = (states: readonly (keyof SubmissionCounts)[]): string =>
    states.map((state) => `${count(counts[state])} ${state}`).join(', ');
  return [['Submissions', `${words(waiting)}; in the last 24 h ${words(ended)}`]];
}

function budgetWords(group: GroupBudgetStatus, at: string): Html {
  const { used, size, limit, why, until, pausedForMs, foreignUse, waiting, refused } = group;
  return html`${count(used)} of ${count(size)} requests in 60 s, of the service’s
  ${count(limit)}${why === null ? '' : `: ${why}`}${until === null ? '' : `, over ${relative(until, at)}`};
  ${count(foreignUse)} used by others, ${count(waiting)} waiting, ${count(refused)} refused (429)
  ${pausedForMs > 0 ? chip('failing', `stopped for ${span(pausedForMs)}`) : ''}`;
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
