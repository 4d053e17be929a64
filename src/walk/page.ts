import type { Proof } from '../model/absence.ts';
import { compareInList, observeOrder, type Direction, type Observation } from './order.ts';
import { usableDirection, type ScopeMemory } from './memory.ts';
import { itemsOfFullPage } from './page-limit.ts';
import { limitOf } from './ladder.ts';
import { proofOf } from './proof.ts';
import { askedAfter, RECENT, type Position, type Reading } from './reading.ts';
import type { Answer } from './walk.ts';

export type PageAnswer = Extract<Answer, { type: 'page' }>;

/** What became of a page. */
export interface Taken<R extends Reading> {
  readonly reading: R;
  readonly memory: ScopeMemory;
  /**
   * - `on`: it brought new items; `reading` is set to go on after them
   * - `end`: nothing follows it
   * - `stuck`: it brings the walk no further; `why` says what is wrong with it, to follow "page n …"
   */
  readonly verdict: 'on' | 'end' | 'stuck';
  readonly why: string;
  /** It was asked from the top and holds everything: a snapshot of the whole scope (design 4, P0). */
  readonly snapshot: boolean;
  /** It contradicts the order. */
  readonly contradiction: boolean;
  /** What it proves absent; null: nothing. */
  readonly proof: Proof | null;
}

/** Takes a page in: what it says of the order, whether it brings the walk further, and where it goes on. */
export function takePage<R extends Reading>(
  reading: R,
  memory: ScopeMemory,
  answer: PageAnswer,
  now: number,
): Taken<R> {
  const limit = limitOf(reading, memory);
  const keys = distinctNeighbours(answer.keys);
  const read: R = {
    ...reading,
    ...(reading.cursor === null ? { first: keys[0] ?? null, firstAt: now } : {}),
    trying: undefined,
    pages: reading.pages + 1,
    items: reading.items + answer.keys.length,
  };
  const observed = keys.length === 0 ? undefined : observePage(reading, memory, keys);
  const known = learn(memory, limit, observed);
  const direction = usableDirection(known);
  const fresh = freshKeys(reading, memory, direction, keys);
  const fromStart = observed?.fromStart === true;
  const { verdict, why } = judge(answer, {
    top: reading.cursor === null,
    ordered: direction !== null,
    fromStart,
    keys,
    fresh,
  });
  const top = reading.cursor === null;
  const snapshot = verdict === 'end' && top && (answer.hasMore === false || answer.keys.length === 0);
  const proof = proofOf({
    asked: reading,
    memory: known,
    keys: answer.keys,
    accepted: verdict !== 'stuck',
    fromStart,
    snapshot,
    provenEnd: verdict === 'end',
  });
  const contradiction = observed?.contradiction === true;
  const outcome = { memory: known, verdict, why, snapshot, contradiction, proof };
  if (verdict === 'stuck') return { ...outcome, reading: { ...read, run: 0 } };
  const recent = [...reading.recent, ...fresh].slice(-RECENT);
  const run = observed?.run ?? 0;
  return { ...outcome, reading: { ...read, recent, run, ...goOn(reading, answer, recent, limit) } };
}

/** Keys of the items that have one; a key that follows itself counts once. */
function distinctNeighbours(keys: readonly (string | undefined)[]): readonly string[] {
  const defined = keys.filter((key) => key !== undefined);
  return defined.filter((key, i) => key !== defined[i - 1]);
}

function observePage(reading: Reading, memory: ScopeMemory, keys: readonly string[]): Observation {
  return observeOrder(memory.evidence, memory.keyType, {
    keys,
    after: askedAfter(reading),
    recent: reading.recent,
    first: reading.first,
    run: reading.run,
  });
}

/**
 * The memory after a page (the same one where nothing is new): the limit worked; a contradiction withdraws all that
 * rests on the order.
 */
function learn(memory: ScopeMemory, value: number | null, observed: Observation | undefined): ScopeMemory {
  const evidence = observed?.evidence ?? memory.evidence;
  if (observed?.contradiction === true) {
    return { ...memory, limit: { value, proven: true }, evidence, frontier: null, open: null };
  }
  if (memory.limit.proven && memory.limit.value === value && evidence === memory.evidence) return memory;
  return { ...memory, limit: { value, proven: true }, evidence };
}

/** Keys that the walk has not read before, as far as it can tell: beyond the last one, or else not among the recent. */
function freshKeys(
  reading: Reading,
  memory: ScopeMemory,
  direction: Direction | null,
  keys: readonly string[],
): readonly string[] {
  const last = reading.recent.at(-1) ?? askedAfter(reading);
  if (direction !== null) {
    return last === null
      ? keys
      : keys.filter((key) => compareInList(memory.keyType, direction, key, last) > 0);
  }
  return keys.filter((key) => key !== reading.cursor && !reading.recent.includes(key));
}

interface Verdict {
  readonly verdict: 'on' | 'end' | 'stuck';
  readonly why: string;
}

interface PageFacts {
  readonly top: boolean;
  readonly ordered: boolean;
  readonly fromStart: boolean;
  readonly keys: readonly string[];
  readonly fresh: readonly string[];
}

function judge(answer: PageAnswer, { top, ordered, fromStart, keys, fresh }: PageFacts): Verdict {
  const { hasMore } = answer;
  if (answer.keys.length === 0) {
    return top && hasMore !== true ? END : stuck('is empty, which proves no end');
  }
  if (hasMore === false) return END;
  if (keys.length === 0) return stuck('has no item with a usable cursor ID, but says that more follow');
  // Without `has_more`, one item where 100 were asked for is the end: there is no earlier item to ask again from.
  if (top && hasMore === undefined && answer.keys.length === 1) return END;
  // In an unknown order the walk goes on after the page's last item: that must not be one where it has been.
  const further = ordered ? fresh.length > 0 : fresh.at(-1) === keys.at(-1) && !fromStart;
  if (further) return ON;
  if (hasMore === undefined && !fromStart && !top) return END;
  return stuck(
    fromStart ? 'begins at the top of the list again' : 'has no new item, but says that more follow',
  );
}

/** Where an accepted page leads: the server's own cursor where it offers one, else the last item's key. */
function goOn(
  reading: Reading,
  answer: PageAnswer,
  recent: readonly string[],
  limit: number | null,
): Position {
  const last = recent.at(-1) ?? reading.cursor;
  const offered = answer.nextCursor;
  if (offered !== undefined && offered !== '' && offered !== reading.cursor) {
    return { cursor: offered, token: offered !== last, seek: 0, rung: 0 };
  }
  // A short page without `has_more` is probably the last one. The page after its last item would be empty, which
  // proves nothing: the page after the item before proves it by holding that last item and nothing new.
  const before = recent.at(-2);
  if (answer.hasMore === undefined && before !== undefined && answer.keys.length < itemsOfFullPage(limit)) {
    return { cursor: before, token: false, seek: 0, rung: 1 };
  }
  return { cursor: last, token: false, seek: 0, rung: 0 };
}

const ON: Verdict = { verdict: 'on', why: '' };
const END: Verdict = { verdict: 'end', why: '' };

function stuck(why: string): Verdict {
  return { verdict: 'stuck', why };
}
