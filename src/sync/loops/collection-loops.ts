import type { Clock } from '@research-mirror/runtime/clock';
import type { CollectionName } from '../../model/collections.ts';
import type { AccountReader } from '../account/account-reader.ts';
import type { ReadOutcome } from '../account/read-outcome.ts';
import type { ReadingLoop, ReadingLoops } from './reading-loops.ts';

/** How the rows of a collection are read. */
export interface CollectionLoops {
  /** What is new, and what is unfinished. */
  readonly poll: ReadingLoop;
  /** All rows, by a walk that goes on where it was broken off. */
  readonly full: ReadingLoop;
  /** All rows, where a poll says that only that can do. */
  readonly rows: ReadingLoop;
  /** Those of parents that are due. */
  readonly due: ReadingLoop;
  /** Rows that are suspected to be gone, again. */
  readonly suspects: ReadingLoop;
}

/** The longest waits (ms) before what failed is tried again. */
const LONGEST_POLL_RETRY_MS = 30_000;
/** A full walk goes on where it failed, so a try costs a request or two; nobody announces the end of an outage. */
const LONGEST_FULL_RETRY_MS = 300_000;
/**
 * Children that are due are looked for so long (ms) after the last time, though a poll found no change of their parents:
 * some were left to rest after a failure, or made due by an event. Cron lines poll once a minute at most.
 */
const RING_AGAIN_MS = 30_000;

/**
 * Adds the loops of a collection to those of its account.
 * @param ringThem has the rows read whose parents are of this collection, and due
 */
export function collectionLoops(
  name: CollectionName,
  reader: AccountReader,
  clock: Clock,
  loops: ReadingLoops,
  ringThem: () => void,
): CollectionLoops {
  let rungAt = Number.NEGATIVE_INFINITY;
  const ringChildren = (): void => {
    rungAt = clock.monotonic();
    ringThem();
  };
  const all = async (what: 'full' | 'rows', signal: AbortSignal): Promise<ReadOutcome> => {
    const outcome = await reader.read(name, { what, signal });
    ringChildren();
    return outcome;
  };
  const full = loops.add(`full walk of ${name}`, LONGEST_FULL_RETRY_MS, (signal) => all('full', signal));
  const rows = loops.add(`reading of all ${name}`, LONGEST_FULL_RETRY_MS, (signal) => all('rows', signal));
  const poll = loops.add(`poll of ${name}`, LONGEST_POLL_RETRY_MS, async (signal) => {
    // What a poll wrote before it threw has made children due, too.
    let changes = 1;
    try {
      const outcome = await reader.read(name, { what: 'poll', scheduled: true, signal });
      changes = outcome.totals.inserted + outcome.totals.updated;
      // A full reading that is about to begin will do.
      if (outcome.fullNeeded && !full.rung && full.state !== 'waits') rows.ring();
      return outcome;
    } finally {
      if (changes > 0 || clock.monotonic() - rungAt >= RING_AGAIN_MS) ringChildren();
    }
  });
  const due = loops.add(`reading of changed ${name}`, LONGEST_POLL_RETRY_MS, (signal) =>
    reader.readDue(name, signal),
  );
  let wait: AbortController | undefined;
  const suspects = loops.add(`second reading of ${name}`, LONGEST_FULL_RETRY_MS, async (signal) => {
    // A ring before that ends the wait.
    wait?.abort();
    const outcome = await reader.confirmDeletions(name, signal);
    if (outcome.againMs !== undefined) {
      wait = new AbortController();
      const over = AbortSignal.any([signal, wait.signal]);
      clock.sleep(outcome.againMs, over).then(
        () => suspects.ring(),
        () => {},
      );
    }
    return outcome;
  });
  return { poll, full, rows, due, suspects };
}
