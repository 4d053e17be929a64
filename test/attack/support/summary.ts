import { formatTable } from '../../../src/terminal/text-table.ts';
import { type AttackReport, FINDING_KINDS } from './attack.ts';

/** One attack as `--json` tells it. */
export interface Played extends AttackReport {
  readonly name: string;
  readonly seconds: number;
  /** Load average of its last minute. */
  readonly load: number;
}

/** Counts that have a column of their own; the others stand below the table. */
const COLUMNS = 'games,variants,states,walks,kills,in a commit,pairs,deletions,versions,moments replayed'.split(',');

/** One row an attack, and their sum; columns without any figure are left out. */
export function formatSummary(played: readonly Played[]): string {
  const counted = COLUMNS.filter((count) => played.some(({ counts }) => counts[count] !== undefined));
  const columns = [...counted, 'beyond P2'];
  const rows = played.map(({ name, seconds, load, counts, findings }) => [
    name,
    `${seconds.toFixed(0)} s`,
    load.toFixed(1),
    ...columns.map((count) =>
      count === 'pairs' && counts[count] !== undefined
        ? `${counts[count]}/${counts['pairs possible'] ?? '?'}`
        : String(counts[count] ?? ''),
    ),
    ...FINDING_KINDS.map((kind) => String(findings[kind])),
  ]);
  const sum = (of: (each: Played) => number | undefined): string =>
    String(played.reduce((all, each) => all + (of(each) ?? 0), 0));
  const all = [
    'all',
    `${sum(({ seconds }) => Math.round(seconds))} s`,
    '',
    ...columns.map((count) => (count === 'pairs' ? '' : sum(({ counts }) => counts[count]))),
    ...FINDING_KINDS.map((kind) => sum(({ findings }) => findings[kind])),
  ];
  const kinds = FINDING_KINDS.map((kind) => (kind === 'claim' ? 'other claims' : kind));
  return formatTable(['attack', 'took', 'load', ...columns, ...kinds], [...rows, all]);
}

/** Everything else that was counted, a line an attack. */
export function formatOtherCounts(played: readonly Played[]): string[] {
  const shown = new Set([...COLUMNS, 'pairs possible', 'beyond P2']);
  return played.flatMap(({ name, counts }) => {
    const others = Object.keys(counts).filter((what) => !shown.has(what));
    const told = others.toSorted().map((what) => `${counts[what]} ${what}`);
    return told.length === 0 ? [] : [`${name}: ${told.join(', ')}`];
  });
}

export function brokenIn(played: readonly Played[]): number {
  return played.flatMap(({ findings }) => Object.values(findings)).reduce((sum, each) => sum + each, 0);
}
