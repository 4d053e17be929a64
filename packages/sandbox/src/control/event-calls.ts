import { setImmediate } from 'node:timers/promises';
import type { SandboxState } from '../sandbox-state.ts';
import { COLLECTION_OF_EVENT, isEventType } from '../events/event-types.ts';
import { isHttpUrl } from '../service/account/webhooks.ts';
import type { User } from '../service/account/user.ts';
import { readAll } from '../service/page.ts';

type Problem = { readonly problem: string };

/** What `POST /events` has to emit, now. */
export interface EventOrder {
  /** Left out: the first key's user. */
  readonly user?: number;
  /** One of the specification's types; with `data`, any text. */
  readonly type: string;
  /** One event for each of these items, whether they exist or not. */
  readonly ids?: readonly (string | number)[];
  /** `data` as it stands; without it and `ids`, events name the items at the top of the list. */
  readonly data?: unknown;
  /** How many; 1 if left out. */
  readonly count?: number;
}

/** What `POST /webhook` does in the user's place, as somebody else who has a key of the account. */
export interface WebhookOrder {
  readonly user?: number;
  /** null: nothing is registered from now on. */
  readonly url: string | null;
  readonly event_types?: readonly string[] | null;
}

/** Events that are made in one go: some 20 ms. */
const AT_A_TIME = 500;

/** Most events of one order. */
const MOST_EVENTS = 100_000;

/**
 * @param body an order, or an array of them, with numbers that kept all their digits
 * @returns IDs of the events; null where the registration does not want the type, or there is none
 */
export async function emitEvents(
  state: SandboxState,
  body: object,
): Promise<{ readonly ids: (string | null)[] } | Problem> {
  const ids: (string | null)[] = [];
  for (const order of (Array.isArray(body) ? body : [body]) as EventOrder[]) {
    const emitted = await emit(state, plain(order));
    if ('problem' in emitted)
      return { problem: `${emitted.problem} (${ids.length} events before it were emitted)` };
    for (const id of emitted.ids) ids.push(id);
  }
  return { ids };
}

/** With plain numbers, but for those in `data` and with all digits in IDs. */
function plain({ data, ids, ...rest }: EventOrder): EventOrder {
  return {
    ...(JSON.parse(JSON.stringify(rest)) as EventOrder),
    ...(data === undefined ? {} : { data }),
    ...(ids === undefined
      ? {}
      : { ids: ids.map((id) => (typeof id === 'string' ? id : JSON.stringify(id))) }),
  };
}

async function emit(
  state: SandboxState,
  order: EventOrder,
): Promise<{ readonly ids: (string | null)[] } | Problem> {
  const user = userOf(state, order.user);
  if (user === undefined) return { problem: `there is no user ${order.user}` };
  const { type, data, count = 1 } = order;
  if (!Number.isInteger(count) || count < 1 || count > MOST_EVENTS)
    return { problem: `count must be a whole number from 1 to ${MOST_EVENTS}` };
  const at = state.data.now();
  const { publisher } = state;
  if (data !== undefined) {
    if (typeof type !== 'string') return { problem: 'type must be a text' };
    return { ids: await times(count, () => publisher.tell(user, type, at, () => data) ?? null) };
  }
  if (!isEventType(type))
    return { problem: `type must be one of ${Object.keys(COLLECTION_OF_EVENT).join(', ')}` };
  const told = order.ids?.map(String) ?? newest(state, user, type, count);
  if (told.length === 0) return { problem: `there is no item of which ${type} could tell` };
  const number = order.ids === undefined ? count : told.length;
  const ids = await times(number, (index) => {
    const id = told[index % told.length] ?? '';
    return publisher.tellOf(user, { type, id, at }) ?? null;
  });
  return { ids };
}

/** IDs of the items at the top of the type's list, at most `count`. */
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

/** Somebody else registers a URL, or removes the registration; at once, whatever `registerLate` says. */
export function changeWebhook(state: SandboxState, order: WebhookOrder): object {
  const user = userOf(state, order.user);
  if (user === undefined) return { problem: `there is no user ${order.user}` };
  const { url, event_types: types = null } = order;
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

/** The service makes a new secret, of which it tells nobody. */
export function rotateSecret(state: SandboxState, order: { readonly user?: number }): object {
  const user = userOf(state, order.user);
  if (user === undefined) return { problem: `there is no user ${order.user}` };
  const now = state.clock.monotonic();
  if (!user.registration.rotate(now)) return { problem: 'there is no webhook registered' };
  return user.registration.at(now) ?? {};
}

/** The user with this ID; the first key's for undefined. */
export function userOf(state: SandboxState, userId: number | undefined): User | undefined {
  return userId === undefined ? state.users.values().next().value : state.users.get(userId);
}

/** Makes many, and lets the service answer in between. */
async function times<T>(count: number, make: (index: number) => T): Promise<T[]> {
  const made: T[] = [];
  for (let index = 0; index < count; index += 1) {
    if (index % AT_A_TIME === AT_A_TIME - 1) await setImmediate();
    made.push(make(index));
  }
  return made;
}
