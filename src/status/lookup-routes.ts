import { ClassifiedError } from '@research-mirror/runtime/errors';
import { countOf } from '@research-mirror/runtime/figures';
import type { HttpReply } from '@research-mirror/runtime/http-listener';
import { messageOf } from '@research-mirror/runtime/message';
import { COLLECTION_NAMES } from '../model/collections.ts';
import type { newestRows, readRow, RowAddress, RowStory, searchMirror } from './lookup-store.ts';
import { keyOf, keyParts, LONGEST_QUERY, rowAddress, rowName, rowPath } from './lookup-store.ts';
import { chip, foundName, moment, stateChip, table, time } from './page-parts.ts';
import { html, type Html, htmlReply } from './reply.ts';
import { age } from './status-report.ts';
import { stillPage } from './status-page.ts';

/** Functions of lookup-store.ts. @throws DatabaseUnavailable */
export interface Lookups {
  readonly search: (query: string) => ReturnType<typeof searchMirror>;
  readonly rows: (filter: Parameters<typeof newestRows>[1]) => ReturnType<typeof newestRows>;
  readonly row: (address: RowAddress) => ReturnType<typeof readRow>;
}

const HELP =
  'You can search for the whole ID of a job, bulk job, list, list item, watchlist entry, event, submission or account; ' +
  'an idempotency key; a company’s domain or address; an account’s e-mail address.';

/** `/search` and `/rows`. @returns undefined for any other path */
export function lookupRoute(
  path: string,
  lookups: Lookups,
): ((query: URLSearchParams) => Promise<HttpReply>) | undefined {
  const read = path === '/search' ? searchPage : path === '/rows' ? rowsPage : undefined;
  if (read === undefined) return undefined;
  return async (query) => {
    const { status, title, view } = await read(lookups, query).catch((error: unknown) => {
      // Other errors are defects, for the log.
      if (!(error instanceof ClassifiedError)) throw error;
      return notice(503, 'This can’t be read right now', messageOf(error));
    });
    const asked = (query.get('q') ?? '').slice(0, LONGEST_QUERY);
    return htmlReply((nonce) => stillPage(view, nonce, title, asked), status);
  };
}

/** A page without results. @param why whole sentences */
function notice(status: number, title: string, why: string) {
  const view = html`<section class="headline">
    <h1>${title}</h1>
    <p>${why}</p>
    <p><a href="./">Back to the status page</a></p>
  </section>`;
  return { status, title, view };
}

async function searchPage(lookups: Lookups, asked: URLSearchParams): Promise<ReturnType<typeof notice>> {
  const query = asked.get('q') ?? '';
  const text = query.trim();
  if (text === '') return notice(200, 'Search', HELP);
  if (query.length > LONGEST_QUERY)
    return notice(400, 'This is too long to be an ID', `An ID has at most ${LONGEST_QUERY} characters.`);
  const { at, found, more } = await lookups.search(query);
  if (found.length === 0) return notice(200, 'Nothing found', `Nothing matches ${text}. ${HELP}`);
  const view = html`<section>
    <h1>${more ? 'First ' : ''}${countOf(found.length, 'result')}</h1>
    <p class="quiet">for <code>${text}</code></p>
    ${table('What', found, foundName, [
      ['Account', ({ userId }) => userId, true],
      ['State', stateChip],
      ['When', (each) => moment(each.at, at, '')],
    ])}
    ${more ? html`<p class="quiet">There are more. Narrow the search, for example by an ID.</p>` : ''}
  </section>`;
  return { status: 200, title: 'Search', view };
}

async function rowsPage(lookups: Lookups, asked: URLSearchParams): Promise<ReturnType<typeof notice>> {
  const userId = keyOf('bigint', asked.get('user') ?? '');
  const collection = COLLECTION_NAMES.find((each) => each === asked.get('collection'));
  const given = asked.get('before');
  const before = given === null ? undefined : keyOf('bigint', given);
  if (userId === undefined || collection === undefined || (given !== null && before === undefined)) {
    const why =
      `Name an account and a collection: rows?user=…&collection=…. Collections are ${COLLECTION_NAMES.join(', ')}. ` +
      'The optional parameter before is an integer: the change ID at the end of the previous page.';
    return notice(400, 'Which rows?', why);
  }
  const key = asked.get('key');
  if (key !== null) return rowPage(lookups, rowAddress(userId, collection, key));
  const filter = { userId, collection, state: keyOf('text', asked.get('state') ?? ''), before };
  const view = rowsView(filter, await lookups.rows(filter));
  return { status: 200, title: `${collection} of account ${userId}`, view };
}

