/**
 * Who gets the next free slot (docs/design/plan.md, "Priorities"): the greater number; among equals, who asked first.
 * Pings and webhook calls use POLL or higher.
 */
export const PRIORITY = {
  /** A POST operation that a user waits for. */
  SUBMISSION: 50,
  /** A read that an event asked for, within the hints' part of the budget. */
  HINT: 40,
  /** A poll or a refresh that is due, and a check of the webhook's registration. */
  POLL: 30,
  /** A list's items: of ten thousand lists some are always due. */
  LISTS: 20,
  /** A full walk. It takes turns with lists: neither starves the other. */
  FULL: 20,
} as const;

export type Priority = (typeof PRIORITY)[keyof typeof PRIORITY];

/**
 * Requests of this priority or higher have a slot kept for them while such ones come (docs/design/rate-limit.md,
 * "Who gets the slot").
 */
export const HIGH_PRIORITY: Priority = PRIORITY.HINT;
