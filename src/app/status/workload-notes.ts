import { countOf, formatSpan } from '@research-mirror/runtime/figures';
import type { Workload } from '../../db/status/workload.ts';

/** What keeps deletions from being proven, and vacuum from its work, one sentence each with its remedy. */
export function notesOnWorkload({ keyless, oldReaders }: Pick<Workload, 'keyless' | 'oldReaders'>): string[] {
  return [
    ...[...keyless].map(
      ([where, items]) =>
        `${where}: ${countOf(items, 'item')} without a usable ID; pages with such items prove no deletion, so that ` +
        `rows which are gone may stay: "research-mirror quarantine list ${where.split('/')[1] ?? ''}"`,
    ),
    ...oldReaders.map(
      ({ pid, user, program, ageMs }) =>
        `a transaction of ${user}${program === '' ? '' : ` (${program})`} is open for ${formatSpan(ageMs)}: vacuum ` +
        `removes nothing that it may still see. To end it: select pg_terminate_backend(${pid})`,
    ),
  ];
}
