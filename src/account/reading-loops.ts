/** The loops that begin an account's readings: cron lines, rings, delays after failures, places shared by accounts. */

import type { Clock, Random } from '@research-mirror/runtime/clock';
import { Places } from '@research-mirror/runtime/concurrency/places';
import { untilAborted } from '@research-mirror/runtime/service';
import type { CollectionName } from '../model/collections.ts';
import { KeyRefused, LeaseLost, ServiceDown } from '../model/errors.ts';
import type { AccountReader } from '../sync/account-reader.ts';
import type { ReadOutcome } from '../sync/walk-result.ts';

/** First retry delay, ms; it doubles, with jitter. */
const FIRST_RETRY_MS = 1_000;
/** Longest retry delay while the service is down, ms. A wait at its gate costs no request. */
const LONGEST_WAIT_FOR_SERVICE_MS = 30_000;

/**
 * Reads once after each ring. Rings while it reads, or while the loops do not run, are remembered as one. A resting
 * loop is only an object, since a process has thirty of them for each of a thousand accounts.
 */
export interface ReadingLoop {
  readonly what: string;
  readonly longestRetryMs: number;
  readonly read: (signal: AbortSignal) => Promise<ReadOutcome>;
  /** `waits`: for the next attempt after a failure. */
  state: 'rests' | 'reads' | 'waits';
  /** There was a ring since the last reading began. */
  rung: boolean;
  readonly ring: () => void;
}

export type ReadingLoops = ReturnType<typeof readingLoops>;

/** The reading loops of an account. They run side by side, and end together. */
export function readingLoops(options: {
  readonly clock: Clock;
  readonly random: Random;
  /** Shared with other accounts of the process; undefined: readings begin at once. */
  readonly starts: ReadingStarts | undefined;
  /** Called after each reading that returned. */
  readonly onOutcome: (outcome: ReadOutcome) => void;
  readonly onFailure: (what: string, error: Error) => void;
}) {
  const { clock, random, starts, onOutcome, onFailure } = options;
  const loops: ReadingLoop[] = [];
  /** Begins a resting loop while the loops run. */
  let begin: ((loop: ReadingLoop) => void) | undefined;

  return {
    add(what: string, longestRetryMs: number, read: ReadingLoop['read']): ReadingLoop {
      const ring = (): void => {
        loop.rung = true;
        begin?.(loop);
      };
      const loop: ReadingLoop = { what, longestRetryMs, read, state: 'rests', rung: false, ring };
      loops.push(loop);
      return loop;
    },

    /**
     * Reads at each ring, including earlier ones, until `stop` aborts, or a loop or one of `beside` fails; ends when
     * all of them have ended.
     * @throws the signal's reason; otherwise LeaseLost or KeyRefused if one was thrown, or the first error
     */
    async run(stop: AbortSignal, beside: readonly ((signal: AbortSignal) => Promise<never>)[]): Promise<never> {
      const broken = new AbortController();
      const errors: unknown[] = [];
      const signal = AbortSignal.any([stop, broken.signal]);
      const fail = (error: unknown): void => {
        errors.push(error);
        broken.abort(error);
      };

      /** @returns why it failed @throws LeaseLost, KeyRefused, and any error after an abort */
      const read = async (loop: ReadingLoop): Promise<Error | undefined> => {
        try {
          const outcome = await (starts?.begin(() => loop.read(signal), signal) ?? loop.read(signal));
          onOutcome(outcome);
          return outcome.error;
        } catch (thrown) {
          if (signal.aborted || thrown instanceof LeaseLost || thrown instanceof KeyRefused) throw thrown;
          return thrown instanceof Error ? thrown : new Error(String(thrown));
        }
      };

      /** Reads until no ring is left; retries failures with growing delays. */
      const work = async (loop: ReadingLoop): Promise<void> => {
        try {
          // Rings of the same moment are one.
          await Promise.resolve();
          signal.throwIfAborted();
          for (let failures = 0; loop.rung;) {
            loop.rung = false;
            loop.state = 'reads';
            const error = await read(loop);
            signal.throwIfAborted();
            failures = error === undefined ? 0 : failures + 1;
            if (error === undefined) continue;
            onFailure(loop.what, error);
            loop.state = 'waits';
            const isDown = error instanceof ServiceDown;
            const longest = isDown ? LONGEST_WAIT_FOR_SERVICE_MS : loop.longestRetryMs;
            const bound = Math.min(longest, FIRST_RETRY_MS * 2 ** failures);
            await clock.sleep(bound * (0.5 + random() / 2), signal);
            loop.ring();
          }
        } finally {
          // At once: a ring that comes now begins the next reading.
          loop.state = 'rests';
        }
      };

      const working = new Set<Promise<void>>();
      begin = (loop) => {
        if (loop.state !== 'rests' || signal.aborted) return;
        loop.state = 'reads';
        const task = work(loop)
          .catch(fail)
          .finally(() => working.delete(task));
        working.add(task);
      };
      const others = beside.map((each) => each(signal).catch(fail));
      for (const loop of loops) if (loop.rung) begin(loop);
      await untilAborted(signal);
      await Promise.all([...working, ...others]);
      stop.throwIfAborted();
      throw errors.find((error) => error instanceof LeaseLost || error instanceof KeyRefused) ?? errors[0];
    },
  };
}

