import { ClassifiedError } from '@research-mirror/runtime/errors';
import { messageOf } from '@research-mirror/runtime/message';
import { COLLECTION_NAMES } from '../../model/collections.ts';
import type {
  Found,
  RowsAnswer,
  RowsAsked,
  RowStory,
  SearchAnswer,
} from '../../model/lookup/lookup-answers.ts';
import {
  keyOf,
  LONGEST_QUERY,
  readRowPath,
  type RowAddress,
  rowName,
  rowPath,
} from '../../model/lookup/row-address.ts';
import { contentPolicy } from '../content-policy.ts';
import { htmlReply, jsonReply, type Route } from '../http/page-reply.ts';
import type { Html } from '../page/page-figures.ts';
import { stillPage } from '../page/status-page.ts';
import { noticeView, resultsView, rowOf, rowsView } from './found-view.ts';
import { rowView } from './row-view.ts';

/** What viewers look up. Each rejects with DatabaseUnavailable where it can't be answered now. */
export interface Lookups {
  readonly search: (query: string) => Promise<SearchAnswer>;
  /** @param entries of the timeline, at most. @returns undefined: nothing has this address */
  readonly row: (address: RowAddress, entries: number) => Promise<RowStory | undefined>;
  /** @returns undefined: the account is not mirrored */
  readonly rows: (asked: RowsAsked) => Promise<RowsAnswer | undefined>;
}

/** Entries of a timeline: where nothing else is asked for, and at most. */
const ENTRIES = 100;
const MOST_ENTRIES = 1_000;

const HELP =
  'What can be found: the whole ID of a job, bulk job, list, list item, watchlist entry, event, submission or account; ' +
  'an idempotency key; a company’s domain or address; an account’s e-mail address.';

/** An answer, for people and for programs. */
interface Shown {
  readonly status: number;
  readonly title: string;
  /** @param root the way to the status page's folder */
  readonly view: (root: string) => Html;
  readonly json: unknown;
  /** Where programs get another one. */
  readonly apiStatus?: number;
}

/**
 * `/search`, `/rows` and `/rows/…` for people, and the same under `/api` as JSON.
 * @returns which of them answers for a path; undefined: none
 */
export function lookupRoutes(lookups: Lookups): (path: string) => Route | undefined {
  return (path) => {
    const isApi = path.startsWith('/api/');
    const own = path.slice(isApi ? '/api/'.length : 1);
    const answer =
      own === 'search' ? searched : own === 'rows' ? listed : own.startsWith('rows/') ? told : undefined;
    if (answer === undefined) return undefined;
    return async ({ query }) => {
      const shown = await answer(lookups, query, own).catch(unanswered);
      if (isApi) return jsonReply(shown.json, shown.apiStatus ?? shown.status);
      const { nonce, policy } = contentPolicy();
      const root = '../'.repeat(own.split('/').length - 1);
      const asked = (query.get('q') ?? '').slice(0, LONGEST_QUERY);
      const frame = { title: `${shown.title} – research-mirror`, root, query: asked };
      return htmlReply(String(await stillPage(shown.view(root), nonce, frame)), policy, shown.status);
    };
  };
}

async function searched(lookups: Lookups, asked: URLSearchParams): Promise<Shown> {
  const query = asked.get('q') ?? '';
  if (query.trim() === '') return { ...notice(200, 'Search', HELP), apiStatus: 400 };
  if (query.length > LONGEST_QUERY) {
    return notice(400, 'This is too long', `No ID has more than ${LONGEST_QUERY} characters.`);
  }
  const answer = await lookups.search(query);
  const json = { ...answer, results: answer.results.map(withPath) };
  if (answer.results.length > 0)
    return { status: 200, title: 'Search', view: () => resultsView(answer), json };
  return { ...notice(200, 'Nothing found', `Nothing has the ID or domain ${query.trim()}. ${HELP}`), json };
}

async function listed(lookups: Lookups, asked: URLSearchParams): Promise<Shown> {
  const userId = keyOf('bigint', asked.get('user') ?? '');
  const collection = COLLECTION_NAMES.find((each) => each === asked.get('collection'));
  if (userId === undefined || collection === undefined) {
    const why = `Say whose, and which: rows?user=…&collection=…, one of ${COLLECTION_NAMES.join(', ')}.`;
    return notice(400, 'Which rows?', why);
  }
  const given = asked.get('before');
  const before = keyOf('bigint', given ?? '');
  if (given !== null && before === undefined) {
    return notice(400, 'Before what?', 'before is the "next" of another page: an integer.');
  }
  const state = keyOf('text', asked.get('state') ?? '');
  const answer = await lookups.rows({ userId, collection, state, before });
  if (answer === undefined) {
    return notice(404, 'There is no such account', `No account ${userId} is mirrored.`);
  }
  const json = { ...answer, rows: answer.rows.map(withPath) };
  return { status: 200, title: `${collection} of account ${userId}`, view: () => rowsView(answer), json };
}

async function told(lookups: Lookups, asked: URLSearchParams, path: string): Promise<Shown> {
  const given = asked.get('entries') ?? String(ENTRIES);
  const entries = Number(given);
  if (!/^\d{1,4}$/.test(given) || entries < 1 || entries > MOST_ENTRIES) {
    return notice(400, 'How many entries?', `entries is a number from 1 to ${MOST_ENTRIES}.`);
  }
  const address = readRowPath(path);
  const row = address === undefined ? undefined : await lookups.row(address, entries);
  if (row === undefined) {
    const why =
      'Nothing is mirrored under this address: no account, table or key of it, or the row was removed or forgotten. ' +
      'Search for its ID.';
    return notice(404, 'There is no such row', why);
  }
  const older = entries < MOST_ENTRIES ? MOST_ENTRIES : undefined;
  return { status: 200, title: rowName(row), view: (root) => rowView(row, root, older), json: row };
}

/** Anything but a classified error is a defect: the log gets it. */
function unanswered(error: unknown): Shown {
  if (!(error instanceof ClassifiedError)) throw error;
  return notice(503, 'It can’t be answered now', messageOf(error));
}

function notice(status: number, title: string, why: string): Shown {
  return { status, title, view: (root) => noticeView(title, why, root), json: { error: why } };
}

/** With the path of its row's page, which under `/api` is the row's JSON; null where it has none. */
function withPath(found: Found): Found & { readonly path: string | null } {
  const row = rowOf(found);
  return { ...found, path: row === undefined ? null : `/${rowPath(row)}` };
}
