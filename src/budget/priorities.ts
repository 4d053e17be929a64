/**
 * Who gets the next free slot (docs/design/plan.md, "Priorities"): the greater number; within one number, who asked first.
 * Pings and webhook calls use POLL or higher.
 */
export const PRIORITY = {
  /** A POST operation that a user waits for. */
  SUBMISSION: 50,
  /** A read that an event asked for. */
  HINT: 40,
  /** A poll or a refresh that is due, and a look at the webhook's registration. */
  POLL: 30,
  /** A list's items: ten thousand lists are always due somewhere. */
  LISTS: 20,
  /** A full walk. By turns with lists, so that neither starves the other. */
  FULL: 20,
  /** A read that an event asked for, beyond what hints may take from others: it goes where nobody else would. */
  LATE_HINT: 15,
} as const;

export type Priority = (typeof PRIORITY)[keyof typeof PRIORITY];

/** From this priority on, a slot is kept free for such requests while there are any (docs/design/rate-limit.md, "Who gets the slot"). */
export const HIGH_PRIORITY: Priority = PRIORITY.HINT;
