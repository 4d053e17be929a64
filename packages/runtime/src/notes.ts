import type { Clock } from './clock.ts';
import { formatCount } from './figures.ts';

/** The first line of a kind is written at once, then one a minute: anyone on the network can cause these lines. */
const QUIET_MS = 60_000;
/** Kinds that are remembered; lines of further kinds are dropped. */
const MAX_KINDS = 1_000;

export interface NoteLog {
  warn(message: string): void;
  info(message: string): void;
}

/** Log lines that strangers can cause: a flood of requests does not become a flood of lines. */
export class Notes {
  readonly #clock: Clock;
  readonly #log: NoteLog;
  readonly #kinds = new Map<string, { said: number; silent: number }>();

  constructor(clock: Clock, log: NoteLog) {
    this.#clock = clock;
    this.#log = log;
  }

  /** @param kind lines of one kind are alike, such as `mismatch 42`; the message may differ */
  say(level: keyof NoteLog, kind: string, message: string): void {
    const now = this.#clock.monotonic();
    const known = this.#kinds.get(kind);
    if (known === undefined) {
      if (this.#kinds.size >= MAX_KINDS) this.#forget(now);
      if (this.#kinds.size >= MAX_KINDS) return;
      this.#kinds.set(kind, { said: now, silent: 0 });
      this.#log[level](message);
      return;
    }
    if (now - known.said < QUIET_MS) {
      known.silent += 1;
      return;
    }
    const others = known.silent === 0 ? '' : ` (and ${formatCount(known.silent)} like it since the last line)`;
    known.said = now;
    known.silent = 0;
    this.#log[level](`${message}${others}`);
  }

  #forget(now: number): void {
    for (const [kind, { said }] of this.#kinds) {
      if (now - said >= QUIET_MS) this.#kinds.delete(kind);
    }
  }
}
