import type { KeyType } from '../../model/collections.ts';
import { compareKeys } from '../../model/key.ts';

/**
 * How many rows a poll's first page is asked for (docs/design/walks.md, "Few rows"). A page too small costs a request,
 * which is worth more than all the bytes that small pages save: so a size is asked for only after 100 polls in a row
 * that it would have held, and one that it does not hold begins the count anew. So of a hundred polls at most one
 * needs a second page that a full first one would have spared it.
 */
export interface PollSize {
  /** For each of `SIZES`: polls in a row that it would have held; counted up to 100. */
  readonly held: readonly number[];
  /** Polls since the last one with a full page. */
  readonly sinceFull: number;
  /** Last key of that page: a row beyond it costs a request of its own anyhow. Null: there was none. */
  readonly fullTo: string | null;
}

/** Rows that a page may be asked for in place of 500. Each poll needs 200 at least (the overlap). */
const SIZES = [225, 250, 300, 400] as const;
const NEEDED_POLLS = 100;
/** A tenth of what is needed stays free. */
const ROOM = 1.1;
/**
 * One poll in so many asks for a full page: the rows behind the smaller one may change, too, and it shows how far a
 * full one would reach.
 */
const FULL_EVERY = 10;

export const FIRST_POLL_SIZE: PollSize = { held: SIZES.map(() => 0), sinceFull: 0, fullTo: null };

/** Rows to ask for; undefined: a full page. */
export function rowsToAsk({ held, sinceFull }: PollSize): number | undefined {
  if (sinceFull + 1 >= FULL_EVERY) return undefined;
  return SIZES.find((_, index) => (held[index] ?? 0) >= NEEDED_POLLS);
}

/** What a poll in a falling order showed of the rows that it needed. */
export interface PollNeeds {
  readonly keyType: KeyType;
  /** Keys that it read, from the top down; at least one. */
  readonly seen: Iterable<string>;
  /** Key at which it could stop; null: at the list's end. */
  readonly low: string | null;
  /** Keys of the unfinished rows that were due with it, those that it did not see included. */
  readonly due: readonly string[];
  /** Place of the last item that was new or changed, counted from 1; 0: nothing was. */
  readonly lastNews: number;
}

/** What to remember after a poll that began with a full page, and reached its end. */
export function afterFullPage(size: PollSize, needs: PollNeeds): PollSize {
  const { rows, last } = rowsNeeded(needs);
  return { held: counted(size, rows), sinceFull: 0, fullTo: last };
}

/** What to remember after a poll for which a small page was enough. */
export function afterSmallPage(size: PollSize, needs: PollNeeds): PollSize {
  const { rows, unseen } = rowsNeeded(needs);
  const { keyType } = needs;
  const { fullTo } = size;
  // Such a row costs a request that a full page would have spared.
  if (unseen.some((key) => fullTo === null || compareKeys(keyType, key, fullTo) >= 0)) return afterMiss(size);
  return { held: counted(size, rows), sinceFull: size.sinceFull + 1, fullTo };
}

/** What to remember after a small page that was not enough. */
export function afterMiss({ fullTo }: PollSize): PollSize {
  return { ...FIRST_POLL_SIZE, fullTo };
}

function counted({ held }: PollSize, rows: number): readonly number[] {
  return SIZES.map((size, index) =>
    rows * ROOM <= size ? Math.min(NEEDED_POLLS, (held[index] ?? 0) + 1) : 0,
  );
}

/** How far down the poll had to read, in rows, and which of the due rows it did not come to. */
function rowsNeeded({ keyType, seen, low, due, lastNews }: PollNeeds): {
  readonly rows: number;
  readonly unseen: readonly string[];
  readonly last: string | null;
} {
  const unseen = new Set(due);
  let rows = lastNews;
  let place = 0;
  let last: string | null = null;
  let stopped = false;
  for (const key of seen) {
    place += 1;
    last = key;
    const wasDue = unseen.delete(key);
    const isStop: boolean = !stopped && low !== null && compareKeys(keyType, key, low) <= 0;
    if (isStop) stopped = true;
    if (isStop || wasDue) rows = Math.max(rows, place);
  }
  return { rows: stopped ? rows : place, unseen: [...unseen], last };
}
