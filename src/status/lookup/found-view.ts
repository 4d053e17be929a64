import { html } from 'hono/html';
import { COLLECTION_NAMES } from '../../model/collections.ts';
import type { Found, RowsAnswer, SearchAnswer } from '../../model/lookup/lookup-answers.ts';
import { rowAddress, type RowAddress, rowName, rowPath } from '../../model/lookup/row-address.ts';
import { count, type Html } from '../page/page-figures.ts';
import { chip, moment, table } from '../page/page-table.ts';

/** What a page shows in place of an answer. @param why whole sentences. @param root the way to the status page's folder */
export function noticeView(what: string, why: string, root: string): Html {
  return html`<main id="content" tabindex="-1">
    <section class="headline">
      <h1>${what}</h1>
      <p>${why}</p>
      <p><a href="${root}./">back to the status page</a></p>
    </section>
  </main>`;
}

export function resultsView({ query, at, results, more }: SearchAnswer): Html {
  return html`<main id="content" tabindex="-1">
    <section>
      <h1>${count(results.length)}${more ? ' of more' : ''} found</h1>
      <p class="quiet">for <code>${query.trim()}</code></p>
      ${table('What', results, nameOf, [
        ['Account', ({ userId }) => userId, true],
        ['State', ({ state }) => (state === null ? NONE : chip('idle', state))],
        ['When', (found) => moment(found.at, at, '–')],
      ])}
      ${more ? html`<p class="quiet">There are more: refine the search, by an ID for example.</p>` : ''}
    </section>
  </main>`;
}

const NONE = html`<span class="quiet">–</span>`;

/** Rows of a collection; the state of each leads to the others that have it. */
export function rowsView({ userId, collection, state, before, at, rows, next }: RowsAnswer): Html {
  const link = (to: Readonly<Record<string, string>>, text: string): Html =>
    html`<a href="rows?${String(new URLSearchParams({ user: userId, ...to }))}">${text}</a>`;
  const ofState = (value: string): Html => link({ collection, state: value }, value);
  return html`<main id="content" tabindex="-1">
    <section>
      <h1>${collection} of account ${userId}</h1>
      <p class="quiet">
        ${state === undefined ? '' : html`with the state <b>${state}</b> (${link({ collection }, 'all states')}),`}
        what changed last comes first${before === undefined ? '' : html`; ${link({ collection }, 'newest')}`}
      </p>
      ${
        rows.length === 0
          ? html`<p>No row here${next === null ? '' : ' among those that were looked at'}.</p>`
          : table('Row', rows, nameOf, [
              ['State', (row) => (row.state === null ? NONE : ofState(row.state))],
              ['Changed', (row) => moment(row.at, at, '–')],
            ])
      }
      ${next === null ? '' : html`<p>${link({ collection, ...(state === undefined ? {} : { state }), before: next }, 'Older')}</p>`}
    </section>
    <nav aria-label="Other tables of the account">
      ${COLLECTION_NAMES.filter((each) => each !== collection).map((each) => html`${link({ collection: each }, each)} `)}
    </nav>
  </main>`;
}

/** The row that it is, or names; undefined where that can be none: another version of the program wrote it. */
export function rowOf({ userId, collection, key }: Found): RowAddress | undefined {
  return rowAddress(userId, collection ?? '', key ?? '');
}

function nameOf(found: Found): Html {
  const { kind, id, name } = found;
  const row = rowOf(found);
  const text = kind === 'row' && row !== undefined ? rowName(row) : `${kind} ${id}`;
  const about = row === undefined || kind === 'row' || kind === 'account' ? '' : ` about ${rowName(row)}`;
  return html`${row === undefined ? text : html`<a href="${rowPath(row)}">${text}</a>`}
    <small>${name ?? ''}${about}</small>`;
}
