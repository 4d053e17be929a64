import type { SandboxCollection } from '../world/user-data.ts';

/** Event types of specification 6, and the collection whose items they name. */
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

const ENDINGS: Readonly<
  Record<Exclude<SandboxCollection, 'watchlist'>, { readonly done: EventType; readonly failed: EventType }>
> = {
  research_jobs: { done: 'research.completed', failed: 'research.failed' },
  bulk_research_jobs: { done: 'bulk.completed', failed: 'bulk.failed' },
  lists: { done: 'list.analyzed', failed: 'list.failed' },
};

/** State words that end a job or an analysis (world/job-state.ts), in lower case. */
const DONE = new Set(['completed', 'partial_failure', 'skipped', 'analyzed']);
const FAILED = new Set(['failed', 'error', 'cancelled']);

/** The event that an item's coming to `status` is; undefined for a state that ends nothing, and for the watchlist. */
export function endingEvent(collection: SandboxCollection, status: unknown): EventType | undefined {
  if (collection === 'watchlist' || typeof status !== 'string') return undefined;
  const word = status.toLowerCase();
  if (DONE.has(word)) return ENDINGS[collection].done;
  return FAILED.has(word) ? ENDINGS[collection].failed : undefined;
}
