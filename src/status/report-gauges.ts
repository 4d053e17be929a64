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
import { HELP, type MetricName } from './metric-help.ts';

/** By name: what is shown of each of those that have the same labels; undefined: nothing. */
type Shown<T> = Readonly<Partial<Record<MetricName, (of: T) => number | undefined>>>;
/** Undefined: no report could be made. */
type Report = StatusReport | undefined;
type Labelled<T> = readonly (readonly [labels: Readonly<Record<string, string>>, of: T])[];

const OF_MIRROR: Shown<Report> = {
  healthy: (report) => (report?.healthy === true ? 1 : 0),
  submissions_on_hold: (report) => (report === undefined || report.held === null ? 0 : 1),
  database_bytes: (report) => report?.databaseBytes ?? undefined,
};

const OF_ACCOUNT: Shown<AccountStatus> = {
  // One that an operator took out has not stopped.
  account_active: ({ state }) => ({ active: 1, stopped: 0, retired: undefined })[state],
  credits: ({ credits }) => numberOf(credits?.left),
  credits_burnt_last_day: ({ credits }) => numberOf(credits?.burntLastDay),
  webhook_registered: ({ webhook }) => (webhook.state === 'registered' ? 1 : 0),
  webhook_last_event_timestamp_seconds: ({ webhook }) => seconds(webhook.lastEventAt),
  hints_waiting: ({ webhook }) => webhook.hintsWaiting,
};

const OF_COLLECTION: Shown<CollectionStatus> = {
  failing: ({ state }) => (state === 'failing' ? 1 : 0),
  overdue: ({ state }) => (state === 'overdue' ? 1 : 0),
  due_lists: ({ collection, dueLists }) => (collection === 'list_items' ? dueLists : undefined),
  unfinished_rows: ({ unfinishedRows }) => unfinishedRows,
  fields_to_fill: ({ fieldsToFill }) => fieldsToFill,
};

/** Columns of `freshness` and `data_quality`. */
const OF_COLUMNS = GAUGE_COLUMNS.map(({ field, gauge }) => {
  // A paused collection grows old, which is no reason for an alert.
  const value = ({ state, [field]: figure }: CollectionStatus): number | undefined =>
    typeof figure === 'number' ? figure : state === 'paused' ? undefined : seconds(figure);
  return [gauge.name, gauge.help, value] as const;
});

const OF_BUDGET: Shown<GroupBudgetStatus> = {
  budget_limit: ({ limit }) => limit,
  budget_size: ({ size }) => size,
  budget_used: ({ used }) => used,
  budget_free: ({ size, used }) => Math.max(0, size - used),
  budget_waiting: ({ waiting }) => waiting,
  budget_foreign_use: ({ foreignUse }) => foreignUse,
};

const WAITING_STATES = ['queued', 'sending', 'held'] as const;

/**
 * Registers what a status report fills; the function that it gives fills it.
 * @param groups of endpoints that have a rate limit of their own
 */
export function createReportGauges(registry: Registry, groups: readonly string[]): (report: Report) => void {
  const filled: ((report: Report) => void)[] = [];
  const add = <T>(
    [short, help, value]: readonly [string, string, (of: T) => number | undefined],
    labelNames: string[],
    all: (report: Report) => Labelled<T>,
  ): void => {
    const options = { name: `research_mirror_${short}`, help, labelNames, registers: [registry] };
    const metric = short.endsWith('_total') ? new Counter(options) : new Gauge(options);
    filled.push((report) => {
      // Series of accounts that are gone must go, too. One without labels would stay, with 0, which would be a size.
      metric.reset();
      if (labelNames.length === 0) metric.remove();
      for (const [labels, of] of all(report)) {
        const shown = value(of);
        if (shown !== undefined) metric.inc(labels, shown);
      }
    });
  };
  const show = <T>(labelNames: string[], shown: Shown<T>, all: (report: Report) => Labelled<T>): void => {
    for (const [name, value] of Object.entries(shown)) {
      add([name, HELP[name as MetricName], value], labelNames, all);
    }
  };
  const itself = (count: number): number => count;
  const ofCollections = ofAccounts(({ collections }) =>
    collections.map((each) => [{ collection: each.collection }, each]),
  );
  show([], OF_MIRROR, (report) => [[{}, report]]);
  // Each of them is there from the beginning: an alert on a series that is not there never fires.
  show(['cause'], { problems: itself }, (report) =>
    PROBLEM_CAUSES.map((cause) => [
      { cause },
      (report?.problems ?? []).filter((each) => each.cause === cause).length,
    ]),
  );
  show(['state'], { api_keys: itself }, (report) =>
    KEY_STATES.map((state) => [{ state }, report?.keys?.[state] ?? 0]),
  );
  show(
    ['user_id'],
    OF_ACCOUNT,
    ofAccounts((account) => [[{}, account]]),
  );
  show(
    ['user_id', 'state'],
    { submissions: itself },
    ofAccounts(({ submissions }) => WAITING_STATES.map((state) => [{ state }, submissions[state]])),
  );
  show(['user_id', 'collection'], OF_COLLECTION, ofCollections);
  for (const column of OF_COLUMNS) add(column, ['user_id', 'collection'], ofCollections);
  const ofBudgets = ofAccounts(({ budgets }) =>
    budgets.flatMap((each) =>
      each.groups.map((group) => [{ key: each.key, group: group.group }, group] as const),
    ),
  );
  show(['user_id', 'key', 'group'], OF_BUDGET, ofBudgets);
  // Of all groups, also those that nothing was sent to yet.
  const none = ofAccounts(({ budgets }) =>
    budgets.flatMap(({ key }) => groups.map((group) => [{ key, group }, { refused: 0 }] as const)),
  );
  show(
    ['user_id', 'key', 'group'],
    { budget_rate_limited_total: ({ refused }: Pick<GroupBudgetStatus, 'refused'>) => refused },
    (report) => [...none(report), ...ofBudgets(report)],
  );
  return (report) => {
    for (const fill of filled) fill(report);
  };
}

function ofAccounts<T>(parts: (account: AccountStatus) => Labelled<T>): (report: Report) => Labelled<T> {
  return (report) =>
    (report?.accounts ?? []).flatMap((account) =>
      parts(account).map(([labels, of]) => [{ user_id: account.userId, ...labels }, of] as const),
    );
}

/** Prometheus takes moments as seconds since the epoch. */
function seconds(moment: string | null): number | undefined {
  return moment === null ? undefined : Date.parse(moment) / 1000;
}

function numberOf(digits: string | null | undefined): number | undefined {
  return digits === null || digits === undefined ? undefined : Number(digits);
}
