import { countOf } from '@research-mirror/runtime/figures';
import type { DumpReport } from '../../app/dump/dump-header.ts';

/** What is in a dump, in words: `1,204 rows of 27 tables, as of 2026-03-01T00:00:00.000Z`. */
export function describeDump({ rows, tables, takenAt, leftOut }: DumpReport): string {
  const columns = leftOut.length === 0 ? '' : `, without your own ${leftOut.join(', ')}`;
  return `${countOf(rows, 'row')} of ${countOf(Object.keys(tables).length, 'table')}, as of ${takenAt}${columns}`;
}
