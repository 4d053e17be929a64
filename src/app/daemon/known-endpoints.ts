import type { Exchange } from '../../api/api.ts';
import { rateGroup } from '../../budget/rate-groups.ts';
import { COLLECTIONS } from '../../model/collections.ts';
import type { KnownEndpoint } from '../../status/metrics.ts';
import { OPERATIONS } from '../../submit/operations.ts';
import { WEBHOOK_ENDPOINTS } from '../../webhooks/registration/service-calls.ts';

const READ = ['/v1/ping', ...COLLECTIONS.map(({ route }) => route)];

/** Every endpoint that the daemon may ask: their counters are there before the first request. */
export const KNOWN_ENDPOINTS: readonly KnownEndpoint[] = [
  ...READ.map((route) => endpointOf({ method: 'GET', route })),
  ...WEBHOOK_ENDPOINTS.map(endpointOf),
  ...Object.values(OPERATIONS).map(({ route }) => endpointOf({ method: 'POST', route })),
];

/** The route of a request, and the rate limit in which it counts. */
export function endpointOf({ method, route }: Pick<Exchange, 'method' | 'route'>): KnownEndpoint {
  return { route, group: rateGroup(method, route) };
}
