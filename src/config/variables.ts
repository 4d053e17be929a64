import { COLLECTION_NAMES, type CollectionName } from '../model/collections.ts';

/** Every variable of our own (docs/operations.md, "All settings") but the cron lines of single collections. */
const SINGLE_VARIABLES = [
  'DATABASE_URL',
  'DATABASE_URL_DIRECT',
  'MIRROR_DATA_DIR',
  'MIRROR_PG_PORT',
  'MIRROR_SCHEMA',
  'MIRROR_API_URL',
  'MIRROR_API_KEY',
  'MIRROR_COLLECTIONS',
  'MIRROR_POLL_CRON',
  'MIRROR_FULL_CRON',
  'MIRROR_BUDGET_SHARE',
  'MIRROR_DELETES',
  'MIRROR_HISTORY',
  'MIRROR_SETTLE',
  'MIRROR_SCHEMA_DRIFT',
  'MIRROR_IGNORE_FIELDS',
  'MIRROR_EXCLUDE_FIELDS',
  'MIRROR_SUBMIT',
  'MIRROR_SUBMIT_MAX_QUEUED',
  'MIRROR_CREDITS_FLOOR',
  'MIRROR_EVENTS_RETENTION',
  'MIRROR_LOG_RETENTION',
  'MIRROR_HTTP_HOST',
  'MIRROR_HTTP_PORT',
  'MIRROR_STATUS_TOKEN',
  'MIRROR_PUBLIC_URL',
  'MIRROR_WEBHOOK_HOST',
  'MIRROR_WEBHOOK_PORT',
  'MIRROR_WEBHOOK_TAKEOVER',
  'MIRROR_WEBHOOK_SCHEME',
  'MIRROR_WEBHOOK_HEADER',
  'LOG_LEVEL',
  'LOG_FORMAT',
] as const;

type CronKind = 'POLL' | 'FULL';

export type VariableName =
  | (typeof SINGLE_VARIABLES)[number]
  | `MIRROR_${CronKind}_CRON_${Uppercase<CollectionName>}`;

/** `MIRROR_POLL_CRON_LIST_ITEMS` for the polls of list_items. */
export function cronVariable(kind: CronKind, collection: CollectionName): VariableName {
  return `MIRROR_${kind}_CRON_${collection.toUpperCase() as Uppercase<CollectionName>}`;
}

export const VARIABLES: readonly VariableName[] = [
  ...SINGLE_VARIABLES,
  ...COLLECTION_NAMES.flatMap((name) => [cronVariable('POLL', name), cronVariable('FULL', name)]),
];
