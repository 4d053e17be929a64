import type { Group } from '../limits/rate-limiter.ts';
import type { SandboxCollection } from '../world/user-data.ts';

/** The action of a request. `id` is the decoded ID in the path, '' where the route has none. */
export type Action =
  | { readonly kind: 'ping' | 'account' }
  | { readonly kind: 'webhook-read' | 'webhook-register' | 'webhook-delete' }
  | { readonly kind: 'list'; readonly collection: SandboxCollection }
  | { readonly kind: 'list-items'; readonly id: string }
  | { readonly kind: 'post'; readonly operation: Operation; readonly id: string };

export type Operation =
  | 'research'
  | 'enrich'
  | 'clay_enrich'
  | 'bulk_research'
  | 'list'
  | 'list_analyze'
  | 'sequence';

export interface Route {
  /** As the rate-limit table names it: `POST /v1/lists/{id}/analyze`. */
  readonly name: string;
  readonly group: Group;
  readonly action: Action;
}

const PLAIN: Readonly<Record<string, Omit<Route, 'name'>>> = {
  'GET /v1/ping': { group: 'other', action: { kind: 'ping' } },
  'GET /v1/account': { group: 'other', action: { kind: 'account' } },
  'GET /v1/webhooks': { group: 'other', action: { kind: 'webhook-read' } },
  'DELETE /v1/webhooks': { group: 'other', action: { kind: 'webhook-delete' } },
  'POST /v1/webhooks/register': { group: 'other', action: { kind: 'webhook-register' } },
  'GET /v1/research': { group: 'other', action: { kind: 'list', collection: 'research_jobs' } },
  'GET /v1/research/bulk': { group: 'other', action: { kind: 'list', collection: 'bulk_research_jobs' } },
  'GET /v1/lists': { group: 'other', action: { kind: 'list', collection: 'lists' } },
  'GET /v1/watchlist': { group: 'other', action: { kind: 'list', collection: 'watchlist' } },
  'POST /v1/research': { group: 'research', action: { kind: 'post', operation: 'research', id: '' } },
  'POST /v1/enrich': { group: 'research', action: { kind: 'post', operation: 'enrich', id: '' } },
  'POST /v1/clay/enrich': { group: 'clay', action: { kind: 'post', operation: 'clay_enrich', id: '' } },
  'POST /v1/research/bulk': { group: 'heavy', action: { kind: 'post', operation: 'bulk_research', id: '' } },
  'POST /v1/lists': { group: 'heavy', action: { kind: 'post', operation: 'list', id: '' } },
};

const WITH_ID: readonly { pattern: RegExp; name: string; group: Group; action: (id: string) => Action }[] = [
  {
    pattern: /^GET \/v1\/lists\/([^/]+)$/,
    name: 'GET /v1/lists/{id}',
    group: 'other',
    action: (id) => ({ kind: 'list-items', id }),
  },
  {
    pattern: /^POST \/v1\/lists\/([^/]+)\/analyze$/,
    name: 'POST /v1/lists/{id}/analyze',
    group: 'heavy',
    action: (id) => ({ kind: 'post', operation: 'list_analyze', id }),
  },
  {
    pattern: /^POST \/v1\/research\/([^/]+)\/sequence$/,
    name: 'POST /v1/research/{id}/sequence',
    group: 'sequence',
    action: (id) => ({ kind: 'post', operation: 'sequence', id }),
  },
];

/** The route of a request; undefined for an endpoint that the service does not have. */
export function routeOf(method: string, path: string): Route | undefined {
  const request = `${method} ${path}`;
  const plain = Object.hasOwn(PLAIN, request) ? PLAIN[request] : undefined;
  if (plain !== undefined) return { name: request, ...plain };
  for (const { pattern, name, group, action } of WITH_ID) {
    const id = decoded(pattern.exec(request)?.[1]);
    if (id !== undefined) return { name, group, action: action(id) };
  }
  return undefined;
}

function decoded(part: string | undefined): string | undefined {
  if (part === undefined) return undefined;
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
