import { Counter, Gauge, Histogram, type LabelValues, Registry } from '@prometheus-io/client';
import { COLLECTION_NAMES, COLLECTIONS } from '../model/collections.ts';
import { DELIVERY_RESULTS, type DeliveryResult } from '../model/webhook/delivery-results.ts';
import { EVENT_TYPES } from '../model/webhook/event-types.ts';
import { OPERATION_NAMES, type OperationName, type SubmissionOutcome } from '../model/submission.ts';
import {
  type DeletionsJudged,
  type PageWritten,
  WALK_KINDS,
  WALK_OUTCOMES,
  type WalkEnded,
} from '../model/sync-events.ts';
import {
  AnswerTooLarge,
  KeyRefused,
  MalformedAnswer,
  RateLimited,
  RequestRefused,
  ServiceError,
  TransportError,
} from '../model/errors.ts';
import type { StatusReport } from '../model/status/status-report.ts';
import { collectProcessMetrics } from './process-metrics.ts';
import { createReportGauges } from './report-gauges.ts';

/** An endpoint that may be asked. */
export interface KnownEndpoint {
  /** The path with `{id}` for IDs. */
  readonly route: string;
  /** The rate limit in which its requests count. */
  readonly group: string;
}

/** An attempt of a request to the service, as the client reports it. */
export interface RequestEnded extends KnownEndpoint {
  /** Undefined: no answer. */
  readonly status: number | undefined;
  readonly durationMs: number;
  readonly bytes: number;
  /** Its name says the kind: `TransportError`, `MalformedAnswer`, … */
  readonly error: Error | undefined;
}

/** Counters rise as things happen; gauges are read from the status report at a scrape. */
export type Metrics = ReturnType<typeof createMetrics>;

/** What each means. */
const HELP = {
  build_info: 'Always 1; the label says which version runs.',
  ready: '1 while the database is migrated and can be written, as /readyz says.',
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
} as const;

const SECONDS = 1000;
const RESPONSE_SECONDS = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const WALK_SECONDS = [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14_400, 86_400];

/** How requests usually end; any other status has its series from its first answer on. */
const USUAL_STATUSES = '200 201 202 400 401 402 403 404 408 409 422 425 429 500 502 503 504 none'.split(' ');
/** What an exchange with the service may report (src/model/errors.ts). */
const ERROR_KINDS = [
  TransportError,
  ServiceError,
  RateLimited,
  MalformedAnswer,
  AnswerTooLarge,
  RequestRefused,
  KeyRefused,
].map(({ name }) => name);
/** No label has a word that a sender chooses: each would be a series of its own. */
const KNOWN_TYPES: ReadonlySet<string> = new Set(EVENT_TYPES);
const OTHER_TYPE = 'other';
const ROW_OPS = ['insert', 'update', 'unchanged', 'quarantine', 'delete'] as const;
const SENDING_OUTCOMES: readonly SubmissionOutcome['state'][] = ['accepted', 'rejected', 'unknown', 'queued'];

/**
 * Labels never name a list: ten thousand lists would be ten thousand series. What counts events of known labels is
 * there with 0 from the beginning: `increase()` sees no first event in a series that begins with it.
 * @param endpoints that may be asked
 */
