import type { IncomingMessage, ServerResponse } from 'node:http';
import { addressOf, bodyOf } from '../http-request.ts';
import { rateHeaders } from '../limits/rate-headers.ts';
import { uncountedVerdict, type Group, type Verdict } from '../limits/rate-limiter.ts';
import type { KnownKey, SandboxState } from '../sandbox-state.ts';
import { failure, type Answer } from './answer.ts';
import { faultAnswer, queryUnder, pickFault, type Fault } from './faults.ts';
import { emptyPage, respond } from './respond.ts';
import { routeOf, type Route } from './routes.ts';
import { send } from './send.ts';

/** Greatest part of the latency that passes before the request takes effect; the rest passes before the answer. */
const MAX_INBOUND_SHARE = 0.5;

/** Handles one request of the service: log, key, limits, faults, latency, answer. */
export async function handle(
  request: IncomingMessage,
  response: ServerResponse,
  state: SandboxState,
  signal: AbortSignal,
): Promise<void> {
  const url = addressOf(request);
  const method = request.method ?? 'GET';
  const route = routeOf(method, url.pathname);
  const key = knownKey(request, state);
  const record = state.requests.begin({
    at: state.clock.now(),
    monotonic: state.clock.monotonic(),
    key: key?.number ?? null,
    userId: key?.user.data.userId ?? null,
    method,
    path: request.url ?? '/',
    route: route?.name ?? 'unknown',
  });
  const drawn =
    key === undefined || route === undefined ? undefined : pickFault(route, state.options, state.random);
  if (drawn === 'faultResetEarly') {
    record.fault = drawn;
    request.socket.resetAndDestroy();
    state.requests.end(record);
    return;
  }
  try {
    const body = method === 'GET' || method === 'HEAD' ? '' : await bodyOf(request);
    const latency =
      state.options.latencyMin + state.random() * (state.options.latencyMax - state.options.latencyMin);
    const wayIn = latency * MAX_INBOUND_SHARE * state.random();
    if (wayIn > 0) await state.clock.sleep(wayIn, signal);
    const { verdict, answer, fault } = decide({ request, url, body, route, key, drawn }, state);
    record.fault = fault ?? null;
    const wait = latency - wayIn + (fault === 'faultSlow' ? state.options.slowMs : 0);
    if (wait > 0) await state.clock.sleep(wait, signal);
    const rate = rateHeaders(verdict, state.options, state.clock.now());
    await send(response, { answer, fault, rate, record }, state, signal);
  } catch {
    // The client disconnected, or the sandbox stops: nobody waits for an answer.
    response.destroy();
    state.requests.end(record);
  }
}

interface Decision {
  readonly verdict: Verdict;
  readonly answer: Answer;
  readonly fault: Fault | undefined;
}

interface Received {
  readonly request: IncomingMessage;
  readonly url: URL;
  /** undefined: too large. */
  readonly body: string | undefined;
  readonly route: Route | undefined;
  readonly key: KnownKey | undefined;
  /** The fault of this request, unless it is refused anyway. */
  readonly drawn: Fault | undefined;
}

function decide({ request, url, body, route, key, drawn }: Received, state: SandboxState): Decision {
  const { options } = state;
  const group: Group = route?.group ?? 'other';
  if (key === undefined) {
    const missing = request.headers.authorization === undefined;
    const answer = missing
      ? failure(
          Number(options.missingKey),
          'missing_key',
          'Authorization: Bearer <API_KEY> is required',
          options.errorBody,
        )
      : failure(Number(options.badKey), 'invalid_key', 'The API key is not valid', options.errorBody);
    return { verdict: uncountedVerdict(group, options), answer, fault: undefined };
  }
  const verdict = state.rateLimiter.admit(
    String(key.number),
    group,
    route?.name ?? 'unknown',
    options,
    state.clock.monotonic(),
  );
  const plain = (answer: Answer): Decision => ({ verdict, answer, fault: undefined });
  if (!verdict.allowed) {
    return plain(failure(429, 'rate_limited', 'Too many requests', options.errorBody));
  }
  if (route === undefined) return plain(failure(404, 'not_found', 'No such endpoint', options.errorBody));
  if (body === undefined) return plain(failure(413, 'too_large', 'The body is too large', options.errorBody));

  const fault = drawn ?? lostRegistration(route, state);
  const instead = fault === 'faultEmpty' ? emptyPage(route.action, options) : faultAnswer(fault, options);
  const takesEffect = options.faultEffect === 'done' && route.name.startsWith('POST');
  if (instead !== undefined && !takesEffect) return { verdict, answer: instead, fault };
  const copyMs = fault === 'faultCached' ? ageOfCopy(state) : 0;
  const idempotencyKey = request.headers['idempotency-key'];
  const honest = respond(
    {
      user: key.user,
      action: route.action,
      query: queryUnder(fault, url, key.user),
      body,
      idempotencyKey: typeof idempotencyKey === 'string' ? idempotencyKey : undefined,
      time: state.data.now() - (fault === 'faultStale' ? options.staleMs : copyMs),
    },
    state,
  );
  const answer = instead ?? honest;
  return { verdict, answer: fault === 'faultCached' ? asCopy(answer, copyMs, state) : answer, fault };
}

/** Age of the copies in a cache between service and client, milliseconds. */
function ageOfCopy({ clock, options, startedAt }: SandboxState): number {
  return (clock.now() - startedAt) % options.cacheMs;
}

/** An answer from a cache: with `Age` and an old `Date` (RFC 9111), or one of the two. */
function asCopy(answer: Answer, age: number, state: SandboxState): Answer {
  const { cacheTells } = state.options;
  return {
    ...answer,
    headers: {
      ...answer.headers,
      ...(cacheTells === 'date' ? {} : { Age: String(Math.ceil(age / 1000)) }),
      ...(cacheTells === 'age' ? {} : { Date: new Date(state.clock.now() - age).toUTCString() }),
    },
  };
}

/** The fault of a registration that takes effect while its answer is lost. */
function lostRegistration(route: Route, { options, random }: SandboxState): Fault | undefined {
  if (route.action.kind !== 'webhook-register' || options.registerLost === 0) return undefined;
  return random() < options.registerLost ? 'registerLost' : undefined;
}

function knownKey(request: IncomingMessage, state: SandboxState): KnownKey | undefined {
  const match = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '');
  return match?.[1] === undefined ? undefined : state.keys.get(match[1]);
}
