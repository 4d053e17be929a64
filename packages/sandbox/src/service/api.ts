import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { addressOf, bodyOf } from '../http-request.ts';
import { rateHeaders, uncountedVerdict, type Verdict } from '../limits/rate-limiter.ts';
import type { RequestRecord } from '../request-log.ts';
import type { KnownKey, SandboxState } from '../sandbox-state.ts';
import { failure, type Answer } from './answer.ts';
import { faultAnswer, queryUnder, pickFault, type Fault } from './faults.ts';
import { emptyPage, respond } from './respond.ts';
import { routeOf, type Route } from './routes.ts';

/** Greatest part of the latency that passes before the request takes effect; the rest passes before the answer. */
const MAX_INBOUND_SHARE = 0.5;

/** Handles one request of the service: log, key, limits, faults, latency, answer. */
export async function handle(
  request: IncomingMessage,
  response: ServerResponse,
  state: SandboxState,
  signal: AbortSignal,
): Promise<void> {
  const method = request.method ?? 'GET';
  const route = routeOf(method, addressOf(request).pathname);
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
  const drawn = key === undefined || route === undefined ? undefined : pickFault(route, state.options, state.random);
  if (drawn === 'faultResetEarly') {
    record.fault = drawn;
    request.socket.resetAndDestroy();
    state.requests.end(record);
    return;
  }
  try {
    const body = method === 'GET' || method === 'HEAD' ? '' : await bodyOf(request);
    const { latencyMin, latencyMax } = state.options;
    const latency = latencyMin + state.random() * (latencyMax - latencyMin);
    const wayIn = latency * MAX_INBOUND_SHARE * state.random();
    if (wayIn > 0) await state.clock.sleep(wayIn, signal);
    const { verdict, answer, fault } = decide(request, body, route, key, drawn, state);
    record.fault = fault ?? null;
    const wait = latency - wayIn + (fault === 'faultSlow' ? state.options.slowMs : 0);
    if (wait > 0) await state.clock.sleep(wait, signal);
    const headers = { ...rateHeaders(verdict, state.options, state.clock.now()), ...answer.headers };
    await send(response, { ...answer, headers }, fault, record, state, signal);
  } catch {
    // The client disconnected, or the sandbox stops: nobody waits for an answer.
    response.destroy();
    state.requests.end(record);
  }
}

/**
 * Admits or refuses a request, and makes its answer.
 * @param body undefined: too large
 * @param drawn the fault of this request, unless it is refused anyway
 */
function decide(
  request: IncomingMessage,
  body: string | undefined,
  route: Route | undefined,
  key: KnownKey | undefined,
  drawn: Fault | undefined,
  state: SandboxState,
): { verdict: Verdict; answer: Answer; fault?: Fault | undefined } {
  const { options } = state;
  const { group, name } = route ?? { group: 'other', name: 'unknown' };
  const refusal = (status: string | number, code: string, message: string): Answer =>
    failure(Number(status), code, message, options.errorBody);
  if (key === undefined) {
    const answer =
      request.headers.authorization === undefined
        ? refusal(options.missingKey, 'missing_key', 'Authorization: Bearer <API_KEY> is required')
        : refusal(options.badKey, 'invalid_key', 'The API key is not valid');
    return { verdict: uncountedVerdict(group, options), answer };
  }
  const now = state.clock.monotonic();
  const verdict = state.rateLimiter.admit(String(key.number), group, name, options, now);
  if (!verdict.allowed) return { verdict, answer: refusal(429, 'rate_limited', 'Too many requests') };
  if (route === undefined) return { verdict, answer: refusal(404, 'not_found', 'No such endpoint') };
  if (body === undefined) return { verdict, answer: refusal(413, 'too_large', 'The body is too large') };

  const fault = drawn ?? lostRegistration(route, state);
  const instead = fault === 'faultEmpty' ? emptyPage(route.action, options) : faultAnswer(fault, options);
  const takesEffect = options.faultEffect === 'done' && name.startsWith('POST');
  if (instead !== undefined && !takesEffect) return { verdict, answer: instead, fault };
  const copyMs = fault === 'faultCached' ? ageOfCopy(state) : 0;
  const idempotencyKey = request.headers['idempotency-key'];
  const honest = respond(
    {
      user: key.user,
      action: route.action,
      query: queryUnder(fault, addressOf(request), key.user),
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

/**
 * Writes the answer, or cuts the connection where the fault says so. The request is counted just before its last byte
 * is sent: a client that has read the answer finds it counted.
 * @throws where the client disconnects; `signal`'s reason
 */
async function send(
  response: ServerResponse,
  answer: Answer,
  fault: Fault | undefined,
  record: RequestRecord,
  state: SandboxState,
  signal: AbortSignal,
): Promise<void> {
  if (fault === 'faultReset' || fault === 'registerLost') {
    response.socket?.resetAndDestroy();
    state.requests.end(record);
    return;
  }
  const headers: Record<string, string | number> = {
    Date: new Date(state.clock.now()).toUTCString(),
    ...answer.headers,
  };
  let body = answer.body === undefined ? undefined : Buffer.from(answer.body);
  if (body !== undefined) {
    headers['Content-Type'] = answer.type;
    if (answer.rest === undefined) headers['Content-Length'] = body.length;
  }
  response.writeHead(answer.status, headers);
  if (fault === 'faultTruncated') {
    const socket = response.socket;
    response.write(body?.subarray(0, Math.floor(body.length / 2)), () => socket?.destroy());
    state.requests.end(record);
    return;
  }
  if (fault === 'faultDrip') {
    const half = Math.floor((body?.length ?? 0) / 2);
    response.flushHeaders();
    if (half > 0) response.write(body?.subarray(0, half));
    body = body?.subarray(half);
    await state.clock.sleep(state.options.slowMs, signal);
  }
  record.status = answer.status;
  record.items = answer.items ?? null;
  state.requests.end(record);
  if (answer.rest === undefined) {
    response.end(body);
    return;
  }
  response.write(body);
  await pipeline(Readable.from(answer.rest), response, { signal });
}
