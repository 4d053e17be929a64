import { html, type Html } from '../html.ts';
import { CELL_COLUMNS, type CellColumn, NOTE_COLUMNS } from '../../model/collection-columns.ts';
import type { CollectionName } from '../../model/collections.ts';
import { rowPath } from '../../model/lookup/row-address.ts';
import { accountFacts, cellWords, deletionWords, shortened } from '../../model/status/report-words.ts';
import type {
  AccountDetails,
  AccountStatus,
  CollectionStatus,
  StatusReport,
  WaitingDeletion,
} from '../../model/status/status-report.ts';
import { count } from './page-figures.ts';
import { chip, foundName, moment, type PageColumn, stateChip, table, time } from './page-table.ts';

/** What a page shows. */
export interface Shown {
  readonly report: StatusReport;
  /** The account whose page it is; undefined: the first page. */
  readonly userId: string | undefined;
  /** Of the account that is shown whole; undefined: it can't be read now. */
  readonly details: AccountDetails | undefined;
  /** Why there is no newer report; undefined: this one is new. */
  readonly why?: string | undefined;
}

/** The way from a page's folder to that of the first page. */
export function rootOf(userId: string | undefined): string {
  return userId === undefined ? '' : '../';
}

/** The state where there is only an old report. */
export const NOT_KNOWN = chip('idle', 'not known');

/** Characters of a key that are shown. */
const KEY = 48;

/** One account: its collections, what else goes on, what waits, what changed. */
export function accountParts(account: AccountStatus, shown: Shown): Html {
  const { report, details } = shown;
  const root = rootOf(shown.userId);
  const { userId, email, state, error, collections, webhook } = account;
  const { at, deletions } = report;
  return html`<section class="account">
      <h2>${shown.userId === undefined ? `Account ${userId}` : 'Collections'}</h2>
      ${email === null ? '' : html`<p class="quiet long">${email}</p>`}
      ${state === 'active' ? '' : chip(state === 'stopped' ? 'failing' : 'idle', state)}
      ${[error, webhook.error].map((why) => (why === null ? '' : html`<p class="error">${why}</p>`))}
      ${table(
        'Collection',
        collections,
        (row) => collectionName(row, userId, shown),
        [
          ['State', ({ state }) => (shown.why === undefined ? chip(state, state) : NOT_KNOWN)],
          ...CELL_COLUMNS.map((column): PageColumn<CollectionStatus> => [
            column.cell.title,
            (row) => columnCell(column, row, at),
            column.kind === 'count',
          ]),
        ],
        `Collections of ${userId}`,
      )}
      <dl class="facts">
        ${accountFacts(account, at).map(
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
    ${latestSection(details, at, root)} ${lastDaySection(details, root)}`;
}

/** It leads to the collection's newest rows. Why they can't be read is said where no problem above says it. */
function collectionName(row: CollectionStatus, userId: string, { report, why, ...shown }: Shown): Html {
  const isSaid =
    why === undefined &&
    report.problems.some(({ affects }) => affects.includes(`${userId}/${row.collection}`));
  return html`<a href="${rootOf(shown.userId)}rows?user=${userId}&amp;collection=${row.collection}"
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

function columnCell(column: CellColumn, row: CollectionStatus, at: string): Html {
  const value = row[column.field];
  const words = cellWords(column, row, at);
  if (typeof value === 'string') return time(value, words, at);
  const deleted = column.field === 'liveRows' && row.deletedRows > 0;
  return html`<span class="${value === null ? 'quiet' : ''}"
    >${words} ${deleted ? html`<small>and ${count(row.deletedRows)} deleted</small>` : ''}</span
  >`;
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
        (each) =>
          html`<li>
            <code>${each.collection}</code>: ${deletionWords(each, at)}
            ${each.remedy === null ? '' : html`<span class="remedy">${each.remedy}</span>`}
            <small
              >${each.examples.map((key, index) => html`${index === 0 ? '' : ', '}${rowLink(each.userId, each.collection, key, root)}`)}</small
            >
          </li>`,
      )}
    </ul>
  </section>`;
}

function latestSection(details: AccountDetails | undefined, at: string, root: string): Html {
  if (details?.latestRows.length === 0) return html``;
  return html`<section class="changes" aria-labelledby="latest-changes">
    <h2 id="latest-changes">Latest changes</h2>
    ${
      details === undefined
        ? UNREAD
        : table(
            'Row',
            details.latestRows,
            (row) => foundName(row, root),
            [
              ['State', stateChip],
              ['When', (row) => moment(row.at, at, '')],
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
