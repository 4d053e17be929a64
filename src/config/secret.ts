import { createHash } from 'node:crypto';
import { inspect } from 'node:util';

const HIDDEN = '***';

/** A value that must never be printed. Its users are easy to find: only `reveal` gives it. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** For the request or connection that needs it, never for a message. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return HIDDEN;
  }

  toJSON(): string {
    return HIDDEN;
  }

  [inspect.custom](): string {
    return HIDDEN;
  }
}

/** Identifies a key in the database, in logs and on pages: SHA-256, hexadecimal. */
export function hashOfKey(key: Secret): string {
  return createHash('sha256').update(key.reveal()).digest('hex');
}
