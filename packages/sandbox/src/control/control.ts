import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parseExact } from '../exact-json.ts';
import { addressOf, bodyOf } from '../http-request.ts';
import type { DeliveryCounters } from '../deliveries/delivery-queue.ts';
import type { SandboxState } from '../sandbox-state.ts';
import { countVisible } from '../world/population.ts';
import type { Counters } from '../request-log.ts';
import { readAll } from '../service/page.ts';
import { readSandboxOptions } from '../switches/read-options.ts';
import { changeWebhook, emitEvents, rotateSecret, type WebhookChange } from './event-calls.ts';
import { ControlError, mutate, scopeOf, userOf, type Mutation } from './mutation.ts';

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
export async function control(request: IncomingMessage, response: ServerResponse, state: SandboxState): Promise<void> {
  const { pathname, searchParams: query } = addressOf(request);
  const call = `${request.method} ${pathname}`;
  let [status, result]: [number, object | null | undefined] = [200, undefined];
  try {
    result = request.method === 'GET' ? read(state, call, query) : await change(state, call, request);
  } catch (error) {
    if (!(error instanceof ControlError)) throw error;
    [status, result] = [400, { problem: error.message }];
  }
  if (result === undefined) [status, result] = [404, { problem: `no such call: ${call}` }];
  if (result !== null && Symbol.iterator in result) {
    response.writeHead(status, { 'Content-Type': 'application/x-ndjson' });
    await pipeline(Readable.from(inChunks(result as Iterable<string>)), response);
  } else {
    response.writeHead(status, { 'Content-Type': 'application/json' });
    response.end(`${JSON.stringify(result)}\n`);
  }
  // Events of what was changed are published at once.
  if (request.method === 'POST') state.publisher.tick();
}

/** What a GET answers: lines, or a value; undefined: there is no such call. */
function read(state: SandboxState, call: string, query: URLSearchParams): object | null | undefined {
  const after = Number(query.get('after') ?? 0);
  switch (call) {
    case 'GET /truth':
      return textsOf(state, query);
    case 'GET /count': {
      const { population, readable } = scopeIn(state, query);
      return { count: readable ? countVisible(population, state.data.now()) : 0 };
    }
    case 'GET /counters':
      return { ...state.requests.counters(), deliveries: state.publisher.counters() };
    case 'GET /log':
      return jsonOf(state.requests.log(after));
    case 'GET /deliveries':
      return jsonOf(state.publisher.deliveries.log(after));
    case 'GET /operations':
      return jsonOf(state.operations.after(after));
    case 'GET /options':
      return state.options;
    case 'GET /clock':
      return clockText(state);
    case 'GET /webhook':
      return userOf(state, userIn(query)).registration.at(state.clock.monotonic()) ?? null;
    default:
      return undefined;
  }
}

/** Carries out a POST. @returns its answer; undefined: there is no such call */
async function change(state: SandboxState, call: string, request: IncomingMessage): Promise<object | undefined> {
  switch (call) {
    case 'POST /counters/reset':
      state.requests.reset();
      state.publisher.reset();
      return {};
    case 'POST /windows/reset':
      state.rateLimiter.clear();
      return {};
    case 'POST /mutations':
      return { ids: mutations(state, await exactBody(request)) };
    case 'POST /events':
      return { ids: await emitEvents(state, await exactBody(request)) };
    case 'POST /webhook':
      return changeWebhook(state, await plainBody<WebhookChange>(request));
    case 'POST /webhook/rotate':
      return rotateSecret(state, (await plainBody<{ user?: number }>(request)).user);
    case 'POST /clock':
      return moveClock(state, await plainBody<ClockMove>(request));
    case 'POST /options': {
      const reading = readSandboxOptions(await plainBody<Record<string, unknown>>(request), state.options);
      if ('problems' in reading) throw new ControlError(reading.problems.join('; '));
      state.change(reading.options);
      return reading.options;
    }
    default:
      return undefined;
  }
}

/** The body, whose numbers keep all their digits. */
async function exactBody(request: IncomingMessage): Promise<object> {
  let body: unknown;
  try {
    body = parseExact((await bodyOf(request)) ?? '');
  } catch {
    body = undefined;
  }
  if (typeof body !== 'object' || body === null) throw new ControlError('the body must be a JSON object');
  return body;
}

async function plainBody<T>(request: IncomingMessage): Promise<T> {
  return JSON.parse(JSON.stringify(await exactBody(request))) as T;
}

function mutations(state: SandboxState, body: object): string[] {
  const ids: string[] = [];
  for (const { user, ...mutation } of (Array.isArray(body) ? body : [body]) as Mutation[]) {
    // The numbers of fields keep all their digits; `user` becomes a plain number.
    const whose = user === undefined ? {} : { user: Number(JSON.stringify(user)) };
    const at = state.data.now();
    try {
      ids.push(mutate(state, { ...mutation, ...whose }, at));
    } catch (error) {
      if (!(error instanceof ControlError)) throw error;
      throw new ControlError(`${error.message} (${ids.length} mutations before it were applied)`);
    }
    state.memory.add({ kind: 'mutation', at, mutation: JSON.stringify(mutation), ...whose });
  }
  return ids;
}

export interface ClockMove {
  readonly freeze?: boolean;
  readonly resume?: boolean;
  readonly advanceMs?: number;
  readonly set?: string;
}

function moveClock(state: SandboxState, { freeze, resume, advanceMs, set }: ClockMove): object {
  if (freeze === true) state.data.freeze();
  if (resume === true) state.data.resume();
  const target = set === undefined ? state.data.now() + (advanceMs ?? 0) : Date.parse(set);
  if ((set ?? advanceMs) !== undefined && !state.data.set(target))
    throw new ControlError('the clock can only move forward');
  state.memory.add({ kind: 'clock', aheadMs: state.data.now() - state.clock.now() });
  return clockText(state);
}

function clockText(state: SandboxState): object {
  return { now: new Date(state.data.now()).toISOString(), frozen: state.data.frozen };
}

/** Counters of requests, answers and deliveries. */
export interface SandboxCounters extends Counters {
  readonly deliveries: DeliveryCounters;
}

/** The texts of a scope's items, all at one time. */
function textsOf(state: SandboxState, query: URLSearchParams): Iterable<string> {
  const { population, readable } = scopeIn(state, query);
  const time = state.data.now();
  if (!readable) return [];
  const refs = readAll(population, state.rankings, state.options, time);
  return refs.map((ref) => population.text(ref, time));
}

function jsonOf(records: readonly object[]): Iterable<string> {
  return records.values().map((record) => JSON.stringify(record));
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

function scopeIn(state: SandboxState, query: URLSearchParams): ReturnType<typeof scopeOf> {
  const list = query.get('list') ?? undefined;
  return scopeOf(state, userIn(query), query.get('collection') ?? '', list, false);
}

function userIn(query: URLSearchParams): number | undefined {
  const user = query.get('user');
  return user === null ? undefined : Number(user);
}
