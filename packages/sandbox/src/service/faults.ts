import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import { failure, htmlPage, json, noContent, type Answer } from './answer.ts';
import type { Route } from './routes.ts';
import type { User } from './account.ts';

type FaultAnswer = (options: SandboxOptions) => Answer | undefined;

/** The correct answer, disturbed. */
const disturbs: FaultAnswer = () => undefined;

/** Answers of the faults, in the order in which they are drawn; a reset is never sent: the connection is cut instead. */
const FAULTS = {
  fault500: (options) => failure(500, 'internal_error', 'Something went wrong', options.errorBody),
  fault503: (options) => failure(503, 'unavailable', 'Try again later', options.errorBody),
  fault408: (options) => failure(408, 'request_timeout', 'The request took too long', options.errorBody),
  fault425: (options) => failure(425, 'too_early', 'Try again without early data', options.errorBody),
  faultReset: noContent,
  faultResetEarly: noContent,
  faultTruncated: disturbs,
  faultHtml: () => ({ status: 200, body: htmlPage('Welcome'), type: 'text/html; charset=utf-8' }),
  faultGarbage: () => json(200, '{"object":"list","data":[{"job_id":1,"status":"compl'),
  faultError200: (options) => json(200, ERRORS_INSIDE[options.error200]),
  faultEmpty: disturbs,
  faultRepeated: disturbs,
  faultIgnored: disturbs,
  faultStale: disturbs,
  faultCached: disturbs,
  faultSlow: disturbs,
  faultDrip: disturbs,
  faultKey: (options) => failure(Number(options.badKey), 'invalid_key', 'The API key is not valid', options.errorBody),
  fault402: (options) => failure(402, 'payment_required', 'Out of credits', options.errorBody),
  fault409: (options) => failure(409, 'conflict', 'Another operation is under way', options.errorBody),
  faultRedirect: () => ({
    ...json(302, '{}'),
    headers: { Location: 'https://elsewhere.example/v1/research' },
  }),
} as const satisfies Partial<Record<keyof SandboxOptions, FaultAnswer>>;

const NAMES = Object.keys(FAULTS) as readonly (keyof typeof FAULTS)[];

/** A fault of a request; `registerLost` has a switch of its own. */
export type Fault = keyof typeof FAULTS | 'registerLost';

/** Faults that only a page of a list can have. */
const OF_LISTS: ReadonlySet<Fault> = new Set(['faultEmpty', 'faultRepeated', 'faultIgnored']);

/** Faults that only a GET can have. */
const OF_READS: ReadonlySet<Fault> = new Set(['faultStale', 'faultCached']);

/** Draws the fault of a request with one random number; undefined for most. */
export function pickFault(route: Route, options: SandboxOptions, random: () => number): Fault | undefined {
  const { kind } = route.action;
  const isList = kind === 'list' || kind === 'list-items';
  const isPost = route.name.startsWith('POST');
  if (options.faultRoutes === 'lists' && !isList) return undefined;
  if (options.faultRoutes === 'posts' && !isPost) return undefined;
  let roll = random();
  for (const fault of NAMES) {
    roll -= options[fault];
    if (roll >= 0) continue;
    const fits = OF_LISTS.has(fault) ? isList : OF_READS.has(fault) ? !isPost : true;
    return fits ? fault : undefined;
  }
  return undefined;
}

/**
 * The query as the service reads it: with the fault `faultIgnored` without the cursor, with `faultRepeated` with the
 * cursor of the request before on the same path.
 */
export function queryUnder(fault: Fault | undefined, url: URL, user: User): URLSearchParams {
  const query = new URLSearchParams(url.searchParams);
  const asked = query.get('starting_after');
  const taken =
    fault === 'faultIgnored' ? null : fault === 'faultRepeated' ? (user.lastCursors.get(url.pathname) ?? null) : asked;
  if (taken === null) query.delete('starting_after');
  else query.set('starting_after', taken);
  user.lastCursors.set(url.pathname, asked);
  return query;
}

/** The answer of a fault; undefined where the fault only disturbs the correct answer. */
export function faultAnswer(fault: Fault | undefined, options: SandboxOptions): Answer | undefined {
  return fault === undefined || fault === 'registerLost' ? undefined : FAULTS[fault](options);
}

const ERRORS_INSIDE: Readonly<Record<SandboxOptions['error200'], string>> = {
  error: '{"error":{"code":"upstream_timeout","message":"The upstream did not answer"}}',
  errors: '{"errors":[{"code":"upstream_timeout","detail":"The upstream did not answer"}],"data":null}',
  success: '{"success":false,"message":"The upstream did not answer"}',
  'beside-data': '{"object":"list","data":[],"has_more":false,"error":"The upstream did not answer"}',
};
