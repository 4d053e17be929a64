/** What commands that do several things can do, the usual one first: for their help, and for who then does it. */
export const ACCOUNTS_ACTIONS = ['list', 'retire', 'move'] as const;
export const COLUMNS_ACTIONS = ['list', 'set-type'] as const;
export const EVENTS_ACTIONS = ['list', 'replay'] as const;
export const SUBMISSIONS_ACTIONS = ['list', 'cancel', 'release'] as const;

/** How many a list shows where --limit does not say. */
export const USUAL_LIMITS = { events: 50, quarantine: 100, submissions: 50 } as const;
