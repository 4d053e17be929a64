import type { Group } from '../limits/rate-limiter.ts';
import type { SandboxCollection } from '../world/user-data.ts';

/** The action of a request. `id` is the decoded ID in the path, '' where the route has none. */
export type Action =
  | { readonly kind: 'ping' | 'account' }
  | { readonly kind: 'webhook-read' | 'webhook-register' | 'webhook-delete' }
  | { readonly kind: 'list'; readonly collection: SandboxCollection }
  | { readonly kind: 'list-items'; readonly id: string }
  | { readonly kind: 'post'; readonly operation: Operation; readonly id: string };

export type Operation = 'research' | 'enrich' | 'clay_enrich' | 'bulk_research' | 'list' | 'list_analyze' | 'sequence';

export interface Route {
  /** As the rate-limit table names it: `POST /v1/lists/{id}/analyze`. */
  readonly name: string;
  readonly group: Group;
  readonly action: Action;
}

const noId = (action: Action) => () => action;
const list = (collection: SandboxCollection) => noId({ kind: 'list', collection });
const post = (operation: Operation) => (id: string) => ({ kind: 'post', operation, id }) as const;

const ROUTES: Readonly<Record<string, readonly [Group, (id: string) => Action]>> = {
  'GET /v1/ping': ['other', noId({ kind: 'ping' })],
  'GET /v1/account': ['other', noId({ kind: 'account' })],
  'GET /v1/webhooks': ['other', noId({ kind: 'webhook-read' })],
  'DELETE /v1/webhooks': ['other', noId({ kind: 'webhook-delete' })],
  'POST /v1/webhooks/register': ['other', noId({ kind: 'webhook-register' })],
  'GET /v1/research': ['other', list('research_jobs')],
  'GET /v1/research/bulk': ['other', list('bulk_research_jobs')],
  'GET /v1/lists': ['other', list('lists')],
  'GET /v1/lists/{id}': ['other', (id) => ({ kind: 'list-items', id })],
  'GET /v1/watchlist': ['other', list('watchlist')],
  'POST /v1/research': ['research', post('research')],
  'POST /v1/enrich': ['research', post('enrich')],
  'POST /v1/clay/enrich': ['clay', post('clay_enrich')],
  'POST /v1/research/bulk': ['heavy', post('bulk_research')],
  'POST /v1/lists': ['heavy', post('list')],
  'POST /v1/lists/{id}/analyze': ['heavy', post('list_analyze')],
  'POST /v1/research/{id}/sequence': ['sequence', post('sequence')],
};

/** The route of a request; undefined for an endpoint that the service does not have. */
export function routeOf(method: string, path: string): Route | undefined {
  const exact = `${method} ${path}`;
  const [, before = '', part = '', after = ''] = /^(.* \/v1\/\w+\/)([^/]+)(\/\w+)?$/.exec(exact) ?? [];
  for (const [name, id] of [
    [exact, ''],
    [`${before}{id}${after}`, part],
  ] as const) {
    const route = Object.hasOwn(ROUTES, name) ? ROUTES[name] : undefined;
    const decoded = decode(id);
    if (route !== undefined && decoded !== undefined) return { name, group: route[0], action: route[1](decoded) };
  }
  return undefined;
}

function decode(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
