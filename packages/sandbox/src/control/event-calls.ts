import { setImmediate } from 'node:timers/promises';
import type { SandboxState } from '../sandbox-state.ts';
import { COLLECTION_OF_EVENT, EVENT_TYPES, isEventType, type EventType } from '../events/event-types.ts';
import { isHttpUrl } from '../service/webhooks.ts';
import type { User } from '../service/account.ts';
import { readAll } from '../service/page.ts';
import { ControlError, userOf } from './mutation.ts';

/** Events that `POST /events` emits now. */
export interface EventRequest {
  /** Default: the first key's user. */
  readonly user?: number;
  /** One of the specification's types; with `data`, any text. */
  readonly type: string;
  /** One event for each of these IDs; the items need not exist. */
  readonly ids?: readonly (string | number)[];
  /** `data` verbatim. Without `data` and `ids` the events are about the first items of the list. */
  readonly data?: unknown;
  /** How many. Default 1. */
  readonly count?: number;
}

/** A change of the registration by `POST /webhook`, as another holder of the account's key would make it. */
export interface WebhookChange {
  readonly user?: number;
  /** null removes the registration. */
  readonly url: string | null;
  readonly event_types?: readonly string[] | null;
}

/** Events made before the service answers other requests again: some 20 ms. */
const AT_A_TIME = 500;

/** Most events of one request. */
const MAX_EVENTS = 100_000;

/**
 * @param body an event request, or an array, whose numbers kept all their digits
 * @returns IDs of the events; null where no registration wants the type
 * @throws ControlError
 */
export async function emitEvents(state: SandboxState, body: object): Promise<(string | null)[]> {
  const ids: (string | null)[] = [];
  for (const request of (Array.isArray(body) ? body : [body]) as EventRequest[]) {
    try {
      for (const id of await emit(state, plain(request))) ids.push(id);
    } catch (error) {
      if (!(error instanceof ControlError)) throw error;
      throw new ControlError(`${error.message} (${ids.length} events before it were emitted)`);
    }
  }
  return ids;
}

/** With plain numbers, except in `data`; IDs keep all their digits. */
function plain({ data, ids, ...rest }: EventRequest): EventRequest {
  return {
    ...(JSON.parse(JSON.stringify(rest)) as EventRequest),
    ...(data === undefined ? {} : { data }),
    ...(ids === undefined ? {} : { ids: ids.map((id) => (typeof id === 'string' ? id : JSON.stringify(id))) }),
  };
}

async function emit(state: SandboxState, request: EventRequest): Promise<(string | null)[]> {
  const user = userOf(state, request.user);
  const { type, data, count = 1 } = request;
  if (!Number.isInteger(count) || count < 1 || count > MAX_EVENTS)
    throw new ControlError(`count must be a whole number from 1 to ${MAX_EVENTS}`);
  const at = state.data.now();
  const { publisher } = state;
  if (data !== undefined) {
    if (typeof type !== 'string') throw new ControlError('type must be a string');
    return await times(count, () => publisher.publish(user, type, at, () => data) ?? null);
  }
  if (!isEventType(type)) throw new ControlError(`type must be one of ${EVENT_TYPES.join(', ')}`);
  const told = request.ids?.map(String) ?? newest(state, user, type, count);
  if (told.length === 0) throw new ControlError(`there is no item for an event ${type}`);
  return await times(request.ids === undefined ? count : told.length, (index) => {
    const id = told[index % told.length] ?? '';
    return publisher.publishItemEvent(user, { type, id, at }) ?? null;
  });
}

/** IDs of the first `count` items of the type's list. */
function newest(state: SandboxState, user: User, type: EventType, count: number): string[] {
  const population = user.data.collection(COLLECTION_OF_EVENT[type]);
  return readAll(population, state.rankings, state.options, state.data.now())
    .take(count)
    .map((ref) => population.idOf(ref))
    .toArray();
}

/** Registers a URL or removes the registration, at once, whatever `registerLate` says. @throws ControlError */
export function changeWebhook(state: SandboxState, request: WebhookChange): object {
  const { registration } = userOf(state, request.user);
  const { url, event_types: types = null } = request;
  if (url === null) {
    registration.remove();
    return {};
  }
  if (typeof url !== 'string' || !isHttpUrl(url)) throw new ControlError('url must be an http or https URL, or null');
  if (types !== null && !(Array.isArray(types) && types.every(isEventType)))
    throw new ControlError('event_types must be null or a list of types from the specification');
  return registration.register(url, types, 'new', state.clock.monotonic());
}

/** Replaces the secret of the registration, as the service may do without telling. @throws ControlError */
export function rotateSecret(state: SandboxState, userId: number | undefined): object {
  const { registration } = userOf(state, userId);
  const now = state.clock.monotonic();
  if (!registration.rotate(now)) throw new ControlError('no webhook is registered');
  return registration.at(now) ?? {};
}

/** Calls `make` many times, and lets the service answer other requests in between. */
async function times<T>(count: number, make: (index: number) => T): Promise<T[]> {
  const made: T[] = [];
  for (let index = 0; index < count; index += 1) {
    if (index % AT_A_TIME === AT_A_TIME - 1) await setImmediate();
    made.push(make(index));
  }
  return made;
}
