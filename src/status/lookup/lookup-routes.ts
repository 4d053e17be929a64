import { ClassifiedError } from '@research-mirror/runtime/errors';
import { messageOf } from '@research-mirror/runtime/message';
import { readRowPath, rowPath } from '../../model/lookup/row-address.ts';
import type { RowStory } from '../../model/lookup/row-story.ts';
import type { Found, SearchAnswer } from '../../model/lookup/search-answer.ts';
import { LONGEST_QUERY } from '../../model/lookup/search-terms.ts';
import { contentPolicy } from '../content-policy.ts';
import { type PageQuestion, htmlReply, jsonReply, type PageReply, type Route } from '../http/page-reply.ts';
import type { Html } from '../page/page-figures.ts';
import { type StillPage, stillPage } from '../page/status-page.ts';
import type { Lookups } from './lookups.ts';
import { notFoundView, problemView } from './problem-view.ts';
import { rowView } from './row-view.ts';
import { resultsView, rowInFound, searchHelpView } from './search-view.ts';
import { rowName } from './row-name.ts';

/** Entries of a timeline: where nothing else is asked for, and at most. */
const ENTRIES = 100;
const MOST_ENTRIES = 1_000;

/**
 * `/search` and `/rows/…` for people, and the same under `/api` as JSON.
 * @returns which of them answers for a path; undefined: none
 */
export function lookupRoutes(lookups: Lookups): (path: string) => Route | undefined {
  const story = (path: string, entries: number): Promise<RowStory | undefined> => {
    const address = readRowPath(path);
    return address === undefined ? Promise.resolve(undefined) : lookups.row(address, entries);
  };
  return (path) => {
    if (path === '/api/search') return (asked) => searchForPrograms(lookups, asked);
    if (path === '/search') return (asked) => searchForPeople(lookups, asked);
    if (path.startsWith('/api/rows/')) return (asked) => rowForPrograms(story, asked);
    if (path.startsWith('/rows/')) return (asked) => rowForPeople(story, asked);
    return undefined;
  };
}

type Story = (path: string, entries: number) => Promise<RowStory | undefined>;

async function searchForPrograms(lookups: Lookups, { query: asked }: PageQuestion): Promise<PageReply> {
  const query = asked.get('q') ?? '';
  if (query.trim() === '') return jsonReply({ error: 'nothing is asked for: /api/search?q=…' }, 400);
  if (query.length > LONGEST_QUERY) return jsonReply({ error: TOO_LONG }, 400);
  const answer = await answered(lookups.search(query));
  return 'why' in answer ? jsonReply({ error: answer.why }, 503) : jsonReply(withPaths(answer.value));
}

async function searchForPeople(lookups: Lookups, { query: asked }: PageQuestion): Promise<PageReply> {
  const query = asked.get('q') ?? '';
  const frame = { title: 'Search – research-mirror', root: '', query };
  if (query.trim() === '') return pageReply(200, searchHelpView(), frame);
  if (query.length > LONGEST_QUERY) {
    return pageReply(400, problemView('This is too long', TOO_LONG), { ...frame, query: '' });
  }
  const answer = await answered(lookups.search(query));
  return 'why' in answer
    ? pageReply(503, problemView('The search can’t be answered now', answer.why), frame)
    : pageReply(200, resultsView(answer.value), frame);
}

async function rowForPrograms(story: Story, asked: PageQuestion): Promise<PageReply> {
  const answer = await answered(story(asked.path.slice('/api/'.length), entriesOf(asked)));
  if ('why' in answer) return jsonReply({ error: answer.why }, 503);
  return answer.value === undefined
    ? jsonReply({ error: 'nothing is mirrored under this path: see /api/search?q=…' }, 404)
    : jsonReply(answer.value);
}

async function rowForPeople(story: Story, asked: PageQuestion): Promise<PageReply> {
  const path = asked.path.slice(1);
  const root = '../'.repeat(path.split('/').length - 1);
  const frame = { title: 'Row – research-mirror', root, query: '' };
  const entries = entriesOf(asked);
  const answer = await answered(story(path, entries));
  if ('why' in answer) return pageReply(503, problemView('The row can’t be read now', answer.why), frame);
  const { value } = answer;
  if (value === undefined) return pageReply(404, notFoundView(root), frame);
  const older = entries < MOST_ENTRIES ? MOST_ENTRIES : undefined;
  const title = `${rowName(value)} – research-mirror`;
  return pageReply(200, rowView(value, { root, older }), { ...frame, title });
}

const TOO_LONG = `No ID has more than ${LONGEST_QUERY} characters.`;

async function pageReply(status: number, view: Html, frame: StillPage): Promise<PageReply> {
  const { nonce, policy } = contentPolicy();
  return htmlReply(String(await stillPage(view, nonce, frame)), policy, status);
}

function entriesOf({ query }: PageQuestion): number {
  const entries = Number(query.get('entries') ?? ENTRIES);
  return Number.isInteger(entries) && entries > 0 ? Math.min(entries, MOST_ENTRIES) : ENTRIES;
}

async function answered<T>(asked: Promise<T>): Promise<{ readonly value: T } | { readonly why: string }> {
  try {
    return { value: await asked };
  } catch (error) {
    // Anything else is a defect: the log gets it.
    if (!(error instanceof ClassifiedError)) throw error;
    return { why: messageOf(error) };
  }
}

/** Each result with the path of its row's page, which under `/api` is the row's JSON; null where it has none. */
function withPaths(answer: SearchAnswer): Omit<SearchAnswer, 'results'> & {
  readonly results: readonly (Found & { readonly path: string | null })[];
} {
  const results = answer.results.map((found) => {
    const row = rowInFound(found);
    return { ...found, path: row === null ? null : `/${rowPath(row)}` };
  });
  return { ...answer, results };
}
