import { TIE_SIZE, type Population, type ItemRef } from './population.ts';

/** The orders that follow the IDs. */
export type ScanOrder = 'falling' | 'rising' | 'created';

/** Place in the order of an item's rank, or of a fractional rank between two items. */
export function placeOf(order: ScanOrder, rank: number): number {
  return order === 'created' && Number.isInteger(rank) && rank >= 0 ? tied(rank) : rank;
}

/**
 * Reads in an order that follows the IDs, in O(1) an item from any cursor, without index and memory. Ranks are slots; in
 * the order `created` the four slots that share a time of creation are reversed.
 * @param after a place; undefined: from the beginning
 * @param inclusive whether an item at `after` itself counts as beyond it
 * @returns the visible items beyond `after`
 */
export function* scan(
  population: Population,
  order: ScanOrder,
  after: number | undefined,
  inclusive: boolean,
  time: number,
): Generator<ItemRef> {
  const falling = order !== 'rising';
  const size = population.sequence.size(time);
  const last = order === 'created' ? Math.ceil(size / TIE_SIZE) * TIE_SIZE - 1 : size - 1;
  const isBeyond = (other: number): boolean =>
    after === undefined || (inclusive && other === after) || (falling ? other < after : other > after);
  const extras = population.overlay.extras.filter(({ rank }) => isBeyond(rank));
  if (falling) extras.reverse();
  const step = falling ? -1 : 1;
  let place = falling ? Math.min(last, Math.floor(after ?? last)) : Math.max(0, Math.ceil(after ?? 0));
  if (!isBeyond(place)) place += step;

  let extra = 0;
  for (; place >= 0 && place <= last; place += step) {
    for (let next = extras[extra]; next !== undefined; next = extras[extra]) {
      if (falling ? next.rank < place : next.rank > place) break;
      if (population.visible(next, time)) yield next;
      extra += 1;
    }
    const slot = order === 'created' ? tied(place) : place;
    if (slot < size && population.visible(slot, time)) yield slot;
  }
  yield* extras.slice(extra).filter((each) => population.visible(each, time));
}

/** The slot at a place, and the place of a slot: blocks of four are reversed. */
function tied(slot: number): number {
  const block = slot - (slot % TIE_SIZE);
  return block + TIE_SIZE - 1 - (slot - block);
}
