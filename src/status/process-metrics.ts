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

type Delays = Pick<Histogram, 'count' | 'min' | 'max' | 'mean' | 'stddev' | 'percentile'>;

/** By the names of the library, whose gauges these take the place of: nanoseconds from one sample to the next. */
const LAGS = {
  min: ({ min }) => min,
  max: ({ max }) => max,
  mean: ({ mean }) => mean,
  // What does not vary has no wait in it.
  stddev: ({ stddev }) => stddev + SAMPLE_MS * 1e6,
  p50: (delays) => delays.percentile(50),
  p90: (delays) => delays.percentile(90),
  p99: (delays) => delays.percentile(99),
} as const satisfies Readonly<Record<string, (delays: Delays) => number>>;
type Lags = Record<keyof typeof LAGS, number>;

/** Memory, processor time, open files, event loop and garbage collection of this process. */
export function collectProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({
    register: registry,
    eventLoopUtilizationTimeout: NEVER,
    eventLoopMonitoringPrecision: NEVER,
  });
  for (const name of BADLY_NAMED) registry.removeSingleMetric(name);
  const delays = monitorEventLoopDelay({ resolution: SAMPLE_MS });
  delays.enable();
  const gauges = (Object.keys(LAGS) as (keyof Lags)[]).map((figure, index) => {
    const name = `nodejs_eventloop_lag_${figure}_seconds`;
    registry.removeSingleMetric(name);
    const help = `How late the event loop ran timers since the last scrape, ${figure}, sampled each ${SAMPLE_MS} ms.`;
    // The first one that is shown sets all, so that they are of the same samples.
    const collect = (): void => {
      const lags = lagIn(delays);
      delays.reset();
      for (const [key, gauge] of gauges) gauge.set(lags[key]);
    };
    const registers = [registry];
    return [figure, new Gauge({ name, help, registers, ...(index === 0 ? { collect } : {}) })] as const;
  });
}

/** How late timers ran, in seconds beyond the wait between two samples; 0 without samples. */
export function lagIn(delays: Delays): Lags {
  const lag = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e9 - SAMPLE_MS / 1e3);
  const lags = Object.entries(LAGS).map(([figure, of]) => [figure, delays.count === 0 ? 0 : lag(of(delays))]);
  return Object.fromEntries(lags) as Lags;
}
