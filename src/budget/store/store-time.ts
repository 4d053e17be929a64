/**
 * Maps our monotonic clock to the store's clock and back. Each exchange with the store gives one pair; what the
 * round trip leaves open is always taken so that a slot is held longer. A jump of either wall clock is forgotten
 * with the next exchange.
 */
export class StoreTime {
  /** Store time − monotonic time for writing: at least the true one. */
  #offset: number;

  /** @param storeNow the store's time in an answer that arrived before the monotonic moment `now` */
  constructor(storeNow: number, now: number) {
    // For reading: at most the true one, so that stored moments seem later than they are.
    this.#offset = storeNow - now;
  }

  /** @param storeNow the store's time in the answer to a call that began at the monotonic moment `calledAt` */
  learn(storeNow: number, calledAt: number): void {
    this.#offset = storeNow - calledAt;
  }

  toStore(moment: number): number {
    return Math.ceil(moment + this.#offset);
  }

  fromStore(moment: number): number {
    return moment - this.#offset;
  }
}
