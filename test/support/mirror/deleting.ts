import type { AbsenceProof } from '../../../src/model/absence.ts';
import type { CollectionName } from '../../../src/model/collections.ts';
import type { DeletionResult } from '../../../src/mirror/apply-deletions.ts';
import type { MirroredAccount } from './mirrored-account.ts';

export const SNAPSHOT: AbsenceProof = { kind: 'snapshot' };

/** An interval of falling order: behind `after`, up to and including `through`. */
export function falling(
  after: number | null,
  through: number | null,
): Extract<AbsenceProof, { kind: 'interval' }> {
  return {
    kind: 'interval',
    direction: 'falling',
    after: after === null ? null : String(after),
    through: through === null ? null : String(through),
  };
}

/** Items with these keys and nothing else, as JSON. */
export function itemsWith(field: string, keys: readonly (number | string)[]): string {
  return JSON.stringify(keys.map((key) => ({ [field]: key })));
}

/** Research jobs with these IDs. */
export function jobs(...ids: readonly number[]): string {
  return itemsWith('job_id', ids);
}

/** Makes accounts by `newAccount` that have jobs with these IDs, which came the grace period ago. */
export function oldJobs(
  newAccount: () => Promise<MirroredAccount>,
): (...ids: readonly number[]) => Promise<MirroredAccount> {
  return async (...ids) => {
    const account = await newAccount();
    await account.observe('research_jobs', jobs(...ids));
    await account.age(account.gracePeriodMs);
    return account;
  };
}

/** Keys of the suspected jobs. */
export async function suspectKeys(account: MirroredAccount): Promise<string[]> {
  return (await account.suspects('research_jobs')).map(({ key }) => key);
}

/** IDs of the live jobs in the mirror. */
export async function liveJobs(account: MirroredAccount): Promise<number[]> {
  const rows = await account.query<{ job_id: string }>(`
    select job_id from mirror.research_jobs
    where _user_id = ${account.fence.userId} and _deleted_at is null order by job_id`);
  return rows.map((row) => Number(row.job_id));
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

/** Counters of rows, as stored and as counted, by collection and scope: where they differ, one of them is wrong. */
export async function countersAndCounts(
  account: MirroredAccount,
): Promise<{ readonly counters: unknown; readonly counts: unknown }> {
  const user = account.fence.userId;
  const tables: readonly (readonly [CollectionName, string])[] = [
    ['research_jobs', "''"],
    ['lists', "''"],
    ['list_items', 'list_id::text'],
    ['watchlist', "''"],
  ];
  const rows = tables
    .map(
      ([name, parent]) =>
        `select '${name}' as collection, ${parent} as parent, _deleted_at is null as live
         from mirror.${name} where _user_id = ${user}`,
    )
    .join(' union all ');
  const counts = await account.query(`
    select c.collection, c.parent, coalesce(r.live, 0) as live, coalesce(r.deleted, 0) as deleted,
      coalesce(d.doubts, 0) as doubts
    from (select collection, '*' as parent from mirror._collections where _user_id = ${user}
          union all select collection, parent from mirror_sync.scope where _user_id = ${user}) as c
    left join (
      select collection, parent, count(*) filter (where live) as live, count(*) filter (where not live) as deleted
      from (${rows}) as x group by grouping sets ((collection, parent), (collection)) ) as r
      on r.collection = c.collection and coalesce(r.parent, '*') = c.parent
    left join (
      select collection, count(*) as doubts from mirror_sync.candidate where _user_id = ${user} group by collection) as d
      on d.collection = c.collection and c.parent = '*'
    order by 1, 2`);
  const counters = await account.query(`
    select collection, '*' as parent, live_rows as live, deleted_rows as deleted,
      held_deletions + waiting_deletions as doubts
    from mirror._collections where _user_id = ${user}
    union all
    select s.collection, s.parent, s.live_rows, coalesce(r.deleted, 0), 0 from mirror_sync.scope as s
    left join (
      select collection, parent, count(*) filter (where not live) as deleted from (${rows}) as x
      group by collection, parent) as r
      on r.collection = s.collection and r.parent = s.parent
    where s._user_id = ${user}
    order by 1, 2`);
  return { counters, counts };
}
