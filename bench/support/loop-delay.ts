import { appendFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

// Preloaded into a measured program (--import): each second it adds a line to the file named by the environment, with the
// longest time (ms) for which its event loop was held up.
const file = process.env['BENCH_LOOP_FILE'];
if (file !== undefined) {
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  setInterval(() => {
    appendFileSync(file, `${(delay.max / 1e6 - 10).toFixed(0)}\n`);
    delay.reset();
  }, 1_000).unref();
}
