import { collectDefaultMetrics, type Registry } from '@prometheus-io/client';
import { collectLoopLag, REPLACED_LAGS } from './loop-lag.ts';

/** Those of the library whose names break the rules of Prometheus: `promtool check metrics` complains of them. */
const BADLY_NAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
  'nodejs_eventloop_utilization_histogram',
  'nodejs_eventloop_utilization_summary',
];
/** Milliseconds, the longest timer of Node: what is not shown, or measured otherwise, need not be sampled. */
const NEVER = 2_147_483_647;

/** Memory, processor time, open files, event loop and garbage collection of this process. */
export function collectProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({
    register: registry,
    eventLoopUtilizationTimeout: NEVER,
    eventLoopMonitoringPrecision: NEVER,
  });
  for (const name of [...BADLY_NAMED, ...REPLACED_LAGS]) registry.removeSingleMetric(name);
  collectLoopLag(registry);
}
