import type { EventType } from './event-types.ts';

/** Something of which the service tells: an item that ended, or whose score changed significantly. */
export interface Occurrence {
  readonly type: EventType;
  /** ID of the item, in the collection that the type belongs to. */
  readonly id: string;
  /** Moment of the data: epoch milliseconds. */
  readonly at: number;
}
