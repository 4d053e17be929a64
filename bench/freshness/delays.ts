/**
 * How long changes wait until they are mirrored, for accounts of several shapes and ways to spend the same requests:
 * simulated in virtual time, with the planner's own code. After a day in which readers learn, the changes of the next
 * day count. `optimum` is the least mean delay where every rate is known (optimum.ts).
 *
 *     npm exec -- node bench/freshness/delays.ts [--quick] [--perMinute 48] [--seed 7] [--svg FILE]
 */
import { writeFileSync } from 'node:fs';
import { readFlags } from '../support/flags.ts';
import { Claims, print, printMachine, printTable, quantile } from '../support/report.ts';
import { barChart, type BarGroup, spanOf } from './chart.ts';
import { leastLoss } from './learnable.ts';
import { optimumOf } from './optimum.ts';
import { fullWalks, headPolls, planned, uniformPolls } from './readers.ts';
import { historyOf, type Shape, SHAPES } from './shapes.ts';
import { type Delays, type Reader, type Run, simulate } from './simulate.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

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
    rows.push([label, ...figuresOf(result), '']);
    return { label, seconds: result.meanMs / 1000 };
  });
  for (const [webhooks, lost] of [
    ['no webhook', 1],
    ['20 % of events lost', 0.2],
    ['webhook', 0],
  ] as const) {
    const history = historyOf(shape, lost, run.untilMs, flags.seed);
    const daemon = simulate(shape, history, planned(shape, { asDaemon: true }), run);
    const ours = simulate(shape, history, planned(shape, {}), run);
    const certain = simulate(shape, history, planned(shape, { known: lost }), run);
    const best = optimumOf(shape, lost, run.perMinute, ours.hintReadings, run.to).meanMs;
    const ratio = (meanMs: number): string => (shape.storm === undefined ? (meanMs / best).toFixed(2) : '');
    rows.push([`${webhooks}: daemon as it is set`, ...figuresOf(daemon), ratio(daemon.meanMs)]);
    rows.push([`${webhooks}: planner, every request`, ...figuresOf(ours), ratio(ours.meanMs)]);
    rows.push([`${webhooks}: planner, rates known`, ...figuresOf(certain), ratio(certain.meanMs)]);
    if (shape.storm === undefined)
      rows.push([`${webhooks}: optimum`, spanOf(best / 1000), '', '', '', '', '1.00']);
    claims.check(
      Math.max(daemon.oldest, ours.oldest) <= 25 * HOUR,
      `${shape.name}: no scope is unread for a day`,
    );
    if (lost < 1) continue;
    bars.push({ label: 'daemon as it is set', seconds: daemon.meanMs / 1000 });
    bars.push({ label: 'planner, every request', seconds: ours.meanMs / 1000 });
    if (shape.storm === undefined) bars.push({ label: 'optimum', seconds: best / 1000 });
    const walks = (bars[0]?.seconds ?? 0) * 1000;
    if (shape.name.includes('1,000,000'))
      claims.check(walks >= 10 * daemon.meanMs, 'ours is 10 times as fast as full walks at 1,000,000 jobs');
  }
  groups.push({ title: shape.name, bars });
  const { scopes } = shape;
  const perDay = scopes.reduce((sum, { perHour }) => sum + perHour, 0) * 24;
  print(`\n${shape.name}: ${scopes.length} scopes, ${Math.round(perDay)} changes a day`);
  printTable(['', 'mean', 'p50', 'p99', 'oldest', 'requests/min', 'mean / optimum'], rows);
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
