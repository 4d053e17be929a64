/**
 * What a mechanism is worth: runs one bench in two checkouts in turns, with the mechanism and without it, and compares
 * every figure of its tables. The rent table (docs/design/README.md) is made with it.
 *
 *     node bench/rent/compare.ts --with CHECKOUT --without CHECKOUT [--runs 3] -- BENCH [ITS FLAGS]
 *
 * BENCH is a path in the checkouts, `bench/mirror/passes.ts` for example. Of each figure: the medians, their ratio, and
 * in brackets the least and the most of each side. Where other programs share the machine, processor time, WAL, dead
 * tuples, requests and memory can be compared, wall time hardly.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { readFlags } from '../support/flags.ts';
import { median, print, printMachine, printTable } from '../support/report.ts';

/** Figures of a run, by what it calls them. */
type Figures = ReadonlyMap<string, number>;

const own = process.argv.indexOf('--');
const [bench = '', ...rest] = own === -1 ? [] : process.argv.splice(own).slice(1);
const flags = readFlags({ with: '', without: '', runs: 3 });
const checkouts = [flags.with, flags.without].map((path) => resolve(path));
if (bench === '' || flags.with === '' || flags.without === '') {
  process.stderr.write('node bench/rent/compare.ts --with CHECKOUT --without CHECKOUT -- BENCH [ITS FLAGS]\n');
  process.exit(2);
}

const runs: Figures[][] = [[], []];
for (let run = 0; run < flags.runs; run += 1) {
  // Each goes first as often as the other: the machine's load may rise or fall all the while.
  for (const side of run % 2 === 0 ? [0, 1] : [1, 0]) {
    runs[side]?.push(figuresOf(await output(checkouts[side] ?? '')));
  }
}

printMachine();
print(`${[bench, ...rest].join(' ')}: ${flags.runs} runs each, in turns; with ${flags.with}, without ${flags.without}`);
const names = [...new Set(runs.flat().flatMap((figures) => [...figures.keys()]))];
printTable(
  ['figure', 'with', 'without', 'ratio', 'with: spread', 'without: spread'],
  names.map((name) => {
    const sides = runs.map((figures) => figures.flatMap((each) => each.get(name) ?? []));
    const [before = Number.NaN, after = Number.NaN] = sides.map(median);
    const spreads = sides.map((values) => `${Math.min(...values)} to ${Math.max(...values)}`);
    return [name, String(before), String(after), (after / before).toFixed(2), ...spreads];
  }),
);

/**
 * Runs the bench once in a checkout, again where it fails: on a machine that is too busy, a program may lose its accounts.
 * @throws where it fails each time
 */
async function output(checkout: string): Promise<string> {
  const attempts = 3;
  let text = '';
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    text = '';
    const child = spawn(process.execPath, [join(checkout, bench), ...rest], {
      cwd: checkout,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    child.stdout.setEncoding('utf8').on('data', (part: string) => (text += part));
    const [code] = (await once(child, 'close')) as [number | null];
    if (code === 0) return text;
  }
  throw new Error(`${bench} failed in ${checkout}:\n${text}`);
}

/** The numbers in the tables that `printTable` made, each by its row and its column. */
function figuresOf(text: string): Figures {
  const figures = new Map<string, number>();
  const lines = text.split('\n');
  for (const [at, rule] of lines.entries()) {
    if (!/^─+(?:  ─+)+$/.test(rule)) continue;
    // The rule says where each column is: a cell may be empty.
    const columns = [...rule.matchAll(/─+/g)].map(({ index, 0: { length } }) => [index, index + length] as const);
    const cells = (line = ''): string[] => columns.map((place) => line.slice(...place).trim());
    const titles = cells(lines[at - 1]);
    for (const line of lines.slice(at + 1, lines.indexOf('', at))) {
      const [row = '', ...values] = cells(line);
      for (const [column, value] of values.entries()) {
        const number = Number.parseFloat(value);
        if (!Number.isNaN(number)) figures.set(`${row}: ${titles[column + 1] ?? ''}`, number);
      }
    }
  }
  return figures;
}
