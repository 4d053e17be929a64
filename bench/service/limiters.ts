/**
 * The budget against servers that count in every way that services do (docs/design/rate-limit.md), in virtual time:
 * the program's own budget, a store with the semantics of the real one, and a network that jitters.
 *
 *     node bench/service/limiters.ts [--only WORD] [--seeds 3] [--minutes 70]
 *     node bench/service/limiters.ts --real 5       that many minutes of real time, over HTTP, against a strict server
 *
 * Columns: 429s of all seeds, the most of one seed, and what of the possible was used by the worst one: the lasting rate from the
 * tenth minute on, when odd servers are learnt: N / mean(sending i − sending i − N), against N / (60 s + mean response
 * time + guard).
 */
import { GUARD_MS, WINDOW_MS } from '../../src/budget/slots/timing.ts';
import { play, type Outcome, type Scenario } from '../../test/support/budget/budget-scenario.ts';
import {
  fixedWindow,
  slidingCounter,
  slidingLog,
  tokenBucket,
  wholeSeconds,
  withRemaining,
  type Limiter,
} from '../../test/support/budget/limiters.ts';
import { readFlags } from '../support/flags.ts';
import { Claims, mean, printMachine, printTable } from '../support/report.ts';
import { playInRealTime } from '../support/strict-server.ts';

const LIMIT = 60;
const LEARNT_MS = 600_000;

const flags = readFlags({ only: '', seeds: 3, minutes: 70, real: 0 });
const claims = new Claims();

type Network = NonNullable<Scenario['network']>;
const NEAR: Network = { latency: (random) => 10 + random() * 90 };
const JITTER: Network = { latency: (random) => 20 + random() * 4_980, timeoutMs: 30_000 };
const NETWORKS: Record<string, Network> = {
  '20–200 ms': NEAR,
  '1 in 50 to 5 s': {},
  '0.02–5 s each way': JITTER,
};
const SILENT: Network = { headers: () => ({}) };

/** Servers, and what is claimed of each: 429s of a run at most, part used at least, over networks without great jitter. */
const SERVERS: Record<string, () => Limiter> = {
  'sliding log': () => slidingLog(LIMIT),
  'sliding log, Remaining one too low': () =>
    withRemaining(slidingLog(LIMIT), (honest) => Math.max(0, honest - 1)),
  'sliding log, Remaining in tens': () =>
    withRemaining(slidingLog(LIMIT), (honest) => honest - (honest % 10)),
  'fixed window': () => fixedWindow(LIMIT, 17_000),
  'token bucket': () => tokenBucket(LIMIT),
  'token bucket, burst 20': () => tokenBucket(LIMIT, 20),
  'token bucket, burst 5': () => tokenBucket(LIMIT, 5),
  'sliding counter': () => slidingCounter(LIMIT),
  'whole seconds, 61 s': () => wholeSeconds(LIMIT),
};

const OTHERS: Record<string, Partial<Scenario>> = {
  'others: 30 a minute, evenly': { foreignPerMinute: 30, foreignComes: 'evenly', share: 0.8 },
  'others: 30 a minute, at random': { foreignPerMinute: 30, share: 0.8 },
  'others: 30 a minute, in bursts': { foreignPerMinute: 30, foreignComes: 'in bursts', share: 0.8 },
  'others: 10 a minute, at random': { foreignPerMinute: 10, share: 0.8 },
};

const LIVES: Record<string, Partial<Scenario>> = {
  '50 SIGKILLs in 10 minutes': { killEveryMs: 12_000 },
  '50 stops, a third of them graceful': { killEveryMs: 12_000, graceful: 1 / 3 },
  '50 SIGKILLs, 0.02–5 s each way': { killEveryMs: 12_000, network: JITTER },
  '20 takeovers, the other goes on 20 s': { killEveryMs: 30_000, goesOnMs: 20_000 },
};

if (flags.real > 0) await real(flags.real);
else await virtual();

