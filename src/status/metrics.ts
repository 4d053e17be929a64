import { Counter, Gauge, Histogram, Registry } from '@prometheus-io/client';
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
import type { StatusReport } from '../model/status/status-report.ts';
import { ERROR_KINDS, type KnownEndpoint, startAtZero, USUAL_STATUSES } from './known-labels.ts';
import { collectProcessMetrics } from './process-metrics.ts';
import { createReportGauges } from './report-gauges.ts';

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
export interface Metrics {
  requestEnded(event: RequestEnded): void;
  pageWritten(event: Omit<PageWritten, 'kind' | 'items'>): void;
  walkEnded(event: Pick<WalkEnded, 'scope' | 'kind' | 'outcome' | 'milliseconds'>): void;
  deletionsJudged(event: Pick<DeletionsJudged, 'scope' | 'deleted'>): void;
  /**
   * A delivery came to the webhook's listener.
   * @param result what became of it: `stored`, `known`, or why it was refused
   * @param type of an event that was stored or known
   */
  deliveryJudged(result: DeliveryResult, type?: string): void;
  /** @param outcome `queued`: it was not sent, and is tried again */
  submissionDone(operation: OperationName, outcome: SubmissionOutcome['state']): void;
  readonly contentType: string;
  /** Text for Prometheus. @param report undefined where none could be made: its gauges are then missing */
  render(report: StatusReport | undefined, ready: boolean): Promise<string>;
}

const SECONDS = 1000;

/** No label has a word that a sender chooses: each would be a series of its own. */
const KNOWN_TYPES: ReadonlySet<string> = new Set(EVENT_TYPES);
const OTHER_TYPE = 'other';
const ROW_OPS = ['insert', 'update', 'unchanged', 'quarantine', 'delete'] as const;
const SENDING_OUTCOMES: readonly SubmissionOutcome['state'][] = ['accepted', 'rejected', 'unknown', 'queued'];

/**
 * Labels never name a list: ten thousand lists would be ten thousand series. What counts events of known labels is
 * there with 0 from the beginning.
 * @param endpoints that may be asked
 */
