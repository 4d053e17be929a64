import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import { failure, htmlPage, json, noContent, type Answer } from './answer.ts';
import type { Route } from './routes.ts';
import type { User } from './account/user.ts';

const NAMES = [
  'fault500',
  'fault503',
  'fault408',
  'fault425',
  'faultReset',
  'faultResetEarly',
  'faultTruncated',
  'faultHtml',
  'faultGarbage',
  'faultError200',
  'faultEmpty',
  'faultRepeated',
  'faultIgnored',
  'faultStale',
  'faultCached',
  'faultSlow',
  'faultDrip',
  'faultKey',
  'fault402',
  'fault409',
  'faultRedirect',
] as const satisfies readonly (keyof SandboxOptions)[];

/** A fault of a request; `registerLost` has a switch of its own. */
export type Fault = (typeof NAMES)[number] | 'registerLost';

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
    fault === 'faultIgnored'
      ? null
      : fault === 'faultRepeated'
        ? (user.lastCursors.get(url.pathname) ?? null)
        : asked;
  if (taken === null) query.delete('starting_after');
  else query.set('starting_after', taken);
  user.lastCursors.set(url.pathname, asked);
  return query;
}

/** The answer of a fault; undefined where the fault only disturbs the correct answer. */
export function faultAnswer(fault: Fault | undefined, options: SandboxOptions): Answer | undefined {
  switch (fault) {
    case 'fault500':
      return failure(500, 'internal_error', 'Something went wrong', options.errorBody);
    case 'fault503':
      return failure(503, 'unavailable', 'Try again later', options.errorBody);
    case 'fault402':
      return failure(402, 'payment_required', 'Out of credits', options.errorBody);
    case 'fault409':
      return failure(409, 'conflict', 'Another operation is under way', options.errorBody);
    case 'faultHtml':
      return { status: 200, body: htmlPage('Welcome'), type: 'text/html; charset=utf-8' };
    case 'faultGarbage':
      return json(200, '{"object":"list","data":[{"job_id":1,"status":"compl');
    case 'faultError200':
      return json(200, ERRORS_INSIDE[options.error200]);
    case 'faultKey':
      return failure(Number(options.badKey), 'invalid_key', 'The API key is not valid', options.errorBody);
    case 'faultRedirect':
      return { ...json(302, '{}'), headers: { Location: 'https://elsewhere.example/v1/research' } };
    case 'fault408':
      return failure(408, 'request_timeout', 'The request took too long', options.errorBody);
    case 'fault425':
      return failure(425, 'too_early', 'Try again without early data', options.errorBody);
    case 'faultReset':
    case 'faultResetEarly':
      // Never sent: the connection is cut instead.
      return noContent();
    case undefined:
    case 'registerLost':
    case 'faultTruncated':
    case 'faultEmpty':
    case 'faultRepeated':
    case 'faultIgnored':
    case 'faultStale':
    case 'faultCached':
    case 'faultSlow':
    case 'faultDrip':
      return undefined;
  }
}

const ERRORS_INSIDE: Readonly<Record<SandboxOptions['error200'], string>> = {
  error: '{"error":{"code":"upstream_timeout","message":"The upstream did not answer"}}',
  errors: '{"errors":[{"code":"upstream_timeout","detail":"The upstream did not answer"}],"data":null}',
  success: '{"success":false,"message":"The upstream did not answer"}',
  'beside-data': '{"object":"list","data":[],"has_more":false,"error":"The upstream did not answer"}',
};
