/**
 * The attack suite: everything that may happen to a mirror, drawn from seeds. README.md tells what each attack does.
 *
 *     npm run attack -- [--seed N] [--only walks,kills,…] [--walks 10000] [--kills 1000] [--minutes 3]
 *                       [--games N] [--parallel N] [--trace]
 *
 * Ends with 0 when nothing was lost, false, twice or otherwise broken; 1 else; 2 for flags that it does not know.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { formatTable } from '../../src/cli/table.ts';
import { printMachine } from '../../bench/support/report.ts';
import { ATTACKS } from './attacks.ts';
import { type AttackReport, describeFindings } from './support/attack.ts';
import { FINDING_KINDS, type GameResult } from './support/findings.ts';

interface Flags {
  readonly seed: number;
  readonly only: readonly string[];
  readonly walks: number;
  readonly kills: number;
  readonly minutes: number;
  readonly games: number;
  readonly parallel: number;
  readonly trace: boolean;
}

/** Where the traces of games with findings go. */
const TRACES = join(tmpdir(), 'research-mirror-attack-traces');

const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const flags = readFlags();
printMachine();
print(`seed ${flags.seed}: npm run attack -- --seed ${flags.seed} draws the same games again`);
const rows: string[][] = [];
let broken = 0;
for (const attack of ATTACKS.filter(({ name }) => flags.only.includes(name))) {
  print(`\n${attack.name}: ${attack.what}`);
  const begin = performance.now();
  let games = 0;
  const report = await attack.run({
    seed: flags.seed,
    size: flags,
    parallel: flags.parallel,
    onGame(result) {
      games += 1;
      if (games % 50 === 0) process.stderr.write(`${attack.name}: ${games} games\n`);
      if (flags.trace) print(result.trace.join('\n'));
      if (result.findings.length > 0) tell(attack.name, result);
    },
  });
  const seconds = (performance.now() - begin) / 1000;
  for (const note of report.notes) print(`  ${note}`);
  for (const part of report.notPlayed) print(`  NOT PLAYED HERE: ${part}`);
  rows.push(rowOf(attack.name, report, seconds));
  broken += FINDING_KINDS.reduce((sum, kind) => sum + report.findings[kind], 0);
}
const titles = [
  'attack',
  ...FINDING_KINDS.map((kind) => (kind === 'claim' ? 'other claims' : kind)),
  'took',
  'played',
];
print('');
print(
  formatTable(
    titles.map((title) => ({ title, align: title === 'attack' || title === 'played' ? 'left' : 'right' })),
    rows,
  ),
);
print(broken === 0 ? 'nothing lost, nothing false, nothing twice' : `BROKEN: ${broken} findings, see above`);
process.exitCode = broken === 0 ? 0 : 1;

function tell(name: string, result: GameResult): void {
  print(describeFindings(name, result));
  const file = join(TRACES, `${name}-${result.seed}.log`);
  print(`  trace: ${file}`);
  const text = [result.what, ...result.findings.map(({ kind, text }) => `${kind}: ${text}`), ...result.trace];
  void mkdir(TRACES, { recursive: true }).then(() => writeFile(file, `${text.join('\n')}\n`));
}

function rowOf(name: string, { counts, findings, notPlayed }: AttackReport, seconds: number): string[] {
  const played = Object.entries(counts).map(([what, count]) => `${count} ${what}`);
  const not = notPlayed.length === 0 ? [] : [`${notPlayed.length} parts NOT PLAYED`];
  const found = FINDING_KINDS.map((kind) => String(findings[kind]));
  return [name, ...found, `${seconds.toFixed(0)} s`, [...played, ...not].join(', ')];
}

function readFlags(): Flags {
  const names = ATTACKS.map(({ name }) => name);
  const usage = (problem: string): never => {
    process.stderr.write(`${problem}\nattacks: ${names.join(', ')}\n`);
    process.exit(2);
  };
  try {
    const { values } = parseArgs({
      options: {
        seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
        only: { type: 'string', default: names.join(',') },
        walks: { type: 'string', default: '10000' },
        kills: { type: 'string', default: '1000' },
        minutes: { type: 'string', default: '3' },
        games: { type: 'string', default: '0' },
        parallel: { type: 'string', default: '12' },
        trace: { type: 'boolean', default: false },
      },
    });
    const number = (name: 'seed' | 'walks' | 'kills' | 'minutes' | 'games' | 'parallel'): number => {
      const value = Number(values[name]);
      return Number.isFinite(value) && value >= 0 ? value : usage(`--${name} must be a number from 0 up`);
    };
    const only = values.only.split(',');
    const unknown = only.filter((name) => !names.includes(name));
    if (unknown.length > 0) usage(`--only: there is no attack ${unknown.join(', ')}`);
    return {
      seed: number('seed'),
      only,
      walks: number('walks'),
      kills: number('kills'),
      minutes: number('minutes'),
      games: number('games'),
      parallel: Math.max(1, number('parallel')),
      trace: values.trace,
    };
  } catch (error) {
    return usage((error as Error).message);
  }
}
