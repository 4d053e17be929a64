import type { HintedRow } from '../hint.ts';

/** What was read from the body of a rightly signed delivery (specification 2.4), which is a JSON object. */
export interface VerifiedEvent {
  /** As the service gave it; the SHA-256 of the body, in hex, where it gave none that can be a key. */
  readonly id: string;
  readonly type: string | undefined;
  /** As sent. */
  readonly createdAt: string | undefined;
  /** JSON text of `data`. */
  readonly dataSource: string | undefined;
  /** The rows that it names (`rowsOfEvent`), of any collection. */
  readonly rows: readonly HintedRow[];
  /** The whole body. */
  readonly source: string;
}

/** Where verified events go. */
export interface EventSink {
  /** Resolves when the event is stored for good: it is answered only then (invariant 7). */
  store(userId: string, event: VerifiedEvent): Promise<'stored' | 'known'>;
}
