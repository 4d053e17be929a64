import { formatTable } from '../../../src/cli/terminal/text-table.ts';
import type { AttackReport } from './attack.ts';
import { FINDING_KINDS } from './findings.ts';

/** What came of one attack, and on what kind of a machine: as `--json` tells it. */
export interface Played extends AttackReport {
  readonly name: string;
  readonly seconds: number;
  /** Processes that wanted a core, on the average of its last minute. */
  readonly load: number;
}

/** Counts that have a column of their own, by the column's title. The others stand below the table. */
const COLUMNS = {
  games: 'games',
  variants: 'variants',
  states: 'states',
  walks: 'walks',
  kills: 'kills',
  'in a commit': 'in a commit',
  'pairs met': 'pairs',
  'deletions judged': 'deletions',
  versions: 'versions',
  'moments replayed': 'moments replayed',
} as const;

/** One row an attack, and their sum; columns of what was not counted at all are left out. */
export function formatSummary(played: readonly Played[]): string {
  const columns = Object.entries(COLUMNS).filter(([, count]) =>
    played.some(({ counts }) => counts[count] !== undefined),
  );
  const rows = played.map((each) => [
    each.name,
    `${each.seconds.toFixed(0)} s`,
    each.load.toFixed(1),
    ...columns.map(([, count]) => cellOf(each.counts, count)),
    ...FINDING_KINDS.map((kind) => String(each.findings[kind])),
    cellOf(each.counts, 'beyond P2'),
  ]);
  const titles = [
    'attack',
    'took',
    'load',
    ...columns.map(([title]) => title),
    ...FINDING_KINDS.map((kind) => (kind === 'claim' ? 'other claims' : kind)),
    'beyond P2',
  ];
  return formatTable(
    titles,
    played.length > 1
      ? [
          ...rows,
          sumOf(
            played,
            columns.map(([, count]) => count),
          ),
        ]
      : rows,
  );
}

/** Everything else that was counted, a line an attack. */
export function formatOtherCounts(played: readonly Played[]): string[] {
  const shown: ReadonlySet<string> = new Set([...Object.values(COLUMNS), 'pairs possible', 'beyond P2']);
  return played.flatMap(({ name, counts }) => {
    const others = Object.entries(counts)
      .filter(([what]) => !shown.has(what))
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([what, count]) => `${count} ${what}`);
    return others.length === 0 ? [] : [`${name}: ${others.join(', ')}`];
  });
}

export function brokenIn(played: readonly Played[]): number {
  return played.reduce(
    (all, { findings }) => all + FINDING_KINDS.reduce((sum, kind) => sum + findings[kind], 0),
    0,
  );
}

function cellOf(counts: Played['counts'], count: string): string {
  const value = counts[count];
  if (value === undefined) return '';
  return count === 'pairs' ? `${value}/${counts['pairs possible'] ?? '?'}` : String(value);
}

function sumOf(played: readonly Played[], columns: readonly string[]): string[] {
  const sum = (of: (each: Played) => number | undefined): string =>
    String(played.reduce((all, each) => all + (of(each) ?? 0), 0));
  return [
    'all',
    `${sum(({ seconds }) => Math.round(seconds))} s`,
    '',
    ...columns.map((count) => (count === 'pairs' ? '' : sum(({ counts }) => counts[count]))),
    ...FINDING_KINDS.map((kind) => sum(({ findings }) => findings[kind])),
    sum(({ counts }) => counts['beyond P2']),
  ];
}
