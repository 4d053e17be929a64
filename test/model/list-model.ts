import type { WalkAnswer } from '../../src/walk/walk.ts';

/** A variant of `docs/design/open-questions.md, "Lists"`: what the model's list endpoint does. */
export interface ListVariant {
  /**
   * `updated`: a changed row goes to the top. `score`: rows move up and down, and their content shows it; `rank`: it
   * does not. `shuffled`: no order, but fixed places.
   */
  readonly order: 'falling' | 'rising' | 'updated' | 'score' | 'rank' | 'shuffled';
  /**
   * What a cursor means; `refused`, `empty` and `ignored` are what happens to one whose row is gone. `token`: the server
   * offers its own; `token-only`: it takes no others.
   */
  readonly cursor: 'keyset' | 'inclusive' | 'refused' | 'empty' | 'ignored' | 'token' | 'token-only';
  readonly hasMore: 'exact' | 'full' | 'missing';
  readonly pageSize: number;
}

export type OperationKind = 'delete' | 'update' | 'restore' | 'insert' | 'late' | 'raise' | 'sink';

export interface ListOperation {
  readonly kind: OperationKind;
  readonly id: number;
}

/** The list as it is at one moment: never changed in place, so that a search can branch at any request. */
export interface ListState {
  /** IDs of all rows that ever were, in list order; those that are gone keep their place. */
  readonly places: readonly number[];
  /** Content of the rows that are there. */
  readonly live: ReadonlyMap<number, number>;
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

/** An atomic read of one page. */
export function readPage(
  variant: ListVariant,
  list: ListState,
  cursor: string | null,
  limit: number | null,
): WalkAnswer {
  const begin = beginOf(variant, list, cursor);
  if (begin === undefined) return { type: 'refused', status: 404, message: 'unknown cursor' };
  const rest = list.places.slice(begin).filter((id) => list.live.has(id));
  const size = Math.min(variant.pageSize, limit ?? 100);
  const keys = rest.slice(0, size).map(String);
  const more = variant.hasMore === 'exact' ? rest.length > size : keys.length === size;
  const hasMore = variant.hasMore === 'missing' ? undefined : more;
  const last = keys.at(-1);
  const page = { type: 'page' as const, keys, hasMore };
  if (variant.cursor !== 'token' && variant.cursor !== 'token-only') return page;
  if (more && last !== undefined) return { ...page, nextCursor: `after:${last}` };
  return variant.cursor === 'token-only' ? { ...page, nextCursor: null } : page;
}

/** Index in `places` at which a page begins; undefined where the cursor is refused. */
function beginOf(
  variant: ListVariant,
  { places, live }: ListState,
  cursor: string | null,
): number | undefined {
  if (cursor === null) return 0;
  if (variant.cursor === 'token-only' && !cursor.startsWith('after:')) return undefined;
  const id = Number(cursor.replace('after:', ''));
  const place = places.indexOf(id);
  const kind = variant.cursor;
  if (place < 0) return undefined;
  if (live.has(id) || kind === 'keyset' || kind.startsWith('token'))
    return kind === 'inclusive' ? place : place + 1;
  if (kind === 'refused') return undefined;
  if (kind === 'empty') return places.length;
  return kind === 'ignored' ? 0 : place;
}

function comesBefore(order: ListVariant['order'], a: number, b: number): boolean {
  if (order === 'rising') return a < b;
  if (order === 'shuffled') return SHUFFLED.indexOf(a) < SHUFFLED.indexOf(b);
  return a > b;
}
