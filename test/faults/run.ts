/**
 * Plants the faults of faults.ts one by one, in a checkout of its own, and asks of each whether its test fails.
 *
 *     npm run faults -- [--only 3,17]
 *
 * What is checked out is the last commit. First the tests are run without a fault, and have to pass. Ends with 0 when
 * each fault is caught; 1 else, also where an edit does not apply any more; 2 for flags that it does not know; 130 when
 * it was interrupted.
 */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, matchesGlob } from 'node:path';
import { parseArgs } from 'node:util';
import { messageOf } from '@research-mirror/runtime/message';
import { print } from '../../bench/support/report.ts';
import { PROJECTS } from '../support/projects.ts';
import { ROOT } from '../support/rules/source-files.ts';
import { type Fault, FAULTS, occurrences } from './faults.ts';

/** A test that does not come to its end with the fault in place does not pass either. */
const LONGEST_MS = 300_000;

interface Numbered extends Fault {
  readonly number: number;
}

const chosen = chosenOrEnd();
const folder = mkdtempSync(join(tmpdir(), 'research-mirror-faults-'));
const checkout = join(folder, 'checkout');
const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());
try {
  git('worktree', 'add', '--quiet', '--detach', checkout, 'HEAD');
  symlinkSync(join(ROOT, 'node_modules'), join(checkout, 'node_modules'));
  const good = await play(chosen);
  process.exitCode = interrupted.signal.aborted ? 130 : good ? 0 : 1;
} finally {
  git('worktree', 'remove', '--force', checkout);
  rmSync(folder, { recursive: true, force: true });
}

async function play(faults: readonly Numbered[]): Promise<boolean> {
  for (const [project, all] of Map.groupBy(faults, ({ caughtIn }) => projectOf(caughtIn))) {
    const { failed, passed, hung } = await run(project, all);
    // Two faults may have one test.
    const tests = new Set(all.map(({ caughtIn, test }) => `${caughtIn} ${test}`));
    const good = failed.length === 0 && passed >= tests.size && !hung;
    const names = good ? '' : `: ${failed.join('; ')}`;
    print(`without a fault, ${project}: ${passed} passed, ${failed.length} failed${names}`);
    if (!good) return false;
  }
  let missed = 0;
  for (const each of faults) {
    if (interrupted.signal.aborted) return false;
    const begin = performance.now();
    const verdict = await verdictOf(each);
    if (verdict !== 'caught') missed += 1;
    const seconds = ((performance.now() - begin) / 1000).toFixed(0).padStart(4);
    const number = String(each.number).padStart(2);
    print(`${number}  ${verdict.padEnd(8)} ${seconds} s  ${each.invariant}: ${each.fault}`);
  }
  print(`${faults.length - missed} caught, ${missed} missed`);
  return missed === 0;
}

async function verdictOf(planted: Numbered): Promise<string> {
  const { file, find, put, caughtIn } = planted;
  const path = join(checkout, file);
  const text = readFileSync(path, 'utf8');
  if (occurrences(text, find) !== 1) return 'does not apply';
  writeFileSync(path, text.split(find).join(put));
  try {
    const { failed, passed, hung } = await run(projectOf(caughtIn), [planted]);
    if (failed.length > 0 || hung) return 'caught';
    return passed === 0 ? 'no test ran' : 'missed';
  } finally {
    writeFileSync(path, text);
  }
}

/** Runs the tests that are to catch the faults, one at a time. None ends where the file could not be loaded. */
async function run(project: string, faults: readonly Numbered[]) {
  const report = join(folder, 'report.json');
  rmSync(report, { force: true });
  const names = faults.map(({ test }) => test.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`));
  const args = [
    join(checkout, 'node_modules/vitest/vitest.mjs'),
    'run',
    '--maxWorkers=1',
    `--project=${project}`,
    '--reporter=json',
    `--outputFile=${report}`,
    `--testNamePattern=${names.join('|')}`,
    ...new Set(faults.map(({ caughtIn }) => caughtIn)),
  ];
  const tooLong = AbortSignal.timeout(LONGEST_MS * faults.length);
  const signal = AbortSignal.any([interrupted.signal, tooLong]);
  const child = spawn(process.execPath, args, { cwd: checkout, stdio: 'ignore', signal });
  let hung = false;
  child.on('error', () => (hung = true));
  await new Promise((resolve) => child.on('close', resolve));
  const { testResults } = JSON.parse(existsSync(report) ? readFileSync(report, 'utf8') : '{"testResults": []}') as {
    testResults: { assertionResults: { status: string; fullName: string }[] }[];
  };
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
  const failed = tests.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName);
  return { passed: tests.filter(({ status }) => status === 'passed').length, failed, hung };
}

/** A property's runs are those of `npm test`. */
function projectOf(path: string): string {
  const found = PROJECTS.findLast(({ include }) => include.some((pattern) => matchesGlob(path, pattern)));
  if (found === undefined) throw new Error(`${path} is of no project`);
  return found.name;
}

function chosenOrEnd(): readonly Numbered[] {
  const all = FAULTS.map((fault, index) => ({ ...fault, number: index + 1 }));
  try {
    const { values } = parseArgs({ options: { only: { type: 'string' } } });
    if (values.only === undefined) return all;
    return values.only.split(',').map((number) => {
      const found = all[Number(number) - 1];
      if (found === undefined) throw new Error(`--only: there is no fault ${number}; there are 1 to ${all.length}`);
      return found;
    });
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n`);
    return process.exit(2);
  }
}

function git(...args: string[]): void {
  execFileSync('git', args, { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] });
}
