import { type Histogram as Delays, monitorEventLoopDelay } from 'node:perf_hooks';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from '@prometheus-io/client';
import type { LabelValues } from '@prometheus-io/client';
import { DELIVERY_RESULTS, type DeliveryResult } from '../events/receiver.ts';
import { GAUGE_COLUMNS } from '../model/collection-columns.ts';
import { COLLECTION_NAMES } from '../model/collections.ts';
import type * as Errors from '../model/errors.ts';
import { OPERATION_NAMES, type OperationName, type SubmissionOutcome } from '../model/submission.ts';
import { WALK_KINDS, WALK_OUTCOMES } from '../model/sync-events.ts';
import type { DeletionsJudged, PageWritten, WalkEnded } from '../model/sync-events.ts';
import { PROBLEM_CAUSES } from './problem.ts';
import { KEY_STATES, type StatusReport } from './status-report.ts';

/** Counters rise with events; gauges are read from the status report at a scrape. */
export type Metrics = ReturnType<typeof createMetrics>;

/** Help texts; collections' columns have their own (src/model/collection-columns.ts). */
const HELP = {
  build_info: 'Always 1. The label has the version.',
  ready: '1 if the database is migrated and writable, as /readyz says.',
  api_requests_total: 'Requests sent to the service, by route and status ("none": no answer).',
  api_rate_limited_total: 'Answers with status 429, by route and rate limit group. The request budget keeps this at 0.',
  api_errors_total: 'Failed requests, by route and kind of error.',
  api_received_bytes_total: 'Bytes of answers as received over the wire, without headers.',
  api_response_seconds: 'Time from sending a request to the end of its answer.',
  pages_total: 'Pages written.',
  rows_total: 'Items of written pages, by outcome (insert, update, unchanged, quarantine), and deleted rows (delete).',
  walks_total: 'Walks ended, by kind and outcome.',
  walk_seconds: 'Duration of a walk.',
  webhook_deliveries_total: 'Requests to the webhook listener, by result.',
  events_total: 'Stored events, by type ("other": types that the specification does not name).',
  submissions_total: 'Attempts to send submissions, by operation and outcome ("queued": not sent, retried later).',
  // From the status report.
  healthy: '1 if `research-mirror status` would exit with 0.',
  problems: 'Problems that `research-mirror status` would list, by cause.',
  api_keys: 'Configured keys, by state.',
  submissions_on_hold: '1 if submissions are on hold: the database was restored or copied.',
  database_bytes: 'Size of the database, including tables of other programs.',
  account_active: '1 if the account is mirrored, 0 if it is stopped.',
  credits: 'Credits of the account.',
  credits_burnt_last_day: 'By how much the credits fell in the last 24 hours, not counting top-ups.',
  webhook_registered: '1 if a webhook of this mirror is registered.',
  webhook_last_event_timestamp_seconds: 'Time of the last stored event.',
  hints_waiting: 'Rows and lists to read again because an event named them.',
  submissions: 'Unfinished submissions, by state.',
  failing: '1 if the collection can’t be read.',
  overdue: '1 if a due poll or full walk has not begun.',
  due_lists: 'New or changed lists whose items have not been read yet.',
  unfinished_rows: 'Rows whose state may still change.',
  fields_to_fill: 'Fields whose new column is not filled in all older rows yet.',
  budget_limit: 'Requests in 60 seconds that the service allows.',
  budget_size: 'Requests in 60 seconds that this program allows itself.',
  budget_used: 'Used slots of the budget.',
  budget_free: 'Free slots of the budget.',
  budget_waiting: 'Requests waiting for a slot.',
  budget_foreign_use: 'Requests by other programs with the same key in the last 60 seconds.',
  budget_rate_limited_total: 'Answers with status 429 to requests with this key.',
  ...(Object.fromEntries(GAUGE_COLUMNS.map(({ gauge }) => [gauge.name, gauge.help])) as Record<
    (typeof GAUGE_COLUMNS)[number]['gauge']['name'],
    string
  >),
};
type Name = keyof typeof HELP;

