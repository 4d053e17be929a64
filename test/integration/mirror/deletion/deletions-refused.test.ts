import { afterEach, describe, expect, it } from 'vitest';
import type { MirrorOptions } from '../../../../src/mirror/mirror.ts';
import { testDatabase } from '../../../support/databases/migrated-database.ts';
import { itemsWith, jobs, liveJobs, proveAbsent, upTo, wrongCounters } from '../../../support/mirror/deleting.ts';
import { MirroredAccount } from '../../../support/mirror/mirrored-account.ts';

const database = testDatabase();
let users = 0;

const FREE = `drop table if exists public.note; drop function if exists public.keep() cascade;
  alter table mirror.research_jobs drop constraint if exists keep;
  alter table mirror.research_jobs_history drop constraint if exists keep`;
afterEach(() => database.db.raw(FREE));

const newAccount = (deletes: MirrorOptions['deletes']): Promise<MirroredAccount> =>
  MirroredAccount.make(database, String((users += 1)), { deletes });

/** Jobs 1 to 80; the deletion of 1 to 12 is proven. */
async function withGoneJobs(deletes: MirrorOptions['deletes']): Promise<MirroredAccount> {
  const account = await newAccount(deletes);
  await account.observe('research_jobs', jobs(...upTo(80)));
  await proveAbsent(account, 'research_jobs', jobs(...upTo(80).slice(12)));
  return account;
}

/** Suspected deletions that Postgres refused: key and reason. */
const refused = (account: MirroredAccount): Promise<readonly string[]> =>
  account.rowsOf('key, refused', 'mirror_sync.candidate', 'and refused_at is not null order by key');

const noted = (more: string): string => `
  create table public.note (user_id bigint, job_id bigint,
    foreign key (user_id, job_id) references mirror.research_jobs (_user_id, job_id) ${more});
  insert into public.note select $user, n from unnest('{7,11}'::bigint[]) as n`;
const trigger = (body: string): string => `
  create function public.keep() returns trigger language plpgsql as $$ begin ${body}; end $$;
  create trigger keep before delete on mirror.research_jobs for each row execute function public.keep()`;
const RAISES = trigger(`if old.job_id in (7, 11) then raise exception 'keep %', old.job_id; end if; return old`);
const DROPS = trigger('return case when old.job_id in (7, 11) then null else old end');
const constraint = (table: string, check: string): string =>
  `alter table mirror.${table} add constraint keep check (${check}) not valid`;
const MARKED = constraint('research_jobs', '_deleted_at is null or job_id not in (7, 11)');
const ARCHIVED = constraint('research_jobs_history', 'job_id not in (7, 11)');

describe('a deletion that Postgres refuses', () => {
  it.each([
    ['a foreign key', 'hard', noted(''), /^7 .*foreign key constraint .* on table "note" \(23503\)/],
    ['one that restricts', 'hard', noted('on delete restrict'), /^7 .*\(23(503|001)\)/],
    ['a deferred one', 'hard', noted('deferrable initially deferred'), /^7 .*\(23503\)/],
    ['a trigger that raises', 'hard', RAISES, /^7 keep \d+ \(P0001\)/],
    ['a trigger that drops it', 'hard', DROPS, /^7 .*a trigger or a rule keeps/],
    ['a constraint on rows that are marked', 'soft', MARKED, /^7 .*check constraint "keep" \(23514\)/],
    ['a constraint on the history', 'soft', ARCHIVED, /^7 .*check constraint "keep" \(23514\)/],
  ] as const)('by %s (%s) leaves that row and names it; all others go', async (_, deletes, keep, why) => {
    const account = await withGoneJobs(deletes);
    await account.query(keep.replace('$user', account.fence.userId));
    // The second attempt finds nothing new and forgets nothing.
    for (const deleted of [10, 0]) {
      expect(await account.applyDeletions('research_jobs')).toMatchObject({ deleted, blocked: 0 });
      expect(await liveJobs(account)).toEqual([7, 11, ...upTo(80).slice(12)]);
      const left = [expect.stringMatching(why), expect.stringMatching(/^11 /)];
      expect((await refused(account)).toSorted().toReversed()).toEqual(left);
    }
    expect(await wrongCounters(account)).toEqual([]);
    await account.query(FREE);
    expect(await account.applyDeletions('research_jobs')).toMatchObject({ deleted: 2 });
    expect(await refused(account)).toEqual([]);
    expect(await wrongCounters(account)).toEqual([]);
  });

  it('keeps the list whole if it concerns an item, and names the list', async () => {
    const account = await newAccount('hard');
    await account.observe('lists', itemsWith('list_id', upTo(40)));
    for (const parent of ['1', '2', '3']) {
      await account.observe('list_items', itemsWith('id', ['a', 'b']), { parent });
    }
    await proveAbsent(account, 'lists', itemsWith('list_id', upTo(40).slice(3)));
    await account.query(`
      create table public.note (u bigint, l bigint, i text,
        foreign key (u, l, i) references mirror.list_items (_user_id, list_id, id));
      insert into public.note values (${account.fence.userId}, 2, 'b')`);
    expect(await account.applyDeletions('lists', { accept: true })).toMatchObject({ deleted: 2 });
    expect(await refused(account)).toEqual([expect.stringMatching(/^2 .*"list_items"/)]);
    expect(await account.rowsOf('list_id, id', 'mirror.list_items', 'order by id')).toEqual(['2 a', '2 b']);
    expect(await wrongCounters(account)).toEqual([]);
  });

  it('does not block others a day later, however many rows are kept', async () => {
    const account = await withGoneJobs('hard');
    await account.query(
      noted('')
        .replace('$user', account.fence.userId)
        .replace('{7,11}', `{${upTo(12).join()}}`),
    );
    expect(await account.applyDeletions('research_jobs')).toMatchObject({ deleted: 0 });
    expect(await refused(account)).toHaveLength(12);
    await proveAbsent(account, 'research_jobs', jobs(...upTo(80).slice(17)));
    expect(await account.applyDeletions('research_jobs')).toMatchObject({ deleted: 0, blocked: 17 });
    await account.age(26 * 3_600_000);
    expect(await account.applyDeletions('research_jobs')).toMatchObject({ deleted: 5, blocked: 0 });
    await account.query(FREE);
    expect(await account.applyDeletions('research_jobs')).toMatchObject({ deleted: 12 });
  });

  it('is not assumed while the server can do nothing: its error is thrown', async () => {
    const account = await withGoneJobs('hard');
    await account.query(trigger(`raise exception 'full' using errcode = '53100'`));
    await expect(account.applyDeletions('research_jobs')).rejects.toThrow(/53100/);
    expect(await refused(account)).toEqual([]);
  });
});
