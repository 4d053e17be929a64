/**
 * How long changes wait until they are mirrored, for accounts of several shapes and ways to spend the same requests:
 * simulated in virtual time, with the daemon's own code. After a day in which readers learn, the changes of the next
 * day count. The optimum is the least mean delay that all requests allow where every rate is known (optimum.ts).
 *
 *     npm exec -- node bench/freshness/delays.ts [--quick] [--perMinute 48] [--seed 7] [--svg FILE]
 */
import { writeFileSync } from 'node:fs';
import { readFlags } from '../support/flags.ts';
import { Claims, print, printMachine, printTable, quantile } from '../support/report.ts';
import { barChart, type BarGroup, spanOf } from './chart.ts';
import { optimumOf } from './optimum.ts';
import { daemon, fullWalks, headPolls, uniformPolls } from './readers.ts';
import { historyOf, type Shape, SHAPES } from './shapes.ts';
import { type Delays, type Reader, type Run, simulate } from './simulate.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** Share of the changes that have no event. */
const WEBHOOKS = [
  ['no webhook', 1],
  ['20 % of events lost', 0.2],
  ['webhook', 0],
] as const;

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
  'without webhook each account’s mean delay is within its bound; no scope is unread for more than a day; the daemon is 10 times as fast as full walks at 1,000,000 jobs',
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
    const result = simulate(shape, historyOf(shape, lost, run.untilMs, flags.seed), daemon(shape), run);
    const { meanMs, oldest, hintsPerMinute } = result;
    const best = optimumOf(shape, lost, { ...run, hintsPerMinute });
    rows.push([`${webhooks}: daemon`, ...figuresOf(result), (meanMs / best).toFixed(2)]);
    rows.push([`${webhooks}: optimum`, spanOf(best / 1000), '', '', '', '', '1.00']);
    claims.check(oldest <= DAY, `${shape.name}, ${webhooks}: no scope is unread for a day`);
    if (lost < 1) continue;
    bars.push({ label: 'daemon', seconds: meanMs / 1000 }, { label: 'optimum', seconds: best / 1000 });
    claims.check(
      meanMs <= shape.boundMs,
      `${shape.name}: mean delay ${spanOf(meanMs / 1000)}, at most ${spanOf(shape.boundMs / 1000)}`,
    );
    const walks = (bars[0]?.seconds ?? 0) * 1000;
    if (shape.name.includes('1,000,000'))
      claims.check(walks >= 10 * meanMs, '10 times as fast as full walks at 1,000,000 jobs');
  }
  groups.push({ title: shape.name, bars });
  const { scopes } = shape;
  const perDay = scopes.reduce((sum, { perHour }) => sum + perHour, 0) * 24;
  print(`\n${shape.name}: ${scopes.length} scopes, ${Math.round(perDay)} changes a day`);
  printTable(['', 'mean', 'p50', 'p99', 'oldest', 'requests/min', 'beside the optimum'], rows);
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
