import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parseExact } from '../exact-json.ts';
import { bodyOf } from '../http-body.ts';
import type { DeliveryCounters } from '../deliveries/delivery.ts';
import type { SandboxState } from '../sandbox-state.ts';
import { countOf } from '../world/census.ts';
import type { Counters } from '../traffic.ts';
import { readAll } from '../service/page.ts';
import { readSandboxOptions } from '../switches/read-options.ts';
import type { Population } from '../world/population.ts';
import { changeWebhook, emitEvents, rotateSecret, userOf, type WebhookOrder } from './event-calls.ts';
import { mutate, scopeOf, type Mutation } from './mutation.ts';

/** UTF-16 units that `GET /truth` writes at a time, at least. */
const CHUNK = 1024 * 1024;

/**
 * The control API, for tests and benches, on loopback:
 * - `GET /truth?collection=…&user=…&list=…`: NDJSON of the items as their list would answer now
 * - `GET /count?…` the same items, counted: `{"count":…}`
 * - `GET /counters`, `GET /log?after=N` (NDJSON of requests), `POST /counters/reset`
 * - `GET /operations?after=N`: NDJSON of the POST operations that took effect; no reset forgets them
 * - `GET /deliveries?after=N`: NDJSON of the attempts to deliver an event, in the order in which they ended
 * - `POST /mutations`: a mutation, or an array of them; answers the IDs
 * - `POST /events`: an order of events, or an array of them; answers the events' IDs, null where nobody is to be told
 * - `GET /options`, `POST /options` `{switch: value …}`; `keys` among them: a key that another user owns from now on
 * - `GET /clock`, `POST /clock` `{"freeze":true}`, `{"advanceMs":N}`, `{"set":"ISO 8601"}`, `{"resume":true}`
 * - `POST /windows/reset`: forgets what the rate limits counted
 * - `GET /webhook?user=…`: the registration with its secret, or null
 * - `POST /webhook` `{"user":…,"url":"…" or null,"event_types":…}`: somebody else registers a URL, or removes the one
 * - `POST /webhook/rotate` `{"user":…}`: the service makes a new secret and tells nobody
 */
export async function control(
  request: IncomingMessage,
  response: ServerResponse,
  state: SandboxState,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://control');
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
          : { count: scope.readable ? countOf(scope.population, state.data.now()) : 0 },
      );
      return;
    }
    case 'GET /counters':
      answer(response, countersOf(state));
      return;
    case 'GET /log':
      await answerLines(response, state.traffic.log(Number(query.get('after') ?? 0)));
      return;
    case 'GET /deliveries':
      await answerLines(response, state.publisher.courier.log(Number(query.get('after') ?? 0)));
      return;
    case 'GET /operations':
      await answerLines(response, state.operations.after(Number(query.get('after') ?? 0)));
      return;
    case 'POST /counters/reset':
      state.traffic.reset();
      state.publisher.reset();
      answer(response, {});
      return;
    case 'POST /windows/reset':
      state.gate.clear();
      answer(response, {});
      return;
    case 'GET /options':
      answer(response, state.options);
      return;
    case 'GET /clock':
      answer(response, clockText(state));
      return;
    case 'GET /webhook': {
      const asked = query.get('user');
      const user = userOf(state, asked === null ? undefined : Number(asked));
      answer(response, user?.registration.at(state.clock.monotonic()) ?? null);
      return;
    }
    default:
      await change(request, response, state, url.pathname);
  }
}

const WITH_BODY = new Set(['/mutations', '/options', '/clock', '/events', '/webhook', '/webhook/rotate']);

/** The calls with a JSON body. What they do to the data is told at once. */
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
  if (path === '/webhook') return changeWebhook(state, plain as WebhookOrder);
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
    // Numbers were read with all their digits, for the fields; a user is a plain one.
    const whose = user === undefined ? {} : { user: Number(JSON.stringify(user)) };
    const done = mutate(state, { ...mutation, ...whose });
    if ('problem' in done)
      return { problem: `${done.problem} (${ids.length} mutations before it were carried out)` };
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

/** What the sandbox was asked, answered and delivered, in figures. */
export interface SandboxCounters extends Counters {
  readonly deliveries: DeliveryCounters;
}

function countersOf(state: SandboxState): SandboxCounters {
  return { ...state.traffic.counters(), deliveries: state.publisher.counters() };
}

async function answerLines(response: ServerResponse, records: readonly object[]): Promise<void> {
  response.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
  await pipeline(Readable.from(inChunks(records.values().map((record) => JSON.stringify(record)))), response);
}

/** The items of a population, all as of one moment. */
function* textsOf(population: Population, state: SandboxState): Generator<string> {
  const time = state.data.now();
  for (const ref of readAll(population, state.rankings, state.options, time))
    yield population.text(ref, time);
}

/** Lines, many in a chunk. */
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

/** Answers JSON: 400 for a problem. */
function answer(response: ServerResponse, value: unknown, status?: number): void {
  const isProblem = typeof value === 'object' && value !== null && 'problem' in value;
  response.writeHead(status ?? (isProblem ? 400 : 200), { 'Content-Type': 'application/json' });
  response.end(`${JSON.stringify(value)}\n`);
}
