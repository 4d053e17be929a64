import { collectDefaultMetrics, type Registry } from '@prometheus-io/client';

/** Those of the library whose names break the rules of Prometheus: `promtool check metrics` complains of them. */
const BADLY_NAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
  'nodejs_eventloop_utilization_histogram',
  'nodejs_eventloop_utilization_summary',
];
/** Milliseconds, the longest timer of Node: the utilisation, which is not shown, need not be measured ten times a second. */
const NEVER = 2_147_483_647;

/** Memory, processor time, open files, event loop and garbage collection of this process. */
export function collectProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopUtilizationTimeout: NEVER });
  for (const name of BADLY_NAMED) registry.removeSingleMetric(name);
}
