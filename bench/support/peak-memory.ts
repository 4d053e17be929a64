import { writeFileSync } from 'node:fs';

// Preloaded into a measured program (--import): at its end it leaves its peak memory in the file named by the environment.
const file = process.env['BENCH_PEAK_FILE'];
if (file !== undefined) {
  // maxRSS is in KiB.
  process.on('exit', () => writeFileSync(file, String(process.resourceUsage().maxRSS * 1024)));
}
