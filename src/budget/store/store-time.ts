/**
 * Maps our monotonic clock to the store's clock and back, by the last exchange with the store. Errors of the mapping
 * only ever keep a slot in use longer. The next exchange corrects a jump of either wall clock.
 */
export class StoreTime {
  /** Store time − monotonic time. For writing: at least the true one. */
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
