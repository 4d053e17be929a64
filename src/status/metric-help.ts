/** What each metric means; those of collections' columns say it there (src/model/collection-columns.ts). */
export const HELP = {
  build_info: 'Always 1; the label says which version runs.',
  ready: '1 while the database is migrated and can be written, as /readyz says.',
  healthy: '1 while `research-mirror status` would end with 0.',
  problems: 'Problems that `research-mirror status` would list.',
  api_keys: 'Configured keys, by what is known of them.',
  database_bytes: 'Size of the database, tables of other programs included.',
  // What the program does.
  api_requests_total: 'Requests sent to the service, by route and status ("none": no answer).',
  api_rate_limited_total:
    'Answers with status 429, by route and the group of endpoints whose limit it is: the budget is there to keep this at 0.',
  api_errors_total: 'Requests that did not give what was asked for, by route and kind of error.',
  api_received_bytes_total: 'Bytes of answers as they came over the wire, headers not counted.',
  api_response_seconds: 'From sending a request to the end of its answer.',
  pages_total: 'Pages written.',
  rows_total:
    'Items of written pages, by what became of them: insert, update, unchanged, quarantine; and rows deleted: delete.',
  walks_total: 'Walks ended, by kind and outcome.',
  walk_seconds: 'From the beginning of a walk to its end.',
  webhook_deliveries_total: 'Requests to the webhook’s listener, by what became of them.',
  events_total: 'Events stored, by type; types that the specification does not name are "other".',
  submissions_total: 'What came of sending submissions ("queued": it was not sent, and is tried again).',
  // Of an account.
  account_active: '0 while the account is stopped.',
  credits: 'Credits that the account has.',
  credits_burnt_last_day: 'By how much the credits fell in the last 24 hours, top-ups aside.',
  webhook_registered: '1 while a webhook of this mirror is registered.',
  webhook_last_event_timestamp_seconds: 'When an event was stored last.',
  hints_waiting: 'Rows and lists that events named, and that are to be read again.',
  submissions: 'Submissions that have not ended.',
  submissions_on_hold: '1 while submissions are held: the database was restored or copied.',
  // Of a collection.
  failing: '1 while the collection can not be read.',
  overdue: '1 while a poll or full walk that was due has not begun.',
  due_lists: 'Lists that are new or have changed, and whose items are not read yet.',
  unfinished_rows: 'Rows whose state may still change.',
  fields_to_fill: 'Fields that got a column, which is not filled in all older rows yet.',
  // Of a key and a group of endpoints.
  budget_limit: 'The service’s limit of requests in 60 seconds.',
  budget_size: 'Requests in 60 seconds that this program allows itself.',
  budget_used: 'Slots of the budget in use.',
  budget_free: 'Slots of the budget that are free.',
  budget_waiting: 'Requests that wait for a slot.',
  budget_foreign_use: 'Requests of others with the same key in the last 60 seconds.',
  budget_rate_limited_total: 'Answers with status 429 to requests with this key.',
} as const;
export type MetricName = keyof typeof HELP;