const SECONDS = 1000;
const RESPONSE_SECONDS = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const WALK_SECONDS = [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14_400, 86_400];

/** Any other status gets its series with its first answer. */
const USUAL_STATUSES = '200 201 202 400 401 402 403 404 408 409 422 425 429 500 502 503 504 none'.split(' ');
const ERROR_KINDS: readonly (keyof typeof Errors)[] = [
  'TransportError',
  'ServiceError',
  'RateLimited',
  'MalformedAnswer',
  'AnswerTooLarge',
  'RequestRefused',
  'KeyRefused',
];
/** Event types of specification 6. A word that a sender chooses is no label: each would be a new series. */
const EVENT_TYPES: readonly string[] = [
  'research.completed',
  'research.failed',
  'bulk.completed',
  'bulk.failed',
  'list.analyzed',
  'list.failed',
  'watchlist.change_detected',
];
const OTHER_TYPE = 'other';
const ROW_OPS = ['insert', 'update', 'unchanged', 'quarantine', 'delete'] as const;
const SENDING_OUTCOMES: readonly SubmissionOutcome['state'][] = ['accepted', 'rejected', 'unknown', 'queued'];

/**
 * Labels never name a list: there may be ten thousand. Counters of known labels start with 0: `increase()` misses the
 * first event in a series that begins with it.
 * @param endpoints paths that may be asked, with `{id}` for IDs, and their rate limits
 */
export function createMetrics(version: string, endpoints: readonly Readonly<Record<'route' | 'group', string>>[] = []) {
  const registry = new Registry();
  const routes = [...new Set(endpoints.map(({ route }) => route))];
  const delays = monitorEventLoopDelay({ resolution: SAMPLE_MS });
  delays.enable();
  collectProcessMetrics(registry, delays);
  /** @param known values of each label, whose combinations are all initialized */
  const counter = <Label extends string>(short: Name, known: KnownValues<Label>) => {
    const made = new Counter(named(registry, short, Object.keys(known) as Label[]));
    for (const labels of combinations(known)) made.inc(labels, 0);
    return made;
  };
  const histogram = <Label extends string>(short: Name, known: KnownValues<Label>, buckets: number[]) => {
    const made = new Histogram({ ...named(registry, short, Object.keys(known) as Label[]), buckets });
    for (const labels of combinations(known)) made.zero(labels);
    return made;
  };
  new Gauge(named(registry, 'build_info', ['version'])).set({ version }, 1);
  const readiness = new Gauge(named(registry, 'ready', []));
  const requests = counter('api_requests_total', { route: routes, status: USUAL_STATUSES });
  const limited = counter('api_rate_limited_total', { route: [], group: [] });
  for (const { route, group } of endpoints) limited.inc({ route, group }, 0);
  const errors = counter('api_errors_total', { route: routes, kind: ERROR_KINDS });
  const received = counter('api_received_bytes_total', { route: routes });
  const responseSeconds = histogram('api_response_seconds', { route: routes }, RESPONSE_SECONDS);
  const pages = counter('pages_total', { collection: COLLECTION_NAMES });
  const rows = counter('rows_total', { collection: COLLECTION_NAMES, op: ROW_OPS });
  const known = { collection: COLLECTION_NAMES, kind: WALK_KINDS, outcome: WALK_OUTCOMES };
  const walks = counter('walks_total', known);
  const walkSeconds = histogram('walk_seconds', { kind: WALK_KINDS }, WALK_SECONDS);
  const deliveries = counter('webhook_deliveries_total', { result: DELIVERY_RESULTS });
  const events = counter('events_total', { type: [...EVENT_TYPES, OTHER_TYPE] });
  const submissions = counter('submissions_total', { operation: OPERATION_NAMES, outcome: SENDING_OUTCOMES });
  const groups = endpoints.map(({ group }) => group);

  return {
    contentType: registry.contentType,
    /** An attempt of a request. @param request `status`: undefined without an answer */
    requestEnded(
      request: (typeof endpoints)[number] &
        Readonly<Record<'durationMs' | 'bytes', number>> & {
          readonly status: number | undefined;
          readonly error: Error | undefined;
        },
    ): void {
      const { route, group, status, error } = request;
      requests.inc({ route, status: status === undefined ? 'none' : String(status) });
      received.inc({ route }, request.bytes);
      responseSeconds.observe({ route }, request.durationMs / SECONDS);
      if (status === 429) limited.inc({ route, group });
      if (error !== undefined) errors.inc({ route, kind: error.name });
    },
    pageWritten({ scope: { collection }, ...page }: Omit<PageWritten, 'kind' | 'items'>): void {
      pages.inc({ collection });
      rows.inc({ collection, op: 'insert' }, page.inserted);
      rows.inc({ collection, op: 'update' }, page.updated);
      rows.inc({ collection, op: 'unchanged' }, page.unchanged);
      rows.inc({ collection, op: 'quarantine' }, page.quarantined);
    },
    walkEnded(walk: Pick<WalkEnded, 'scope' | 'kind' | 'outcome' | 'milliseconds'>): void {
      const { scope, kind, outcome } = walk;
      walks.inc({ collection: scope.collection, kind, outcome });
      walkSeconds.observe({ kind }, walk.milliseconds / SECONDS);
    },
    deletionsJudged({ scope: { collection }, deleted }: DeletionsJudged): void {
      rows.inc({ collection, op: 'delete' }, deleted);
    },
    /** @param type of a stored event */
    deliveryJudged(result: DeliveryResult, type = ''): void {
      deliveries.inc({ result });
      if (result === 'stored') events.inc({ type: EVENT_TYPES.includes(type) ? type : OTHER_TYPE });
    },
    submissionDone(operation: OperationName, outcome: SubmissionOutcome['state']): void {
      submissions.inc({ operation, outcome });
    },
    /** Text for Prometheus. @param report undefined if there is none: its gauges are then missing */
    async render(report: StatusReport | undefined, ready: boolean): Promise<string> {
      readiness.set(ready ? 1 : 0);
      return `${await registry.metrics()}\n${await reportMetrics(report, groups)}`;
    },
  };
}

