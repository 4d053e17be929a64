/**
 * The budget against servers that count in every way that services do (docs/design/rate-limit.md), in virtual time:
 * the program's own budget, a store with the semantics of the real one, and a network that jitters.
 *
 *     node bench/service/limiters.ts [--only WORD] [--seeds 3] [--minutes 370]
 *     node bench/service/limiters.ts --real 5       that many minutes of real time, over HTTP, against a strict server
 *
 * Columns: 429s of all seeds; the most of one seed within the first hour, and an hour after it; and what of the possible was
 * used by the worst seed: the lasting rate from the tenth minute on, when odd servers are learnt: N / mean(sending i −
 * sending i − N), against N / (60 s + mean response time + guard).
 */
import { GUARD_MS, WINDOW_MS } from '../../src/service/slots.ts';
import { defaultLimit, RATE_GROUPS, type RateGroup } from '../../src/service/rate-groups.ts';
import { NEAR, play, type Outcome, type Scenario, SLOW } from '../../test/support/budget/budget-scenario.ts';
import {
  blocking,
  both,
  fixedWindow,
  perGroup,
  slidingCounter,
  slidingLog,
  tokenBucket,
  wholeSeconds,
  withRemaining,
  type Limiter,
  type Verdict,
} from '../../test/support/budget/limiters.ts';
import { readFlags } from '../support/flags.ts';
import { Claims, mean, printMachine, printTable } from '../support/report.ts';
import { playInRealTime } from '../support/strict-server.ts';

const LIMIT = 60;
const LEARNT_MS = 600_000;
const HOUR_MS = 3_600_000;

const flags = readFlags({ only: '', seeds: 3, minutes: 370, real: 0 });
const claims = new Claims();

type Network = NonNullable<Scenario['network']>;
const NETWORKS: Record<string, Network> = {
  '20–200 ms': NEAR,
  '1 in 50 to 5 s': {},
  '0.02–5 s each way': SLOW,
};
const SILENT: Network = { headers: () => ({}) };

const SERVERS: Record<string, () => Limiter> = {
  'sliding log': () => slidingLog(LIMIT),
  'sliding log, Remaining one too low': () => withRemaining(slidingLog(LIMIT), (honest) => Math.max(0, honest - 1)),
  'sliding log, Remaining in tens': () => withRemaining(slidingLog(LIMIT), (honest) => honest - (honest % 10)),
  'fixed window': () => fixedWindow(LIMIT, 17_000),
  'token bucket': () => tokenBucket(LIMIT),
  'token bucket, burst 20': () => tokenBucket(LIMIT, 20),
  'token bucket, burst 5': () => tokenBucket(LIMIT, 5),
  'sliding counter': () => slidingCounter(LIMIT),
  'whole seconds, 61 s': () => wholeSeconds(LIMIT),
};

/** A second limit over all endpoints together, which blocks the key for a minute. */
const OVER_ALL = 'all endpoints together';
const overAll = (): Limiter =>
  both(
    perGroup((group) => slidingLog(defaultLimit(group))),
    blocking(slidingLog(LIMIT), WINDOW_MS),
  );

/** Headers as they should not be. */
const ODD_HEADERS: Record<string, (verdict: Verdict) => Record<string, string>> = {
  missing: () => ({}),
  'Retry-After in ms': ({ limit, remaining, retryInMs }) => ({
    ...counts(limit, remaining),
    'retry-after': String(Math.ceil(retryInMs)),
    'x-ratelimit-reset': String(Date.now() + retryInMs),
  }),
  'Reset as a delta, no Retry-After': ({ limit, remaining, retryInMs }) => ({
    ...counts(limit, remaining),
    'x-ratelimit-reset': String(Math.ceil(retryInMs / 1_000)),
  }),
  nonsense: () => ({
    'x-ratelimit-limit': '-5',
    'x-ratelimit-remaining': 'many',
    'x-ratelimit-reset': 'soon',
    'retry-after': 'later',
  }),
};

/** A scenario; its limiter is made for each seed. */
type Played = Partial<Omit<Scenario, 'limiter'>> & { readonly limiter?: () => Limiter };

/** Another user of the key who wants half of a group's limit. */
function halfOf(group: RateGroup): Played {
  const limit = defaultLimit(group);
  const limiter = (): Limiter => slidingLog(limit);
  return { groups: [group], limiter, foreignPerMinute: limit / 2, foreignComes: 'evenly', share: 0.8 };
}

const OTHERS: Record<string, Played> = {
  'others: 30 a minute, evenly': { foreignPerMinute: 30, foreignComes: 'evenly', share: 0.8 },
  'others: 30 a minute, at random': { foreignPerMinute: 30, share: 0.8 },
  'others: 30 a minute, in bursts': { foreignPerMinute: 30, foreignComes: 'in bursts', share: 0.8 },
  'others: 10 a minute, at random': { foreignPerMinute: 10, share: 0.8 },
  'a group of 2, others: 1 a minute': halfOf('bulk_lists'),
  'a group of 5, others: 2.5 a minute': halfOf('clay_enrich'),
  'a group of 10, others: 5 a minute': halfOf('research_enrich'),
  'a limit of 600, others: 100 a minute': {
    foreignPerMinute: 100,
    share: 0.8,
    limiter: () => slidingLog(600),
  },
  'a limit of 600, others: 300 a minute': {
    foreignPerMinute: 300,
    share: 0.8,
    limiter: () => slidingLog(600),
  },
};