/** Rows of a collection; each state leads to the rows that have it. */
function rowsView(
  { userId, collection, state, before }: Parameters<Lookups['rows']>[0],
  { at, found, next }: Awaited<ReturnType<Lookups['rows']>>,
): Html {
  const rows = (to: Readonly<Record<string, string>>, text: string): Html =>
    link(`rows?${String(new URLSearchParams({ user: userId, collection, ...to }))}`, text);
  return html`<section>
      <h1>${collection} of account ${userId}</h1>
      <p class="quiet">
        ${state === undefined ? '' : html`state <b>${state}</b> (${rows({}, 'all states')}),`} last changed
        first${before === undefined ? '' : html`; ${rows({}, 'newest')}`}
      </p>
      ${
        found.length === 0
          ? html`<p>No rows${next === undefined ? '' : ' in the part that was searched'}.</p>`
          : table('Row', found, foundName, [
              ['State', (row) => (row.state === null ? '–' : rows({ state: row.state }, row.state))],
              ['Changed', (row) => moment(row.at, at, '')],
            ])
      }
      ${next === undefined ? '' : html`<p>${rows({ ...(state === undefined ? {} : { state }), before: next }, 'Older')}</p>`}
    </section>
    <nav aria-label="Other collections of the account">
      ${COLLECTION_NAMES.filter((each) => each !== collection).map((each) => html`${rows({ collection: each }, each)} `)}
    </nav>`;
}

function link(path: string, text: string): Html {
  return html`<a href="${path}">${text}</a>`;
}

async function rowPage(lookups: Lookups, row: RowAddress | undefined) {
  const story = row && (await lookups.row(row));
  if (row === undefined || story === undefined) {
    const why =
      'Its account, collection or key does not exist, or the row was removed or forgotten. Search for its ID.';
    return notice(404, 'There is no row at this address', why);
  }
  return { status: 200, title: rowName(row), view: rowView(row, story) };
}

const STATES = {
  live: chip('current', 'mirrored'),
  deleted: chip('failing', 'deleted'),
  absent: chip('new', 'not mirrored, but named by the entries below'),
};

/** The heading over a row's columns, and the whole item. */
const ROW_HEADS = {
  live: 'The row now',
  deleted: 'The row when it was deleted',
  absent: 'The item as the service sent it',
};

function rowView(row: RowAddress, { at, state, timeline, more, columns, raw }: RowStory): Html {
  const { userId, collection } = row;
  const domain = columns.find(({ name }) => name === '_domain')?.value;
  const [list, item] = keyParts(row);
  return html`<section class="headline ${state === 'live' ? 'good' : ''}">
      <h1>${rowName(row)}</h1>
      <p>
        ${STATES[state]} ${link(rowPath({ userId, collection: 'account', key: userId }), `account ${userId}`)}
        ${list === undefined || item === undefined ? '' : html` · ${link(rowPath({ userId, collection: 'lists', key: list }), `list ${list}`)}`}
        · ${link(`rows?user=${userId}&collection=${collection}`, `all ${collection}`)}
        ${domain === undefined ? '' : html` · ${link(`search?q=${encodeURIComponent(domain)}`, `everything about ${domain}`)}`}
      </p>
    </section>
    <section>
      <h2>What happened</h2>
      <ol class="story">
        ${timeline.map((entry) => happening(entry, at))}
      </ol>
      ${more ? html`<p>There are older entries. In SQL, the function <code>row_story</code> returns all of them.</p>` : ''}
    </section>
    <section>
      <h2>${ROW_HEADS[state]}</h2>
      <dl class="columns">${columns.map(({ name, value }) => pair(name, valueOf(value)))}</dl>
      <details>
        <summary>The whole item</summary>
        <pre class="item"><code>${raw}</code></pre>
      </details>
    </section>
    <footer class="quiet"><p>Times are in UTC.</p></footer>`;
}

const WORDS: Readonly<Record<string, string>> = {
  created: 'Created at the service',
  queued: 'Queued here',
  sent: 'Sent to the service',
  answered: 'Answered',
  ended: 'Ended without an answer',
  event: 'Event received',
  mirrored: 'Mirrored',
  changed: 'Changed',
  deleted: 'Deleted: the service no longer has it',
  undeleted: 'Restored: the service has it again',
  quarantined: 'Quarantined: a version of it could not be mirrored',
  polled: 'Collection polled: changes of unfinished rows are mirrored',
  read: 'Collection read in full',
  suspected: 'Suspected deletion: a second proof decides',
  hinted: 'To be read again: an event or an answer named it',
  next_poll: 'Next poll of the collection',
  next_full: 'Next full walk of the collection',
};

function happening({ what, at, by, more, fields }: RowStory['timeline'][number], now: string): Html {
  const told = Object.entries(more ?? {}).filter(([, value]) => value !== null);
  return html`<li data-what="${what}">
    ${time(at, age(at, now), now)}
    <div>
      <b>${WORDS[what] ?? what}</b>
      <small
        >${by} ${told.map(([name, value]) => html`${name.replaceAll('_', ' ')} <code>${String(value)}</code> `)}</small
      >
      ${what === 'changed' && fields.length === 0 ? html`<small>no field changed, or the earlier version is not kept</small>` : ''}
      <dl class="fields">
        ${fields.map(({ field, before, after }) => pair(field ?? '', html`${valueOf(before)} → ${valueOf(after)}`))}
      </dl>
    </div>
  </li>`;
}

function pair(name: string, value: Html): Html {
  return html`<dt><code>${name}</code></dt>
    <dd>${value}</dd>`;
}

/** A value; a long one is folded. */
function valueOf(value: string | null): Html {
  if (value === null) return html`<span class="quiet">nothing</span>`;
  const whole = html`<span class="value">${value}</span>`;
  const beginning = Array.from(value).slice(0, 120).join('');
  if (beginning === value) return whole;
  return html`<details>
    <summary>${beginning}…</summary>
    ${whole}
  </details>`;
}
