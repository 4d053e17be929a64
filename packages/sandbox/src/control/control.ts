import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parseExact } from '../exact-json.ts';
import { addressOf, bodyOf } from '../http-request.ts';
import type { DeliveryCounters } from '../deliveries/delivery.ts';
import type { SandboxState } from '../sandbox-state.ts';
import { countVisible } from '../world/population-summary.ts';
import type { Counters } from '../request-log.ts';
import { readAll } from '../service/page.ts';
import { readSandboxOptions } from '../switches/read-options.ts';
import type { Population } from '../world/population.ts';
import { changeWebhook, emitEvents, rotateSecret, userOf, type WebhookChange } from './event-calls.ts';
import { mutate, scopeOf, type Mutation } from './mutation.ts';

/** `GET /truth` writes chunks of at least this many UTF-16 units. */
const CHUNK = 1024 * 1024;

/**
 * The control API, for tests and benches, on loopback:
 * - `GET /truth?collection=…&user=…&list=…`: NDJSON of the items, as their list would answer them now
 * - `GET /count?…` the same items, counted: `{"count":…}`
 * - `GET /counters`, `GET /log?after=N` (NDJSON of requests), `POST /counters/reset`
 * - `GET /operations?after=N`: NDJSON of the POST operations that took effect; a reset keeps them
 * - `GET /deliveries?after=N`: NDJSON of the delivery attempts, in the order in which they ended
 * - `POST /mutations`: a mutation, or an array; answers the items' IDs
 * - `POST /events`: an event request, or an array; answers the events' IDs, null where no webhook wants the event
 * - `GET /options`, `POST /options` `{switch: value …}`; also `keys`: a key may change its owner
 * - `GET /clock`, `POST /clock` `{"freeze":true}`, `{"advanceMs":N}`, `{"set":"ISO 8601"}`, `{"resume":true}`
 * - `POST /windows/reset`: clears the counts of the rate limits
 * - `GET /webhook?user=…`: the registration with its secret, or null
 * - `POST /webhook` `{"user":…,"url":"…" or null,"event_types":…}`: another holder of the key registers a URL, or removes the registration
 * - `POST /webhook/rotate` `{"user":…}`: the service replaces the secret without telling
 */
export async function control(
  request: IncomingMessage,
  response: ServerResponse,
  state: SandboxState,
): Promise<void> {
  const url = addressOf(request);
  const { searchParams: query } = url;
  switch (`${request.method} ${url.pathname}`) {
    case 'GET /truth':
      await truth(response, state, query);
      return;
    case 'GET /count': {
      const scope = scopeOf(state, scopeIn(query), false);
      answer(
        response,
        'problem' in scope
          ? scope
          : { count: scope.readable ? countVisible(scope.population, state.data.now()) : 0 },
      );
      return;
    }
    case 'GET /counters':
      answer(response, countersOf(state));
      return;
    case 'GET /log':
      await answerLines(response, state.requests.log(Number(query.get('after') ?? 0)));
      return;
    case 'GET /deliveries':
      await answerLines(response, state.publisher.deliveries.log(Number(query.get('after') ?? 0)));
      return;
    case 'GET /operations':
      await answerLines(response, state.operations.after(Number(query.get('after') ?? 0)));
      return;
    case 'POST /counters/reset':
      state.requests.reset();
      state.publisher.reset();
      answer(response, {});
      return;
    case 'POST /windows/reset':
      state.rateLimiter.clear();
      answer(response, {});
      return;
    case 'GET /options':
      answer(response, state.options);
      return;
    case 'GET /clock':
      answer(response, clockText(state));
      return;
    case 'GET /webhook': {
      const userId = query.get('user');
      const user = userOf(state, userId === null ? undefined : Number(userId));
      answer(response, user?.registration.at(state.clock.monotonic()) ?? null);
      return;
    }
    default:
      await change(request, response, state, url.pathname);
  }
}

const WITH_BODY = new Set(['/mutations', '/options', '/clock', '/events', '/webhook', '/webhook/rotate']);

/** The calls with a JSON body. Events of what they change are published at once. */
async function change(
  request: IncomingMessage,
  response: ServerResponse,
  state: SandboxState,
  path: string,
): Promise<void> {
  let body: unknown;
  try {
    body = parseExact((await bodyOf(request)) ?? '');
  } catch {
    body = undefined;
  }
  const known = request.method === 'POST' && WITH_BODY.has(path);
  if (!known) {
    answer(response, { problem: `no such call: ${request.method} ${path}` }, 404);
  } else if (typeof body !== 'object' || body === null) {
    answer(response, { problem: 'the body must be a JSON object' });
  } else {
    answer(response, await changed(state, path, body));
    state.publisher.tick();
  }
}