export function createMetrics(version: string, endpoints: readonly KnownEndpoint[] = []) {
  const registry = new Registry();
  const registers = [registry];
  const routes = [...new Set(endpoints.map(({ route }) => route))];
  collectProcessMetrics(registry);
  const config = <Label extends string>(short: keyof typeof HELP, labelNames: Label[]) => {
    return { name: `research_mirror_${short}`, help: HELP[short], labelNames, registers };
  };
  /** @param known values of each label, of which all combinations are there from the beginning */
  const counter = <Label extends string>(
    short: keyof typeof HELP,
    known: KnownValues<Label>,
  ): Counter<Label> => {
    const made = new Counter(config(short, Object.keys(known) as Label[]));
    for (const labels of combinations(known)) made.inc(labels, 0);
    return made;
  };
  const histogram = <Label extends string>(
    short: keyof typeof HELP,
    known: KnownValues<Label>,
    buckets: number[],
  ): Histogram<Label> => {
    const made = new Histogram({ ...config(short, Object.keys(known) as Label[]), buckets });
    for (const labels of combinations(known)) made.zero(labels);
    return made;
  };
  new Gauge(config('build_info', ['version'])).set({ version }, 1);
  const readiness = new Gauge(config('ready', []));
  const requests = counter('api_requests_total', { route: routes, status: USUAL_STATUSES });
  const limited = counter('api_rate_limited_total', { route: [], group: [] });
  for (const { route, group } of endpoints) limited.inc({ route, group }, 0);
  const errors = counter('api_errors_total', { route: routes, kind: ERROR_KINDS });
  const received = counter('api_received_bytes_total', { route: routes });
  const responseSeconds = histogram('api_response_seconds', { route: routes }, RESPONSE_SECONDS);
  const pages = counter('pages_total', { collection: COLLECTION_NAMES });
  const rows = counter('rows_total', { collection: COLLECTION_NAMES, op: ROW_OPS });
  const walks = counter('walks_total', { collection: [], kind: [], outcome: [] });
  for (const { name, kind: of } of COLLECTIONS) {
    const kinds = WALK_KINDS.filter((kind) => (kind === 'single') === (of === 'single'));
    const known = { collection: [name], kind: kinds, outcome: WALK_OUTCOMES };
    for (const labels of combinations(known)) walks.inc(labels, 0);
  }
  const walkSeconds = histogram('walk_seconds', { kind: WALK_KINDS }, WALK_SECONDS);
  const deliveries = counter('webhook_deliveries_total', { result: DELIVERY_RESULTS });
  const events = counter('events_total', { type: [...EVENT_TYPES, OTHER_TYPE] });
  const submissions = counter('submissions_total', { operation: OPERATION_NAMES, outcome: SENDING_OUTCOMES });
  const groups = endpoints.map(({ group }) => group);
  const setReportGauges = createReportGauges(registry, groups);

  return {
    contentType: registry.contentType,
    requestEnded({ route, group, status, durationMs, bytes, error }: RequestEnded): void {
      requests.inc({ route, status: status === undefined ? 'none' : String(status) });
      received.inc({ route }, bytes);
      responseSeconds.observe({ route }, durationMs / SECONDS);
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
    walkEnded({
      scope,
      kind,
      outcome,
      milliseconds,
    }: Pick<WalkEnded, 'scope' | 'kind' | 'outcome' | 'milliseconds'>): void {
      walks.inc({ collection: scope.collection, kind, outcome });
      walkSeconds.observe({ kind }, milliseconds / SECONDS);
    },
    deletionsJudged({ scope: { collection }, deleted }: Pick<DeletionsJudged, 'scope' | 'deleted'>): void {
      rows.inc({ collection, op: 'delete' }, deleted);
    },
    /** @param type of an event that was stored or known */
    deliveryJudged(result: DeliveryResult, type = ''): void {
      deliveries.inc({ result });
      if (result === 'stored') events.inc({ type: KNOWN_TYPES.has(type) ? type : OTHER_TYPE });
    },
    /** @param outcome `queued`: it was not sent, and is tried again */
    submissionDone(operation: OperationName, outcome: SubmissionOutcome['state']): void {
      submissions.inc({ operation, outcome });
    },
    /** Text for Prometheus. @param report undefined where none could be made: its gauges are then missing */
    async render(report: StatusReport | undefined, ready: boolean): Promise<string> {
      readiness.set(ready ? 1 : 0);
      setReportGauges(report);
      return await registry.metrics();
    },
  };
}

type KnownValues<Label extends string> = Readonly<Record<Label, readonly string[]>>;

function combinations<Label extends string>(known: KnownValues<Label>): LabelValues<Label>[] {
  let all: Record<string, string>[] = [{}];
  for (const [name, values] of Object.entries<readonly string[]>(known)) {
    all = all.flatMap((each) => values.map((value) => ({ ...each, [name]: value })));
  }
  return all as LabelValues<Label>[];
}
