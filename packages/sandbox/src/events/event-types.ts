import type { SandboxCollection } from '../world/user-data.ts';

/** Event types of specification 6, and the collection of the items that they are about. */
export const COLLECTION_OF_EVENT = {
  'research.completed': 'research_jobs',
  'research.failed': 'research_jobs',
  'bulk.completed': 'bulk_research_jobs',
  'bulk.failed': 'bulk_research_jobs',
  'list.analyzed': 'lists',
  'list.failed': 'lists',
  'watchlist.change_detected': 'watchlist',
} as const satisfies Record<string, SandboxCollection>;

export type EventType = keyof typeof COLLECTION_OF_EVENT;

export const EVENT_TYPES = Object.keys(COLLECTION_OF_EVENT) as readonly EventType[];

export function isEventType(value: unknown): value is EventType {
  return EVENT_TYPES.some((type) => type === value);
}

/** What an event is about: an item that reached a final state, or whose score changed significantly. */
export interface ItemEvent {
  readonly type: EventType;
  /** ID of the item, in the event type's collection. */
  readonly id: string;
  /** Time of the data clock: epoch milliseconds. */
  readonly at: number;
}

/** Words of final states (world/job-state.ts), in lower case. */
const DONE = new Set(['completed', 'partial_failure', 'skipped', 'analyzed']);
const FAILED = new Set(['failed', 'error', 'cancelled']);

/** The event type of an item that reaches `status`; undefined where that state is not final, and for the watchlist. */
export function endEventType(collection: SandboxCollection, status: unknown): EventType | undefined {
  if (collection === 'watchlist' || typeof status !== 'string') return undefined;
  const word = status.toLowerCase();
  const failed = FAILED.has(word);
  if (!failed && !DONE.has(word)) return undefined;
  return EVENT_TYPES.find((type) => COLLECTION_OF_EVENT[type] === collection && type.endsWith('.failed') === failed);
}
