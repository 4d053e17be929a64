import type { Clock } from '../runtime/clock.ts';
import { isInteractive, type Shell, type Terminal } from './shell.ts';
import { cutToWidth } from './width.ts';

/** Least milliseconds between two repaints of a terminal's line, and between two plain lines. */
const REPAINT = 100;
const PLAIN_LINE = 5_000;

/**
 * How far something is, in one line: on a terminal the line replaces itself, elsewhere (a file, a pipe, CI) a plain
 * line is written now and then.
 */
export class Progress {
  readonly #terminal: Terminal;
  readonly #clock: Clock;
  readonly #live: boolean;
  #lastAt = Number.NEGATIVE_INFINITY;
  /** The line as it stands on the terminal. */
  #shown = '';
  /** The state that it shows, and the newest one. */
  #painted = '';
  #latest = '';

  constructor(shell: Shell) {
    this.#terminal = shell.err;
    this.#clock = shell.clock;
    this.#live = isInteractive(shell.err, shell.env);
  }

  /** The state now; shown at once when the last showing is long enough ago, else with a later one. */
  show(text: string): void {
    this.#latest = text;
    const now = this.#clock.monotonic();
    if (now - this.#lastAt < (this.#live ? REPAINT : PLAIN_LINE)) return;
    this.#lastAt = now;
    this.#paint();
  }

  /** Writes lines of their own above the progress. */
  say(text: string): void {
    this.#terminal.write(`${this.#live && this.#shown !== '' ? '\r\u001b[K' : ''}${text}\n`);
    if (this.#live && this.#shown !== '') this.#terminal.write(this.#shown);
  }

  /** Shows the last state and ends the line. */
  end(): void {
    if (this.#latest !== this.#painted) this.#paint();
    if (this.#live && this.#shown !== '') this.#terminal.write('\n');
    this.#latest = this.#painted = this.#shown = '';
  }

  #paint(): void {
    this.#painted = this.#latest;
    if (this.#live) {
      // One column is left free: a full line would wrap, and could not be replaced.
      this.#shown = cutToWidth(this.#latest, (this.#terminal.columns ?? 80) - 1);
      this.#terminal.write(`\r\u001b[K${this.#shown}`);
    } else {
      this.#shown = this.#latest;
      this.#terminal.write(`${this.#shown}\n`);
    }
  }
}
