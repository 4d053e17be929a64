import type { CollectionName, KeyType } from '../../model/collections.ts';
import {
  afterFullPage,
  afterMiss,
  afterSmallPage,
  FIRST_POLL_SIZE,
  type PollSize,
  rowsToAsk,
} from '../../walk/memory/poll-size.ts';
import type { PollWalk } from '../../walk/walk.ts';
import type { WalkResult } from './walk-result.ts';

/** A poll, and what it was for. */
export interface PollRun {
  readonly keyType: KeyType;
  /** The walk as it began. */
  readonly begun: PollWalk;
  readonly result: Pick<WalkResult, 'outcome' | 'walk' | 'seen' | 'lastNews'>;
  /** Keys of the unfinished rows that were due with it; undefined: it looked for new rows alone. */
  readonly due: readonly string[] | undefined;
}

/**
 * For how many rows the polls of an account's collections ask, by what those before them needed. Memory only: after a
 * restart they ask for full pages again. Lists are read too seldom to learn it.
 */
export class PollSizes {
  readonly #sizes = new Map<CollectionName, PollSize>();

  /** Rows to ask for; undefined: a full page. */
  rowsToAsk(name: CollectionName): number | undefined {
    return rowsToAsk(this.#sizes.get(name) ?? FIRST_POLL_SIZE);
  }

  learn(name: CollectionName, run: PollRun): void {
    const size = this.#sizes.get(name) ?? FIRST_POLL_SIZE;
    this.#sizes.set(name, after(size, run));
  }
}

function after(size: PollSize, { keyType, begun, result, due }: PollRun): PollSize {
  const { walk, outcome, seen, lastNews } = result;
  if (begun.part !== 'top' || walk.kind !== 'poll' || walk.pages === 0) return size;
  const isWhole = outcome === 'reached' && walk.restarts === 0;
  const needs = due && { keyType, seen, low: begun.low, due, lastNews };
  if (begun.few === null) return isWhole && needs !== undefined ? afterFullPage(size, needs) : size;
  if (!isWhole || walk.pages > 1) return afterMiss(size);
  return needs === undefined ? size : afterSmallPage(size, needs);
}
