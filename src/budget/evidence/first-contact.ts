/** Most requests in flight until this many in a row were accepted. */
const CAREFUL_IN_FLIGHT = 4;
const PROVEN_BY = 10;

/** A careful start with a group, and after each 429: a wrong guess of its limit costs 4 refusals, not 60. */
export class FirstContact {
  #accepted: number;

  /** @param proven an earlier process had its requests accepted */
  constructor(proven: boolean) {
    this.#accepted = proven ? PROVEN_BY : 0;
  }

  get proven(): boolean {
    return this.#accepted >= PROVEN_BY;
  }

  get mostInFlight(): number {
    return this.proven ? Infinity : CAREFUL_IN_FLIGHT;
  }

  /** @returns whether this was the last one needed */
  accepted(): boolean {
    if (this.proven) return false;
    this.#accepted += 1;
    return this.proven;
  }

  refused(): void {
    this.#accepted = 0;
  }
}
