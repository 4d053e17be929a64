import { formatCount as count } from '@research-mirror/runtime/figures';
import { CELL_COLUMNS, type CellColumn, NOTE_COLUMNS } from '../model/collection-columns.ts';
import { type Hit, rowName, rowPath } from './lookup-store.ts';
import { html, type Html, raw } from './reply.ts';
import { accountFacts, age, cellWords, deletionWords, shortened } from './status-report.ts';
import type { AccountStatus, CollectionStatus, StatusReport, WaitingDeletion } from './status-report.ts';

export interface PageData {
  readonly report: StatusReport;
  /** The page's account; undefined: the first page. */
  readonly userId: string | undefined;
  /** Of the account that is shown in full; undefined if they can't be read now. */
  readonly latestRows: readonly Hit[] | undefined;
  /** Why there is no newer report. */
  readonly why?: string | undefined;
}

/** Relative path from a page's folder to the first page's. */
export function rootOf(userId: string | undefined): string {
  return userId === undefined ? '' : '../';
}

export const NOT_KNOWN = chip('idle', 'not known');

export function accountChip(state: 'stopped' | 'retired'): Html {
  return chip(state === 'stopped' ? 'failing' : 'idle', state);
}

export function accountParts(account: AccountStatus, page: PageData): Html {
  const { report, latestRows } = page;
  const root = rootOf(page.userId);
  const { userId, email, state, error, collections, webhook } = account;
  const { at } = report;
  const deletions = report.deletions.filter((each) => each.userId === userId);
  return html`<section class="account">
      <h2>${page.userId === undefined ? `Account ${userId}` : 'Collections'}</h2>
      ${email === null ? '' : html`<p class="quiet long">${email}</p>`} ${state === 'active' ? '' : accountChip(state)}
      ${[error, webhook.error].map((why) => (why === null ? '' : html`<p class="error">${why}</p>`))}
      ${table(
        'Collection',
        collections,
        (row) => collectionName(row, userId, page),
        [
          ['State', ({ state }) => (page.why === undefined ? chip(state, state) : NOT_KNOWN)],
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
    ${deletions.length === 0 ? '' : section('waiting', 'Pending deletions', waiting(deletions, at, root))}
    ${latestRows?.length === 0 ? '' : section('changes', 'Latest changes', latestRows && latest(latestRows, at, root))}`;
}

/** @param content undefined if it can't be read now */
function section(id: string, title: string, content: Html | undefined): Html {
  return html`<section class="${id}" aria-labelledby="${id}">
    <h2 id="${id}">${title}</h2>
    ${content ?? html`<p class="quiet">This can’t be read right now.</p>`}
  </section>`;
}

/** A link to the collection's newest rows. It has the last error unless a problem above has it. */
function collectionName(row: CollectionStatus, account: string, { report, why, userId }: PageData): Html {
  const { collection, state, lastError } = row;
  const isSaid =
    why === undefined && report.problems.some(({ affects }) => affects.includes(`${account}/${collection}`));
  return html`<a href="${rootOf(userId)}rows?user=${account}&amp;collection=${collection}"
      ><code>${collection}</code></a
    >
    ${NOTE_COLUMNS.filter(({ field }) => row[field] > 0).map(
      ({ field, note: { words, warns } }) =>
        html`<small class="${warns ? 'warn' : ''}">${count(row[field])} ${words}</small>`,
    )}
    ${state === 'failing' && lastError !== null && !isSaid ? html`<small class="error">${lastError}</small>` : ''}`;
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

const KEY = 48;

function waiting(deletions: readonly WaitingDeletion[], at: string, root: string): Html {
  const link = ({ userId, collection }: WaitingDeletion, key: string): Html =>
    html`<a class="key" href="${root}${rowPath({ userId, collection, key })}">${shortened(key, KEY)}</a>`;
  return html`<p class="quiet">
      The service no longer seems to have these rows. They stay mirrored until that is proven.
    </p>
    <ul class="deletions">
      ${deletions.map(
        (each) =>
          html`<li>
            <code>${each.collection}</code>: ${deletionWords(each, at)}
            ${each.remedy === null ? '' : html`<span class="remedy">${each.remedy}</span>`}
            <small>${each.examples.map((key, index) => html`${index === 0 ? '' : ', '}${link(each, key)}`)}</small>
          </li>`,
      )}
    </ul>`;
}

function latest(rows: readonly Hit[], at: string, root: string): Html {
  const columns: PageColumn<Hit>[] = [
    ['State', stateChip],
    ['When', (row) => moment(row.at, at, '')],
  ];
  return table('Row', rows, (row) => foundName(row, root), columns, 'Rows that changed last');
}

/** Title, content, and whether it is a figure. Cells repeat the title: a phone shows rows as blocks. */
type PageColumn<Row> = readonly [string, (row: Row) => Html | string, boolean?];

const FIGURE = raw('class="figure"');

/** A table that a phone shows as blocks. @param name content of the first column, under `title` */
export function table<Row>(
  title: string,
  rows: readonly Row[],
  name: (row: Row) => Html,
  columns: readonly PageColumn<Row>[],
  caption: string = title,
): Html {
  return html`<table role="table">
    <caption class="unseen">
      ${caption}
    </caption>
    <thead role="rowgroup">
      <tr role="row">
        <th scope="col" role="columnheader">${title}</th>
        ${columns.map(
          ([title, , isFigure]) =>
            html`<th scope="col" role="columnheader" ${isFigure === true ? FIGURE : ''}>${title}</th>`,
        )}
      </tr>
    </thead>
    <tbody role="rowgroup">
      ${rows.map(
        (row) =>
          html`<tr role="row">
            <th scope="row" role="rowheader">${name(row)}</th>
            ${columns.map(
              ([title, content, isFigure]) =>
                html`<td role="cell" data-label="${title}" ${isFigure === true ? FIGURE : ''}>${content(row)}</td>`,
            )}
          </tr>`,
      )}
    </tbody>
  </table>`;
}

/** Age of `value` at `at`; `none` for null. */
export function moment(value: string | null, at: string, none: string): Html {
  return value === null ? html`<span class="quiet">${none}</span>` : time(value, age(value, at), at);
}

export function time(value: string, words: string, at: string): Html {
  return html`<time datetime="${value}">${words} <small>${absolute(value, at)}</small></time>`;
}

export function chip(kind: string, text: string): Html {
  return html`<span class="chip ${kind}">${text}</span>`;
}

const NAME = 120;

/** Name of a row, or of what names it, with a link to its page. @param root relative path to the first page's folder */
export function foundName({ by, row, name }: Hit, root = ''): Html {
  const rowText = row === undefined ? '' : shortened(rowName(row), NAME);
  const text = by ?? rowText;
  return html`${row === undefined ? text : html`<a class="key" href="${root}${rowPath(row)}">${text}</a>`}
    <small>${name ?? ''}${by === null || row === undefined ? '' : ` about ${rowText}`}</small>`;
}

export function stateChip({ state }: Hit): Html {
  return state === null ? html`<span class="quiet">–</span>` : chip('idle', state);
}

/** Time in UTC, to the second, without the date if it is that of `at`. Both are ISO 8601. */
export function absolute(moment: string, at: string): string {
  const [date = '', time = ''] = new Date(moment).toISOString().split('T');
  const clock = `${time.slice(0, 8)} UTC`;
  return new Date(at).toISOString().startsWith(date) ? clock : `${date} ${clock}`;
}
