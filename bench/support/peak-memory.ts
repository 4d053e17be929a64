import { writeFileSync } from 'node:fs';
import { peakResident } from './memory/peak-resident.ts';

// Preloaded into a measured program (--import): at its end it leaves its peak memory in the file named by the
// environment, and the seconds of processor time that it used in another beside it.
const file = process.env['BENCH_PEAK_FILE'];
if (file !== undefined) {
  process.on('exit', () => {
    const { userCPUTime, systemCPUTime } = process.resourceUsage();
    writeFileSync(file, String(peakResident()));
    // In microseconds.
    writeFileSync(`${file}-seconds`, String((userCPUTime + systemCPUTime) / 1e6));
  });
}
