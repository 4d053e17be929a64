import { Counter, Gauge, type LabelValues, type Registry } from '@prometheus-io/client';
import { GAUGE_COLUMNS } from '../model/collection-columns.ts';
import { PROBLEM_CAUSES } from '../model/status/problem.ts';
import { KEY_STATES, type StatusReport } from '../model/status/status-report.ts';

const ACCOUNT = ['user_id'];
const COLLECTION = ['user_id', 'collection'];
const BUDGET = ['user_id', 'key', 'group'];

/** Labels and meaning of each; those of collections' columns say it there (src/model/collection-columns.ts). */
const GAUGES = {
  healthy: [[], '1 while `research-mirror status` would end with 0.'],
  problems: [['cause'], 'Problems that `research-mirror status` would list.'],
  api_keys: [['state'], 'Configured keys, by what is known of them.'],
  submissions_on_hold: [[], '1 while submissions are held: the database was restored or copied.'],
  database_bytes: [[], 'Size of the database, tables of other programs included.'],
  account_active: [ACCOUNT, '0 while the account is stopped.'],
  credits: [ACCOUNT, 'Credits that the account has.'],
  credits_burnt_last_day: [ACCOUNT, 'By how much the credits fell in the last 24 hours, top-ups aside.'],
  webhook_registered: [ACCOUNT, '1 while a webhook of this mirror is registered.'],
  webhook_last_event_timestamp_seconds: [ACCOUNT, 'When an event was stored last.'],
  hints_waiting: [ACCOUNT, 'Rows and lists that events named, and that are to be read again.'],
  submissions: [['user_id', 'state'], 'Submissions that have not ended.'],
  failing: [COLLECTION, '1 while the collection can not be read.'],
  overdue: [COLLECTION, '1 while a poll or full walk that was due has not begun.'],
  due_lists: [COLLECTION, 'Lists that are new or have changed, and whose items are not read yet.'],
  unfinished_rows: [COLLECTION, 'Rows whose state may still change.'],
  fields_to_fill: [COLLECTION, 'Fields that got a column, which is not filled in all older rows yet.'],
  budget_limit: [BUDGET, 'The service’s limit of requests in 60 seconds.'],
  budget_size: [BUDGET, 'Requests in 60 seconds that this program allows itself.'],
  budget_used: [BUDGET, 'Slots of the budget in use.'],
  budget_free: [BUDGET, 'Slots of the budget that are free.'],
  budget_waiting: [BUDGET, 'Requests that wait for a slot.'],
  budget_foreign_use: [BUDGET, 'Requests of others with the same key in the last 60 seconds.'],
  budget_rate_limited_total: [BUDGET, 'Answers with status 429 to requests with this key.'],
} as const satisfies Readonly<Record<string, readonly [labels: readonly string[], help: string]>>;

type Name = keyof typeof GAUGES | (typeof GAUGE_COLUMNS)[number]['gauge']['name'];
type Sample = readonly [name: Name, labels: LabelValues<string>, value: number | undefined];

/**
 * Registers what a status report fills; the function that it gives fills it, undefined where none could be made.
 * @param groups of endpoints that have a rate limit of their own
 */
export function createReportGauges(
  registry: Registry,
  groups: readonly string[],
): (report: StatusReport | undefined) => void {
  const metrics = new Map<string, Gauge<string> | Counter<string>>();
  const register = (name: string, labels: readonly string[], help: string): void => {
    const options = { name: `research_mirror_${name}`, help, labelNames: [...labels], registers: [registry] };
    metrics.set(name, name.endsWith('_total') ? new Counter(options) : new Gauge(options));
  };
  for (const [name, [labels, help]] of Object.entries(GAUGES)) register(name, labels, help);
  for (const { gauge } of GAUGE_COLUMNS) register(gauge.name, COLLECTION, gauge.help);
  return (report) => {
    for (const [name, metric] of metrics) {
      // Series of accounts that are gone must go, too. One without labels stays, with 0, which would be a size.
      metric.reset();
      if (name === 'database_bytes') metric.remove();
    }
    for (const [name, labels, value] of samplesOf(report, groups)) {
      if (value !== undefined) metrics.get(name)?.inc(labels, value);
    }
  };
}

/** Values; undefined: not shown. What has no account is there from the beginning, or no alert on it could fire. */
function* samplesOf(report: StatusReport | undefined, groups: readonly string[]): Iterable<Sample> {
  const {
    healthy = false,
    problems = [],
    keys = null,
    held = null,
    databaseBytes,
    accounts = [],
  } = report ?? {};
  yield ['healthy', {}, Number(healthy)];
  yield ['submissions_on_hold', {}, Number(held !== null)];
  yield ['database_bytes', {}, databaseBytes ?? undefined];
  for (const cause of PROBLEM_CAUSES) {
    yield ['problems', { cause }, problems.filter((each) => each.cause === cause).length];
  }
  for (const state of KEY_STATES) yield ['api_keys', { state }, keys?.[state] ?? 0];
  for (const { userId, state, credits, webhook, submissions, collections, budgets } of accounts) {
    const account = { user_id: userId };
    // One that an operator took out has not stopped.
    yield ['account_active', account, { active: 1, stopped: 0, retired: undefined }[state]];
    yield ['credits', account, numberOf(credits?.left)];
    yield ['credits_burnt_last_day', account, numberOf(credits?.burntLastDay)];
    yield ['webhook_registered', account, Number(webhook.state === 'registered')];
    yield ['webhook_last_event_timestamp_seconds', account, seconds(webhook.lastEventAt)];
    yield ['hints_waiting', account, webhook.hintsWaiting];
    for (const waiting of ['queued', 'sending', 'held'] as const) {
      yield ['submissions', { ...account, state: waiting }, submissions[waiting]];
    }
    for (const each of collections) {
      const collection = { ...account, collection: each.collection };
      yield ['failing', collection, Number(each.state === 'failing')];
      yield ['overdue', collection, Number(each.state === 'overdue')];
      if (each.collection === 'list_items') yield ['due_lists', collection, each.dueLists];
      yield ['unfinished_rows', collection, each.unfinishedRows];
      yield ['fields_to_fill', collection, each.fieldsToFill];
      for (const { field, gauge } of GAUGE_COLUMNS) {
        const figure = each[field];
        // A paused collection grows old, which is no reason for an alert.
        const moment = typeof figure === 'number' || each.state === 'paused' ? undefined : seconds(figure);
        yield [gauge.name, collection, typeof figure === 'number' ? figure : moment];
      }
    }
    for (const { key, groups: used } of budgets) {
      // Of all groups, also those that nothing was sent to yet.
      for (const group of groups) yield ['budget_rate_limited_total', { ...account, key, group }, 0];
      for (const each of used) {
        const budget = { ...account, key, group: each.group };
        yield ['budget_limit', budget, each.limit];
        yield ['budget_size', budget, each.size];
        yield ['budget_used', budget, each.used];
        yield ['budget_free', budget, Math.max(0, each.size - each.used)];
        yield ['budget_waiting', budget, each.waiting];
        yield ['budget_foreign_use', budget, each.foreignUse];
        yield ['budget_rate_limited_total', budget, each.refused];
      }
    }
  }
}

/** Prometheus takes moments as seconds since the epoch. */
function seconds(moment: string | null): number | undefined {
  return moment === null ? undefined : Date.parse(moment) / 1000;
}

function numberOf(digits: string | null | undefined): number | undefined {
  return digits === null || digits === undefined ? undefined : Number(digits);
}
