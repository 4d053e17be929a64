/** A table of the mirror whose rows a copy has. */
export interface CopiedTable {
  /** `mirror`: `<schema>`; `state`: `<schema>_sync`. */
  readonly schema: 'mirror' | 'state';
  readonly name: string;
  /** Columns that stay behind, and why. */
  readonly without?: Readonly<Record<string, string>>;
}

const MIRRORED = ['account', 'research_jobs', 'bulk_research_jobs', 'lists', 'list_items', 'watchlist'];

const SECRET = 'a secret: the webhook is registered anew';
const OF_THIS_DATABASE = 'says which database this is: the copy is another';

/** In the order in which they are copied: the registry of columns first. A test compares it with all tables. */
export const COPIED_TABLES: readonly CopiedTable[] = [
  { schema: 'mirror', name: '_columns' },
  { schema: 'mirror', name: '_collections' },
  { schema: 'mirror', name: '_conflicts' },
  ...MIRRORED.flatMap((name): CopiedTable[] => [
    { schema: 'mirror', name },
    { schema: 'mirror', name: `${name}_history` },
  ]),
  { schema: 'mirror', name: 'events' },
  { schema: 'mirror', name: 'forgotten' },
  { schema: 'mirror', name: 'quarantine' },
  { schema: 'mirror', name: 'recoveries' },
  { schema: 'mirror', name: 'submissions' },
  { schema: 'mirror', name: 'sync_log' },
  { schema: 'mirror', name: 'webhook' },
  { schema: 'state', name: 'account', without: { owner: 'a process of the original' } },
  { schema: 'state', name: 'backfill' },
  { schema: 'state', name: 'candidate' },
  { schema: 'state', name: 'deletions' },
  { schema: 'state', name: 'event_seen' },
  { schema: 'state', name: 'hint' },
  {
    schema: 'state',
    name: 'installation',
    without: {
      fingerprint: OF_THIS_DATABASE,
      nodes: OF_THIS_DATABASE,
      held_at: 'the copy has a hold of its own',
      held_why: 'the copy has a hold of its own',
    },
  },
  { schema: 'state', name: 'own_url' },
  { schema: 'state', name: 'registration', without: { secret: SECRET, previous_secret: SECRET } },
  { schema: 'state', name: 'scope' },
  { schema: 'state', name: 'unsettled' },
];

/** Tables of `<schema>_sync` that stay behind, and why (docs/operations.md, "Copy"). */
export const LEFT_BEHIND: Readonly<Record<string, string>> = {
  activity: 'the last day of the original, for charts: the copy begins its own',
  api_key: 'hashes of the keys: each key is asked again whose it is',
  command: 'requests to a daemon of the original',
  first_ping: 'slots of the rate limits',
  granted: 'rights of roles, which are granted again',
  migration: 'made by the migrations themselves',
  process: 'processes of the original',
  rate_group: 'what was learnt of the limits of each key',
  slot_block: 'slots of the rate limits',
  wanted_index: 'nothing reads it',
};
