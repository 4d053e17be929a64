import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parseExact } from '../exact-json.ts';
import { bodyOf } from '../http-body.ts';
import type { SandboxState } from '../sandbox-state.ts';
import { countOf } from '../world/census.ts';
import { readAll } from '../service/page.ts';
import { readSandboxOptions } from '../switches/read-options.ts';
import type { Population } from '../world/population.ts';
import { mutate, scopeOf, type Mutation } from './mutation.ts';

/** UTF-16 units that `GET /truth` writes at a time, at least. */
const CHUNK = 1024 * 1024;

/**
 * The control API, for tests and benches, on loopback:
 * - `GET /truth?collection=…&user=…&list=…`: NDJSON of the items as their list would answer now
 * - `GET /count?…` the same items, counted: `{"count":…}`
 * - `GET /counters`, `GET /log?after=N` (NDJSON), `POST /counters/reset`
 * - `POST /mutations`: a mutation, or an array of them; answers the IDs
 * - `GET /options`, `POST /options` `{switch: value …}`
 * - `GET /clock`, `POST /clock` `{"freeze":true}`, `{"advanceMs":N}`, `{"set":"ISO 8601"}`, `{"resume":true}`
 * - `POST /windows/reset`: forgets what the rate limits counted
 * - `GET /webhook?user=…`: the registration with its secret, or null
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
      answer(response, state.traffic.counters());
      return;
    case 'GET /log':
      response.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
      for (const record of state.traffic.log(Number(query.get('after') ?? 0)))
        response.write(`${JSON.stringify(record)}\n`);
      response.end();
      return;
    case 'POST /counters/reset':
      state.traffic.reset();
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
      const user = state.users.get(Number(query.get('user'))) ?? state.users.values().next().value;
      answer(response, user?.webhook ?? null);
      return;
    }
    default:
      await change(request, response, state, url.pathname);
  }
}

/** The calls with a JSON body. */
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
  const known = request.method === 'POST' && ['/mutations', '/options', '/clock'].includes(path);
  if (!known) {
    answer(response, { problem: `no such call: ${request.method} ${path}` }, 404);
  } else if (typeof body !== 'object' || body === null) {
    answer(response, { problem: 'the body must be a JSON object' });
  } else if (path === '/mutations') {
    answer(response, mutations(state, body));
  } else if (path === '/options') {
    const reading = readSandboxOptions(
      JSON.parse(JSON.stringify(body)) as Record<string, unknown>,
      state.options,
    );
    if ('options' in reading) state.change(reading.options);
    answer(response, 'options' in reading ? reading.options : { problem: reading.problems.join('; ') });
  } else {
    answer(response, moveClock(state, JSON.parse(JSON.stringify(body)) as ClockMove));
  }
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
  await pipeline(Readable.from(scope.readable ? linesOf(scope.population, state) : []), response);
}

/** NDJSON in chunks of many lines, all as of one moment. */
function* linesOf(population: Population, state: SandboxState): Generator<string> {
  const time = state.data.now();
  let lines = '';
  for (const ref of readAll(population, state.rankings, state.options, time)) {
    lines += `${population.text(ref, time)}\n`;
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
