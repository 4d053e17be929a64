import { Counter, Gauge, type Registry } from '@prometheus-io/client';
import { GAUGE_COLUMNS } from '../model/collection-columns.ts';
import { PROBLEM_CAUSES } from '../model/status/problem.ts';
import {
  type AccountStatus,
  type CollectionStatus,
  type GroupBudgetStatus,
  KEY_STATES,
  type StatusReport,
} from '../model/status/status-report.ts';

type CollectionGauge = readonly [string, string, (collection: CollectionStatus) => number | undefined];

/** What is shown of each collection; undefined: nothing to show yet. */
const COLLECTION_GAUGES: readonly CollectionGauge[] = [
  ...GAUGE_COLUMNS.map(({ field, gauge: { name, help } }): CollectionGauge => [
    name,
    help,
    (each) => {
      const value = each[field];
      return typeof value === 'number' ? value : unlessPaused(each, value);
    },
  ]),
  ['failing', '1 while the collection can not be read.', (each) => (each.state === 'failing' ? 1 : 0)],
  [
    'overdue',
    '1 while a poll or full walk that was promised has not begun.',
    (each) => (each.state === 'overdue' ? 1 : 0),
  ],
  [
    'due_lists',
    'Lists that are new or have changed, and whose items are not read yet.',
    (each) => (each.collection === 'list_items' ? each.dueLists : undefined),
  ],
  ['unfinished_rows', 'Rows whose state may still change.', (each) => each.unfinishedRows],
  [
    'fields_to_fill',
    'Fields that got a column, which is not filled in all older rows yet.',
    (each) => each.fieldsToFill,
  ],
];

const BUDGET_GAUGES: readonly [string, string, (group: GroupBudgetStatus) => number][] = [
  ['budget_limit', 'The service’s limit of requests in 60 seconds.', (each) => each.limit],
  ['budget_size', 'Requests in 60 seconds that this program allows itself.', (each) => each.size],
  ['budget_used', 'Slots of the budget in use.', (each) => each.used],
  ['budget_free', 'Slots of the budget that are free.', (each) => Math.max(0, each.size - each.used)],
  ['budget_waiting', 'Requests that wait for a slot.', (each) => each.waiting],
  [
    'budget_foreign_use',
    'Requests of others with the same key in the last 60 seconds.',
    (each) => each.foreignUse,
  ],
];

const WAITING_STATES = ['queued', 'sending', 'held'] as const;

/**
 * Registers what a status report fills; the function that it gives fills it.
 * @param groups of endpoints that have a rate limit of their own
 */
export function createReportGauges(
  registry: Registry,
  groups: readonly string[],
): (report: StatusReport | undefined) => void {
  const gauge = <Label extends string>(name: string, help: string, labelNames: Label[]): Gauge<Label> =>
    new Gauge({ name: `research_mirror_${name}`, help, labelNames, registers: [registry] });
  const healthy = gauge('healthy', '1 while `research-mirror status` would end with 0.', []);
  const problems = gauge('problems', 'Problems that `research-mirror status` would list.', ['cause']);
  const accounts = gauge('account_active', '0 while the account is stopped.', ['user_id']);
  const collections = COLLECTION_GAUGES.map(([name, help, value]) => ({
    gauge: gauge(name, help, ['user_id', 'collection']),
    value,
  }));
  const budgets = BUDGET_GAUGES.map(([name, help, value]) => ({
    gauge: gauge(name, help, ['user_id', 'key', 'group']),
    value,
  }));
  const registered = gauge('webhook_registered', '1 while a webhook of this mirror is registered.', [
    'user_id',
  ]);
  const lastEvent = gauge('webhook_last_event_timestamp_seconds', 'When an event was stored last.', [
    'user_id',
  ]);
  const hints = gauge('hints_waiting', 'Rows and lists that events named, and that are to be read again.', [
    'user_id',
  ]);
  const submissions = gauge('submissions', 'Submissions that have not ended.', ['user_id', 'state']);
  const held = gauge(
    'submissions_on_hold',
    '1 while submissions are held: the database was restored or copied.',
    [],
  );
  const refused = new Counter({
    name: 'research_mirror_budget_rate_limited_total',
    help: 'Answers with status 429 to requests with this key.',
    labelNames: ['user_id', 'key', 'group'],
    registers: [registry],
  });
  const keys = gauge('api_keys', 'Configured keys, by what is known of them.', ['state']);
  const size = gauge('database_bytes', 'Size of the database, tables of other programs included.', []);
  const credits = gauge('credits', 'Credits that the account has.', ['user_id']);
  const burnt = gauge(
    'credits_burnt_last_day',
    'By how much the credits fell in the last 24 hours, top-ups aside.',
    ['user_id'],
  );
  const accountGauges = [registered, lastEvent, hints, submissions, credits, burnt];

  const setAccountGauges = (account: AccountStatus): void => {
    const { userId: user_id, webhook, submissions: counts } = account;
    if (account.credits !== null) {
      const { left, burntLastDay } = account.credits;
      credits.set({ user_id }, Number(left));
      if (burntLastDay !== null) burnt.set({ user_id }, Number(burntLastDay));
    }
    registered.set({ user_id }, webhook.state === 'registered' ? 1 : 0);
    const last = seconds(webhook.lastEventAt);
    if (last !== undefined) lastEvent.set({ user_id }, last);
    hints.set({ user_id }, webhook.hintsWaiting);
    for (const state of WAITING_STATES) submissions.set({ user_id, state }, counts[state]);
  };

  return (report) => {
    // Series of accounts that are gone must go, too.
    for (const each of [healthy, accounts, held, refused, keys, ...accountGauges]) each.reset();
    // A gauge without labels is 0 after a reset, which would be a size.
    size.remove();
    if (report !== undefined && report.databaseBytes !== null) size.set(report.databaseBytes);
    for (const state of KEY_STATES) keys.set({ state }, report?.keys?.[state] ?? 0);
    for (const each of [...collections, ...budgets]) each.gauge.reset();
    healthy.set(report?.healthy === true ? 1 : 0);
    // Each of them is there from the beginning: an alert on a series that is not there never fires.
    for (const cause of PROBLEM_CAUSES) problems.set({ cause }, 0);
    for (const { cause } of report?.problems ?? []) problems.inc({ cause });
    held.set(report?.held === null || report === undefined ? 0 : 1);
    for (const account of report?.accounts ?? []) {
      const user_id = account.userId;
      setAccountGauges(account);
      // One that an operator took out has not stopped.
      if (account.state !== 'retired') accounts.set({ user_id }, account.state === 'active' ? 1 : 0);
      for (const collection of account.collections) {
        for (const each of collections) {
          const value = each.value(collection);
          if (value !== undefined) each.gauge.set({ user_id, collection: collection.collection }, value);
        }
      }
      for (const { key, groups: used } of account.budgets) {
        // Also those that nothing was sent to yet.
        for (const group of groups) refused.inc({ user_id, key, group }, 0);
        for (const group of used) {
          refused.inc({ user_id, key, group: group.group }, group.refused);
          for (const each of budgets) each.gauge.set({ user_id, key, group: group.group }, each.value(group));
        }
      }
    }
  };
}

/** A paused collection grows old, which is no reason for an alert. */
function unlessPaused({ state }: CollectionStatus, moment: string | null): number | undefined {
  return state === 'paused' ? undefined : seconds(moment);
}

/** Prometheus takes moments as seconds since the epoch. */
function seconds(moment: string | null): number | undefined {
  return moment === null ? undefined : Date.parse(moment) / 1000;
}
