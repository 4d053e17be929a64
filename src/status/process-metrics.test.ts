import { createHistogram } from 'node:perf_hooks';
import { Registry } from '@prometheus-io/client';
import { expect, it } from 'vitest';
import { collectProcessMetrics } from './metrics.ts';

it('the lag of the event loop is how late timers were since the last scrape, and is shown once', async () => {
  const registry = new Registry();
  const delays = createHistogram();
  collectProcessMetrics(registry, delays);
  const lags = async (): Promise<string[]> =>
    [...(await registry.metrics()).matchAll(/^nodejs_eventloop_lag_(\w+_seconds \S+)$/gm)].map(
      ([, each = '']) => each,
    );
  expect(await lags()).toEqual(['p99_seconds 0']);
  for (let samples = 0; samples < 9; samples += 1) delays.record(250_000_000);
  delays.record(750_000_000);
  const [late = ''] = await lags();
  expect(Number(late.split(' ')[1])).toBeCloseTo(0.5, 2);
  expect(await lags()).toEqual(['p99_seconds 0']);
});
