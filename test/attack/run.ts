/**
 * The attack suite: everything that may happen to a mirror, drawn from seeds. README.md tells what each attack does.
 *
 *     npm run attack -- [--seed N] [--only model,walks,…] [--walks 10000] [--kills N] [--minutes N]
 *                       [--games N] [--parallel N] [--json FILE] [--trace]
 *
 * Ends with 0 when nothing was lost, false, twice or otherwise broken; 1 else; 2 for flags that it does not know; 130
 * when it was interrupted (Ctrl-C once: games under way come to their end, and the table follows; twice: at once).
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { messageOf } from '@research-mirror/runtime/message';
import { print, printMachine } from '../../bench/support/report.ts';
import { ATTACKS } from './attacks.ts';
import {
  type Attack,
  type AttackReport,
  type AttackSize,
  describeFindings,
  type GameResult,
  noFindings,
} from './support/attack.ts';
import { brokenIn, formatOtherCounts, formatSummary, type Played } from './support/summary.ts';

/** Where the traces of games with findings go. */
const TRACES = join(tmpdir(), 'research-mirror-attack-traces');
/** Games between two lines of progress. */
const TELL_EACH = 50;

const flags = flagsOrEnd();
const interrupted = new AbortController();
process.on('SIGINT', () => {
  if (interrupted.signal.aborted) process.exit(130);
  process.stderr.write('interrupted: games under way come to their end; once more to end at once\n');
  interrupted.abort();
});

printMachine();
print(`seed ${flags.seed}: npm run attack -- --seed ${flags.seed} draws the same games again`);
const played: Played[] = [];
for (const attack of ATTACKS.filter(({ name }) => flags.only.includes(name))) {
  if (interrupted.signal.aborted) break;
  print(`\n${attack.name}: ${attack.what}`);
  const begin = performance.now();
  const report = await run(attack);
  const seconds = (performance.now() - begin) / 1000;
  for (const note of report.notes) print(`  ${note}`);
  for (const part of report.notPlayed) print(`  NOT PLAYED HERE: ${part}`);
  played.push({ name: attack.name, seconds, load: loadavg()[0] ?? 0, ...report });
  // After each attack: what was played is not lost with the rest.
  writeFigures();
}

print(`\n${formatSummary(played)}`);
for (const line of formatOtherCounts(played)) print(line);
const notPlayed = played.filter((each) => each.notPlayed.length > 0).map(({ name }) => name);
if (notPlayed.length > 0) print(`NOT PLAYED to the full: ${notPlayed.join(', ')}, see above`);
const broken = brokenIn(played);
print(broken === 0 ? 'nothing lost, nothing false, nothing twice' : `BROKEN: ${broken} findings, see above`);
if (interrupted.signal.aborted) print('interrupted: the rest was not played');
process.exitCode = broken > 0 ? 1 : interrupted.signal.aborted ? 130 : 0;

async function run(attack: Attack): Promise<AttackReport> {
  let games = 0;
  try {
    return await attack.run({
      seed: flags.seed,
      size: flags,
      parallel: flags.parallel,
      signal: interrupted.signal,
      onGame(result) {
        games += 1;
        if (games % TELL_EACH === 0) process.stderr.write(`${attack.name}: ${games} games\n`);
        if (flags.trace) print(result.trace.join('\n'));
        if (result.findings.length > 0) tell(attack.name, result);
      },
    });
  } catch (error) {
    // The others are worth playing nevertheless.
    print(`  the attack broke off: ${(error as Error).stack ?? messageOf(error)}`);
    return { counts: { games }, findings: { ...noFindings(), claim: 1 }, notes: [], notPlayed: [] };
  }
}

function tell(name: string, result: GameResult): void {
  print(describeFindings(name, result));
  const file = join(TRACES, `${name}-${result.seed}.log`);
  print(`  trace: ${file}`);
  const text = [result.what, ...result.findings.map(({ kind, text }) => `${kind}: ${text}`), ...result.trace];
  mkdirSync(TRACES, { recursive: true });
  writeFileSync(file, `${text.join('\n')}\n`);
}

function writeFigures(): void {
  if (flags.json === undefined) return;
  const figures = {
    at: new Date().toISOString(),
    node: process.version,
    cores: availableParallelism(),
    seed: flags.seed,
    interrupted: interrupted.signal.aborted,
    broken: brokenIn(played),
    attacks: played,
  };
  writeFileSync(flags.json, `${JSON.stringify(figures, null, 2)}\n`);
}

function flagsOrEnd(): Flags {
  try {
    return readFlags(
      ATTACKS.map(({ name }) => name),
      process.argv.slice(2),
    );
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n`);
    process.exit(2);
  }
}

/** What `npm run attack --` was asked for. */
interface Flags extends AttackSize {
  readonly seed: number;
  readonly only: readonly string[];
  readonly parallel: number;
  readonly trace: boolean;
  /** File for the figures. */
  readonly json: string | undefined;
}

/** @throws Error that tells the user what is wrong */
function readFlags(names: readonly string[], args: readonly string[]): Flags {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
      only: { type: 'string', default: names.join(',') },
      walks: { type: 'string', default: '10000' },
      kills: { type: 'string' },
      minutes: { type: 'string' },
      games: { type: 'string', default: '0' },
      parallel: { type: 'string', default: '12' },
      trace: { type: 'boolean', default: false },
      json: { type: 'string' },
    },
  });
  const only = values.only.split(',');
  const unknown = only.filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    throw new Error(`--only: there is no attack ${unknown.join(', ')}; there are ${names.join(', ')}`);
  }
  return {
    seed: numberOf('seed', values.seed),
    only,
    walks: numberOf('walks', values.walks),
    kills: values.kills === undefined ? undefined : numberOf('kills', values.kills),
    minutes: values.minutes === undefined ? undefined : numberOf('minutes', values.minutes),
    games: numberOf('games', values.games),
    parallel: Math.max(1, numberOf('parallel', values.parallel)),
    trace: values.trace,
    json: values.json,
  };
}

function numberOf(name: string, text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value) && value >= 0) return value;
  throw new Error(`--${name} must be a number from 0 up, not '${text}'`);
}
