/** Bytes of bodies that may be in memory at a time, all deliveries together. */
export class Room {
  readonly #bytes: number;
  #taken = 0;

  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  get taken(): number {
    return this.#taken;
  }

  /** Takes all of it, or nothing where that is more than is left. */
  take(bytes: number): boolean {
    if (this.#taken + bytes > this.#bytes) return false;
    this.#taken += bytes;
    return true;
  }

  /** Gives back what was taken. */
  give(bytes: number): void {
    this.#taken -= bytes;
  }
}
