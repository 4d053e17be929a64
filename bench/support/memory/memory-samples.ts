import { writeFileSync } from 'node:fs';
import { peakResident } from './peak-resident.ts';

/** What a measured program leaves behind. */
export interface MemorySamples {
  /** Greatest resident memory that the kernel saw, bytes. */
  readonly peakBytes: number;
  readonly cpuSeconds: number;
  /** Resident memory each quarter of a second, bytes. */
  readonly resident: readonly number[];
  /** JavaScript's heap and buffers right after a collection, each 2 s, bytes; none without `--expose-gc`. */
  readonly live: readonly number[];
}

// Preloaded into a measured program (--import): at its end it leaves its memory in the file named by the environment.
const file = process.env['BENCH_MEMORY_FILE'];
if (file !== undefined) {
  const resident: number[] = [];
  const live: number[] = [];
  setInterval(() => resident.push(process.memoryUsage.rss()), 250).unref();
  const collect = (globalThis as { gc?: () => void }).gc;
  if (collect !== undefined) {
    setInterval(() => {
      collect();
      const { heapUsed, external } = process.memoryUsage();
      live.push(heapUsed + external);
    }, 2000).unref();
  }
  process.on('exit', () => {
    const { userCPUTime, systemCPUTime } = process.resourceUsage();
    // Times are in microseconds.
    const cpuSeconds = (userCPUTime + systemCPUTime) / 1e6;
    const samples: MemorySamples = { peakBytes: peakResident(), cpuSeconds, resident, live };
    writeFileSync(file, JSON.stringify(samples));
  });
}