function named<Label extends string>(registry: Registry, short: Name, labelNames: Label[]) {
  return { name: `research_mirror_${short}`, help: HELP[short], labelNames, registers: [registry] };
}

type KnownValues<Label extends string> = Readonly<Record<Label, readonly string[]>>;

function combinations<Label extends string>(known: KnownValues<Label>): LabelValues<Label>[] {
  let all: Record<string, string>[] = [{}];
  for (const [name, values] of Object.entries<readonly string[]>(known))
    all = all.flatMap((each) => values.map((value) => ({ ...each, [name]: value })));
  return all as LabelValues<Label>[];
}

/** A new registry for each scrape: what is no longer in the report is gone. @param groups rate limits */
function reportMetrics(report: StatusReport | undefined, groups: readonly string[]): Promise<string> {
  const registry = new Registry();
  const metrics = new Map<string, Gauge<string> | Counter<string>>();
  for (const [name, labels, value] of samplesOf(report, groups)) {
    if (value === undefined) continue;
    const config = named(registry, name, Object.keys(labels));
    const metric = metrics.get(name) ?? (name.endsWith('_total') ? new Counter(config) : new Gauge(config));
    metrics.set(name, metric);
    metric.inc(labels, value);
  }
  return registry.metrics();
}

/** Values, undefined if not shown. Those without an account are always there, or no alert on them could fire. */
function* samplesOf(
  report: StatusReport | undefined,
  groups: readonly string[],
): Iterable<readonly [name: Name, labels: LabelValues<string>, value: number | undefined]> {
  const { problems = [], keys = null, held = null, accounts = [] } = report ?? {};
  yield ['healthy', {}, Number(report?.healthy === true)];
  yield ['submissions_on_hold', {}, Number(held !== null)];
  yield ['database_bytes', {}, report?.databaseBytes ?? undefined];
  for (const cause of PROBLEM_CAUSES)
    yield ['problems', { cause }, problems.filter((each) => each.cause === cause).length];
  for (const state of KEY_STATES) yield ['api_keys', { state }, keys?.[state] ?? 0];
  for (const { userId, state, credits, webhook, submissions, collections, budgets } of accounts) {
    const account = { user_id: userId };
    yield ['account_active', account, { active: 1, stopped: 0, retired: undefined }[state]];
    yield ['credits', account, numberOf(credits?.left)];
    yield ['credits_burnt_last_day', account, numberOf(credits?.burntLastDay)];
    yield ['webhook_registered', account, Number(webhook.state === 'registered')];
    yield ['webhook_last_event_timestamp_seconds', account, seconds(webhook.lastEventAt)];
    yield ['hints_waiting', account, webhook.hintsWaiting];
    for (const waiting of ['queued', 'sending', 'held'] as const)
      yield ['submissions', { ...account, state: waiting }, submissions[waiting]];
    for (const each of collections) {
      const collection = { ...account, collection: each.collection };
      yield ['failing', collection, Number(each.state === 'failing')];
      yield ['overdue', collection, Number(each.state === 'overdue')];
      if (each.collection === 'list_items') yield ['due_lists', collection, each.dueLists];
      yield ['unfinished_rows', collection, each.unfinishedRows];
      yield ['fields_to_fill', collection, each.fieldsToFill];
      for (const { field, gauge } of GAUGE_COLUMNS) {
        const figure = each[field];
        if (typeof figure === 'number') yield [gauge.name, collection, figure];
        // A paused collection may be old without an alert.
        else if (each.state !== 'paused') yield [gauge.name, collection, seconds(figure)];
      }
    }
    for (const { key, groups: used } of budgets) {
      // All groups, also before their first request.
      for (const group of groups) yield ['budget_rate_limited_total', { ...account, key, group }, 0];
      for (const each of used) {
        const budget = { ...account, key, group: each.group };
        for (const field of ['limit', 'size', 'used', 'waiting'] as const)
          yield [`budget_${field}`, budget, each[field]];
        yield ['budget_free', budget, Math.max(0, each.size - each.used)];
        yield ['budget_foreign_use', budget, each.foreignUse];
        yield ['budget_rate_limited_total', budget, each.refused];
      }
    }
  }
}

