import { exactNumber } from '../exact-json.ts';
import type { DataClock } from '../data-clock.ts';
import type { User } from '../service/account/user.ts';
import type { SandboxCollection } from '../world/user-data.ts';
import type { Population, ItemRef } from '../world/population.ts';

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

export interface Scope {
  readonly population: Population;
  /** False for the items of a deleted list. */
  readonly readable: boolean;
}

export const CONTROL_COLLECTIONS = [
  'research_jobs',
  'bulk_research_jobs',
  'lists',
  'list_items',
  'watchlist',
] as const;

/** The items of a user's collection, or of a list; a problem where the user or the list does not exist. */
export function scopeOf(
  state: World,
  query: {
    readonly user?: number | undefined;
    readonly collection: string;
    readonly list?: string | undefined;
  },
  toChange: boolean,
): Scope | { readonly problem: string } {
  const user = query.user === undefined ? state.users.values().next().value : state.users.get(query.user);
  if (user === undefined) return { problem: `there is no user ${query.user}` };
  const collection = CONTROL_COLLECTIONS.find((name) => name === query.collection);
  if (collection === undefined)
    return { problem: `collection must be one of ${CONTROL_COLLECTIONS.join(', ')}` };
  if (collection !== 'list_items') {
    return { population: user.data.collection(collection), readable: true };
  }
  const list = user.data.list(query.list ?? '', state.data.now());
  if (list === undefined) return { problem: `there is no list ${query.list ?? '(name one as list)'}` };
  return {
    population: toChange ? user.data.itemsToChange(list) : user.data.items(list),
    readable: user.data.collection('lists').visible(list, state.data.now()),
  };
}

/** Carries out a mutation, now or as of another time of the data clock. @returns the item's ID, or a problem */
export function mutate(
  state: World,
  mutation: Mutation,
  at = state.data.now(),
): { readonly id: string } | { readonly problem: string } {
  const scope = scopeOf(state, mutation, true);
  if ('problem' in scope) return scope;
  const { population } = scope;
  const silent = mutation.silent ?? false;
  if (mutation.op === 'insert') return insert(population, mutation, at, silent);
  const ref = mutation.id === undefined ? undefined : population.find(mutation.id, at);
  if (ref === undefined || mutation.id === undefined)
    return { problem: `there is no item ${mutation.id ?? '(name one as id)'}` };
  const item = { id: mutation.id, ...placeOf(population, ref) };
  switch (mutation.op) {
    case 'update':
      population.overlay.add(item, { kind: 'update', at, silent, fields: mutation.fields ?? {} });
      return { id: item.id };
    case 'delete':
    case 'restore':
      population.overlay.add(item, { kind: mutation.op, at, silent });
      return { id: item.id };
  }
}

function insert(
  population: Population,
  { id, fields, source }: Mutation,
  at: number,
  silent: boolean,
): { readonly id: string } | { readonly problem: string } {
  if (id === undefined) {
    const slot = population.sequence.post(at);
    const item = { id: population.idOf(slot), slot, rank: slot };
    population.overlay.add(
      item,
      source === undefined
        ? { kind: 'update', at, silent, fields: fields ?? {} }
        : { kind: 'insert', at, silent, source },
    );
    return { id: item.id };
  }
  const ref = population.find(id, at);
  if (ref !== undefined && population.visible(ref, at)) return { problem: `there is an item ${id} already` };
  const place =
    ref === undefined
      ? { slot: undefined, rank: population.plan.ids.rankOf(id) ?? rankOfExtra(population, at) }
      : placeOf(population, ref);
  const keyed = { [population.plan.kind.keyField]: keyOf(population, id), ...fields };
  population.overlay.add(
    { id, ...place },
    { kind: 'insert', at, silent, source: source ?? JSON.stringify(keyed) },
  );
  return { id };
}

/** The rank of an item whose ID has no rank: after all existing items. */
function rankOfExtra({ sequence, overlay }: Population, at: number): number {
  return sequence.size(at) - 1 / (2 + overlay.extras.length);
}

/** An ID as the item's field holds it: a number where the population's IDs are numbers. */
function keyOf(population: Population, id: string): unknown {
  const numeric = !population.plan.ids.json(0).startsWith('"') && /^-?(0|[1-9]\d*)$/.test(id);
  if (!numeric) return id;
  return Number.isSafeInteger(Number(id)) ? Number(id) : exactNumber(id);
}

function placeOf(
  population: Population,
  ref: ItemRef,
): { readonly slot: number | undefined; readonly rank: number } {
  return { slot: typeof ref === 'number' ? ref : undefined, rank: population.rankOf(ref) };
}
