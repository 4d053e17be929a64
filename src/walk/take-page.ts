import type { PagePlace } from '../model/page.ts';
import { acceptedLimit, limitOf, withMoreItems } from './checkpoint.ts';
import { compareInList, type ListDirection, observeOrder, type ScopeMemory, usableDirection } from './memory.ts';
import { proofOf } from './proof.ts';
import { afterPage, askedAfter, itemsOfFullPage, type Position, type Reading, RECENT } from './reading.ts';
import type { TakenPage, WalkAnswer } from './walk.ts';

type PageAnswer = Extract<WalkAnswer, { type: 'page' }>;

/** A page and the walk that has taken it. */
export interface WalkedPage<R extends Reading> extends TakenPage {
  readonly reading: R;
  readonly memory: ScopeMemory;
  /**
   * - `on`: `reading` is ready for the next request
   * - `end`: nothing follows the page
   * - `stuck`: the page brings the walk no further; `why` names the fault, to follow "page n …"
   */
  readonly verdict: 'on' | 'end' | 'stuck';
  readonly why: string;
  /** The service refused the cursor: there is no page. */
  readonly refused: boolean;
  /** The page is the whole scope (docs/design/deletions.md, "P0"). */
  readonly snapshot: boolean;
}

/** The place of an answer that is no page or not the requested one. */
export const NOWHERE: PagePlace = { after: undefined, ends: false };

/** What an answer shows that is no page. */
export const NO_PAGE: TakenPage = { proof: null, contradiction: false, place: NOWHERE };

/** Takes a page: its evidence for the order, its verdict, and where the walk continues. */
export function takePage<R extends Reading>(
  reading: R,
  memory: ScopeMemory,
  answer: PageAnswer,
  now: number,
): WalkedPage<R> {
  const items = answer.keys.length;
  const keys = distinctNeighbours(answer.keys);
  const { evidence, keyType, needed } = memory;
  const observed = keys.length === 0 ? undefined : observeOrder(evidence, keyType, keys, reading, needed);
  const known = learn(reading, memory, answer, observed);
  const direction = usableDirection(known);
  const fresh = freshKeys(reading, memory, direction, keys);
  const fromStart = observed?.fromStart === true;
  const judged = pageVerdict({
    asked: reading,
    hasMore: answer.hasMore,
    offers: offersOf(reading, memory, answer),
    items,
    keys,
    fresh,
    ordered: direction !== null,
    fromStart,
    widest: Math.min(memory.limit.widest, itemsOfFullPage(limitOf(reading, memory))),
    rows: memory.rows,
  });
  const verdict = judged.verdict === 'again' ? 'on' : judged.verdict;
  const whole = answer.hasMore === false || items === 0;
  const snapshot = verdict === 'end' && reading.cursor === null && whole;
  const accepted = verdict !== 'stuck';
  const shown = { accepted, fromStart, snapshot, provenEnd: judged.provenEnd };
  const proof = proofOf(reading, known, answer.keys, shown);
  const contradiction = observed?.contradiction === true;
  const place = placeOf(reading, accepted && !fromStart, judged.provenEnd);
  const { why } = judged;
  const outcome = { memory: known, verdict, why, refused: false, snapshot, contradiction, proof, place };
  const few = reading.few === 'in-full' ? null : reading.few;
  const read = { ...reading, ...counted(reading, keys, items, now), few, keyless: null };
  const keyless = verdict === 'stuck' && keys.length === 0 ? withMoreItems(reading, memory, items) : null;
  if (keyless !== null) return { ...outcome, verdict: 'on', reading: { ...read, keyless } };
  if (verdict === 'stuck') {
    const empties = reading.empties + (items === 0 ? 1 : 0);
    return { ...outcome, reading: { ...read, run: 0, empties } };
  }
  const run = observed?.run ?? 0;
  const last = keys.at(-1);
  if (judged.verdict === 'again' && last !== undefined) {
    const { rung } = reading;
    const next = onwardCursor(reading, answer, last);
    return { ...outcome, reading: { ...read, run, ...next, seek: 0, rung, again: last } };
  }
  const recent = [...reading.recent, ...fresh].slice(-RECENT);
  const next = { ...positionAfter(reading, memory, answer, recent), empties: 0 };
  return { ...outcome, reading: { ...read, recent, run, ...next } };
}

function placeOf(asked: Reading, isAsked: boolean, ends: boolean): PagePlace {
  if (!isAsked) return NOWHERE;
  return { after: asked.cursor === null ? null : (askedAfter(asked) ?? undefined), ends };
}