function seconds(moment: string | null): number | undefined {
  return moment === null ? undefined : Date.parse(moment) / 1000;
}

function numberOf(digits: string | null | undefined): number | undefined {
  return digits === null || digits === undefined ? undefined : Number(digits);
}

/** The library's metrics whose names break Prometheus's rules (`promtool check metrics`), and lags, measured here. */
const NOT_SHOWN = [
  ...['handles', 'requests', 'resources'].map((each) => `active_${each}_total`),
  ...['histogram', 'summary'].map((each) => `eventloop_utilization_${each}`),
  ...['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'].map((each) => `eventloop_lag_${each}_seconds`),
];
/** Node's longest timer, ms: turns the library's sampling off. */
const LONGEST_TIMER_MS = 2_147_483_647;
/**
 * Time between two samples of the event loop, ms. The library samples each 10 ms, which costs 0.7 % of a core in an
 * idle process, and counts that wait as lag.
 */
const SAMPLE_MS = 250;

/** Metrics of this process. @param delays of the event loop, with the time between samples, nanoseconds */
export function collectProcessMetrics(registry: Registry, delays: Pick<Delays, 'percentile' | 'reset'>) {
  collectDefaultMetrics({
    register: registry,
    eventLoopUtilizationTimeout: LONGEST_TIMER_MS,
    eventLoopMonitoringPrecision: LONGEST_TIMER_MS,
  });
  for (const name of NOT_SHOWN) registry.removeSingleMetric(`nodejs_${name}`);
  const lag = new Gauge({
    name: 'nodejs_eventloop_lag_p99_seconds',
    help: `How late the event loop ran timers since the last scrape, 99th percentile, sampled every ${SAMPLE_MS} ms.`,
    registers: [],
    collect() {
      // 0 without samples.
      this.set(Math.max(0, delays.percentile(99) / 1e9 - SAMPLE_MS / 1e3));
      delays.reset();
    },
  });
  registry.registerMetric(lag);
}
