import { writeFileSync } from 'node:fs';

// Preloaded into a measured program (--import): at its end it leaves its peak memory in the file named by the
// environment, and the seconds of processor time that it used in another beside it.
const file = process.env['BENCH_PEAK_FILE'];
if (file !== undefined) {
  process.on('exit', () => {
    const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
    // maxRSS is in KiB, times are in microseconds.
    writeFileSync(file, String(maxRSS * 1024));
    writeFileSync(`${file}-seconds`, String((userCPUTime + systemCPUTime) / 1e6));
  });
}