/** Keys of the items that have one; repeated neighbours count once. */
function distinctNeighbours(keys: readonly (string | undefined)[]): readonly string[] {
  const defined = keys.filter((key) => key !== undefined);
  return defined.filter((key, i) => key !== defined[i - 1]);
}

function counted(
  reading: Reading,
  keys: readonly string[],
  items: number,
  now: number,
): Pick<Reading, 'first' | 'firstAt' | 'trying' | 'pages' | 'items'> {
  // A step back may reread the top; a later walk reads what is newer than the first page.
  const begins = reading.cursor === null && reading.first === null;
  return {
    first: begins ? (keys[0] ?? null) : reading.first,
    firstAt: begins ? now : reading.firstAt,
    trying: undefined,
    pages: reading.pages + 1,
    items: reading.items + items,
  };
}

/** The memory after a page; the same object if nothing is new. A contradiction withdraws what depends on the order. */
function learn(
  reading: Reading,
  memory: ScopeMemory,
  { keys, hasMore, nextCursor }: PageAnswer,
  observed: ReturnType<typeof observeOrder> | undefined,
): ScopeMemory {
  const accepted = acceptedLimit(reading, memory);
  const asked = limitOf(reading, memory);
  const came = afterPage(memory.limit, { accepted, asked, items: keys.length });
  const limit = refutesFew(reading, hasMore) ? { ...came, onlyFull: true } : came;
  const cursors = typeof nextCursor === 'string' && memory.cursors === 'ids' ? 'offered' : memory.cursors;
  const evidence = observed?.evidence ?? memory.evidence;
  if (observed?.contradiction === true) {
    return { ...memory, limit, cursors, evidence, frontier: null, open: null };
  }
  if (limit === memory.limit && evidence === memory.evidence && cursors === memory.cursors) return memory;
  return { ...memory, limit, cursors, evidence };
}

/** A full page came after a small one was refused or claimed to be the last. */
function refutesFew({ few, rung }: Reading, hasMore: boolean | undefined): boolean {
  return few === 'in-full' && rung === 0 && hasMore !== false;
}

/**
 * What a page's `next_cursor` says. Null counts if the service has offered cursors (others may always send it); a
 * missing field counts only after an offered cursor.
 */
function offersOf(reading: Reading, memory: ScopeMemory, { nextCursor }: PageAnswer) {
  if (typeof nextCursor === 'string') return 'one';
  if (nextCursor === null) return memory.cursors === 'ids' ? undefined : 'none';
  return reading.token ? 'none' : undefined;
}

/** Keys not read before: those beyond the last one or, without an order, not among the recent ones. */
function freshKeys(
  reading: Reading,
  memory: ScopeMemory,
  direction: ListDirection | null,
  keys: readonly string[],
): readonly string[] {
  const last = reading.recent.at(-1) ?? askedAfter(reading);
  if (direction !== null) {
    return last === null ? keys : keys.filter((key) => compareInList(memory.keyType, direction, key, last) > 0);
  }
  return keys.filter((key) => key !== reading.cursor && !reading.recent.includes(key));
}

/** The cursor of the next page: the server's own if it offers one, else the key of the last item. */
function onwardCursor(
  reading: Reading,
  { nextCursor }: PageAnswer,
  last: string | null,
): Pick<Reading, 'cursor' | 'token' | 'back'> {
  if (typeof nextCursor !== 'string' || nextCursor === '' || nextCursor === reading.cursor) {
    return { cursor: last, token: false, back: undefined };
  }
  const back = reading.token || reading.cursor === null ? reading.cursor : undefined;
  const token = nextCursor !== last;
  return { cursor: nextCursor, token, back: token ? back : undefined };
}

/** Where an accepted page leads. */
function positionAfter(
  reading: Reading,
  memory: ScopeMemory,
  answer: PageAnswer,
  recent: readonly string[],
): Position & Pick<Reading, 'maybeLast'> {
  const { hasMore, nextCursor } = answer;
  const next = onwardCursor(reading, answer, recent.at(-1) ?? reading.cursor);
  const quiet = hasMore === undefined && typeof nextCursor !== 'string';
  const maybeLast = quiet && (nextCursor === null || memory.cursors !== 'ids');
  const after = { ...next, maybeLast, seek: 0, rung: 0, again: null, keyless: null };
  if (next.token) return after;
  // A short page without `has_more` is probably the last one (docs/design/walks.md, "The end of a list"). An empty page
  // after its last item would prove nothing. The page after the item before it does, by showing that last item alone.
  const before = recent.at(-2);
  const items = answer.keys.length;
  const looksLast =
    items < itemsOfFullPage(limitOf(reading, memory)) && (reading.pages === 0 || items < memory.limit.widest);
  if (quiet && before !== undefined && looksLast) return { ...after, cursor: before, rung: 1 };
  return after;
}

