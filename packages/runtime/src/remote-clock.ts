/**
 * An estimate of another machine's clock, from its answers (Cristian 1989, "Probabilistic clock synchronization"): the
 * time in an answer was true between request and answer. The estimate is never early, and late by at most the shortest
 * round trip and a millisecond. It changes only when an answer contradicts it, so it does not jump with each round trip.
 * Times are milliseconds; those of this machine are monotonic.
 */
export class RemoteClock {
  /** More (ms) than two clocks drift apart between two answers. */
  static readonly STEP = 15_000;
  #ahead: number | undefined;

  /** @param time the time in an answer, requested at `askedAt` and received at `answeredAt` */
  observe(time: number, askedAt: number, answeredAt: number): void {
    const least = time - answeredAt;
    const most = time - askedAt;
    this.#ahead = Math.min(Math.max(this.#ahead ?? least, least), most);
  }

  /**
   * By how much (ms) the clock was set since the earlier answers; negative: back; 0: it was not. Ahead it also seems to
   * be set where this machine slept. To be asked before `observe`.
   */
  stepAt(time: number, askedAt: number, answeredAt: number): number {
    if (this.#ahead === undefined) return 0;
    const [back, on] = [time - (askedAt + this.#ahead), time - (answeredAt + this.#ahead)];
    if (back < -RemoteClock.STEP) return back;
    return on > RemoteClock.STEP ? on : 0;
  }

  /** The other machine's time, in whole milliseconds, as a wall clock shows it; undefined before the first answer. */
  at(monotonic: number): number | undefined {
    return this.#ahead === undefined ? undefined : Math.floor(monotonic + this.#ahead);
  }
}
