import { usableDirection, type ScopeMemory } from './memory/memory.ts';
import { afterTooLarge, itemsOfFullPage, limitToAsk, lowerLimit } from './memory/page-limit.ts';
import { AT_TOP, type Keyless, type Reading } from './reading.ts';
import type { Ask, End, Step, Walk } from './walk.ts';

/** Stored rows to go back when the row before the cursor is no good either: more than a deletion takes at once. */
const FAR = 1000;
const MAX_RESTARTS = 2;

/** Goes on with what the walk has to ask next. */
export function goOn<W extends Walk>(walk: W, memory: ScopeMemory): Step<W> {
  return { walk, memory, ask: askFor(walk, memory) };
}

export function endWith<W extends Walk>(
  walk: W,
  memory: ScopeMemory,
  outcome: Exclude<End['outcome'], 'failed'>,
): Step<W> {
  return { walk, memory, ask: { type: 'end', outcome } };
}

function askFor(reading: Reading, memory: ScopeMemory): Ask {
  const direction = usableDirection(memory);
  if (reading.seek > 0 && reading.cursor !== null && direction !== null) {
    return { type: 'predecessor', of: reading.cursor, nth: reading.seek, direction };
  }
  const page = { type: 'page', cursor: reading.cursor, limit: limitOf(reading, memory) } as const;
  return isLeast(reading.keyless) ? { ...page, large: true } : page;
}

/** Items without a usable key, and the one behind them: with fewer the walk would be where it is. */
function isLeast(keyless: Keyless | null): boolean {
  return keyless !== null && keyless.ask === keyless.items + 1;
}

export function limitOf(reading: Reading, memory: ScopeMemory): number | null {
  const accepted = acceptedLimit(reading, memory);
  return limitToAsk(memory.limit, accepted, reading.keyless?.ask);
}

/** The greatest limit that the service accepts, as far as is known; null: the parameter is left out. */
export function acceptedLimit(reading: Reading, memory: ScopeMemory): number | null {
  return reading.trying === undefined ? memory.limit.value : reading.trying;
}

/**
 * One step back on the cursor ladder: behind an offered cursor the one before it; then the previous five keys, unless the
 * service refuses those; then what came before them: the top, or a stored row. Null when it is used up: the walk can only
 * begin again.
 * @param refused the service refused the cursor: one that it offered may have expired, and so may the one before
 */
export function stepBack<R extends Reading>(asked: R, memory: ScopeMemory, refused: boolean): R | null {
  const reading = { ...asked, again: null, keyless: null };
  const { cursor, recent, token, first, back } = reading;
  if (cursor === null) return null;
  const noIds = memory.cursors === 'offered-only';
  if (back !== undefined && reading.rung === 0 && (noIds || !refused)) {
    return { ...reading, rung: 1, cursor: back, token: back !== null };
  }
  if (noIds) return null;
  const last = recent.at(-1);
  if (token && last !== undefined) return { ...reading, cursor: last, token: false };
  const rung = reading.rung + 1;
  const earlier = recent.at(-1 - rung);
  if (earlier !== undefined) return { ...reading, rung, cursor: earlier };
  const oldest = recent[0];
  if (oldest !== undefined && oldest === first && rung === recent.length) {
    return { ...reading, rung, cursor: null, token: false };
  }
  if (usableDirection(memory) === null || token) return null;
  if (oldest !== undefined) {
    return rung === recent.length ? { ...reading, rung, cursor: oldest, seek: 1 } : null;
  }
  return rung <= 2 ? { ...reading, rung, seek: rung === 1 ? 1 : FAR } : null;
}

/** Begins again from the top; null after two restarts. */
export function fromTop<R extends Reading>(reading: R): R | null {
  if (reading.restarts >= MAX_RESTARTS) return null;
  return { ...reading, ...AT_TOP, restarts: reading.restarts + 1 };
}

/** Where `limit` may be what was refused: the reading with the next lower one; else null. */
export function withLowerLimit<R extends Reading>(reading: R, memory: ScopeMemory, status: number): R | null {
  if (status !== 400 && status !== 422) return null;
  if (reading.cursor !== null && memory.limit.proven) return null;
  const accepted = acceptedLimit(reading, memory);
  if (limitOf(reading, memory) !== accepted) return null;
  const lower = lowerLimit(accepted);
  return lower === undefined ? null : { ...reading, trying: lower };
}

/**
 * A small page has no item with a usable key, and more follow: twice as many items are asked for at once. Null where
 * that was no small page.
 */
export function withMoreItems(reading: Reading, memory: ScopeMemory, items: number): Keyless | null {
  const asked = limitOf(reading, memory);
  const full = itemsOfFullPage(acceptedLimit(reading, memory));
  if (
    memory.limit.fits === null ||
    itemsOfFullPage(asked) >= full ||
    items <= (reading.keyless?.items ?? 0)
  ) {
    return null;
  }
  return { items, ask: Math.min(2 * items, full) };
}

/** A page was too large to be held: the memory with which fewer items are asked for; null when there was one only. */
export function withFewerItems(reading: Reading, memory: ScopeMemory): ScopeMemory | null {
  const limit = afterTooLarge(memory.limit, limitOf(reading, memory));
  return limit === undefined ? null : { ...memory, limit };
}

/** Ends a walk that can't go on: says which page, and why. */
export function giveUp<W extends Walk>(walk: W, memory: ScopeMemory, why: string, status?: number): Step<W> {
  const place = walk.cursor === null ? 'from the top' : `after ${JSON.stringify(walk.cursor)}`;
  const restarts = walk.restarts === 0 ? '' : `, begun again ${walk.restarts} times`;
  const reason = `page ${walk.pages + 1} (${place}${restarts}) ${why}`;
  const end = { type: 'end', outcome: 'failed', reason } as const;
  return { walk, memory, ask: status === undefined ? end : { ...end, status } };
}
