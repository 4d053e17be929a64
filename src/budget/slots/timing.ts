/** Spans of the budget, in milliseconds (docs/design/rate-limit.md). */

/** The service's window (specification 8.2). */
export const WINDOW_MS = 60_000;

/**
 * Margin for clocks of different speed and for servers that round times. Latency needs none: a slot counts from the
 * *answer*, which came after the server had counted the request.
 */
export const GUARD_MS = 250;

/** Widest guard after repeated 429s that nothing explains. */
export const WIDEST_GUARD_MS = 8_000;

/** No Retry-After stops a group for longer. */
export const LONGEST_PAUSE_MS = 900_000;

/** A request without an answer may still be on its way to the server: its slot stays in use this much longer. */
export const UNANSWERED_MS = 30_000;

/** A reservation may be used for this long. */
export const BLOCK_VALID_MS = 10_000;

/** A row of slot_block whose `valid_until` is older than this has no slot in use. */
export const BLOCK_MEMORY_MS = 300_000;

/** How long a route's Limit counts after it was last seen. */
export const LIMIT_MEMORY_MS = 3_600_000;

/** What a 429 taught is tried again after this long. */
export const LESSON_MEMORY_MS = 86_400_000;

/** How long foreign use counts after it was seen: a window and the time that an answer may take. */
export const FOREIGN_MEMORY_MS = 65_000;

/** How long after a request of high priority more of them are expected: events come in bursts. */
export const HIGH_MEMORY_MS = 1_200_000;
