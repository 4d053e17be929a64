import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import type { Population, ItemRef } from '../world/population.ts';
import { compareRanked, orderKey, type RankedOrder, type Rankings } from '../world/kinds/ranking.ts';
import { placeOf, scan, type ScanOrder } from '../world/scan.ts';

export interface PageRequest {
  readonly population: Population;
  /** Query parameters as received; undefined where missing. */
  readonly limit: string | undefined;
  readonly startingAfter: string | undefined;
  readonly time: number;
}

export type PageReading =
  | { readonly refs: readonly ItemRef[]; readonly hasMore: boolean }
  | { readonly status: number; readonly code: string; readonly message: string };

const SCANNED: Readonly<Record<Exclude<SandboxOptions['order'], RankedOrder>, ScanOrder>> = {
  falling: { falling: true, tied: false },
  rising: { falling: false, tied: false },
  created: { falling: true, tied: true },
};

/** The items of a page (specification 8.1), in the order and with the cursor semantics of the switches. */
export function readPage(request: PageRequest, rankings: Rankings, options: SandboxOptions): PageReading {
  const limit = readLimit(request.limit, options);
  if (typeof limit !== 'number') return limit;
  const cursor = readCursor(request, options);
  if (cursor === 'empty') return { refs: [], hasMore: false };
  if (typeof cursor === 'object' && 'status' in cursor) return cursor;
  // One item more than asked for: it shows whether there are more.
  const found = readBeyond(request, cursor, rankings, limit + 1, options);
  if (found === undefined) return badCursor(400, request.startingAfter);
  const refs = found.slice(0, limit);
  if (options.smallLimit === 'last' && limit < options.maxLimit) return { refs, hasMore: false };
  return { refs, hasMore: options.hasMore === 'full' ? refs.length === limit : found.length > limit };
}

/** All visible items in the order of the lists. */
export function* readAll(
  population: Population,
  rankings: Rankings,
  options: SandboxOptions,
  time: number,
): Generator<ItemRef> {
  const { order } = options;
  if (order === 'last-updated' || order === 'score' || order === 'unordered') {
    yield* rankings.read(population, order, time);
    return;
  }
  const how = SCANNED[order];
  let after: number | undefined;
  for (;;) {
    const refs = scan(population, how, after, false, 1000, time);
    yield* refs;
    const last = refs.at(-1);
    if (last === undefined) return;
    after = placeOf(how, population.rankOf(last));
  }
}

/** The opaque cursor of an ID, for the switch value `opaque`. */
export function tokenOf(id: string): string {
  return `c_${Buffer.from(id).toString('base64url')}`;
}

function readLimit(
  text: string | undefined,
  options: SandboxOptions,
): number | Exclude<PageReading, { refs: unknown }> {
  if (text === undefined) return Math.min(100, options.maxLimit);
  const limit = /^[+-]?\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (limit >= 1 && limit < options.maxLimit && options.smallLimit === 'refused') {
    const message = `limit must be ${options.maxLimit}`;
    return { status: 400, code: 'invalid_limit', message };
  }
  if (limit >= 1 && limit <= options.maxLimit) {
    return options.smallLimit === 'ignored' ? options.maxLimit : limit;
  }
  if (options.badLimit === 'clamped') {
    return Number.isNaN(limit)
      ? Math.min(100, options.maxLimit)
      : Math.max(1, Math.min(options.maxLimit, limit));
  }
  const message = `limit must be an integer from 1 to ${options.maxLimit}`;
  return { status: Number(options.badLimit), code: 'invalid_limit', message };
}

interface Cursor {
  readonly id: string;
  /** undefined: no item ever had this ID. */
  readonly ref: ItemRef | undefined;
}

function readCursor(
  { population, startingAfter, time }: PageRequest,
  options: SandboxOptions,
): Cursor | undefined | 'empty' | Exclude<PageReading, { refs: unknown }> {
  if (startingAfter === undefined || startingAfter === '') return undefined;
  const id = options.cursor === 'opaque' ? idOfToken(startingAfter) : startingAfter;
  if (id === undefined) return badCursor(400, startingAfter);
  const ref = population.find(id, time);
  const exists = ref !== undefined && population.visible(ref, time);
  switch (options.cursor) {
    case 'keyset':
    case 'inclusive':
    case 'opaque':
    case 'garbled':
      return { id, ref };
    case 'position-400':
      return exists ? { id, ref } : badCursor(400, startingAfter);
    case 'position-404':
      return exists ? { id, ref } : badCursor(404, startingAfter);
    case 'unknown-ignored':
      return exists ? { id, ref } : undefined;
    case 'unknown-empty':
      return exists ? { id, ref } : 'empty';
  }
}

function idOfToken(token: string): string | undefined {
  if (!token.startsWith('c_')) return undefined;
  const id = Buffer.from(token.slice(2), 'base64url').toString();
  return tokenOf(id) === token ? id : undefined;
}

function badCursor(status: number, cursor: string | undefined): Exclude<PageReading, { refs: unknown }> {
  return { status, code: 'invalid_cursor', message: `No such item: ${JSON.stringify(cursor).slice(0, 100)}` };
}

/** Items beyond the cursor; undefined for a text that is not an ID. */
function readBeyond(
  { population, time }: PageRequest,
  cursor: Cursor | undefined,
  rankings: Rankings,
  limit: number,
  options: SandboxOptions,
): readonly ItemRef[] | undefined {
  const inclusive = options.cursor === 'inclusive';
  const { order } = options;
  if (order === 'falling' || order === 'rising' || order === 'created') {
    if (cursor === undefined) return scan(population, SCANNED[order], undefined, false, limit, time);
    const rank =
      cursor.ref === undefined ? population.plan.ids.rankOf(cursor.id) : population.rankOf(cursor.ref);
    if (rank === undefined) return undefined;
    return scan(population, SCANNED[order], placeOf(SCANNED[order], rank), inclusive, limit, time);
  }
  const refs = rankings.read(population, order, time);
  if (cursor === undefined) return refs.slice(0, limit);
  const { ref } = cursor;
  if (ref === undefined) return undefined;
  const index = refs.indexOf(ref);
  const from = index === -1 ? placeAmong(population, order, refs, ref, time) : index + (inclusive ? 0 : 1);
  return refs.slice(from, from + limit);
}

/** Index that an item which is gone would have. */
function placeAmong(
  population: Population,
  order: RankedOrder,
  refs: readonly ItemRef[],
  gone: ItemRef,
  time: number,
): number {
  const placeOfRef = (ref: ItemRef): [number, number] => [
    orderKey(population, order, ref, time),
    population.rankOf(ref),
  ];
  const place = placeOfRef(gone);
  const next = refs.findIndex((ref) => compareRanked(placeOfRef(ref), place) > 0);
  return next === -1 ? refs.length : next;
}
