import { setImmediate } from 'node:timers/promises';
import type { SandboxState } from '../sandbox-state.ts';
import { COLLECTION_OF_EVENT, isEventType } from '../events/event-types.ts';
import { isHttpUrl } from '../service/account/webhooks.ts';
import type { User } from '../service/account/user.ts';
import { readAll } from '../service/page.ts';

type Problem = { readonly problem: string };

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
 */
export async function emitEvents(
  state: SandboxState,
  body: object,
): Promise<{ readonly ids: (string | null)[] } | Problem> {
  const ids: (string | null)[] = [];
  for (const request of (Array.isArray(body) ? body : [body]) as EventRequest[]) {
    const emitted = await emit(state, plain(request));
    if ('problem' in emitted)
      return { problem: `${emitted.problem} (${ids.length} events before it were emitted)` };
    for (const id of emitted.ids) ids.push(id);
  }
  return { ids };
}

/** With plain numbers, except in `data`; IDs keep all their digits. */
function plain({ data, ids, ...rest }: EventRequest): EventRequest {
  return {
    ...(JSON.parse(JSON.stringify(rest)) as EventRequest),
    ...(data === undefined ? {} : { data }),
    ...(ids === undefined
      ? {}
      : { ids: ids.map((id) => (typeof id === 'string' ? id : JSON.stringify(id))) }),
  };
}

async function emit(
  state: SandboxState,
  request: EventRequest,
): Promise<{ readonly ids: (string | null)[] } | Problem> {
  const user = userOf(state, request.user);
  if (user === undefined) return { problem: `there is no user ${request.user}` };
  const { type, data, count = 1 } = request;
  if (!Number.isInteger(count) || count < 1 || count > MAX_EVENTS)
    return { problem: `count must be a whole number from 1 to ${MAX_EVENTS}` };
  const at = state.data.now();
  const { publisher } = state;
  if (data !== undefined) {
    if (typeof type !== 'string') return { problem: 'type must be a text' };
    return { ids: await times(count, () => publisher.publish(user, type, at, () => data) ?? null) };
  }
  if (!isEventType(type))
    return { problem: `type must be one of ${Object.keys(COLLECTION_OF_EVENT).join(', ')}` };
  const told = request.ids?.map(String) ?? newest(state, user, type, count);
  if (told.length === 0) return { problem: `there is no item of which ${type} could tell` };
  const number = request.ids === undefined ? count : told.length;
  const ids = await times(number, (index) => {
    const id = told[index % told.length] ?? '';
    return publisher.publishItemEvent(user, { type, id, at }) ?? null;
  });
  return { ids };
}

/** IDs of the first `count` items of the type's list. */
function newest(
  state: SandboxState,
  user: User,
  type: keyof typeof COLLECTION_OF_EVENT,
  count: number,
): string[] {
  const population = user.data.collection(COLLECTION_OF_EVENT[type]);
  return readAll(population, state.rankings, state.options, state.data.now())
    .take(count)
    .map((ref) => population.idOf(ref))
    .toArray();
}

/** Registers a URL or removes the registration, at once, whatever `registerLate` says. */
export function changeWebhook(state: SandboxState, request: WebhookChange): object {
  const user = userOf(state, request.user);
  if (user === undefined) return { problem: `there is no user ${request.user}` };
  const { url, event_types: types = null } = request;
  if (url === null) {
    user.registration.remove();
    return {};
  }
  if (typeof url !== 'string' || !isHttpUrl(url))
    return { problem: 'url must be an http or https URL, or null' };
  if (types !== null && !(Array.isArray(types) && types.every(isEventType)))
    return { problem: 'event_types must be null or some of the types of the specification' };
  return user.registration.register(url, types, { secret: 'new', from: state.clock.monotonic() });
}

/** Replaces the secret of the registration, as the service may do without telling. */
export function rotateSecret(state: SandboxState, request: { readonly user?: number }): object {
  const user = userOf(state, request.user);
  if (user === undefined) return { problem: `there is no user ${request.user}` };
  const now = state.clock.monotonic();
  if (!user.registration.rotate(now)) return { problem: 'there is no webhook registered' };
  return user.registration.at(now) ?? {};
}

/** The user with this ID; for undefined the first key's user. */
export function userOf(state: SandboxState, userId: number | undefined): User | undefined {
  return userId === undefined ? state.users.values().next().value : state.users.get(userId);
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
