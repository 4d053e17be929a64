import { grouped } from './load.ts';
import type { Measured, StepCost } from './measure-peer.ts';
import type { RowDifference } from './row-for-row.ts';

/** A table: its titles, then its rows. */
export interface Table {
  readonly name: string;
  readonly titles: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

const TITLES = ['wall s', 'client CPU s', 'Postgres CPU s', 'peak MB', 'WAL MB', 'dead tuples'];

/** The first two steps of all in one table, as `first load / unchanged`. */
export function overview(all: readonly Measured[]): Table {
  return {
    name: 'First load / unchanged',
    titles: ['', ...TITLES],
    rows: all.flatMap((measured) => {
      const [first, unchanged] = measured.steps;
      if (first === undefined || unchanged === undefined) return [];
      const [one, other] = [figures(first), figures(unchanged)];
      return [[titleOf(measured), ...one.map((figure, index) => `${figure} / ${other[index] ?? ''}`)]];
    }),
  };
}

/** A table for each step. */
export function tablesByStep(all: readonly Measured[]): readonly Table[] {
  const count = Math.max(0, ...all.map(({ steps }) => steps.length));
  return Array.from({ length: count }, (_, index) => {
    const there = all.flatMap((measured) => {
      const cost = measured.steps[index];
      return cost === undefined ? [] : [{ measured, cost }];
    });
    // Where a peer has fewer rows, its steps have fewer, too: the name is that of the most.
    const most = there.toSorted((a, b) => b.measured.rows - a.measured.rows)[0];
    return {
      name: sentence(most?.cost.step ?? ''),
      titles: ['', ...TITLES, 'rows written', 'tables MB', 'requests', 'compared with the source'],
      rows: there.map(({ measured, cost }) => [
        titleOf(measured),
        ...figures(cost),
        grouped(cost.rowsWritten),
        megabytes(cost.tableBytes),
        grouped(cost.requests),
        differenceText(cost.difference),
      ]),
    };
  });
}

/** The whole of bench/RESULTS.md. */
export function resultsPage(
  all: readonly Measured[],
  head: {
    readonly machine: string;
    readonly command: string;
    readonly server: string;
    readonly load: string;
  },
  notMeasured: readonly string[],
): string {
  const rows = Math.max(0, ...all.map(({ rows }) => rows));
  return `${[
    '# From HTTP to rows: the mirror and other programs',
    'This page answers: what do a first load and later passes cost, with this program and with others?',
    `Written by \`${head.command}\`; do not edit.`,
    `${head.machine}; ${head.server}; load before, at the start of each peer, and after: ${head.load}.`,
    `${grouped(rows)} research jobs of about 1 KB in pages of 500, limits lifted. The emulated service, Postgres and each run are separate processes on this machine. Each peer has a fresh database, and for each step a fresh process, after a vacuum and a checkpoint. Processor time counts the run’s whole process tree, and all processes of Postgres. Memory is the tree’s. Dead tuples are replaced or deleted row versions, in all tables. Rows written are versions of jobs. *Equal*: every row and field is as in the source.`,
    ...[overview(all), ...tablesByStep(all)].map((table) => `## ${table.name}\n\n${markdown(table)}`),
    '## How each was set up',
    all
      .map(({ peer, versions, rows: own, failure }) => {
        const fewer = own < rows ? ` ${grouped(own)} rows only.` : '';
        const failed = failure === undefined ? '' : ` It failed: ${failure.split('\n')[0] ?? ''}.`;
        return `- **${peer.title}** (\`--peers ${peer.name}\`): ${peer.settings}. ${versions}.${fewer}${failed}`;
      })
      .join('\n'),
    '## Not measured',
    notMeasured.map((line) => `- ${line}`).join('\n'),
  ].join('\n\n')}\n`;
}

function titleOf({ peer, rows }: Measured): string {
  return peer.mostRows === rows ? `${peer.title} (${grouped(rows)} rows)` : peer.title;
}

function figures(cost: StepCost): readonly string[] {
  const { seconds, cpuSeconds, serverSeconds, peakBytes, walBytes, deadTuples } = cost;
  return [
    seconds.toFixed(1),
    cpuSeconds.toFixed(1),
    Number.isNaN(serverSeconds) ? '–' : serverSeconds.toFixed(1),
    megabytes(peakBytes),
    megabytes(walBytes),
    grouped(deadTuples),
  ];
}

/** What is wrong with the rows; `equal`: nothing. */
export function differenceText({ missing, extra, differ, digits, lost }: RowDifference): string {
  const parts = [
    missing > 0 ? `${grouped(missing)} missing` : '',
    extra > 0 ? `${grouped(extra)} too many` : '',
    differ > 0 ? `${grouped(differ)} differ` : '',
    digits > 0 ? `${grouped(digits)} lose digits` : '',
    lost.length > 0 ? `no column for ${lost.join(', ')}` : '',
  ].filter((part) => part !== '');
  return parts.length === 0 ? 'equal' : parts.join(', ');
}

/** A tenth below ten. */
function megabytes(bytes: number): string {
  const megabytes = bytes / 1e6;
  return megabytes < 9.95 ? megabytes.toFixed(1) : grouped(Math.round(megabytes));
}

function markdown({ titles, rows }: Table): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const rule = `|${titles.map((_, index) => (index === 0 ? '---' : '--:')).join('|')}|`;
  return [line(titles), rule, ...rows.map(line)].join('\n');
}

function sentence(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}
