import { createHash } from 'node:crypto';
import { account, ping, type User } from './account.ts';
import { failure, json, listAnswer, type Answer } from './answer.ts';
import { operate } from './operations.ts';
import { readPage } from './page.ts';
import type { Action } from './routes.ts';
import { deleteWebhook, readWebhook, registerWebhook } from './webhooks.ts';
import type { SandboxState } from '../sandbox-state.ts';
import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import type { Population } from '../world/population.ts';

/** Payloads up to this size, in bytes, are kept. */
const MAX_KEPT = 4096;

/** A request of a known user to a known endpoint. */
export interface RoutedRequest {
  readonly user: User;
  readonly action: Action;
  readonly query: URLSearchParams;
  /** Raw text of the body, '' where there is none. */
  readonly body: string;
  readonly idempotencyKey: string | undefined;
  /** Time of the data: now, or earlier for a replica that lags. */
  readonly time: number;
}

/** The service's correct answer. */
export function respond(request: RoutedRequest, state: SandboxState): Answer {
  const { user, action, time } = request;
  const { options } = state;
  switch (action.kind) {
    case 'ping':
      return ping(user);
    case 'account':
      return account(user, options, time);
    case 'webhook-read':
      return readWebhook(user.registration.at(state.clock.monotonic()), options);
    case 'webhook-delete':
      return deleteWebhook(user.registration);
    case 'webhook-register':
      return withJson(request, state, (body) =>
        registerWebhook(user.registration, body, options, state.clock.monotonic()),
      );
    case 'list':
      return page(request, user.data.collection(action.collection), 'result', state);
    case 'list-items': {
      const lists = user.data.collection('lists');
      const list = user.data.list(action.id, time);
      const exists = list !== undefined && lists.visible(list, time);
      if (exists) return page(request, user.data.items(list), 'accounts', state);
      if (list !== undefined && options.deletedList === 'empty') {
        return listAnswer([], 0, false, undefined, 'accounts', options);
      }
      return failure(404, 'not_found', 'No such list', options.errorBody);
    }
    case 'post':
      return withIdempotencyKey(request, state, () =>
        logOperation(
          request,
          state,
          withJson(request, state, (body) => operate(user, action.operation, action.id, body, options, time)),
        ),
      );
  }
}

/** An empty page, as a fault. */
export function emptyPage(action: Action, options: SandboxOptions): Answer {
  const nestedName = action.kind === 'list-items' ? 'accounts' : 'result';
  return listAnswer([], 0, options.emptySays === 'more', undefined, nestedName, options);
}

function page(request: RoutedRequest, population: Population, nestedName: string, state: SandboxState): Answer {
  const { options } = state;
  const { time } = request;
  const [limit, after] = ['limit', 'starting_after'].map((name) => request.query.get(name) ?? undefined);
  const reading = readPage(population, limit, after, time, state.rankings, options);
  if ('status' in reading) return reading;
  const { refs, hasMore } = reading;
  const last = refs.at(-1);
  const lastId = last === undefined ? undefined : population.idOf(last);
  const texts = refs.values().map((ref) => population.text(ref, time));
  return listAnswer(texts, refs.length, hasMore, lastId, nestedName, options);
}

/** Parses the body. Operations with a target may have none; anything else that is not JSON is refused. */
function withJson(request: RoutedRequest, state: SandboxState, then: (body: unknown) => Answer): Answer {
  if (request.body === '' && 'id' in request.action && request.action.id !== '') return then(undefined);
  let body: unknown;
  try {
    body = JSON.parse(request.body);
  } catch {
    return failure(400, 'invalid_json', 'The body is not JSON', state.options.errorBody);
  }
  return then(body);
}

/** Logs an operation that took effect: its answer is below 300. */
function logOperation(
  { user, action, body, idempotencyKey, time }: RoutedRequest,
  state: SandboxState,
  answer: Answer,
): Answer {
  if (answer.status < 300 && action.kind === 'post') {
    const { operation, id } = action;
    const { userId } = user.data;
    state.memory.add({ kind: 'operation', user: userId, at: time, operation, id, body });
    const bytes = Buffer.from(body);
    state.operations.add((number) => ({
      number,
      at: state.clock.now(),
      userId,
      operation,
      target: id === '' ? null : id,
      idempotencyKey: idempotencyKey ?? null,
      payloadHash: createHash('sha256').update(bytes).digest('hex'),
      payload: bytes.length <= MAX_KEPT ? body : null,
    }));
  }
  return answer;
}

/** Where `idempotency` is honoured, a second POST with the same key gets the first answer and has no effect. */
function withIdempotencyKey({ user, idempotencyKey }: RoutedRequest, state: SandboxState, act: () => Answer): Answer {
  if (state.options.idempotency === 'ignored' || idempotencyKey === undefined) return act();
  const before = user.answered.get(idempotencyKey);
  if (before !== undefined) return json(before.status, before.body);
  const answer = act();
  if (answer.status < 300 && answer.body !== undefined) {
    user.answered.set(idempotencyKey, { status: answer.status, body: answer.body });
  }
  return answer;
}
