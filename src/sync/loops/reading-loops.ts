import type { Clock, Random } from '@research-mirror/runtime/clock';
import { untilAborted } from '@research-mirror/runtime/service';
import { KeyRefused, LeaseLost, ServiceDown } from '../../model/errors.ts';
import type { ReadOutcome } from '../account/read-outcome.ts';
import type { ReadingStarts } from './reading-starts.ts';

export interface ReadingLoopsOptions {
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
