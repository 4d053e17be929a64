import type { DistributeReport } from '../../app/distribute/run-distribute.ts';
import { countOf, formatCount } from '@research-mirror/runtime/figures';
import { formatTable } from '../terminal/text-table.ts';

/** A table of what was spread, or would be, and one line for people. */
export function describeDistributed(report: DistributeReport, width: number | undefined): string {
  const { version, workers, shards, tables, pauseMs, attempts, leftOvers, missingLogins } = report;
  const cluster = `Citus ${version}, ${countOf(workers.length, 'node')} with shards (${workers.join(', ')})`;
  const spread = tables.filter(({ outcome }) => outcome !== 'there');
  const rest = [
    ...leftOvers.map(
      (name) =>
        `${name}: its old rows still lie on the coordinator, unseen, since somebody reads it without end: say distribute again later\n`,
    ),
    ...missingLogins.map(
      (name) =>
        `login ${name} is not on every worker, and can read nothing there: on each worker that lacks it, ` +
        'SET citus.enable_create_role_propagation = off; CREATE ROLE … LOGIN IN ROLE …, as on the coordinator\n',
    ),
  ];
  if (spread.length === 0) {
    return `the mirror is distributed: ${countOf(tables.length, 'table')} in ${countOf(shards, 'shard')}; ${cluster}\n${rest.join('')}`;
  }
  const table = formatTable(
    [
      { title: 'table', align: 'left' },
      { title: 'rows', align: 'right' },
      { title: 'MB', align: 'right' },
    ],
    spread.map(({ name, rows, bytes }) => [
      name,
      rows === null ? '' : formatCount(rows),
      (bytes / 1024 ** 2).toFixed(1),
    ]),
    width,
  );
  const what = `${countOf(spread.length, 'table')} ${pauseMs === null ? 'would be' : 'were'} spread over ${countOf(shards, 'shard')}`;
  const pause =
    pauseMs === null
      ? ''
      : `; writes waited ${(pauseMs / 1000).toFixed(1)} s${attempts > 1 ? `, in ${attempts} attempts` : ''}`;
  return `${table}${what}; ${cluster}${pause}\n${rest.join('')}`;
}
