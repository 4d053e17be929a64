import { html, type Html } from '../html.ts';
import { ClassifiedError } from '@research-mirror/runtime/errors';
import { formatCount as count } from '@research-mirror/runtime/figures';
import { messageOf } from '@research-mirror/runtime/message';
import { COLLECTION_NAMES } from '../../model/collections.ts';
import type { RowFilter, RowList, RowStory, SearchResults } from '../../model/lookup/lookup-answers.ts';
import {
  keyOf,
  LONGEST_QUERY,
  type RowAddress,
  rowAddress,
  rowName,
} from '../../model/lookup/row-address.ts';
import { foundName, moment, stateChip, table } from '../page/page-table.ts';
import { stillPage } from '../page/status-page.ts';
import { htmlReply, type Route } from '../reply.ts';
import { rowView } from './row-view.ts';

/** What viewers look up. Each rejects with DatabaseUnavailable where it can't be answered now. */
export interface Lookups {
  readonly search: (query: string) => Promise<SearchResults>;
  readonly rows: (filter: RowFilter) => Promise<RowList>;
  /** @returns undefined: nothing has this address */
  readonly row: (address: RowAddress) => Promise<RowStory | undefined>;
}

const HELP =
  'What can be found: the whole ID of a job, bulk job, list, list item, watchlist entry, event, submission or account; ' +
  'an idempotency key; a company’s domain or address; an account’s e-mail address.';

interface LookupPage {
  readonly status: number;
  readonly title: string;
  readonly view: Html;
}

/** `/search` and `/rows`. @returns what answers for the path; undefined: it is another one's */
export function lookupRoute(path: string, lookups: Lookups): Route | undefined {
  const read = path === '/search' ? searchPage : path === '/rows' ? rowsPage : undefined;
  if (read === undefined) return undefined;
  return async ({ query }) => {
    const { status, title, view } = await read(lookups, query).catch(unanswered);
    const asked = (query.get('q') ?? '').slice(0, LONGEST_QUERY);
    return htmlReply((nonce) => stillPage(view, nonce, title, asked), status);
  };
}

async function searchPage(lookups: Lookups, asked: URLSearchParams): Promise<LookupPage> {
  const query = asked.get('q') ?? '';
  if (query.trim() === '') return notice(200, 'Search', HELP);
  if (query.length > LONGEST_QUERY) {
    return notice(400, 'This is too long', `No ID has more than ${LONGEST_QUERY} characters.`);
  }
  const results = await lookups.search(query);
  if (results.found.length === 0) {
    return notice(200, 'Nothing found', `Nothing has the ID or domain ${query.trim()}. ${HELP}`);
  }
  return { status: 200, title: 'Search', view: resultsView(query, results) };
}

async function rowsPage(lookups: Lookups, asked: URLSearchParams): Promise<LookupPage> {
  const userId = keyOf('bigint', asked.get('user') ?? '');
  const collection = COLLECTION_NAMES.find((each) => each === asked.get('collection'));
  if (userId === undefined || collection === undefined) {
    const why = `Say whose, and which: rows?user=…&collection=…, one of ${COLLECTION_NAMES.join(', ')}.`;
    return notice(400, 'Which rows?', why);
  }
  const key = asked.get('key');
  if (key !== null) return rowPage(lookups, rowAddress(userId, collection, key));
  const given = asked.get('before');
  const before = keyOf('bigint', given ?? '');
  if (given !== null && before === undefined) {
    return notice(400, 'Before what?', 'before is the change ID at which another page ended: an integer.');
  }
  const filter = { userId, collection, state: keyOf('text', asked.get('state') ?? ''), before };
  const list = await lookups.rows(filter);
  return { status: 200, title: `${collection} of account ${userId}`, view: rowsView(filter, list) };
}

async function rowPage(lookups: Lookups, address: RowAddress | undefined): Promise<LookupPage> {
  const story = address && (await lookups.row(address));
  if (address === undefined || story === undefined) {
    const why =
      'Nothing is mirrored under this address: no account, table or key of it, or the row was removed or forgotten. ' +
      'Search for its ID.';
    return notice(404, 'There is no such row', why);
  }
  return { status: 200, title: rowName(address), view: rowView(address, story) };
}

/** Anything but a classified error is a defect: the log gets it. */
function unanswered(error: unknown): LookupPage {
  if (!(error instanceof ClassifiedError)) throw error;
  return notice(503, 'It can’t be answered now', messageOf(error));
}

/** A page in place of an answer. @param why whole sentences */
function notice(status: number, title: string, why: string): LookupPage {
  const view = html`<section class="headline">
    <h1>${title}</h1>
    <p>${why}</p>
    <p><a href="./">back to the status page</a></p>
  </section>`;
  return { status, title, view };
}

function resultsView(query: string, { at, found, more }: SearchResults): Html {
  return html`<section>
    <h1>${count(found.length)}${more ? ' of more' : ''} found</h1>
    <p class="quiet">for <code>${query.trim()}</code></p>
    ${table('What', found, foundName, [
      ['Account', ({ userId }) => userId, true],
      ['State', stateChip],
      ['When', (each) => moment(each.at, at, '')],
    ])}
    ${more ? html`<p class="quiet">There are more: refine the search, by an ID for example.</p>` : ''}
  </section>`;
}

/** Rows of a collection; the state of each leads to the others that have it. */
function rowsView({ userId, collection, state, before }: RowFilter, { at, found, next }: RowList): Html {
  const link = (to: Readonly<Record<string, string>>, text: string): Html =>
    html`<a href="rows?${String(new URLSearchParams({ user: userId, collection, ...to }))}">${text}</a>`;
  return html`<section>
      <h1>${collection} of account ${userId}</h1>
      <p class="quiet">
        ${state === undefined ? '' : html`with the state <b>${state}</b> (${link({}, 'all states')}),`} what
        changed last comes first${before === undefined ? '' : html`; ${link({}, 'newest')}`}
      </p>
      ${
        found.length === 0
          ? html`<p>No row here${next === undefined ? '' : ' among those that were looked at'}.</p>`
          : table('Row', found, foundName, [
              ['State', (row) => (row.state === null ? '–' : link({ state: row.state }, row.state))],
              ['Changed', (row) => moment(row.at, at, '')],
            ])
      }
      ${next === undefined ? '' : html`<p>${link({ ...(state === undefined ? {} : { state }), before: next }, 'Older')}</p>`}
    </section>
    <nav aria-label="Other tables of the account">
      ${COLLECTION_NAMES.filter((each) => each !== collection).map((each) => html`${link({ collection: each }, each)} `)}
    </nav>`;
}
