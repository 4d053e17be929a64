import { writeFileSync } from 'node:fs';
import { peakResident } from './memory/peak-resident.ts';

// Preloaded into a measured program (--import): at its end it leaves its peak memory in the file named by the environment.
const file = process.env['BENCH_PEAK_FILE'];
if (file !== undefined) {
  process.on('exit', () => writeFileSync(file, String(peakResident())));
}
