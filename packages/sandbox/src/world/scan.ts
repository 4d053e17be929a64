import { firstAbove } from './sequence.ts';
import { TIE_SIZE, type Population, type ItemRef } from './population.ts';

/**
 * Reads in the orders that follow the IDs, in O(limit) from any cursor, without index and memory. Ranks are slots; in
 * the order `created` the four slots that share a time of creation are reversed.
 */
export interface ScanOrder {
  readonly falling: boolean;
  readonly tied: boolean;
}

/** Place in the order of an item's rank, or of a fractional rank between two items. */
export function placeOf(order: ScanOrder, rank: number): number {
  return order.tied && Number.isInteger(rank) && rank >= 0 ? tied(rank) : rank;
}

/**
 * Up to `limit` visible items beyond `after` (a place; undefined: from the beginning).
 * @param inclusive whether an item at `after` itself counts as beyond it
 */
export function scan(
  population: Population,
  order: ScanOrder,
  after: number | undefined,
  inclusive: boolean,
  limit: number,
  time: number,
): ItemRef[] {
  const size = population.sequence.size(time);
  const last = order.tied ? Math.ceil(size / TIE_SIZE) * TIE_SIZE - 1 : size - 1;
  const step = order.falling ? -1 : 1;
  const extras = population.overlay.extras;
  const found: ItemRef[] = [];

  let place: number;
  let extra: number;
  if (after === undefined) {
    place = order.falling ? last : 0;
    extra = order.falling ? extras.length - 1 : 0;
  } else {
    const reached = (other: number): boolean => (inclusive ? other === after : false);
    place = order.falling ? Math.min(last, Math.ceil(after) - 1) : Math.max(0, Math.floor(after) + 1);
    if (Number.isInteger(after) && reached(after) && after <= last && after >= 0) place = after;
    const above = firstAbove(extras, (entry) => entry.rank, after);
    const from = extras.findIndex((entry) => entry.rank >= after);
    const below = (from === -1 ? extras.length : from) - 1;
    extra = order.falling ? (inclusive ? above - 1 : below) : inclusive ? below + 1 : above;
  }

  const inside = (): boolean => (order.falling ? place >= 0 : place <= last);
  while (found.length < limit) {
    const other = extras[extra];
    const otherIsNext =
      other !== undefined && (!inside() || (order.falling ? other.rank >= place : other.rank <= place));
    if (otherIsNext) {
      if (population.visible(other, time)) found.push(other);
      extra += step;
    } else if (inside()) {
      const slot = order.tied ? tied(place) : place;
      if (slot < size && population.visible(slot, time)) found.push(slot);
      place += step;
    } else {
      break;
    }
  }
  return found;
}

/** The slot at a place, and the place of a slot: blocks of four are reversed. */
function tied(slot: number): number {
  const block = slot - (slot % TIE_SIZE);
  return block + TIE_SIZE - 1 - (slot - block);
}
