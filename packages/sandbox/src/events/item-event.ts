import type { EventType } from './event-types.ts';

/** What an event is about: an item that reached a final state, or whose score changed significantly. */
export interface ItemEvent {
  readonly type: EventType;
  /** ID of the item, in the event type's collection. */
  readonly id: string;
  /** Time of the data clock: epoch milliseconds. */
  readonly at: number;
}
