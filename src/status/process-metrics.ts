import { type Histogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { collectDefaultMetrics, Gauge, type Registry } from '@prometheus-io/client';

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
/**
 * Between two samples of the event loop (ms). The library takes one each 10 ms, and shows that wait as lag: a hundred
 * wake-ups a second, 0.7 % of a core in a process that does nothing else.
 */
const SAMPLE_MS = 250;

/**
 * Memory, processor time, open files, event loop and garbage collection of this process.
 * @returns a function that sets the event loop's lags since it was called last
 */
export function collectProcessMetrics(registry: Registry): () => void {
  collectDefaultMetrics({
    register: registry,
    eventLoopUtilizationTimeout: NEVER,
    eventLoopMonitoringPrecision: NEVER,
  });
  for (const name of BADLY_NAMED) registry.removeSingleMetric(name);
  const delays = monitorEventLoopDelay({ resolution: SAMPLE_MS });
  delays.enable();
  // By the names of the library, whose gauges these take the place of.
  const gauges = Object.keys(lagIn(delays)).map((figure) => {
    const name = `nodejs_eventloop_lag_${figure}_seconds`;
    registry.removeSingleMetric(name);
    const help = `How late the event loop ran timers since the last scrape, ${figure}, sampled each ${SAMPLE_MS} ms.`;
    return [figure, new Gauge({ name, help, registers: [registry] })] as const;
  });
  return () => {
    const lags = lagIn(delays);
    delays.reset();
    for (const [figure, gauge] of gauges) gauge.set(lags[figure] ?? 0);
  };
}

/** How late timers ran, in seconds beyond the wait between two samples; 0 without samples. */
export function lagIn(delays: Omit<Histogram, 'reset' | 'percentiles'>): Readonly<Record<string, number>> {
  const { min, max, mean, stddev } = delays;
  const [p50, p90, p99] = [50, 90, 99].map((share) => delays.percentile(share));
  // Nanoseconds from one sample to the next. What does not vary has no wait in it.
  const figures = { min, max, mean, stddev: stddev + SAMPLE_MS * 1e6, p50, p90, p99 };
  const lag = (nanoseconds = 0): number => Math.max(0, nanoseconds / 1e9 - SAMPLE_MS / 1e3);
  const lags = Object.entries(figures).map(([figure, of]) => [figure, delays.count === 0 ? 0 : lag(of)]);
  return Object.fromEntries(lags) as Record<string, number>;
}
