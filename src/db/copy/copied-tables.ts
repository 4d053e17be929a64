/** A table of the mirror whose rows a copy has. */
export interface CopiedTable {
  /** `mirror`: `<schema>`; `state`: `<schema>_sync`. */
  readonly schema: 'mirror' | 'state';
  readonly name: string;
  /** Columns that stay behind. */
  readonly without?: readonly string[];
}

const MIRRORED = ['account', 'research_jobs', 'bulk_research_jobs', 'lists', 'list_items', 'watchlist'];

/** Reasons for what stays behind: docs/operations.md, "Copy". A test compares these tables with all that there are. */
export const COPIED_TABLES: readonly CopiedTable[] = [
  ...tablesOf('mirror', '_columns', '_collections', '_conflicts'),
  ...MIRRORED.flatMap((name) => tablesOf('mirror', name, `${name}_history`)),
  ...tablesOf(
    'mirror',
    'events',
    'forgotten',
    'operator_log',
    'quarantine',
    'recoveries',
    'submissions',
    'sync_log',
    'webhook',
  ),
  { schema: 'state', name: 'registration', without: ['secret', 'previous_secret'] },
  ...tablesOf('state', 'account', 'backfill', 'candidate', 'deletions', 'event_seen', 'hint', 'installation'),
  ...tablesOf('state', 'own_url', 'scope', 'unsettled'),
];

function tablesOf(schema: CopiedTable['schema'], ...names: readonly string[]): CopiedTable[] {
  return names.map((name) => ({ schema, name }));
}

/** Tables that stay behind: keys, slots, processes, rights, what only the original's page shows. */
export const LEFT_BEHIND: readonly CopiedTable[] = [
  ...tablesOf('state', 'api_key', 'first_ping', 'rate_group', 'slot_block'),
  ...tablesOf('state', 'command', 'granted', 'migration', 'problem', 'process'),
];
