import { html } from 'hono/html';
import { CELL_COLUMNS, NOTE_COLUMNS } from '../../model/collection-columns.ts';
import type {
  AccountStatus,
  CollectionStatus,
  GroupBudgetStatus,
  WalkStatus,
} from '../../model/status/status-report.ts';
import { count, rate, relative, span, type Html } from './page-figures.ts';
import { chip, type PageColumn, moment, table, time } from './page-table.ts';
import { lastDay } from './sparklines.ts';
import { submissionsPart, webhookPart } from './webhook-and-submissions-section.ts';

/** One account: its collections, the walks under way, its budgets. */
export function accountSection(account: AccountStatus, at: string, unfolded: boolean): Html {
  const { userId, email, state, error, collections, walks, budgets, webhook, submissions } = account;
  return html`<section class="account" id="account-${userId}">
    <details ${unfolded ? 'open' : ''}>
      <summary>
        <h2>Account ${userId}</h2>
        ${email === null ? '' : html`<span class="quiet long">${email}</span>`}
        ${state === 'active' ? '' : chip(state === 'stopped' ? 'failing' : 'idle', state)}
      </summary>
      ${error === null ? '' : html`<p class="error">${error}</p>`} ${lastDay(account.activity)}
      ${table(
        'Collection',
        collections,
        collectionName,
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
      ${walks.length === 0 ? '' : walkTable(walks, at)} ${webhookPart(webhook, at)}
      ${submissionsPart(submissions)}
      ${budgets.map(
        (budget) =>
          html`<h3>Rate limits of key <code>${budget.key}…</code></h3>
            ${table('Endpoints', budget.groups, groupName, groupColumns(at), `Rate limits of key ${budget.key}…`)}`,
      )}
    </details>
  </section>`;
}

function collectionName(row: CollectionStatus): Html {
  return html`<code>${row.collection}</code> ${NOTE_COLUMNS.filter(({ field }) => row[field] > 0).map(
      ({ field, note: { words, warns } }) =>
        warns
          ? html`<small class="warn">${count(row[field])} ${words}</small>`
          : html`<small>${count(row[field])} ${words}</small>`,
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
  if (typeof value !== 'number') return (kind === 'due' ? nextMoment : moment)(value, at, unknown);
  const deleted =
    field === 'liveRows' && row.deletedRows > 0
      ? html`<small>and ${count(row.deletedRows)} deleted</small>`
      : '';
  return html`<span>${count(value)} ${deleted}</span>`;
}

function walkTable(walks: readonly WalkStatus[], at: string): Html {
  const age = ({ startedAt }: WalkStatus): number => Date.parse(at) - Date.parse(startedAt);
  return html`<h3>Reading now</h3>
    ${table(
      'Walk',
      walks,
      walkName,
      [
        ['For', (walk) => span(age(walk)), true],
        ['Pages', ({ pages }) => count(pages), true],
        ['Rows', ({ items }) => count(items), true],
        ['Rows/s', (walk) => rate(walk.items, age(walk) / 1000), true],
      ],
      'Walks under way',
    )}`;
}

function walkName({ kind, collection, listId }: WalkStatus): Html {
  return html`${kind} <code>${collection}</code>${listId === null ? '' : ` of list ${listId}`}`;
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

/** When something is to begin; once that is past, it waits for its turn. */
function nextMoment(value: string | null, at: string, none: string): Html {
  if (value === null || Date.parse(value) > Date.parse(at)) return moment(value, at, none);
  return time(value, 'due', at);
}