const LIVES: Record<string, Played> = {
  '50 SIGKILLs in 10 minutes': { killEveryMs: 12_000 },
  '50 stops, a third of them graceful': { killEveryMs: 12_000, graceful: 1 / 3 },
  '50 SIGKILLs, 0.02–5 s each way': { killEveryMs: 12_000, network: SLOW },
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
  for (const [how, network] of Object.entries(NETWORKS)) {
    const name = `${OVER_ALL}, ${how}`;
    if (!name.includes(flags.only)) continue;
    const all = await runs({ network, groups: RATE_GROUPS }, overAll);
    rows.push([OVER_ALL, how, 'headers', ...figures(name, OVER_ALL, how, all)]);
  }
  if (rows.length > 0)
    printTable(['server', 'latency', 'headers', '429s', 'first hour', 'an hour after', 'used'], rows);

  const table: string[][] = [];
  for (const [headers, of] of Object.entries(ODD_HEADERS)) {
    for (const [server, limiter] of Object.entries({
      'sliding log': () => slidingLog(LIMIT),
      'sliding counter': () => slidingCounter(LIMIT),
    })) {
      const name = `${headers}: ${server}`;
      if (!name.includes(flags.only)) continue;
      const all = await runs({ network: { ...NEAR, headers: of } }, limiter);
      table.push([headers, server, ...figures(name, server, 'odd headers', all)]);
    }
  }
  if (table.length > 0) printTable(['headers', 'server', '429s', 'first hour', 'an hour after', 'used'], table);

  const shared: string[][] = [];
  for (const [name, scenario] of Object.entries(OTHERS).filter(([each]) => each.includes(flags.only)))
    shared.push([name, ...others(name, await runs({ minutes: 70, ...scenario }))]);
  if (shared.length > 0)
    printTable(['after two windows', 'ours a minute', 'refused', 'theirs a minute', 'refused'], shared);

  const lived: string[][] = [];
  for (const [name, scenario] of Object.entries(LIVES).filter(([each]) => each.includes(flags.only))) {
    const all = await runs({ minutes: 10, ...scenario });
    const refused = sum(all, (each) => each.refusedAt.length);
    const sent = sum(all, (each) => each.sentAt.length) / all.length / 10;
    const possible = (LIMIT * WINDOW_MS) / (WINDOW_MS + GUARD_MS + mean(all.map((each) => each.meanResponseMs)));
    claims.check(refused === 0, `${name}: ${String(refused)} refused`);
    if (!name.includes('0.02')) claims.check(sent / possible >= 0.98, `${name}: ${percent(sent / possible)} used`);
    lived.push([name, sent.toFixed(1), percent(sent / possible), String(refused)]);
  }
  if (lived.length > 0) printTable(['restarts', 'sent a minute', 'used', '429s'], lived);
  claims.tell(
    '0 × 429 under a strict sliding log and across restarts, 99 % of it used; others: 90 %, at most 5 × 429 in the first hour (12 on slow paths) and one an hour after',
  );
}

async function runs(scenario: Played, limiter = scenario.limiter): Promise<Outcome[]> {
  const all: Outcome[] = [];
  for (let seed = 1; seed <= flags.seeds; seed += 1) {
    const usual = { network: NEAR, minutes: flags.minutes, workers: 100 };
    all.push(await play({ ...usual, ...scenario, limiter: limiter?.() ?? slidingLog(LIMIT), seed }));
  }
  return all;
}

function figures(name: string, server: string, how: string, all: readonly Outcome[]): string[] {
  const refused = (each: Outcome, from: number, to: number): number =>
    each.refusedAt.filter((at) => at >= from && at < to).length;
  const first = Math.max(...all.map((each) => refused(each, 0, HOUR_MS)));
  const hoursAfter = flags.minutes / 60 - 1;
  const later = Math.max(...all.map((each) => refused(each, HOUR_MS, Infinity))) / Math.max(1, hoursAfter);
  const used = Math.min(
    ...all.map((each) =>
      usage(
        each.sentAt.filter((at) => at > LEARNT_MS),
        each.meanResponseMs,
      ),
    ),
  );
  const strict = server === 'sliding log';
  claims.check(
    first <= (strict ? 0 : how in NETWORKS && how !== '20–200 ms' ? 12 : 5),
    `${name}: ${String(first)} refused in the first hour`,
  );
  claims.check(later <= (strict ? 0 : 1), `${name}: ${later.toFixed(1)} refused an hour after it`);
  // A Retry-After in milliseconds is read as seconds: a quarter of an hour each time.
  if (strict || how in NETWORKS) claims.check(used >= (strict ? 0.99 : 0.9), `${name}: ${percent(used)} used`);
  return [String(sum(all, (each) => each.refusedAt.length)), String(first), later.toFixed(1), percent(used)];
}

function others(name: string, all: readonly Outcome[]): string[] {
  const late = (of: (each: Outcome) => readonly number[]): number =>
    sum(all, (each) => of(each).filter((at) => at > 2 * WINDOW_MS).length);
  const [ours, refused] = [late((each) => each.sentAt), late((each) => each.refusedAt)];
  const [theirs, theirRefused] = [late((each) => each.foreignAt), late((each) => each.foreignRefusedAt)];
  const minutes = 68 * all.length;
  claims.check(refused / ours < 0.02, `${name}: ${percent(refused / ours)} of ours refused`);
  claims.check(theirRefused / theirs < 0.02, `${name}: ${percent(theirRefused / theirs)} of theirs refused`);
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

function counts(limit: number, remaining: number): Record<string, string> {
  return { 'x-ratelimit-limit': String(limit), 'x-ratelimit-remaining': String(remaining) };
}

function sum<T>(all: readonly T[], of: (each: T) => number): number {
  return all.reduce((total, each) => total + of(each), 0);
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
