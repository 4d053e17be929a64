import type { ListState as StateOfList, ListVariant } from '../support/walks/walk-source.ts';

export interface ListOperation {
  readonly kind: 'delete' | 'update' | 'restore' | 'insert' | 'late' | 'raise' | 'sink';
  readonly id: number;
}

/** Never changed in place, so that a search can branch at any request. */
export interface ListState extends StateOfList {
  /** Content that each row had last. */
  readonly versions: ReadonlyMap<number, number>;
}

/** Four rows. Row 3 takes its ID early and becomes visible late (`late`); row 6 is the next new one (`insert`). */
const ROWS = [1, 2, 4, 5];
const LATE = 3;
const NEXT = 6;
/** Places of the shuffled order, from the top: the first rows seem to fall, the others do not. */
const SHUFFLED = [5, 3, 1, 6, 4, 2];

export function firstList({ order }: ListVariant): ListState {
  const places = ROWS.toSorted((a, b) => (comesBefore(order, a, b) ? -1 : 1));
  const versions = new Map(ROWS.map((id) => [id, 1]));
  return { places, live: new Map(versions), versions };
}

/** Everything that could happen to the list now. */
export function possibleOperations({ order }: ListVariant, { live, versions }: ListState): ListOperation[] {
  const operations: ListOperation[] = [];
  for (const id of versions.keys()) {
    if (live.has(id)) {
      operations.push({ kind: 'delete', id }, { kind: 'update', id });
      if (order === 'score' || order === 'rank') operations.push({ kind: 'raise', id }, { kind: 'sink', id });
    } else {
      operations.push({ kind: 'restore', id });
    }
  }
  if (!versions.has(LATE)) operations.push({ kind: 'late', id: LATE });
  if (!versions.has(NEXT)) operations.push({ kind: 'insert', id: NEXT });
  return operations;
}

/** The list after an operation. `update` leaves a row at its place, but in `updated`. */
export function afterOperation({ order }: ListVariant, list: ListState, operation: ListOperation): ListState {
  const { kind, id } = operation;
  const live = new Map(list.live);
  const versions = new Map(list.versions);
  if (kind === 'delete') {
    live.delete(id);
    return { ...list, live };
  }
  const moves = kind === 'raise' || kind === 'sink';
  const same = kind === 'restore' || (moves && order === 'rank');
  const version = (versions.get(id) ?? 0) + (same ? 0 : 1);
  live.set(id, version);
  versions.set(id, version);
  const others = list.places.filter((other) => other !== id);
  const toTop = kind === 'raise' || (order === 'updated' && kind !== 'sink');
  if (kind === 'sink') return { places: [...others, id], live, versions };
  if (toTop || ((order === 'score' || order === 'rank') && !list.places.includes(id))) {
    return { places: [id, ...others], live, versions };
  }
  if (list.places.includes(id)) return { places: list.places, live, versions };
  const at = others.findIndex((other) => comesBefore(order, id, other));
  return { places: others.toSpliced(at < 0 ? others.length : at, 0, id), live, versions };
}

/** Whether an operation moved its row, or let it come or go. */
export function movesRow(before: ListState, after: ListState, { id }: ListOperation): boolean {
  const came = before.live.has(id) !== after.live.has(id);
  return came || before.places.indexOf(id) !== after.places.indexOf(id);
}

function comesBefore(order: ListVariant['order'], a: number, b: number): boolean {
  if (order === 'rising') return a < b;
  if (order === 'shuffled') return SHUFFLED.indexOf(a) < SHUFFLED.indexOf(b);
  return a > b;
}
