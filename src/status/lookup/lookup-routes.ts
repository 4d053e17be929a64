import type { HttpBindings } from '@hono/node-server';
import type { Context, Hono } from 'hono';
import { ClassifiedError } from '@research-mirror/runtime/errors';
import { messageOf } from '@research-mirror/runtime/message';
import { readRowPath, rowPath } from '../../model/lookup/row-address.ts';
import type { RowStory } from '../../model/lookup/row-story.ts';
import type { Found, SearchAnswer } from '../../model/lookup/search-answer.ts';
import { LONGEST_QUERY } from '../../model/lookup/search-terms.ts';
import { contentPolicy } from '../content-policy.ts';
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

/** `/search` and `/rows/…` for people, and the same under `/api` as JSON. */
export function addLookupRoutes(app: Hono<{ Bindings: HttpBindings }>, lookups: Lookups): void {
  app.get('/api/search', async (c) => {
    const query = c.req.query('q') ?? '';
    if (query.trim() === '') return c.json({ error: 'nothing is asked for: /api/search?q=…' }, 400);
    if (query.length > LONGEST_QUERY) return c.json({ error: TOO_LONG }, 400);
    const answer = await answered(lookups.search(query));
    return 'why' in answer ? c.json({ error: answer.why }, 503) : c.json(withPaths(answer.value));
  });
  app.get('/search', async (c) => {
    const query = c.req.query('q') ?? '';
    const frame = { title: 'Search – research-mirror', root: '', query };
    if (query.trim() === '') return respond(c, 200, searchHelpView(), frame);
    if (query.length > LONGEST_QUERY) {
      return respond(c, 400, problemView('This is too long', TOO_LONG), { ...frame, query: '' });
    }
    const answer = await answered(lookups.search(query));
    return 'why' in answer
      ? respond(c, 503, problemView('The search can’t be answered now', answer.why), frame)
      : respond(c, 200, resultsView(answer.value), frame);
  });

  const story = (path: string, entries: number): Promise<RowStory | undefined> => {
    const address = readRowPath(path);
    return address === undefined ? Promise.resolve(undefined) : lookups.row(address, entries);
  };
  app.get('/api/rows/*', async (c) => {
    const answer = await answered(story(pathOf(c).slice('api/'.length), entriesOf(c)));
    if ('why' in answer) return c.json({ error: answer.why }, 503);
    return answer.value === undefined
      ? c.json({ error: 'nothing is mirrored under this path: see /api/search?q=…' }, 404)
      : c.json(answer.value);
  });
  app.get('/rows/*', async (c) => {
    const path = pathOf(c);
    const root = '../'.repeat(path.split('/').length - 1);
    const frame = { title: 'Row – research-mirror', root, query: '' };
    const entries = entriesOf(c);
    const answer = await answered(story(path, entries));
    if ('why' in answer) return respond(c, 503, problemView('The row can’t be read now', answer.why), frame);
    const { value } = answer;
    if (value === undefined) return respond(c, 404, notFoundView(root), frame);
    const older = entries < MOST_ENTRIES ? MOST_ENTRIES : undefined;
    return respond(c, 200, rowView(value, { root, older }), {
      ...frame,
      title: `${rowName(value)} – research-mirror`,
    });
  });
}

const TOO_LONG = `No ID has more than ${LONGEST_QUERY} characters.`;

function respond(
  c: Context,
  status: 200 | 400 | 404 | 503,
  view: Html,
  frame: StillPage,
): Response | Promise<Response> {
  const { nonce, policy } = contentPolicy();
  c.header('Content-Security-Policy', policy);
  return c.html(stillPage(view, nonce, frame), status);
}

/** As it was sent: decoding it would make a part's slash a new part. */
function pathOf(c: Context): string {
  return new URL(c.req.url).pathname.slice(1);
}

function entriesOf(c: Context): number {
  const asked = Number(c.req.query('entries') ?? ENTRIES);
  return Number.isInteger(asked) && asked > 0 ? Math.min(asked, MOST_ENTRIES) : ENTRIES;
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