async function changed(state: SandboxState, path: string, body: object): Promise<object> {
  if (path === '/mutations') return mutations(state, body);
  if (path === '/events') return emitEvents(state, body);
  const plain: unknown = JSON.parse(JSON.stringify(body));
  if (path === '/webhook') return changeWebhook(state, plain as WebhookChange);
  if (path === '/webhook/rotate') return rotateSecret(state, plain as { user?: number });
  if (path === '/clock') return moveClock(state, plain as ClockMove);
  const reading = readSandboxOptions(plain as Record<string, unknown>, state.options);
  if ('problems' in reading) return { problem: reading.problems.join('; ') };
  state.change(reading.options);
  return reading.options;
}

function mutations(state: SandboxState, body: object): { ids: string[] } | { problem: string } {
  const ids: string[] = [];
  for (const { user, ...mutation } of (Array.isArray(body) ? body : [body]) as Mutation[]) {
    // The numbers of fields keep all their digits; `user` becomes a plain number.
    const whose = user === undefined ? {} : { user: Number(JSON.stringify(user)) };
    const at = state.data.now();
    const done = mutate(state, { ...mutation, ...whose }, at);
    if ('problem' in done)
      return { problem: `${done.problem} (${ids.length} mutations before it were carried out)` };
    state.memory.add({ kind: 'mutation', at, mutation: JSON.stringify(mutation), ...whose });
    ids.push(done.id);
  }
  return { ids };
}

export interface ClockMove {
  readonly freeze?: boolean;
  readonly resume?: boolean;
  readonly advanceMs?: number;
  readonly set?: string;
}

function moveClock(state: SandboxState, move: ClockMove): object {
  if (move.freeze === true) state.data.freeze();
  if (move.resume === true) state.data.resume();
  const target =
    move.set !== undefined
      ? Date.parse(move.set)
      : move.advanceMs !== undefined
        ? state.data.now() + move.advanceMs
        : undefined;
  if (target !== undefined && !state.data.set(target)) {
    return { problem: 'the clock can be moved to a later time only' };
  }
  state.memory.add({ kind: 'clock', aheadMs: state.data.now() - state.clock.now() });
  return clockText(state);
}

function clockText(state: SandboxState): { now: string; frozen: boolean } {
  return { now: new Date(state.data.now()).toISOString(), frozen: state.data.frozen };
}

async function truth(response: ServerResponse, state: SandboxState, query: URLSearchParams): Promise<void> {
  const scope = scopeOf(state, scopeIn(query), false);
  if ('problem' in scope) {
    answer(response, scope);
    return;
  }
  response.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
  await pipeline(Readable.from(scope.readable ? inChunks(textsOf(scope.population, state)) : []), response);
}

/** Counters of requests, answers and deliveries. */
export interface SandboxCounters extends Counters {
  readonly deliveries: DeliveryCounters;
}

function countersOf(state: SandboxState): SandboxCounters {
  return { ...state.requests.counters(), deliveries: state.publisher.counters() };
}

async function answerLines(response: ServerResponse, records: readonly object[]): Promise<void> {
  response.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
  await pipeline(Readable.from(inChunks(records.values().map((record) => JSON.stringify(record)))), response);
}

/** The texts of a population's items, all at one time. */
function* textsOf(population: Population, state: SandboxState): Generator<string> {
  const time = state.data.now();
  for (const ref of readAll(population, state.rankings, state.options, time))
    yield population.text(ref, time);
}

/** Joins lines into chunks. */
function* inChunks(texts: Iterable<string>): Generator<string> {
  let lines = '';
  for (const text of texts) {
    lines += `${text}\n`;
    if (lines.length < CHUNK) continue;
    yield lines;
    lines = '';
  }
  if (lines !== '') yield lines;
}

function scopeIn(query: URLSearchParams): {
  user: number | undefined;
  collection: string;
  list: string | undefined;
} {
  const user = query.get('user');
  return {
    user: user === null ? undefined : Number(user),
    collection: query.get('collection') ?? '',
    list: query.get('list') ?? undefined,
  };
}

/** Answers with JSON; status 400 for a problem. */
function answer(response: ServerResponse, value: unknown, status?: number): void {
  const isProblem = typeof value === 'object' && value !== null && 'problem' in value;
  response.writeHead(status ?? (isProblem ? 400 : 200), { 'Content-Type': 'application/json' });
  response.end(`${JSON.stringify(value)}\n`);
}
