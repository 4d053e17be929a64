import type { Clock, Random } from '@research-mirror/runtime/clock';
import { Places } from '@research-mirror/runtime/concurrency/places';
import { untilAborted } from '@research-mirror/runtime/service';
import type { CollectionName } from '../model/collections.ts';
import { KeyRefused, LeaseLost, ServiceDown } from '../model/errors.ts';
import type { AccountReader } from '../sync/account-reader.ts';
import type { ReadOutcome } from '../sync/walk-result.ts';

interface ReadingLoopsOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Shared with other accounts of the process; left out: readings begin at once. */
  readonly starts: ReadingStarts | undefined;
  /** A reading has ended, well or not. */
  readonly onOutcome: (outcome: ReadOutcome) => void;
  readonly onFailure: (what: string, error: Error) => void;
}

/** Waits (ms) before what failed is tried again: doubling, with jitter. */
const FIRST_RETRY_MS = 1_000;
/** What waits at the service's gate costs no request, and begins as soon as the service is back. */
const LONGEST_WAIT_FOR_SERVICE_MS = 30_000;

/** The loops while they run. */
interface Turn {
  readonly signal: AbortSignal;
  /** What goes on until `signal` aborts. Rejected by what ends it all. */
  readonly working: Set<Promise<unknown>>;
  readonly fail: (error: unknown) => void;
}

/**
 * Reads once after each ring. Rings while it reads, or while the loops do not run, are remembered as one. A loop that
 * rests is an object and nothing more, since a process has thirty of them for each of a thousand accounts.
 */
export interface ReadingLoop {
  /** What logs call it. */
  readonly what: string;
  /** The longest wait (ms) before what failed is tried again. */
  readonly longestRetryMs: number;
  readonly read: (signal: AbortSignal) => Promise<ReadOutcome>;
  /** Waits: what failed is tried again later. */
  state: 'rests' | 'reads' | 'waits';
  /** There was a ring since the last reading began. */
  rung: boolean;
  readonly ring: () => void;
}

/** The reading loops of an account: side by side, until one of them meets what ends them all. */
export class ReadingLoops {
  readonly #options: ReadingLoopsOptions;
  readonly #loops: ReadingLoop[] = [];
  #turn: Turn | undefined;

  constructor(options: ReadingLoopsOptions) {
    this.#options = options;
  }

  add(what: string, longestRetryMs: number, read: ReadingLoop['read']): ReadingLoop {
    const ring = (): void => {
      loop.rung = true;
      this.#begin(loop);
    };
    const loop: ReadingLoop = { what, longestRetryMs, read, state: 'rests', rung: false, ring };
    this.#loops.push(loop);
    return loop;
  }

  /**
   * Reads at each ring, what was rung before at once, until `stop` aborts, or a loop or one of `beside` fails; ends
   * when all of them have ended.
   * @throws the signal's reason; else LeaseLost or KeyRefused where one was thrown, else what was thrown first
   */
  async run(stop: AbortSignal, beside: readonly ((signal: AbortSignal) => Promise<never>)[]): Promise<never> {
    const broken = new AbortController();
    const errors: unknown[] = [];
    const signal = AbortSignal.any([stop, broken.signal]);
    const working = new Set<Promise<unknown>>();
    const fail = (error: unknown): void => {
      errors.push(error);
      broken.abort(error);
    };
    this.#turn = { signal, working, fail };
    const others = beside.map((run) => run(signal).catch(fail));
    for (const loop of this.#loops) {
      if (loop.rung) this.#begin(loop);
    }
    await untilAborted(signal);
    await Promise.all([...working, ...others]);
    stop.throwIfAborted();
    throw errors.find((error) => error instanceof LeaseLost || error instanceof KeyRefused) ?? errors[0];
  }

  #begin(loop: ReadingLoop): void {
    const turn = this.#turn;
    if (loop.state !== 'rests' || turn === undefined || turn.signal.aborted) return;
    loop.state = 'reads';
    const work = this.#work(loop, turn.signal)
      .catch(turn.fail)
      .finally(() => turn.working.delete(work));
    turn.working.add(work);
  }

  /** Reads until nothing has rung since; what fails is tried again, later and later. */
  async #work(loop: ReadingLoop, signal: AbortSignal): Promise<void> {
    const { clock, random, onFailure } = this.#options;
    const { what, longestRetryMs } = loop;
    try {
      // Rings of the same moment are one.
      await Promise.resolve();
      signal.throwIfAborted();
      for (let failures = 0; loop.rung;) {
        loop.rung = false;
        loop.state = 'reads';
        const error = await this.#read(loop, signal);
        signal.throwIfAborted();
        failures = error === undefined ? 0 : failures + 1;
        if (error === undefined) continue;
        onFailure(what, error);
        loop.state = 'waits';
        const longest = error instanceof ServiceDown ? LONGEST_WAIT_FOR_SERVICE_MS : longestRetryMs;
        const bound = Math.min(longest, FIRST_RETRY_MS * 2 ** failures);
        await clock.sleep(bound * (0.5 + random() / 2), signal);
        loop.ring();
      }
    } finally {
      // At once: a ring that comes now begins it again.
      loop.state = 'rests';
    }
  }

  /** Why it failed, if it did. @throws LeaseLost, KeyRefused, and anything where the signal is aborted */
  async #read({ read }: ReadingLoop, signal: AbortSignal): Promise<Error | undefined> {
    const { starts, onOutcome } = this.#options;
    try {
      const outcome = await (starts?.begin(() => read(signal), signal) ?? read(signal));
      onOutcome(outcome);
      return outcome.error;
    } catch (thrown) {
      if (signal.aborted || thrown instanceof LeaseLost || thrown instanceof KeyRefused) throw thrown;
      return thrown instanceof Error ? thrown : new Error(String(thrown));
    }
  }
}

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
 * Children that are due are looked for so long (ms) after the last time, though a poll found no change of their
 * parents: some were left to rest after a failure, or made due by an event. Cron lines poll once a minute at most.
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

/** So many readings may be in their first seconds (ms) at a time. Two for each connection to Postgres keep it busy. */
const AT_ONCE = 16;
const FIRST_MS = 2_000;

/**
 * Lets the readings of many accounts begin a few at a time. Begun all at once, as at a start or after an outage, each
 * would wait for all others at each of its steps: a reservation is valid for seconds, a proof for a minute, and every
 * answer waits in memory. A reading that lasts gives its place up after its first seconds, so that readings which wait
 * for their rate limit keep nobody out.
 */
export function readingStarts(clock: Pick<Clock, 'sleep'>) {
  const places = new Places(AT_ONCE);
  return {
    /**
     * Waits for a place, and runs `task`.
     * @param signal ends the wait, not the task
     * @throws the signal's reason; errors of `task`
     */
    async begin<T>(task: () => Promise<T>, signal: AbortSignal): Promise<T> {
      const leave = await places.take(signal);
      const over = new AbortController();
      clock.sleep(FIRST_MS, over.signal).then(leave, leave);
      return task().finally(() => over.abort());
    },
  };
}
export type ReadingStarts = ReturnType<typeof readingStarts>;
