import { createHistogram } from 'node:perf_hooks';
import { Registry } from '@prometheus-io/client';
import { describe, expect, it } from 'vitest';
import { collectProcessMetrics, lagIn } from './metrics.ts';

describe('the lag of the event loop', () => {
  it('is what timers are late, without the wait between two samples', () => {
    const histogram = createHistogram();
    for (let samples = 0; samples < 99; samples += 1) histogram.record(250_000_000);
    histogram.record(750_000_000);
    const { min, max, mean, stddev, p90 } = lagIn(histogram);
    expect(min).toBeCloseTo(0, 2);
    expect(p90).toBeCloseTo(0, 2);
    expect(max).toBeCloseTo(0.5, 2);
    expect(mean).toBeCloseTo(0.005, 3);
    expect(stddev).toBeGreaterThan(0.04);
  });

  it('has the library’s names, each once, and is 0 before the first sample', async () => {
    const registry = new Registry();
    collectProcessMetrics(registry);
    const shown = [...(await registry.metrics()).matchAll(/^nodejs_eventloop_lag_(\w+)_seconds (\S+)$/gm)];
    expect(shown.map(([, figure, value]) => `${figure} ${value}`).toSorted()).toEqual([
      'max 0',
      'mean 0',
      'min 0',
      'p50 0',
      'p90 0',
      'p99 0',
      'stddev 0',
    ]);
  });
});
