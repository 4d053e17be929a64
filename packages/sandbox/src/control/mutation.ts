import { exactNumber } from '../exact-json.ts';
import type { DataClock } from '../data-clock.ts';
import type { User } from '../service/account.ts';
import type { SandboxCollection } from '../world/user-data.ts';
import type { Population } from '../world/population.ts';

/** A change of the data by `POST /mutations`. */
export interface Mutation {
  readonly op: 'insert' | 'update' | 'delete' | 'restore';
  /** Default: the first key's user. */
  readonly user?: number;
  readonly collection: SandboxCollection | 'list_items';
  /** ID of the item's list; for `list_items` only. */
  readonly list?: string;
  /** The item's ID. An insert without one takes the next ID of the sequence. */
  readonly id?: string;
  /** Fields of the inserted item, or those to change. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Verbatim JSON text of an inserted item, in place of `fields`. */
  readonly source?: string;
  /** The change moves neither `updated_at` nor the list's row. */
  readonly silent?: boolean;
}

/** What mutations change. */
export interface World {
  readonly users: ReadonlyMap<number, User>;
  readonly data: DataClock;
}

/** A call of the control API asks for what can't be done. */
export class ControlError extends Error {}

const COLLECTIONS = ['research_jobs', 'bulk_research_jobs', 'lists', 'list_items', 'watchlist'] as const;

/** The user with this ID; for undefined the first key's user. @throws ControlError */
export function userOf(state: Pick<World, 'users'>, userId: number | undefined): User {
  const user = userId === undefined ? state.users.values().next().value : state.users.get(userId);
  if (user === undefined) throw new ControlError(`there is no user ${userId}`);
  return user;
}

/**
 * The items of a user's collection, or of a list; `readable` is false for the items of a deleted list.
 * @throws ControlError where the user or the list does not exist
 */
export function scopeOf(
  state: World,
  userId: number | undefined,
  name: string,
  listId: string | undefined,
  toChange: boolean,
): { readonly population: Population; readonly readable: boolean } {
  const { data } = userOf(state, userId);
  const collection = COLLECTIONS.find((known) => known === name);
  if (collection === undefined) throw new ControlError(`collection must be one of ${COLLECTIONS.join(', ')}`);
  if (collection !== 'list_items') return { population: data.collection(collection), readable: true };
  const list = data.list(listId ?? '', state.data.now());
  if (list === undefined)
    throw new ControlError(listId === undefined ? 'list is required' : `there is no list ${listId}`);
  return {
    population: toChange ? data.itemsToChange(list) : data.items(list),
    readable: data.collection('lists').visible(list, state.data.now()),
  };
}

/**
 * Carries out a mutation, now or as of another time of the data clock.
 * @returns the item's ID
 * @throws ControlError where there is no such item, or, for an insert, one already
 */
export function mutate(state: World, mutation: Mutation, at = state.data.now()): string {
  const { op, id, silent = false } = mutation;
  const { population } = scopeOf(state, mutation.user, mutation.collection, mutation.list, true);
  if (op === 'insert') return insert(population, mutation, at, silent);
  const ref = id === undefined ? undefined : population.find(id, at);
  if (ref === undefined || id === undefined)
    throw new ControlError(id === undefined ? 'id is required' : `there is no item ${id}`);
  const change = op === 'update' ? { kind: op, fields: mutation.fields ?? {} } : { kind: op };
  population.change(ref, { ...change, at, silent });
  return id;
}

function insert(population: Population, { id, fields = {}, source }: Mutation, at: number, silent: boolean): string {
  if (id === undefined) {
    const slot = population.sequence.post(at);
    const change = source === undefined ? ({ kind: 'update', fields } as const) : ({ kind: 'insert', source } as const);
    population.change(slot, { ...change, at, silent });
    return population.idOf(slot);
  }
  const ref = population.find(id, at);
  if (population.findVisible(id, at) !== undefined) throw new ControlError(`item ${id} exists already`);
  const { sequence, overlay, plan } = population;
  const keyed = { [plan.kind.keyField]: keyOf(population, id), ...fields };
  const change = { kind: 'insert', at, silent, source: source ?? JSON.stringify(keyed) } as const;
  // An ID that has no rank comes after all existing items.
  const rank = plan.ids.rankOf(id) ?? sequence.size(at) - 1 / (2 + overlay.extras.length);
  if (ref === undefined) overlay.add({ id, slot: undefined, rank }, change);
  else population.change(ref, change);
  return id;
}

/** An ID as the item's field holds it: a number where the population's IDs are numbers. */
function keyOf(population: Population, id: string): unknown {
  const numeric = !population.plan.ids.json(0).startsWith('"') && /^-?(0|[1-9]\d*)$/.test(id);
  if (!numeric) return id;
  return Number.isSafeInteger(Number(id)) ? Number(id) : exactNumber(id);
}
