import { html } from 'hono/html';
import { type RowAddress, rowPath } from '../../model/lookup/row-address.ts';
import type { Found, FoundCompany, SearchAnswer } from '../../model/lookup/search-answer.ts';
import { count, type Html } from '../page/page-figures.ts';
import { chip, moment, table } from '../page/page-table.ts';
import { rowName } from './row-name.ts';

/** The row that a result is, or names; null: none. */
export function rowInFound(found: Found): RowAddress | null {
  if (found.kind === 'row') return found;
  return found.kind === 'company' ? null : found.row;
}

/** What may be searched for. */
export function searchHelpView(): Html {
  return html`<main id="content" tabindex="-1">
    <section class="headline">
      <h1>Search</h1>
      <p>${HELP}</p>
    </section>
  </main>`;
}

const HELP =
  'What can be found: the whole ID of a job, bulk job, list, list item, watchlist entry, event, submission or account; ' +
  'an idempotency key; a company’s domain or address; an account’s e-mail address.';

export function resultsView({ query, at, results, more }: SearchAnswer): Html {
  const shown = query.trim();
  if (results.length === 0) {
    return html`<main id="content" tabindex="-1">
      <section class="headline">
        <h1>Nothing found</h1>
        <p>Nothing has the ID or domain <code>${shown}</code>. ${HELP}</p>
      </section>
    </main>`;
  }
  return html`<main id="content" tabindex="-1">
    <section>
      <h1>${count(results.length)}${more ? ' of more' : ''} found</h1>
      <p class="quiet">for <code>${shown}</code></p>
      ${table('What', results, resultName, [
        ['Account', ({ userId }) => userId, true],
        ['State', resultState],
        ['When', (found) => moment(momentOf(found), at, '–')],
      ])}
      ${more ? html`<p class="quiet">There are more: refine the search, by an ID for example.</p>` : ''}
    </section>
  </main>`;
}

function resultName(found: Found): Html {
  switch (found.kind) {
    case 'row':
      return html`${linked(found, rowName(found))}
      ${[found.name, found.domain].filter(isKnown).map((each) => html`<small>${each}</small>`)}`;
    case 'account':
      return html`${linked(found.row, `account ${found.userId}`)}
      ${found.email === null ? '' : html`<small>${found.email}</small>`}`;
    case 'event':
      return html`${linked(found.row, `event ${found.id}`)}
        <small>${found.type ?? 'of no type'}${about(found.row)}</small>`;
    case 'submission':
      return html`${linked(found.row, `submission ${found.submissionId}`)}
        <small>${found.operation}${about(found.row)}</small>`;
    case 'company':
      return html`company ${found.domain} <small>${inWords(found)}</small>`;
  }
}

function linked(row: RowAddress | null, text: string): Html {
  return row === null ? html`${text}` : html`<a href="${rowPath(row)}">${text}</a>`;
}

function about(row: RowAddress | null): string {
  return row === null ? '' : ` about ${rowName(row)}`;
}

function inWords({ researchJobs, listItems, lists, watched, latestScore }: FoundCompany): string {
  const of = (number: number, one: string): string => `${count(number)} ${one}${number === 1 ? '' : 's'}`;
  return [
    of(researchJobs, 'research job'),
    `${of(listItems, 'list item')} in ${of(lists, 'list')}`,
    ...(watched ? ['watched'] : []),
    ...(latestScore === null ? [] : [`score ${latestScore}`]),
  ].join(', ');
}

function resultState(found: Found): Html {
  switch (found.kind) {
    case 'row':
      if (found.deletedAt !== null) return chip('idle', 'deleted');
      return found.status === null ? NONE : chip('idle', found.status);
    case 'submission':
      return chip('idle', found.state);
    case 'company':
      return found.lastJobStatus === null ? NONE : chip('idle', found.lastJobStatus);
    case 'account':
    case 'event':
      return NONE;
  }
}

const NONE = html`<span class="quiet">–</span>`;

/** When it last changed, was deleted, came, was queued, or was researched. */
function momentOf(found: Found): string | null {
  switch (found.kind) {
    case 'row':
      return found.deletedAt ?? found.changedAt;
    case 'submission':
      return found.createdAt;
    case 'event':
      return found.receivedAt;
    case 'company':
      return found.lastResearchedAt;
    case 'account':
      return null;
  }
}

function isKnown<T>(value: T | null): value is T {
  return value !== null;
}
