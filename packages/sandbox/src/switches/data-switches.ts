import { HOSTILE_KINDS } from '../world/hostile.ts';
import { ID_FORMS, NUMERIC_ID_FORMS } from '../world/id-form.ts';
import { TIME_FORMS } from '../world/time-text.ts';
import { choice, integer, rate, share, text } from './switch-kind.ts';

/** Up to 50 million the arithmetic of `Permutation` is exact. */
const SIZE = { max: 50_000_000 };

/** How much data there is, how it changes by itself, and what its fields look like. */
export const DATA_SWITCHES = {
  jobs: integer(1000, 'research jobs at the epoch', SIZE),
  bulkJobs: integer(40, 'bulk research jobs at the epoch', SIZE),
  lists: integer(25, 'lists at the epoch', SIZE),
  itemsPerList: integer(60, 'items of each list at the epoch', SIZE),
  watchlist: integer(120, 'watchlist entries at the epoch', SIZE),
  newJobsPerMinute: rate(6, 'research jobs that appear each minute'),
  newBulkJobsPerMinute: rate(0.2, 'bulk jobs that appear each minute'),
  newListsPerMinute: rate(0.2, 'lists that appear each minute'),
  newListItemsPerMinute: rate(6, 'list items that appear each minute, over all lists'),
  newWatchEntriesPerMinute: rate(1, 'watchlist entries that appear each minute'),
  vanishingJobsPerMinute: rate(0, 'research jobs of the epoch that vanish each minute'),
  vanishingBulkJobsPerMinute: rate(0, 'bulk jobs of the epoch that vanish each minute'),
  vanishingListsPerMinute: rate(0, 'lists of the epoch that vanish each minute'),
  vanishingListItemsPerMinute: rate(0, 'first list items that vanish each minute, over all lists'),
  vanishingWatchEntriesPerMinute: rate(0, 'watchlist entries of the epoch that vanish each minute'),
  scoreChangesPerMinute: rate(6, 'list items whose score changes each minute, over all lists'),
  watchChangesPerMinute: rate(2, 'watchlist entries whose score changes each minute'),
  listRowsFollow: choice(['on', 'off'], 'on', 'whether updated_at and item_count of a list follow its items'),
  ageDays: integer(
    0,
    'days for which the world exists at the epoch: age of its first items, and scores changed since; 0: two years, and none has changed yet',
    { max: 730 },
  ),
  overlap: share(0, 'part of the research jobs and watchlist entries whose company is on a list, too'),
  jobSeconds: integer(90, 'typical seconds from queued to finished', { min: 1, max: 86_400 }),
  failedShare: share(0.05, 'part of the jobs that fail'),
  retriedShare: share(0, 'part of the failed jobs that the service retries, and that complete then'),
  stuckShare: share(0, 'part of the jobs that stay in processing for ever'),
  states: choice(
    ['plain', 'many', 'upper', 'mixed', 'null'],
    'plain',
    'state words: the usual four; many more; upper case; mixed case; null while unfinished',
  ),
  times: choice(
    TIME_FORMS,
    'z',
    'time fields: …Z, …+00:00, no zone, six fraction digits, epoch seconds, epoch milliseconds; of all these forms; no times at all',
  ),
  ids: choice(
    ID_FORMS,
    'integer',
    'form of the IDs of list items and watchlist entries; odd: with what a URL has to encode',
    { live: false },
  ),
  numericIds: choice(
    NUMERIC_ID_FORMS,
    'integer',
    'form of job_id, bulk_job_id and list_id: as specified; above 2^53; texts of digits; above 2^63; UUIDs',
    { live: false },
  ),
  lateShare: share(0, 'part of the new items that are committed late: a lower ID appears after higher ones'),
  lateSeconds: integer(60, 'most seconds by which such an item is late', { max: 86_400 }),
  hostileShare: share(0, 'part of the items that carry a hostile value', { live: true }),
  megabytes: integer(1, 'megabytes that a hostile item of the kind megabyte has', {
    min: 1,
    max: 100,
    live: true,
  }),
  hostileKinds: text(
    HOSTILE_KINDS.join(','),
    `which: ${HOSTILE_KINDS.join(',')}`,
    (value) => {
      const wrong = value.split(',').filter((kind) => !HOSTILE_KINDS.some((known) => known === kind));
      return wrong.length === 0
        ? undefined
        : `has ${wrong.map((kind) => JSON.stringify(kind)).join(', ')}; legal: ${HOSTILE_KINDS.join(',')}`;
    },
    { live: true },
  ),
};
