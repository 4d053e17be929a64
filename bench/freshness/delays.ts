/**
 * How long changes wait until they are mirrored, for accounts of several shapes and ways to spend the same requests:
 * simulated in virtual time, with the planner's own code. After a day in which readers learn, the changes of the next
 * day count. The optimum is the least mean delay where every rate is known (optimum.ts): with all requests that the
 * account has, and with as many as the reader sent, since the daemon leaves those unspent that are not worth it; and
 * the same of whoever has to read each collection and, of few lists, each list once a minute, as the cron lines say.
 *
 *     npm exec -- node bench/freshness/delays.ts [--quick] [--perMinute 48] [--seed 7] [--svg FILE]
 */
import { writeFileSync } from 'node:fs';
import { readFlags } from '../support/flags.ts';
import { Claims, print, printMachine, printTable, quantile } from '../support/report.ts';
import { barChart, type BarGroup, spanOf } from './chart.ts';
import { leastLoss } from './learnable.ts';
import { optimumOf, withLinesKept } from './optimum.ts';
import { fullWalks, headPolls, planned, uniformPolls } from './readers.ts';
import { historyOf, type Shape, SHAPES } from './shapes.ts';
import { type Delays, type Reader, type Run, simulate } from './simulate.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** Mean delay beside the optimum's that is aimed at. */
const GOAL = 1.1;
const DAEMON = 'daemon as it is set';
const PLANNER = 'planner, every request';
/** Share of the changes that have no event. */
const WEBHOOKS = [
  ['no webhook', 1],
  ['20 % of events lost', 0.2],
  ['webhook', 0],
] as const;
const TITLES = [
  'mean',
  'p50',
  'p99',
  'oldest',
  'requests/min',
  'beside the optimum',
  'with the requests sent',
  'and the lines kept',
];

const flags = readFlags({ quick: false, perMinute: 48, seed: 7, svg: '' });
const claims = new Claims();
const run: Run = {
  perMinute: flags.perMinute,
  from: DAY,
  to: flags.quick ? 1.5 * DAY : 2 * DAY,
  // The longest a scope waits, and some.
  untilMs: 3.2 * DAY,
};
const groups: BarGroup[] = [];
const goals: string[][] = [];

printMachine();
for (const shape of SHAPES) {
  if (flags.quick && shape.scopes.length > 1000) continue;
  compareReaders(shape);
}
if (flags.svg !== '') {
  const title = `Mean delay until a change is mirrored, without webhooks, ${flags.perMinute} requests a minute`;
  writeFileSync(flags.svg, barChart(title, 'mean delay (logarithmic)', groups));
  print(`drawn: ${flags.svg}`);
}
print(`\nGoal: ${GOAL} times the optimum's mean delay`);
printTable(['', ...TITLES], goals);
claims.tell(
  'no scope is unread for more than a day and a page; ours is 10 times as fast as full walks at 1,000,000 jobs',
);

function compareReaders(shape: Shape): void {
  const rows: string[][] = [];
  const silent = historyOf(shape, 1, run.untilMs, flags.seed);
  const general: readonly (readonly [string, Reader])[] = [
    ['full walks', fullWalks(shape)],
    ['newest rows each minute, lists in turn', headPolls(shape)],
    ['each as often', uniformPolls(shape)],
  ];
  const bars = general.map(([label, reader]) => {
    const result = simulate(shape, silent, reader, run);
    rows.push([label, ...figuresOf(result)]);
    return { label, seconds: result.meanMs / 1000 };
  });
  for (const [webhooks, lost] of WEBHOOKS) {
    const history = historyOf(shape, lost, run.untilMs, flags.seed);
    const results: [string, Delays][] = [
      [DAEMON, simulate(shape, history, planned(shape, { asDaemon: true }), run)],
      [PLANNER, simulate(shape, history, planned(shape, {}), run)],
    ];
    // What a storm brings nobody knows beforehand.
    if (shape.storm === undefined)
      results.push(['planner, rates known', simulate(shape, history, planned(shape, { known: lost }), run)]);
    for (const [label, result] of results) {
      const { meanMs, oldest, requestsPerMinute: sentPerMinute, hintsPerMinute } = result;
      const spendable = { ...run, hintsPerMinute };
      const best = optimumOf(shape, lost, spendable);
      const ofSent = optimumOf(shape, lost, { ...spendable, sentPerMinute });
      const ratios = [meanMs / best, meanMs / ofSent];
      if (label === DAEMON)
        ratios.push(meanMs / optimumOf(withLinesKept(shape, run), lost, { ...spendable, sentPerMinute }));
      rows.push([`${webhooks}: ${label}`, ...figuresOf(result), ...ratios.map((ratio) => ratio.toFixed(2))]);
      claims.check(oldest <= 25 * HOUR, `${shape.name}, ${webhooks}, ${label}: no scope is unread for a day`);
      if (lost === 1) bars.push({ label, seconds: meanMs / 1000 });
      if (label === PLANNER) rows.push([`${webhooks}: optimum`, spanOf(best / 1000), '', '', '', '', '1.00']);
      if (label === PLANNER && lost === 1) bars.push({ label: 'optimum', seconds: best / 1000 });
      if (label !== DAEMON && label !== PLANNER) continue;
      const met = (ratio: number): string => `${ratio.toFixed(2)} ${ratio <= GOAL ? 'met' : 'missed'}`;
      goals.push([`${shape.name}, ${webhooks}: ${label}`, ...figuresOf(result), ...ratios.map(met)]);
      if (lost < 1 || !shape.name.includes('1,000,000')) continue;
      const walks = (bars[0]?.seconds ?? 0) * 1000;
      claims.check(walks >= 10 * meanMs, `${label}: 10 times as fast as full walks at 1,000,000 jobs`);
    }
  }
  groups.push({ title: shape.name, bars });
  const { scopes } = shape;
  const perDay = scopes.reduce((sum, { perHour }) => sum + perHour, 0) * 24;
  print(`\n${shape.name}: ${scopes.length} scopes, ${Math.round(perDay)} changes a day`);
  printTable(['', ...TITLES], rows);
  if (scopes.length > 1000) {
    const losses = [1, 2, 7].map((days) => `${leastLoss(shape, days * DAY).toFixed(2)} after ${days} d`);
    print(`what nobody can go below who has to learn the lists' rates: ${losses.join(', ')}`);
  }
}

function figuresOf({ delays, meanMs, oldest, requestsPerMinute }: Delays): string[] {
  const sorted = [...delays];
  return [
    spanOf(meanMs / 1000),
    spanOf(quantile(sorted, 0.5) / 1000),
    spanOf(quantile(sorted, 0.99) / 1000),
    spanOf(oldest / 1000),
    requestsPerMinute.toFixed(1),
  ];
}