export function createMetrics(version: string, endpoints: readonly KnownEndpoint[] = []): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const routes = [...new Set(endpoints.map(({ route }) => route))];
  collectProcessMetrics(registry);
  new Gauge({
    name: 'research_mirror_build_info',
    help: 'Always 1; the label says which version runs.',
    labelNames: ['version'],
    registers,
  })
    .labels({ version })
    .set(1);
  const requests = new Counter({
    name: 'research_mirror_api_requests_total',
    help: 'Requests sent to the service, by route and status ("none": no answer).',
    labelNames: ['route', 'status'],
    registers,
  });
  const limited = new Counter({
    name: 'research_mirror_api_rate_limited_total',
    help: 'Answers with status 429, by route and the group of endpoints whose limit it is: the budget is there to keep this at 0.',
    labelNames: ['route', 'group'],
    registers,
  });
  const errors = new Counter({
    name: 'research_mirror_api_errors_total',
    help: 'Requests that did not give what was asked for, by route and kind of error.',
    labelNames: ['route', 'kind'],
    registers,
  });
  const received = new Counter({
    name: 'research_mirror_api_received_bytes_total',
    help: 'Bytes of answers as they came over the wire, headers not counted.',
    labelNames: ['route'],
    registers,
  });
  const responseSeconds = new Histogram({
    name: 'research_mirror_api_response_seconds',
    help: 'From sending a request to the end of its answer.',
    labelNames: ['route'],
    buckets: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    registers,
  });
  const pages = new Counter({
    name: 'research_mirror_pages_total',
    help: 'Pages written.',
    labelNames: ['collection'],
    registers,
  });
  const rows = new Counter({
    name: 'research_mirror_rows_total',
    help: 'Items of written pages, by what became of them: insert, update, unchanged, quarantine; and rows deleted: delete.',
    labelNames: ['collection', 'op'],
    registers,
  });
  const walks = new Counter({
    name: 'research_mirror_walks_total',
    help: 'Walks ended, by kind and outcome.',
    labelNames: ['collection', 'kind', 'outcome'],
    registers,
  });
  const walkSeconds = new Histogram({
    name: 'research_mirror_walk_seconds',
    help: 'From the beginning of a walk to its end.',
    labelNames: ['kind'],
    buckets: [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14_400, 86_400],
    registers,
  });
  const deliveries = new Counter({
    name: 'research_mirror_webhook_deliveries_total',
    help: 'Requests to the webhook’s listener, by what became of them.',
    labelNames: ['result'],
    registers,
  });
  const events = new Counter({
    name: 'research_mirror_events_total',
    help: 'Events stored, by type; types that the specification does not name are "other".',
    labelNames: ['type'],
    registers,
  });
  const submissions = new Counter({
    name: 'research_mirror_submissions_total',
    help: 'What came of sending submissions ("queued": it was not sent, and is tried again).',
    labelNames: ['operation', 'outcome'],
    registers,
  });
  const readiness = new Gauge({
    name: 'research_mirror_ready',
    help: '1 while the database is migrated and can be written, as /readyz says.',
    registers,
  });
  const setReportGauges = createReportGauges(
    registry,
    endpoints.map(({ group }) => group),
  );

  startAtZero(requests, { route: routes, status: USUAL_STATUSES });
  for (const { route, group } of endpoints) startAtZero(limited, { route: [route], group: [group] });
  startAtZero(errors, { route: routes, kind: ERROR_KINDS });
  startAtZero(received, { route: routes });
  startAtZero(responseSeconds, { route: routes });
  startAtZero(pages, { collection: COLLECTION_NAMES });
  startAtZero(rows, { collection: COLLECTION_NAMES, op: ROW_OPS });
  for (const { name, kind } of COLLECTIONS) {
    const kinds = WALK_KINDS.filter((each) => (each === 'single') === (kind === 'single'));
    startAtZero(walks, { collection: [name], kind: kinds, outcome: WALK_OUTCOMES });
  }
  startAtZero(walkSeconds, { kind: WALK_KINDS });
  startAtZero(deliveries, { result: DELIVERY_RESULTS });
  startAtZero(events, { type: [...EVENT_TYPES, OTHER_TYPE] });
  startAtZero(submissions, { operation: OPERATION_NAMES, outcome: SENDING_OUTCOMES });

  return {
    contentType: registry.contentType,
    requestEnded({ route, group, status, durationMs, bytes, error }) {
      requests.inc({ route, status: status === undefined ? 'none' : String(status) });
      received.inc({ route }, bytes);
      responseSeconds.observe({ route }, durationMs / SECONDS);
      if (status === 429) limited.inc({ route, group });
      if (error !== undefined) errors.inc({ route, kind: error.name });
    },
    pageWritten({ scope: { collection }, inserted, updated, unchanged, quarantined }) {
      pages.inc({ collection });
      rows.inc({ collection, op: 'insert' }, inserted);
      rows.inc({ collection, op: 'update' }, updated);
      rows.inc({ collection, op: 'unchanged' }, unchanged);
      rows.inc({ collection, op: 'quarantine' }, quarantined);
    },
    walkEnded({ scope: { collection }, kind, outcome, milliseconds }) {
      walks.inc({ collection, kind, outcome });
      walkSeconds.observe({ kind }, milliseconds / SECONDS);
    },
    deletionsJudged({ scope: { collection }, deleted }) {
      rows.inc({ collection, op: 'delete' }, deleted);
    },
    deliveryJudged(result, type) {
      deliveries.inc({ result });
      if (result === 'stored') events.inc({ type: KNOWN_TYPES.has(type ?? '') ? (type ?? '') : OTHER_TYPE });
    },
    submissionDone(operation, outcome) {
      submissions.inc({ operation, outcome });
    },
    async render(report, ready) {
      readiness.set(ready ? 1 : 0);
      setReportGauges(report);
      return await registry.metrics();
    },
  };
}
