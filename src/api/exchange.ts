import type { ClassifiedError } from '@research-mirror/runtime/errors';
import type { HttpRequest } from './transport.ts';

/** One attempt as it ended, for metrics, counters of walks and debug logs. */
export interface Exchange {
  readonly method: HttpRequest['method'];
  readonly route: string;
  /** Undefined: no answer. */
  readonly status: number | undefined;
  /** Milliseconds from sending to the body's end, or to the failure. */
  readonly durationMs: number;
  /** Bytes of the body, as they came over the wire. */
  readonly bytes: number;
  /** Undefined: the attempt gave what was asked for. */
  readonly error: ClassifiedError | undefined;
}
