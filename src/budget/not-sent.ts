/**
 * Thrown by a `Send` of which provably nothing was written to the network: its slot is free again at once, since no
 * server can have counted it. `cause` is why.
 */
export class NotSent extends Error {
  override readonly name = 'NotSent';
  constructor(cause: unknown) {
    super('nothing was sent', { cause });
  }
}
