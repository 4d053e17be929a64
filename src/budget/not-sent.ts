/**
 * Thrown by a `Send` that provably wrote nothing to the network: no server has counted it, so its slot is free again
 * at once. `cause` says why.
 */
export class NotSent extends Error {
  override readonly name = 'NotSent';
  constructor(cause: unknown) {
    super('nothing was sent', { cause });
  }
}
