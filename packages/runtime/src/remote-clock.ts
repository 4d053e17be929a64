/**
 * Another machine's clock, as far as its answers tell (Cristian 1989, "Probabilistic clock synchronization"): the time
 * that an answer tells was there between question and answer. Never early, and late by the shortest round trip and a millisecond at most;
 * as long as what is known fits the answers, it stays, so that the time does not jump with each round trip.
 * Moments are milliseconds; those of this machine are monotonic.
 */
export class RemoteClock {
  #ahead: number | undefined;

  /** @param time what was told, by a question asked at `askedAt` and answered at `answeredAt` */
  observe(time: number, askedAt: number, answeredAt: number): void {
    const least = time - answeredAt;
    const most = time - askedAt;
    this.#ahead = Math.min(Math.max(this.#ahead ?? least, least), most);
  }

  /** The other machine's time, in whole milliseconds as a wall clock tells it; undefined before the first answer. */
  at(monotonic: number): number | undefined {
    return this.#ahead === undefined ? undefined : Math.floor(monotonic + this.#ahead);
  }
}
