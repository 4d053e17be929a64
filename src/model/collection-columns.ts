/** One fact about a collection, and every place that shows it. */
interface Description {
  /** Name in the view `freshness` or `data_quality`. */
  readonly column: string;
  /** Name in `CollectionStatus`, the JSON of `/api/status` and `status --json`. */
  readonly field: string;
  /** `moment`: as of when, or when; `due`: when something begins. Both are null if unknown. */
  readonly kind: 'count' | 'moment' | 'due' | 'text';
  /** Counts suspected deletions: set to 0 when they are forgotten. */
  readonly ofSuspects?: true;
  /** `research_mirror_<name>` in `/metrics`: a count, or seconds since the epoch. */
  readonly gauge?: { readonly name: string; readonly help: string };
  /** Title on the status page, shorter title in the output of `status`, and what the page shows for null. */
  readonly cell?: Readonly<Record<'title' | 'short' | 'unknown', string>>;
  /** What the page says under the collection's name if the count is not 0. */
  readonly note?: { readonly words: string; readonly warns: boolean };
}

/**
 * The columns of `_collections`, `freshness` and `data_quality`. The status report, metrics, page and text follow from
 * this list; the JSON has its order. A new column needs an entry here, a migration, code that writes it, and its name
 * in docs/mirror-tables.md.
 */
export const COLLECTION_COLUMNS = [
  {
    column: 'live_rows',
    field: 'liveRows',
    kind: 'count',
    gauge: { name: 'live_rows', help: 'Rows that the service has, as far as the mirror knows.' },
    cell: { title: 'Rows', short: 'rows', unknown: '' },
  },
  {
    column: 'deleted_rows',
    field: 'deletedRows',
    kind: 'count',
    gauge: { name: 'deleted_rows', help: 'Deleted rows: the service no longer has them.' },
  },
  {
    column: 'polled_at',
    field: 'polledAt',
    kind: 'moment',
    gauge: {
      name: 'polled_timestamp_seconds',
      help: 'New rows and changes of unfinished rows are mirrored as of this time.',
    },
    cell: { title: 'New rows and changes as of', short: 'new as of', unknown: 'never' },
  },
  {
    column: 'complete_as_of',
    field: 'completeAsOf',
    kind: 'moment',
    gauge: {
      name: 'complete_timestamp_seconds',
      help: 'Everything, deletions included, is mirrored as of this time.',
    },
    cell: { title: 'Complete as of', short: 'complete as of', unknown: 'not yet' },
  },
  {
    column: 'next_poll_at',
    field: 'nextPollAt',
    kind: 'due',
    cell: { title: 'Next poll', short: 'next poll', unknown: '–' },
  },
  {
    column: 'next_full_at',
    field: 'nextFullAt',
    kind: 'due',
    cell: { title: 'Next full walk', short: 'next full walk', unknown: '–' },
  },
  { column: 'last_error', field: 'lastError', kind: 'text' },
  { column: 'last_error_at', field: 'lastErrorAt', kind: 'moment' },
  { column: 'failing_since', field: 'failingSince', kind: 'moment' },
  {
    column: 'quarantined_items',
    field: 'quarantinedItems',
    kind: 'count',
    gauge: { name: 'quarantined_items', help: 'Items that could not be mirrored.' },
    note: { words: 'quarantined', warns: true },
  },
  {
    column: 'stale_rows',
    field: 'staleRows',
    kind: 'count',
    gauge: { name: 'stale_rows', help: 'Rows whose newest version Postgres refuses.' },
    note: { words: 'older than at the service', warns: true },
  },
  {
    column: 'field_conflicts',
    field: 'fieldConflicts',
    kind: 'count',
    gauge: { name: 'field_conflicts', help: 'Values that did not fit their column.' },
    note: { words: 'values that did not fit their column', warns: true },
  },
  {
    column: 'held_deletions',
    field: 'heldDeletions',
    kind: 'count',
    ofSuspects: true,
    gauge: { name: 'held_deletions', help: 'Deletions that the brake holds back.' },
    note: { words: 'deletions held back', warns: true },
  },
  {
    // Rows absent from a first proof, and rows that came back too soon.
    column: 'waiting_deletions',
    field: 'waitingDeletions',
    kind: 'count',
    ofSuspects: true,
    gauge: {
      name: 'waiting_deletions',
      help: 'Rows in doubt: a second proof decides whether they are deleted.',
    },
    note: { words: 'in doubt: a second proof decides', warns: false },
  },
  {
    column: 'forgotten_rows',
    field: 'forgottenRows',
    kind: 'count',
    gauge: { name: 'forgotten_rows', help: 'Rows kept out because they were forgotten on request.' },
    note: { words: 'forgotten on request', warns: false },
  },
] as const satisfies readonly Description[];

/** `{ liveRows: number, polledAt: string | null, … }`: times are ISO 8601. */
export type CollectionFigures = {
  readonly [C in (typeof COLLECTION_COLUMNS)[number] as C['field']]: C['kind'] extends 'count' ? number : string | null;
};

export const CELL_COLUMNS = COLLECTION_COLUMNS.filter((each) => 'cell' in each);
export type CellColumn = (typeof CELL_COLUMNS)[number];
export const GAUGE_COLUMNS = COLLECTION_COLUMNS.filter((each) => 'gauge' in each);
export const NOTE_COLUMNS = COLLECTION_COLUMNS.filter((each) => 'note' in each);
/** Times that a `CollectionChange` sets by field; those of a failure are set together with its message. */
export const SET_MOMENTS = COLLECTION_COLUMNS.filter(
  (each) =>
    each.kind === 'due' || (each.kind === 'moment' && each.field !== 'lastErrorAt' && each.field !== 'failingSince'),
);
export const SUSPECT_COUNTERS = COLLECTION_COLUMNS.filter((each) => 'ofSuspects' in each);
