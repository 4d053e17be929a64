import { Gauge, type Registry } from '@prometheus-io/client';
import { GAUGE_COLUMNS } from '../model/collection-columns.ts';
import { PROBLEM_CAUSES } from '../model/status/problem.ts';
import type {
  AccountStatus,
  CollectionStatus,
  GroupBudgetStatus,
  StatusReport,
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

/** Registers the gauges that a status report fills; the function that it gives fills them. */
export function createReportGauges(registry: Registry): (report: StatusReport | undefined) => void {
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
  const changes = gauge(
    'webhook_changes',
    'Of the last 1,000 changes into a finished state: found after an event ("announced"), or by a poll first ("polled").',
    ['user_id', 'found'],
  );
  const submissions = gauge('submissions', 'Submissions that have not ended.', ['user_id', 'state']);
  const held = gauge(
    'submissions_on_hold',
    '1 while submissions are held: the database was restored or copied.',
    [],
  );
  const accountGauges = [registered, lastEvent, hints, changes, submissions];

  const setAccountGauges = ({ userId: user_id, webhook, submissions: counts }: AccountStatus): void => {
    registered.set({ user_id }, webhook.state === 'registered' ? 1 : 0);
    const last = seconds(webhook.lastEventAt);
    if (last !== undefined) lastEvent.set({ user_id }, last);
    hints.set({ user_id }, webhook.hintsWaiting);
    for (const state of WAITING_STATES) submissions.set({ user_id, state }, counts[state]);
    if (webhook.changes === null) return;
    changes.set({ user_id, found: 'announced' }, webhook.changes.announced);
    changes.set({ user_id, found: 'polled' }, webhook.changes.polled);
  };

  return (report) => {
    // Series of accounts that are gone must go, too.
    for (const each of [healthy, accounts, held, ...accountGauges]) each.reset();
    for (const each of [...collections, ...budgets]) each.gauge.reset();
    healthy.set(report?.healthy === true ? 1 : 0);
    // Each of them is there from the beginning: an alert on a series that is not there never fires.
    for (const cause of PROBLEM_CAUSES) problems.set({ cause }, 0);
    for (const { cause } of report?.problems ?? []) problems.inc({ cause });
    held.set(report?.held === null || report === undefined ? 0 : 1);
    for (const account of report?.accounts ?? []) {
      const user_id = account.userId;
      setAccountGauges(account);
      accounts.set({ user_id }, account.state === 'active' ? 1 : 0);
      for (const collection of account.collections) {
        for (const each of collections) {
          const value = each.value(collection);
          if (value !== undefined) each.gauge.set({ user_id, collection: collection.collection }, value);
        }
      }
      for (const { key, groups } of account.budgets) {
        for (const group of groups) {
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
