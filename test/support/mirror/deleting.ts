import type { AbsenceProof } from '../../../src/model/absence.ts';
import type { CollectionName } from '../../../src/model/collections.ts';
import type { DeletionResult } from '../../../src/mirror/apply-deletions.ts';
import type { MirroredAccount } from './mirrored-account.ts';

export const SNAPSHOT: AbsenceProof = { kind: 'snapshot' };

/** An interval of falling order: behind `after`, up to and including `through`. */
export function falling(after: number | null, through: number | null) {
  const text = (key: number | null) => (key === null ? null : String(key));
  return { kind: 'interval', direction: 'falling', after: text(after), through: text(through) } as const;
}

/** 1, 2, …, last. */
export const upTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1);

/** Items with these keys and nothing else, as JSON. */
export const itemsWith = (field: string, keys: readonly (number | string)[]): string =>
  JSON.stringify(keys.map((key) => ({ [field]: key })));

/** Research jobs with these IDs. */
export const jobs = (...ids: readonly number[]): string => itemsWith('job_id', ids);

/** IDs of the live jobs in the mirror. */
export async function liveJobs(account: MirroredAccount): Promise<number[]> {
  const live = await account.rowsOf('job_id', 'mirror.research_jobs', 'and _deleted_at is null order by job_id');
  return live.map(Number);
}

/** Two answers that are the whole scope, the grace period apart and the grace period after everything before. */
export async function proveAbsent(
  account: MirroredAccount,
  name: CollectionName,
  left: string,
  parent = '',
): Promise<void> {
  for (let proof = 1; proof <= 2; proof += 1) {
    await account.age(account.gracePeriodMs);
    await account.observe(name, left, { parent, proof: SNAPSHOT });
  }
}

/** Proves absent, and deletes. */
export async function deleteAllBut(
  account: MirroredAccount,
  name: CollectionName,
  left: string,
  { parent = '', accept = false } = {},
): Promise<DeletionResult> {
  await proveAbsent(account, name, left, parent);
  return account.applyDeletions(name, { parent, accept });
}

/** Where the counters of collections and scopes differ from a count; [] when all are right. */
export function wrongCounters(account: MirroredAccount): Promise<unknown[]> {
  const user = account.fence.userId;
  const rows = Object.entries({
    research_jobs: `''`,
    lists: `''`,
    list_items: 'list_id::text',
    watchlist: `''`,
  })
    .map(
      ([name, parent]) => `select '${name}' as collection, ${parent} as parent, _deleted_at is null as live
      from mirror.${name} where _user_id = ${user}`,
    )
    .join(' union all ');
  return account.query(`
    with rows as (${rows}), counted as (
      select c.collection, array[live_rows, deleted_rows, held_deletions + waiting_deletions] as counter, array[
        (select count(*) from rows r where r.collection = c.collection and live),
        (select count(*) from rows r where r.collection = c.collection and not live),
        (select count(*) from mirror_sync.candidate k where k._user_id = ${user} and k.collection = c.collection)
      ] as count from mirror._collections as c where _user_id = ${user}
      union all
      select s.collection || '/' || s.parent, array[live_rows], array[
        (select count(*) from rows r where r.collection = s.collection and r.parent = s.parent and live)]
      from mirror_sync.scope as s where _user_id = ${user})
    select * from counted where counter is distinct from count`);
}