/** Longest retry delays, ms. A full walk continues where it failed, so an attempt costs only a request or two. */
const LONGEST_POLL_RETRY_MS = 30_000;
const LONGEST_FULL_RETRY_MS = 300_000;
/** Interval of looks for due children while polls find no change, ms: they rested after a failure, or an event came. */
const RING_AGAIN_MS = 30_000;

export type CollectionLoops = ReturnType<typeof collectionLoops>;

/** Adds a collection's loops to its account's. @param ringThem starts reading due rows of this collection's children */
export function collectionLoops(
  name: CollectionName,
  reader: AccountReader,
  clock: Clock,
  loops: ReadingLoops,
  ringThem: () => void,
) {
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
    // A poll that throws may have written changes that made children due.
    let changes = 1;
    try {
      const outcome = await reader.read(name, { what: 'poll', scheduled: true, signal });
      changes = outcome.totals.inserted + outcome.totals.updated;
      // A full reading that is about to begin suffices.
      if (outcome.fullNeeded && !full.rung && full.state !== 'waits') rows.ring();
      return outcome;
    } finally {
      if (changes > 0 || clock.monotonic() - rungAt >= RING_AGAIN_MS) ringChildren();
    }
  });
  const due = loops.add(`reading of changed ${name}`, LONGEST_POLL_RETRY_MS, (signal) => reader.readDue(name, signal));
  let wait: AbortController | undefined;
  const suspects = loops.add(`second reading of ${name}`, LONGEST_FULL_RETRY_MS, async (signal) => {
    // An earlier ring ends the wait.
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
  return {
    /** New and unfinished rows. */
    poll,
    /** All rows, by a walk that continues where it was interrupted. */
    full,
    /** All rows, after a poll that can't do with less. */
    rows,
    /** Rows of due parents. */
    due,
    /** Suspected deletions, for a second proof. */
    suspects,
  };
}

/** Number of readings that may be in their first seconds at a time: two for each connection to Postgres. */
const AT_ONCE = 16;
const FIRST_MS = 2_000;

export type ReadingStarts = ReturnType<typeof readingStarts>;

/**
 * Lets readings of many accounts begin a few at a time. If all began at once, at a start or after an outage, each would
 * wait for all others at each step: a reservation is valid for seconds, a proof for a minute, and every answer waits in
 * memory. A reading gives its place up after its first seconds: one that waits for its rate limit blocks none.
 */
export function readingStarts(clock: Pick<Clock, 'sleep'>) {
  const places = new Places(AT_ONCE);
  return {
    /** Waits for a place and runs `task`. @param signal ends the wait, not the task */
    async begin<T>(task: () => Promise<T>, signal: AbortSignal): Promise<T> {
      const leave = await places.take(signal);
      const over = new AbortController();
      clock.sleep(FIRST_MS, over.signal).then(leave, leave);
      return task().finally(() => over.abort());
    },
  };
}
