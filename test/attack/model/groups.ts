import { formatTable } from '../../../src/cli/terminal/text-table.ts';
import type { Start } from '../../model/explore.ts';
import type { Searched } from './searched.ts';

const GROUPS = {
  order: 'order',
  cursor: 'cursor',
  hasMore: 'has_more',
  pageSize: 'page size',
} as const satisfies { readonly [Part in keyof Start]?: string };

const TITLES = ['variants', 'states', 'quiet ends', 'deletions', 'beyond P2', 'violations', 'seconds'];

/** What was searched, once by each part of a variant: `order falling`, `cursor token` … */
export function formatGroups(searched: readonly Searched[]): string {
  const rows = (Object.keys(GROUPS) as (keyof typeof GROUPS)[]).flatMap((part) =>
    [...Map.groupBy(searched, ({ start }) => `${GROUPS[part]} ${start[part]}`)]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, group]) => [name, ...figures(group)]),
  );
  return formatTable(['all variants with', ...TITLES], rows);
}

function figures(group: readonly Searched[]): string[] {
  const sum = (of: (each: Searched) => number): number => group.reduce((all, each) => all + of(each), 0);
  return [
    group.length,
    sum(({ counts }) => counts.states),
    sum(({ counts }) => counts.ends),
    sum(({ counts }) => counts.deletions),
    sum(({ counts }) => counts.bounded),
    sum(({ violations }) => violations.length),
    Math.round(sum(({ seconds }) => seconds)),
  ].map(String);
}