/**
 * Verdict on a page:
 * - `on`: it has new items, and the walk continues after them
 * - `again`: it has nothing new, but repeats an item whose successors are unknown: the walk continues after that item
 * - `end`: nothing follows it; `provenEnd`: the page itself proves that
 * - `stuck`: it brings the walk no further; `why` names the fault, to follow "page n …"
 * @param page.asked the walk at the time of the request
 * @param page.offers whether the page offers a cursor of the server's own or denies one; undefined: neither
 * @param page.items number of its items, including those without a usable key
 * @param page.keys in the page's order, neighbours distinct
 * @param page.fresh those of `keys` that the walk has not read before, as far as known
 * @param page.ordered the list has a usable order
 * @param page.fromStart the page begins at the top of the list despite a cursor
 * @param page.widest most items of a page so far, at most the requested number: a page with fewer was not full
 * @param page.rows lower bound of the scope's live rows
 */
export function pageVerdict(page: {
  readonly asked: Reading;
  readonly hasMore: boolean | undefined;
  readonly offers: 'one' | 'none' | undefined;
  readonly items: number;
  readonly keys: readonly string[];
  readonly fresh: readonly string[];
  readonly ordered: boolean;
  readonly fromStart: boolean;
  readonly widest: number;
  readonly rows: number;
}) {
  const { asked, hasMore, offers, items, keys, fresh, ordered, fromStart, widest, rows } = page;
  if (items === 0) return judgeEmpty(asked, hasMore);
  // If pages begin with their cursor's row, a page of that row alone is like an empty one: the row may have moved to the
  // end. It counts once a step back has shown the row in its place.
  const isCursorAlone = keys.length > 0 && keys.every((key) => key === asked.cursor);
  if (isCursorAlone && asked.again === null) return stuck('has only the row that it begins with');
  if (hasMore === false) return PROVEN_END;
  // Without `has_more` it proves nothing beyond its last item.
  if (hasMore === undefined && offers === 'none' && !fromStart) return END;
  if (keys.length === 0) return stuck('has no item with a usable cursor ID, but says that more follow');
  // In an unknown order the walk goes on after the page's last item, which must be new.
  const further = ordered ? fresh.length > 0 : fresh.at(-1) === keys.at(-1) && !fromStart;
  if (further) return ON;
  if (fromStart) return stuck('begins at the top of the list again');
  if (hasMore === undefined && offers !== 'one' && items < widest) return PROVEN_END;
  // The page has only its cursor's row, and the scope has no other known row.
  const repeatsOnlyRow = items === 1 && keys[0] === asked.cursor && widest <= 1 && rows <= 1;
  if (hasMore === undefined && repeatsOnlyRow) return END;
  return leadsForward(asked, keys) ? AGAIN : stuck('has no new item, but does not say that the list ends');
}

/**
 * An empty page after a cursor proves nothing, since the cursor's row may be gone. But if pages have a single item, no
 * page can show that its item is the last. So the walk ends once an empty page follows that item, the item is seen
 * again, and an empty page follows again. (That proves nothing beyond the item.)
 */
function judgeEmpty(asked: Reading, hasMore: boolean | undefined) {
  if (asked.cursor === null && hasMore !== true) return PROVEN_END;
  return asked.again !== null && asked.empties > 0 ? END : stuck('is empty, which does not prove that the list ends');
}

/** The page ends with a row that the walk read after its cursor. */
function leadsForward({ cursor, recent }: Reading, keys: readonly string[]): boolean {
  const from = cursor === null ? -1 : recent.indexOf(cursor);
  return recent.indexOf(keys.at(-1) ?? '') > from;
}

const ON = { verdict: 'on', why: '', provenEnd: false } as const;
const AGAIN = { verdict: 'again', why: '', provenEnd: false } as const;
const END = { verdict: 'end', why: '', provenEnd: false } as const;
const PROVEN_END = { verdict: 'end', why: '', provenEnd: true } as const;

function stuck(why: string) {
  return { verdict: 'stuck', why, provenEnd: false } as const;
}
