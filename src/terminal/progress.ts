import type { Clock } from '@research-mirror/runtime/clock';
import { isInteractive, type Shell, type Terminal, widthOfTerminal } from './shell.ts';
import { cutToWidth } from './text-table.ts';

/** Shortest interval (ms) between two repaints of a terminal's line, and between two plain lines. */
const REPAINT = 100;
const PLAIN_LINE = 5_000;

/** Progress in one line. On a terminal the line replaces itself; elsewhere a plain line is written now and then. */
export class Progress {
  readonly #terminal: Terminal;
  readonly #clock: Clock;
  readonly #live: boolean;
  readonly #ended = new AbortController();
  #lastAt = Number.NEGATIVE_INFINITY;
  /** A repaint is scheduled. */
  #pending = false;
  /** The last state that was shown, the newest one, and the line on the terminal. */
  #shown = '';
  #latest = '';
  #line = '';

  constructor(shell: Shell) {
    this.#terminal = shell.err;
    this.#clock = shell.clock;
    this.#live = isInteractive(shell.err, shell.env);
  }

  /** Shows the state at once, or when the interval is over. */
  show(text: string): void {
    this.#latest = text;
    if (!this.#pending) void this.#paintWhenDue();
  }

  /** Writes lines above the progress. */
  say(text: string): void {
    this.#terminal.write(`${this.#line === '' ? '' : '\r\u001b[K'}${text}\n${this.#line}`);
  }

  /** Shows the last state and ends the line. */
  end(): void {
    if (this.#ended.signal.aborted) return;
    this.#ended.abort();
    this.#paint();
    if (this.#line !== '') this.#terminal.write('\n');
  }

  async #paintWhenDue(): Promise<void> {
    const wait = this.#lastAt + (this.#live ? REPAINT : PLAIN_LINE) - this.#clock.monotonic();
    if (wait > 0) {
      this.#pending = true;
      await this.#clock.sleep(wait, this.#ended.signal).catch(() => {});
      this.#pending = false;
    }
    if (!this.#ended.signal.aborted) this.#paint();
  }

  #paint(): void {
    if (this.#latest === this.#shown) return;
    this.#shown = this.#latest;
    this.#lastAt = this.#clock.monotonic();
    if (this.#live) {
      // One column is left free: a full line would wrap and could not be replaced.
      this.#line = cutToWidth(this.#latest, (widthOfTerminal(this.#terminal) ?? 80) - 1);
      this.#terminal.write(`\r\u001b[K${this.#line}`);
    } else {
      this.#terminal.write(`${this.#latest}\n`);
    }
  }
}
