/**
 * Requests per minute under the budget against what is possible: N / (60 s + mean response time + guard).
 * The first window can be filled at once, so short runs may show a little more than the lasting rate.
 * Virtual time: `node bench/service/budget.ts` takes seconds. Columns: requests a minute, possible, part of it, 429s.
 */
import { GUARD_MS } from '../../src/service/slots.ts';
import { NEAR, play, type Scenario } from '../../test/support/budget/budget-scenario.ts';
import { slidingLog } from '../../test/support/budget/limiters.ts';

const LIMIT = 60;
const SEEDS = [1, 2, 3, 4, 5, 6];

type Case = Omit<Scenario, 'seed' | 'limiter'>;
const CASES: Record<string, Case> = {
  'alone, 20–200 ms': { minutes: 10, network: NEAR },
  'alone, one request at a time': { minutes: 10, network: NEAR, workers: 1 },
  'alone, one direction in 50 takes up to 5 s': { minutes: 10 },
  '2 % of requests without an answer': { minutes: 10, network: { ...NEAR, lost: 0.02 } },
  'SIGKILL each 12 s': { minutes: 10, network: NEAR, killEveryMs: 12_000 },
  'SIGKILL each 12 s, slow directions': { minutes: 10, killEveryMs: 12_000 },
  'share 0.8': { minutes: 10, network: NEAR, share: 0.8 },
  'somebody else sends 30 a minute': { minutes: 60, network: NEAR, foreignPerMinute: 30 },
  'somebody else sends 5 a minute, share 0.8': {
    minutes: 60,
    network: NEAR,
    foreignPerMinute: 5,
    share: 0.8,
  },
};

for (const [name, scenario] of Object.entries(CASES)) {
  let [sent, refused, responseMs, foreignSent, foreignRefused] = [0, 0, 0, 0, 0];
  for (const seed of SEEDS) {
    const outcome = await play({ ...scenario, seed, limiter: slidingLog(LIMIT) });
    sent += outcome.sentAt.length;
    refused += outcome.refusedAt.length;
    responseMs += outcome.meanResponseMs / SEEDS.length;
    foreignSent += outcome.foreignAt.length;
    foreignRefused += outcome.foreignRefusedAt.length;
  }
  const perMinute = sent / SEEDS.length / scenario.minutes;
  const size = Math.floor(LIMIT * (scenario.share ?? 1));
  const possible = (size * 60_000) / (60_000 + responseMs + GUARD_MS);
  const others = foreignSent === 0 ? '' : `  others refused ${String(foreignRefused)} of ${String(foreignSent)}`;
  process.stdout.write(
    `${name.padEnd(44)} ${perMinute.toFixed(2).padStart(6)} of ${possible.toFixed(2)}` +
      ` = ${((100 * perMinute) / possible).toFixed(1).padStart(5)} %  429: ${String(refused)}${others}\n`,
  );
}
