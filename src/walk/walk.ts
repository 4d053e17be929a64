import type { ScopeMemory } from './memory/memory.ts';
import type { AbsenceProof } from '../model/absence.ts';
import type { PagePlace } from '../model/page.ts';
import type { Reading } from './reading.ts';

/**
 * A walk is a pure state machine: it says what to ask, is given the answer, and says what to ask next.
 *
 *     let { walk, memory, ask } = beginFull(memory, { liveRows, now });
 *     while (ask.type !== 'end') {
 *       const answer = …ask the service or Postgres…
 *       ({ walk, memory, ask } = step(walk, memory, answer, now));
 *       // write the page; memory = noteWritten(memory, rows); commit memory and checkpoint(walk) with it
 *     }
 *
 * Every `page` answer may be written, also one that the walk does not accept as progress: it is a true observation.
 * The next page may be fetched meanwhile, but `step` is called for it only when this one is noted and committed:
 * memory and checkpoint must not run ahead of the rows. When a commit fails, both go back to the last committed ones.
 * A poll and a full walk of one scope share its memory and may interleave answer by answer. Only full walks have a
 * checkpoint: what an interrupted poll leaves open is in the memory, and a refresh is simply due again.
 *
 * What a page proves absent (docs/design/deletions.md, "What proves absence") is told in `Step.page`, before the page is written.
 */
export type Walk = PollWalk | RefreshWalk | FullWalk | ConfirmWalk;

/** From the newest rows down to the frontier and the overlap (falling), or from there to the end (rising). */
export interface PollWalk extends Reading {
  readonly kind: 'poll';
  /**
   * - `look`: no usable order or no frontier: one page, in case it is the whole scope
   * - `open`: the rest of an interrupted poll
   * - `top`: from the top down (falling)
   * - `tail`: from before the overlap to the end (rising)
   */
  readonly part: 'look' | 'open' | 'top' | 'tail';
  /** Greatest key at which the part may stop (falling); the poll begins before it (rising). Null: read all. */
  readonly low: string | null;
  /** The 200th known live row from the newest, as told at the beginning; null where there are fewer. */
  readonly overlapKey: string | null;
}

/** The fewest pages that cover given keys. */
export interface RefreshWalk extends Reading {
  readonly kind: 'refresh';
  /** Keys still to be covered, in list order. */
  readonly todo: readonly string[];
}

/** Rows in doubt read again: the top first, which tests the order, then the fewest pages that cover them. */
export interface ConfirmWalk extends Reading {
  readonly kind: 'confirm';
  /** All keys that it was sent for. */
  readonly keys: readonly string[];
  /** Keys still to be covered, in list order once that is known to be usable. */
  readonly todo: readonly string[];
}

/** All pages. JSON, stored as a `Checkpoint`. */
export interface FullWalk extends Reading {
  readonly kind: 'full';
  /** It was continued from a checkpoint: its rows are good, but it proves nothing about unordered lists (docs/design/deletions.md, "P2"). */
  readonly resumed: boolean;
  /** Live rows of the scope when it was begun. */
  readonly liveRows: number;
}

export type Ask =
  /**
   * GET with `starting_after` = cursor and `limit`, each left out where null. `large`: fewer items would not do, so that
   * the page may have as many bytes as a single item.
   */
  | {
      readonly type: 'page';
      readonly cursor: string | null;
      readonly limit: number | null;
      readonly large?: true;
    }
  /**
   * The `nth` stored live key before `of` in list order (1: the nearest; the first of all where there are fewer);
   * null where there is none. `direction` is the list's: before means greater where it is falling.
   */
  | {
      readonly type: 'predecessor';
      readonly of: string;
      readonly nth: number;
      readonly direction: 'falling' | 'rising';
    }
  | End;

export interface End {
  readonly type: 'end';
  /**
   * - `complete`: every item of the scope was read (a full walk, or one answer that is the whole scope)
   * - `reached`: the poll reached the old frontier, the refresh covered its keys
   * - `full-needed`: the order does not allow this walk; only a full walk can do its work
   * - `failed`: given up; `reason` names the page. What was read stays, and nothing is forgotten
   */
  readonly outcome: 'complete' | 'reached' | 'full-needed' | 'failed';
  readonly reason?: string;
  /** Status of the refusal, where the scope itself was refused (without a cursor): 404 for a list that is gone. */
  readonly status?: number;
}

export type WalkAnswer =
  | {
      readonly type: 'page';
      /** Keys of the items in the page's order; undefined for an item without a usable one. */
      readonly keys: readonly (string | undefined)[];
      /** As answered; undefined where missing. */
      readonly hasMore: boolean | undefined;
      /** The server's own cursor; null: it offers none; undefined: it says nothing of cursors. */
      readonly nextCursor?: string | null | undefined;
      /** For how long (ms) a cache on the way had held it; left out: none did. */
      readonly ageMs?: number;
    }
  /** A 4xx other than 401, 403, 408, 425 and 429: those and 5xx are the caller's to retry or to stop for. */
  | { readonly type: 'refused'; readonly status: number; readonly message: string }
  /** More than is held in memory: fewer items are asked for. */
  | { readonly type: 'too-large' }
  | { readonly type: 'predecessor'; readonly key: string | null };

export interface Step<W extends Walk = Walk> {
  readonly walk: W;
  readonly memory: ScopeMemory;
  readonly ask: Ask;
  /** What the page says that was just taken; left out where none was. */
  readonly page?: TakenPage;
}

/** A proof as a page gives it. `raises`: the only rows that it may bring into doubt; left out: any. */
export type PageProof = AbsenceProof & { readonly raises?: readonly string[] };

export interface TakenPage {
  /** What it proves absent; null: nothing. */
  readonly proof: PageProof | null;
  /** It contradicts the order: what rests on that is withdrawn. */
  readonly contradiction: boolean;
  readonly place: PagePlace;
}
