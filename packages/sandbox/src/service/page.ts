import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import type { Population, ItemRef } from '../world/population.ts';
import { compareRanked, orderKey, type RankedOrder, type Rankings } from '../world/ranking.ts';
import { placeOf, scan } from '../world/scan.ts';
import { failure, tokenOf, type Answer } from './answer.ts';

/**
 * The items of a page (specification 8.1), in the order and with the cursor semantics of the switches; an answer where
 * limit or cursor are refused.
 * @param limitText and `startingAfter`: query parameters as received
 */
export function readPage(
  population: Population,
  limitText: string | undefined,
  startingAfter: string | undefined,
  time: number,
  rankings: Rankings,
  options: SandboxOptions,
): { readonly refs: readonly ItemRef[]; readonly hasMore: boolean } | Answer {
  const limit = readLimit(limitText, options);
  if (typeof limit !== 'number') return limit;
  const cursor = readCursor(population, startingAfter, time, options);
  if (cursor === 'empty') return { refs: [], hasMore: false };
  if (typeof cursor === 'object' && 'status' in cursor) return cursor;
  const beyond = readBeyond(population, cursor, time, rankings, options);
  if (beyond === undefined) return badCursor(400, startingAfter, options);
  // One item more than asked for: it shows whether there are more.
  const found = beyond.take(limit + 1).toArray();
  const refs = found.slice(0, limit);
  if (options.smallLimit === 'last' && limit < options.maxLimit) return { refs, hasMore: false };
  return { refs, hasMore: options.hasMore === 'full' ? refs.length === limit : found.length > limit };
}

/** All visible items in the order of the lists. */
export function readAll(
  population: Population,
  rankings: Rankings,
  options: SandboxOptions,
  time: number,
): IteratorObject<ItemRef> {
  return readBeyond(population, undefined, time, rankings, options) ?? [].values();
}

function readLimit(text: string | undefined, options: SandboxOptions): number | Answer {
  const { maxLimit, smallLimit, badLimit, errorBody } = options;
  const usual = Math.min(100, maxLimit);
  if (text === undefined) return usual;
  const limit = /^[+-]?\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (limit >= 1 && limit < maxLimit && smallLimit === 'refused')
    return failure(400, 'invalid_limit', `limit must be ${maxLimit}`, errorBody);
  if (limit >= 1 && limit <= maxLimit) return smallLimit === 'ignored' ? maxLimit : limit;
  if (badLimit === 'clamped') return Number.isNaN(limit) ? usual : Math.max(1, Math.min(maxLimit, limit));
  const message = `limit must be an integer from 1 to ${maxLimit}`;
  return failure(Number(badLimit), 'invalid_limit', message, errorBody);
}

interface Cursor {
  readonly id: string;
  /** undefined: no item ever had this ID. */
  readonly ref: ItemRef | undefined;
}

function readCursor(
  population: Population,
  startingAfter: string | undefined,
  time: number,
  options: SandboxOptions,
): Cursor | undefined | 'empty' | Answer {
  if (startingAfter === undefined || startingAfter === '') return undefined;
  const id = options.cursor === 'opaque' ? idOfToken(startingAfter) : startingAfter;
  if (id === undefined) return badCursor(400, startingAfter, options);
  const ref = population.find(id, time);
  if (ref !== undefined && population.visible(ref, time)) return { id, ref };
  switch (options.cursor) {
    case 'keyset':
    case 'inclusive':
    case 'opaque':
    case 'garbled':
      return { id, ref };
    case 'position-400':
      return badCursor(400, startingAfter, options);
    case 'position-404':
      return badCursor(404, startingAfter, options);
    case 'unknown-ignored':
      return undefined;
    case 'unknown-empty':
      return 'empty';
  }
}

function idOfToken(token: string): string | undefined {
  if (!token.startsWith('c_')) return undefined;
  const id = Buffer.from(token.slice(2), 'base64url').toString();
  return tokenOf(id) === token ? id : undefined;
}

function badCursor(status: number, cursor: string | undefined, options: SandboxOptions): Answer {
  const message = `No such item: ${JSON.stringify(cursor).slice(0, 100)}`;
  return failure(status, 'invalid_cursor', message, options.errorBody);
}

/** Items beyond the cursor, from the first one where there is none; undefined for a text that is not an ID. */
function readBeyond(
  population: Population,
  cursor: Cursor | undefined,
  time: number,
  rankings: Rankings,
  options: SandboxOptions,
): IteratorObject<ItemRef> | undefined {
  const inclusive = options.cursor === 'inclusive';
  const { order } = options;
  const ref = cursor?.ref;
  if (order === 'falling' || order === 'rising' || order === 'created') {
    if (cursor === undefined) return scan(population, order, undefined, inclusive, time);
    const rank = ref === undefined ? population.plan.ids.rankOf(cursor.id) : population.rankOf(ref);
    return rank === undefined ? undefined : scan(population, order, placeOf(order, rank), inclusive, time);
  }
  const refs = rankings.read(population, order, time);
  if (cursor === undefined) return refs.values();
  if (ref === undefined) return undefined;
  const index = refs.indexOf(ref);
  const from = index === -1 ? placeAmong(population, order, refs, ref, time) : index + (inclusive ? 0 : 1);
  return refs.slice(from).values();
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
