import { describe, expect, it } from 'vitest';
import {
  countersAndCounts,
  itemsWith,
  jobs,
  liveJobs,
  proveAbsent,
} from '../../../support/mirror/deleting.ts';
import { testAccounts } from '../../../support/mirror/test-accounts.ts';
import type { MirroredAccount } from '../../../support/mirror/mirrored-account.ts';

const newAccount = testAccounts();

const upTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1);

/** Jobs 1 to 80; the deletion of 1 to 12 is proven. */
async function withGoneJobs(options: Parameters<typeof newAccount>[0]): Promise<MirroredAccount> {
  const account = await newAccount(options);
  const ids = upTo(80);
  await account.observe('research_jobs', jobs(...ids));
  await proveAbsent(account, 'research_jobs', jobs(...ids.slice(12)));
  return account;
}

/** Suspected deletions that Postgres refused, by key. */
async function refused(account: MirroredAccount): Promise<Record<string, string>> {
  const rows = await account.query<{ key: string; why: string }>(
    `select key, refused as why from mirror_sync.candidate
     where _user_id = ${account.fence.userId} and refused_at is not null order by key`,
  );
  return Object.fromEntries(rows.map(({ key, why }) => [key, why]));
}

const FUNCTION = `create or replace function public.keep() returns trigger language plpgsql as`;
const noted = (more: string): string => `
  create table public.note (user_id bigint, job_id bigint,
    foreign key (user_id, job_id) references mirror.research_jobs (_user_id, job_id) ${more})`;
const NO_NOTE = 'drop table public.note';
const NO_TRIGGER = 'drop function public.keep() cascade';
const insertNotes = (user: string): string =>
  `insert into public.note select ${user}, n from unnest('{7,11}'::bigint[]) as n`;

describe('a deletion that Postgres refuses', () => {
  it.each([
    ['a foreign key', 'hard', noted(''), NO_NOTE, /foreign key constraint .* on table "note" \(23503\)/],
    ['one that restricts', 'hard', noted('on delete restrict'), NO_NOTE, /\(23(503|001)\)/],
    ['a deferred one', 'hard', noted('deferrable initially deferred'), NO_NOTE, /\(23503\)/],
    [
      'a trigger that raises',
      'hard',
      `${FUNCTION} $$ begin if old.job_id in (7, 11) then raise exception 'keep %', old.job_id; end if; return old; end $$;
       create trigger keep before delete on mirror.research_jobs for each row execute function public.keep()`,
      NO_TRIGGER,
      /^keep \d+ \(P0001\)/,
    ],
    [
      'a trigger that drops it',
      'hard',
      `${FUNCTION} $$ begin return case when old.job_id in (7, 11) then null else old end; end $$;
       create trigger keep before delete on mirror.research_jobs for each row execute function public.keep()`,
      NO_TRIGGER,
      /a trigger or a rule keeps/,
    ],
    [
      'a constraint on rows that are marked',
      'soft',
      `alter table mirror.research_jobs add constraint keep check (_deleted_at is null or job_id not in (7, 11))`,
      'alter table mirror.research_jobs drop constraint keep',
      /check constraint "keep" \(23514\)/,
    ],
    [
      'a constraint on the history',
      'soft',
      `alter table mirror.research_jobs_history add constraint keep check (job_id not in (7, 11)) not valid`,
      'alter table mirror.research_jobs_history drop constraint keep',
      /check constraint "keep" \(23514\)/,
    ],
  ] as const)(
    'by %s (%s) leaves that row and names it; all others go',
    async (_, deletes, keep, free, why) => {
      const account = await withGoneJobs({ deletes });
      try {
        await account.query(keep);
        if (keep.includes('public.note')) await account.query(insertNotes(account.fence.userId));
        // The second attempt finds nothing new and forgets nothing.
        for (const deleted of [10, 0]) {
          expect(await account.applyDeletions('research_jobs')).toMatchObject({ deleted, blocked: 0 });
          expect(await liveJobs(account)).toEqual([7, 11, ...upTo(80).slice(12)]);
          const found = await refused(account);
          expect(Object.keys(found)).toEqual(['7', '11']);
          expect(found['7']).toMatch(why);
        }
        const { counters, counts } = await countersAndCounts(account);
        expect(counters).toEqual(counts);
      } finally {
        await account.query(free);
      }
      expect(await account.applyDeletions('research_jobs')).toMatchObject({ deleted: 2 });
      expect(await refused(account)).toEqual({});
      expect((await countersAndCounts(account)).counters).toEqual((await countersAndCounts(account)).counts);
    },
  );

  it('keeps the list whole if it concerns an item, and names the list', async () => {
    const account = await newAccount({ deletes: 'hard' });
    await account.observe('lists', itemsWith('list_id', upTo(40)));
    for (const parent of ['1', '2', '3']) {
      await account.observe('list_items', itemsWith('id', ['a', 'b']), { parent });
    }
    await proveAbsent(account, 'lists', itemsWith('list_id', upTo(40).slice(3)));
    await account.query(
      `create table public.note (u bigint, l bigint, i text,
         foreign key (u, l, i) references mirror.list_items (_user_id, list_id, id))`,
    );
    try {
      await account.query(`insert into public.note values (${account.fence.userId}, 2, 'b')`);
      expect(await account.applyDeletions('lists', { accept: true })).toMatchObject({ deleted: 2 });
      expect(await refused(account)).toEqual({ 2: expect.stringMatching(/"list_items"/) as string });
      const left = `select list_id, id from mirror.list_items where _user_id = ${account.fence.userId} order by id`;
      expect(await account.query(left)).toEqual([
        { list_id: '2', id: 'a' },
        { list_id: '2', id: 'b' },
      ]);
      const { counters, counts } = await countersAndCounts(account);
      expect(counters).toEqual(counts);
    } finally {
      await account.query(NO_NOTE);
    }
  });

  it('does not block others a day later, however many rows are kept', async () => {
    const account = await withGoneJobs({ deletes: 'hard' });
    await account.query(noted(''));
    try {
      await account.query(
        `insert into public.note select ${account.fence.userId}, n from generate_series(1, 12) as n`,
      );
      expect(await account.applyDeletions('research_jobs')).toMatchObject({ deleted: 0 });
      expect(Object.keys(await refused(account))).toHaveLength(12);
      const more = jobs(...upTo(80).slice(17));
      await proveAbsent(account, 'research_jobs', more);
      expect(await account.applyDeletions('research_jobs')).toMatchObject({ deleted: 0, blocked: 17 });
      await account.age(26 * 3_600_000);
      expect(await account.applyDeletions('research_jobs')).toMatchObject({ deleted: 5, blocked: 0 });
    } finally {
      await account.query(NO_NOTE);
    }
    expect(await account.applyDeletions('research_jobs')).toMatchObject({ deleted: 12 });
  });

  it('is not assumed while the server can do nothing: its error is thrown', async () => {
    const account = await withGoneJobs({ deletes: 'hard' });
    await account.query(
      `${FUNCTION} $$ begin raise exception 'full' using errcode = '53100'; end $$;
       create trigger keep before delete on mirror.research_jobs for each row execute function public.keep()`,
    );
    try {
      await expect(account.applyDeletions('research_jobs')).rejects.toThrow(/53100/);
      expect(await refused(account)).toEqual({});
    } finally {
      await account.query(NO_TRIGGER);
    }
  });
});
