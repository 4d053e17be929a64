/** Event types of specification 6. */
export const EVENT_TYPES = [
  'research.completed',
  'research.failed',
  'bulk.completed',
  'bulk.failed',
  'list.analyzed',
  'list.failed',
  'watchlist.change_detected',
] as const;
