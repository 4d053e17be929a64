import { type ScopeMemory, usableDirection } from './memory.ts';
import { afterTooLarge, itemsOfFullPage, limitToAsk, lowerLimit } from './reading.ts';
import { AT_TOP, type Keyless, newReading, type Position, type Reading } from './reading.ts';
import type { Ask, End, FullWalk, Step, Walk } from './walk.ts';

/**
 * State of a full walk as stored with every page. It omits what follows from the rest: its size (some 150 bytes) is
 * the write-ahead log of an unchanged page.
 */
export interface Checkpoint {
  readonly began: number;
  /** Milliseconds from `began` to the answer of the page with `first`. */
  readonly took: number;
  readonly first: string | null;
  readonly recent: readonly string[];
  readonly pages: number;
  readonly items: number;
  /** Fields that differ from a walk that goes on after the last of `recent`. */
  readonly off?: Partial<FullWalk>;
}

/** Fields that may differ from a walk that goes on after the last of `recent`. */
const OFF = [
  'cursor',
  'token',
  'back',
  'maybeLast',
  'seek',
  'rung',
  'restarts',
  'trying',
  'empties',
  'again',
  'keyless',
  'agedMs',
] as const;

export function checkpoint(walk: FullWalk): Checkpoint {
  const { began, firstAt, first, recent, pages, items } = walk;
  const plain = onward(began, recent);
  const off = OFF.filter((name) => walk[name] !== plain[name]).map((name) => [name, walk[name]]);
  const stored = { began, took: firstAt - began, first, recent, pages, items };
  return off.length === 0 ? stored : { ...stored, off: Object.fromEntries(off) };
}

/**
 * Continues a full walk at its checkpoint. It repeats at most two requests: the page that was being written and the
 * one under way.
 */
export function resumeFull(memory: ScopeMemory, stored: Checkpoint): Step<FullWalk> {
  const { began, took, first, recent, pages, items, off } = stored;
  const read = { firstAt: began + took, first, recent, pages, items, ...off };
  const walk = {
    ...onward(began, recent),
    ...read,
    kind: 'full',
    resumed: true,
    liveRows: memory.rows,
  } as const;
  return goOn(walk, memory);
}

function onward(began: number, recent: readonly string[]): Reading {
  return { ...newReading(began), cursor: recent.at(-1) ?? null };
}

/** Stored rows to go back if the row before the cursor fails as well: more than one deletion takes. */
const FAR = 1000;
const MAX_RESTARTS = 2;

/** The walk with its next request. */
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

/** The items without a usable key and one more: with fewer the walk would not move. */
function isLeast(keyless: Keyless | null): boolean {
  return keyless !== null && keyless.ask === keyless.items + 1;
}

export function limitOf(reading: Reading, memory: ScopeMemory): number | null {
  const accepted = acceptedLimit(reading, memory);
  const limit = limitToAsk(memory.limit, accepted, reading.keyless?.ask);
  const few = fewToAsk(reading);
  return limit !== null && few !== undefined && few < limit ? few : limit;
}

/**
 * Items of a small first page; undefined: it is a full one. A cursor of the service's own keeps the limit that it was
 * made with, since it may count in pages.
 */
function fewToAsk({ few, pages, token, rung, keyless, trying }: Reading): number | undefined {
  const isPlain = rung === 0 && keyless === null && trying === undefined;
  return typeof few === 'number' && isPlain && (pages === 0 || token) ? few : undefined;
}

/** Whether the next request is for a small page. */
export function isFew(reading: Reading, memory: ScopeMemory): boolean {
  const few = fewToAsk(reading);
  return few !== undefined && limitOf(reading, memory) === few;
}

/** The greatest limit that the service is known to accept; null: no parameter. */
export function acceptedLimit(reading: Reading, memory: ScopeMemory): number | null {
  return reading.trying === undefined ? memory.limit.value : reading.trying;
}

/**
 * One step back on the cursor ladder (docs/design/walks.md, "The ladder"): to the offered cursor before, then to the
 * previous five keys unless the service refuses keys, then to what came before them: the top or a stored row.
 * @param refused the service refused the cursor: an offered one may have expired, and so may the one before it
 * @returns null if the ladder is exhausted
 */
export function stepBack(asked: Reading, memory: ScopeMemory, refused: boolean): Position | null {
  const { cursor, recent, token, first, back, seek } = asked;
  if (cursor === null) return null;
  const here = { cursor, token, back, seek, rung: asked.rung, again: null, keyless: null };
  const noIds = memory.cursors === 'offered-only';
  if (back !== undefined && here.rung === 0 && (noIds || !refused)) {
    return { ...here, rung: 1, cursor: back, token: back !== null };
  }
  if (noIds) return null;
  const last = recent.at(-1);
  if (token && last !== undefined) return { ...here, cursor: last, token: false };
  const rung = here.rung + 1;
  const earlier = recent.at(-1 - rung);
  if (earlier !== undefined) return { ...here, rung, cursor: earlier };
  const oldest = recent[0];
  if (oldest !== undefined && oldest === first && rung === recent.length) {
    return { ...here, rung, cursor: null, token: false };
  }
  if (usableDirection(memory) === null || token) return null;
  if (oldest !== undefined) {
    return rung === recent.length ? { ...here, rung, cursor: oldest, seek: 1 } : null;
  }
  return rung <= 2 ? { ...here, rung, seek: rung === 1 ? 1 : FAR } : null;
}

/** Restarts from the top; null after two restarts. */
export function fromTop<R extends Reading>(reading: R): R | null {
  if (reading.restarts >= MAX_RESTARTS) return null;
  return { ...reading, ...AT_TOP, restarts: reading.restarts + 1 };
}

/** The reading with the next lower limit if the service may have refused `limit`; else null. */
export function withLowerLimit<R extends Reading>(reading: R, memory: ScopeMemory, status: number): R | null {
  if (status !== 400 && status !== 422) return null;
  if (reading.cursor !== null && memory.limit.proven) return null;
  const accepted = acceptedLimit(reading, memory);
  if (limitOf(reading, memory) !== accepted) return null;
  const lower = lowerLimit(accepted);
  return lower === undefined ? null : { ...reading, trying: lower };
}

/** After a small page without a usable key: request twice as many items. Null: the page was not small. */
export function withMoreItems(reading: Reading, memory: ScopeMemory, items: number): Keyless | null {
  const asked = limitOf(reading, memory);
  const full = itemsOfFullPage(acceptedLimit(reading, memory));
  const isSmall = memory.limit.fits !== null && itemsOfFullPage(asked) < full;
  return isSmall && items > (reading.keyless?.items ?? 0) ? { items, ask: Math.min(2 * items, full) } : null;
}

/** After a page that was too large: the memory that requests fewer items; null: it was a single item. */
export function withFewerItems(reading: Reading, memory: ScopeMemory): ScopeMemory | null {
  const limit = afterTooLarge(memory.limit, limitOf(reading, memory));
  return limit === undefined ? null : { ...memory, limit };
}

/** Ends a walk that can't go on, with the page and the reason. */
export function giveUp<W extends Walk>(walk: W, memory: ScopeMemory, why: string, status?: number): Step<W> {
  const place = walk.cursor === null ? 'from the top' : `after ${JSON.stringify(walk.cursor)}`;
  const restarts = walk.restarts === 0 ? '' : `, restarted ${walk.restarts} times`;
  const reason = `page ${walk.pages + 1} (${place}${restarts}) ${why}`;
  const end = { type: 'end', outcome: 'failed', reason } as const;
  return { walk, memory, ask: status === undefined ? end : { ...end, status } };
}
