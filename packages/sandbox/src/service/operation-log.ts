import { createHash } from 'node:crypto';
import { NumberedLog } from '../numbered-log.ts';
import type { Operation } from './routes.ts';

/** Payloads up to this size, in bytes, are kept. */
const MAX_KEPT = 4096;

/** A POST operation that took effect, as `GET /operations` shows it. */
export interface OperationRecord {
  readonly number: number;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly userId: number;
  readonly operation: Operation;
  /** ID of the path; null where it has none. */
  readonly target: string | null;
  /** Header `Idempotency-Key`. */
  readonly idempotencyKey: string | null;
  /** SHA-256 of the body, hexadecimal. */
  readonly payloadHash: string;
  /** The body itself, up to 4 KB. */
  readonly payload: string | null;
}

export class OperationLog {
  readonly #log = new NumberedLog<OperationRecord>();

  add(effect: Omit<OperationRecord, 'number' | 'payloadHash' | 'payload'>, body: string): void {
    const bytes = Buffer.from(body);
    this.#log.add({
      number: this.#log.next,
      ...effect,
      payloadHash: createHash('sha256').update(bytes).digest('hex'),
      payload: bytes.length <= MAX_KEPT ? body : null,
    });
  }

  /** The last 200,000 with numbers above `number`, oldest first. */
  after(number: number): readonly OperationRecord[] {
    return this.#log.after(number);
  }
}
