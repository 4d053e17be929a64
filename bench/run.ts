/**
 * The benches for somebody who wants to see in some minutes whether the figures still hold: a small form of those that
 * tell most, one after another, a table each. It ends with 1 where one of them does.
 *
 *     npm run bench -- --quick
 *
 * Without --quick it lists what there is: all of them at full size take a day.
 */
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readFlags } from './support/flags.ts';
import { print, printMachine } from './support/report.ts';

/** Less than five minutes in all on two cores. */
const QUICK: readonly (readonly string[])[] = [
  ['peers/compare.ts', '--quick'],
  ['mirror/write.ts', '20000'],
  ['service/budget.ts'],
];
/** What is no bench, but what benches use. */
const NOT_BENCHES = new Set(['support', 'python', 'scripts']);

/** Of these rooms one program is started, the others are its parts. */
const ONE_PROGRAM: Readonly<Record<string, string>> = { peers: 'compare.ts', freshness: 'delays.ts' };

const flags = readFlags({ quick: false });
if (flags.quick) {
  printMachine();
  for (const [bench = '', ...args] of QUICK) {
    const begun = performance.now();
    print(`\n── bench/${[bench, ...args].join(' ')}\n`);
    const code = await run(bench, args);
    print(`\n${((performance.now() - begun) / 1000).toFixed(0)} s${code === 0 ? '' : `, ended with ${code}`}`);
    if (code !== 0) process.exitCode = 1;
  }
} else {
  print(
    'npm run bench -- --quick runs a small form of some. Each by itself: npm exec -- node bench/<folder>/<name>.ts\n',
  );
  for (const room of rooms()) {
    const names = readdirSync(join(import.meta.dirname, room)).filter((name) => name.endsWith('.ts'));
    const programs = ONE_PROGRAM[room] === undefined ? names.toSorted() : [ONE_PROGRAM[room]];
    print(`bench/${room}: ${programs.join(', ')}`);
  }
}

function rooms(): readonly string[] {
  return readdirSync(import.meta.dirname, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !NOT_BENCHES.has(entry.name))
    .map(({ name }) => name)
    .toSorted();
}

/** @returns its exit code; 1 after a signal */
function run(bench: string, args: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(import.meta.dirname, bench), ...args], { stdio: 'inherit' });
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
  });
}