async function virtual(): Promise<void> {
  printMachine();
  const rows: string[][] = [];
  for (const [server, limiter] of Object.entries(SERVERS)) {
    for (const [how, network] of Object.entries(NETWORKS)) {
      for (const headers of ['headers', 'none']) {
        const name = `${server}, ${how}, ${headers}`;
        if (!name.includes(flags.only) || (headers === 'none' && server.includes('Remaining'))) continue;
        const all = await runs({ network: { ...network, ...(headers === 'none' ? SILENT : {}) } }, limiter);
        rows.push([server, how, headers, ...figures(name, server, how, all)]);
      }
    }
  }
  if (rows.length > 0) printTable(['server', 'latency', 'headers', '429s', 'most', 'used'], rows);
  const shared = Object.entries(OTHERS).filter(([name]) => name.includes(flags.only));
  const lives = Object.entries(LIVES).filter(([name]) => name.includes(flags.only));
  const table: string[][] = [];
  for (const [name, scenario] of shared) table.push([name, ...others(name, await runs(scenario))]);
  if (table.length > 0)
    printTable(['after two windows', 'ours a minute', 'refused', 'theirs a minute', 'refused'], table);
  const lived: string[][] = [];
  for (const [name, scenario] of lives) {
    const all = await runs({ minutes: 10, ...scenario });
    const refused = sum(all, (each) => each.refusedAt.length);
    claims.check(refused === 0, `${name}: ${String(refused)} refused`);
    lived.push([
      name,
      (sum(all, (each) => each.sentAt.length) / all.length / 10).toFixed(1),
      String(refused),
    ]);
  }
  if (lived.length > 0) printTable(['restarts', 'sent a minute', '429s'], lived);
  claims.tell(
    '0 × 429 under a strict sliding log and across restarts, 99 % of it used; others: 97 %, after one 429',
  );
}

async function runs(scenario: Partial<Scenario>, limiter = () => slidingLog(LIMIT)): Promise<Outcome[]> {
  const all: Outcome[] = [];
  for (let seed = 1; seed <= flags.seeds; seed += 1) {
    const usual = { network: NEAR, minutes: flags.minutes, workers: 100 };
    all.push(await play({ ...usual, ...scenario, limiter: limiter(), seed }));
  }
  return all;
}

function figures(name: string, server: string, how: string, all: readonly Outcome[]): string[] {
  const most = Math.max(...all.map((each) => each.refusedAt.length));
  const used = Math.min(
    ...all.map((each) =>
      usage(
        each.sentAt.filter((at) => at > LEARNT_MS),
        each.meanResponseMs,
      ),
    ),
  );
  const strict = server === 'sliding log';
  // Great jitter is claimed of the strict server only: it alone tells a burst from nothing.
  if (strict || how !== '0.02–5 s each way') {
    claims.check(most <= (strict ? 0 : 1), `${name}: ${String(most)} refused in a run`);
    claims.check(used >= (strict ? 0.99 : 0.97), `${name}: ${percent(used)} used`);
  }
  return [String(sum(all, (each) => each.refusedAt.length)), String(most), percent(used)];
}

function others(name: string, all: readonly Outcome[]): string[] {
  const late = (of: (each: Outcome) => readonly number[]): number =>
    sum(all, (each) => of(each).filter((at) => at > 2 * WINDOW_MS).length);
  const [ours, refused] = [late((each) => each.sentAt), late((each) => each.refusedAt)];
  const [theirs, theirRefused] = [late((each) => each.foreignAt), late((each) => each.foreignRefusedAt)];
  const minutes = (flags.minutes - 2) * all.length;
  claims.check(refused / ours < 0.01, `${name}: ${percent(refused / ours)} of ours refused`);
  claims.check(theirRefused / theirs < 0.01, `${name}: ${percent(theirRefused / theirs)} of theirs refused`);
  return [(ours / minutes).toFixed(1), String(refused), (theirs / minutes).toFixed(1), String(theirRefused)];
}

async function real(minutes: number): Promise<void> {
  printMachine();
  const { sentAt, refused, meanResponseMs } = await playInRealTime(LIMIT, minutes, [20, 5_000]);
  const used = usage(sentAt, meanResponseMs);
  printTable(
    ['real time', 'sent', '429s', 'mean response', 'used'],
    [
      [
        `${String(minutes)} min`,
        String(sentAt.length),
        String(refused),
        `${meanResponseMs.toFixed(0)} ms`,
        percent(used),
      ],
    ],
  );
  claims.check(refused === 0, `${String(refused)} refused`);
  claims.check(used >= 0.99, `${percent(used)} used`);
  claims.tell('0 × 429 in real time, at least 99 % of what is possible used');
}

/** @param sentAt moments in order */
function usage(sentAt: readonly number[], responseMs: number): number {
  const returns = mean(sentAt.slice(LIMIT).map((at, index) => at - (sentAt[index] ?? at)));
  return (WINDOW_MS + responseMs + GUARD_MS) / returns;
}

function sum<T>(all: readonly T[], of: (each: T) => number): number {
  return all.reduce((total, each) => total + of(each), 0);
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
