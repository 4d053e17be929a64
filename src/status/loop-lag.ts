import { type Histogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { Gauge, type Registry } from '@prometheus-io/client';

/**
 * Between two samples (ms). The library takes one each 10 ms, and shows that wait as lag: a hundred wake-ups a second,
 * 0.7 % of a core in a process that does nothing else.
 */
const SAMPLE_MS = 250;

/** As the library names them. */
const FIGURES = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'] as const;

type LoopLag = Readonly<Record<(typeof FIGURES)[number], number>>;

/** The library's own gauges that these take the place of. */
export const REPLACED_LAGS = FIGURES.map(nameOf);

/** How late the event loop runs timers since the last scrape, in seconds. */
export function collectLoopLag(registry: Registry): void {
  const histogram = monitorEventLoopDelay({ resolution: SAMPLE_MS });
  histogram.enable();
  const collect = (): void => {
    const lag = lagIn(histogram);
    histogram.reset();
    for (const figure of FIGURES) gauges[figure].set(lag[figure]);
  };
  const gaugeOf = (figure: (typeof FIGURES)[number]): Gauge =>
    new Gauge({
      name: nameOf(figure),
      help: `How late the event loop ran timers since the last scrape, ${figure}, sampled each ${SAMPLE_MS} ms.`,
      registers: [registry],
      // The first one that is shown sets all, so that they are of the same samples.
      ...(figure === FIGURES[0] ? { collect } : {}),
    });
  const gauges = Object.fromEntries(FIGURES.map((figure) => [figure, gaugeOf(figure)])) as Record<
    (typeof FIGURES)[number],
    Gauge
  >;
}

/**
 * @param histogram nanoseconds from one sample to the next
 * @returns seconds beyond the wait between two samples; 0 without samples
 */
export function lagIn(
  histogram: Pick<Histogram, 'count' | 'min' | 'max' | 'mean' | 'stddev' | 'percentile'>,
): LoopLag {
  const late = (nanoseconds: number): number =>
    histogram.count === 0 ? 0 : Math.max(0, nanoseconds / 1e9 - SAMPLE_MS / 1e3);
  return {
    min: late(histogram.min),
    max: late(histogram.max),
    mean: late(histogram.mean),
    stddev: histogram.count === 0 ? 0 : histogram.stddev / 1e9,
    p50: late(histogram.percentile(50)),
    p90: late(histogram.percentile(90)),
    p99: late(histogram.percentile(99)),
  };
}

function nameOf(figure: string): string {
  return `nodejs_eventloop_lag_${figure}_seconds`;
}
