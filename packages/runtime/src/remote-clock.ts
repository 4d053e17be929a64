/**
 * An estimate of another machine's clock (Cristian 1989, "Probabilistic clock synchronization"): the time in an answer
 * was true between request and answer. The estimate is never early, and late by at most the shortest round trip and a
 * millisecond. Only an answer that contradicts it changes it. Times are milliseconds; this machine's are monotonic.
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
   * By how much (ms) the clock was set since the earlier answers; negative: back. It seems set ahead if this machine
   * slept. Call it before `observe`.
   */
  stepAt(time: number, askedAt: number, answeredAt: number): number {
    if (this.#ahead === undefined) return 0;
    const [back, on] = [time - (askedAt + this.#ahead), time - (answeredAt + this.#ahead)];
    if (back < -RemoteClock.STEP) return back;
    return on > RemoteClock.STEP ? on : 0;
  }

  /** The other machine's wall clock, in whole milliseconds; undefined before the first answer. */
  at(monotonic: number): number | undefined {
    return this.#ahead === undefined ? undefined : Math.floor(monotonic + this.#ahead);
  }
}
