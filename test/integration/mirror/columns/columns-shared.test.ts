import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { registerOnly } from '../../../../src/mirror/table-columns.ts';
import { tableOf } from '../../../../src/mirror/table.ts';
import { inOwnDatabase } from '../../../support/databases/migrated-database.ts';
import { DbWhere } from '../../../support/mirror/db-where.ts';
import { lines } from '../../../support/mirror/lines.ts';
import { MirroredAccount } from '../../../support/mirror/mirrored-account.ts';
import { testAccounts } from '../../../support/mirror/test-accounts.ts';

const newAccount = testAccounts();

describe('columns of several processes', () => {
  it('are added once if processes see the field at the same time', async () => {
    const accounts = await Promise.all([newAccount(), newAccount()]);
    const pages = await Promise.all(
      accounts.map((account) => account.page('research_jobs', '[{"job_id":1,"together":"x"}]')),
    );
    expect(pages).toMatchObject([{ outcomes: ['inserted'] }, { outcomes: ['inserted'] }]);
    const together =
      'select _user_id, together from mirror.research_jobs where together is not null order by 1';
    expect(await lines(accounts[0], together)).toEqual(accounts.map(({ fence }) => `${fence.userId} x`));
  });

  it('are written once another process has added them for a field that stayed in _raw', async () => {
    const one = await newAccount({ schemaDrift: 'raw' });
    await one.page('research_jobs', '[{"job_id":1,"shade":"dark"}]');
    const other = await newAccount();
    await other.page('research_jobs', '[{"job_id":1}]');
    while (await one.mirror.backfill(one.fence));
    await one.page('research_jobs', '[{"job_id":2,"shade":"light"}]');
    const shades = `select shade from mirror.research_jobs where _user_id = ${one.fence.userId} order by job_id`;
    expect(await lines(one, shades)).toEqual(['dark', 'light']);
  });

  it('keep their name and content if they were added by hand', async () => {
    const account = await newAccount();
    await account.query(`alter table mirror.research_jobs add column stage integer default 5`);
    await account.page('research_jobs', '[{"job_id":1,"stage":"late"}]');
    const [name] = await lines(account, `select column_name from mirror.columns where field = 'stage'`);
    expect(name).toMatch(/^stage_[0-9a-f]{6}$/);
    const stages = `select stage, ${name} from mirror.research_jobs where _user_id = ${account.fence.userId}`;
    expect(await lines(account, stages)).toEqual(['5 late']);
  });

  it('are no longer written if they were dropped or changed by hand, and pages go on', async () => {
    const account = await newAccount();
    await account.page('research_jobs', '[{"job_id":1,"gone":"a","bent":1,"n":1}]');
    await account.query(
      'alter table mirror.research_jobs drop column gone cascade, alter column n type text',
    );
    await account.query('drop view if exists mirror.research_jobs_live');
    await account.query('alter table mirror.research_jobs alter column bent type text');
    const result = await account.page('research_jobs', '[{"job_id":2,"gone":"b","bent":2,"n":3}]');
    expect(result).toMatchObject({ outcomes: ['inserted'] });
    const { userId } = account.fence;
    const second = `select bent, _raw ->> 'gone' from mirror.research_jobs where _user_id = ${userId} and job_id = 2`;
    expect(await lines(account, second)).toEqual(['- b']);
    await account.page('research_jobs', '[{"job_id":3,"brand_new":1}]');
    const third = `select _key, brand_new from mirror.research_jobs_live where _user_id = ${userId} and job_id = 3`;
    expect(await lines(account, third)).toEqual([`${userId}:3 1`]);
  });

  it('wait while the table is locked: pages go on, and the column is filled later', async () => {
    await inOwnDatabase(async (own) => {
      const account = await MirroredAccount.make(own, '1');
      const reading = Promise.withResolvers<void>();
      const release = Promise.withResolvers<void>();
      const reader = own.kysely.transaction().execute(async (trx) => {
        await sql`select 1 from ${sql.id('other', 'research_jobs')}`.execute(trx);
        reading.resolve();
        await release.promise;
      });
      await reading.promise;
      const first = await account.page('research_jobs', '[{"job_id":1,"colour":"red"},{"job_id":2}]');
      expect(first).toMatchObject({ outcomes: ['inserted', 'inserted'] });
      release.resolve();
      await reader;
      await account.page('research_jobs', '[{"job_id":3,"colour":"blue"}]');
      await account.page('research_jobs', '[{"job_id":4,"colour":"green"}]');
      const stamps = `select job_id, _change_id, _changed_at from other.research_jobs order by job_id`;
      const before = await account.query(stamps);
      while (await account.mirror.backfill(account.fence));
      const colours = 'select job_id, colour from other.research_jobs order by job_id';
      expect(await lines(account, colours)).toEqual(['1 red', '2 -', '3 blue', '4 green']);
      expect(await account.query(stamps)).toEqual(before);
    });
  });

  it('are filled in rows that another process wrote just before without the column', async () => {
    await inOwnDatabase(async (own) => {
      const without = await MirroredAccount.make(own, '1', { schemaDrift: 'raw' });
      const db = new DbWhere(own.db, {
        once: {
          when: 'before',
          statement: 'alter table',
          happens: async () => {
            await registerOnly(own.db, tableOf('other', 'research_jobs'), new Map([['colour', ['1']]]));
            await without.page('research_jobs', '[{"job_id":1,"colour":"red"}]');
          },
        },
      });
      const maker = await MirroredAccount.make({ ...own, db }, '2');
      await maker.page('research_jobs', '[{"job_id":2,"colour":"blue"}]');
      while (await without.mirror.backfill(without.fence));
      const colours = 'select job_id, colour from other.research_jobs order by job_id';
      expect(await lines(without, colours)).toEqual(['1 red', '2 blue']);
    });
  });

  it('wait longer for another process that adds columns than for readers of the table', async () => {
    await inOwnDatabase(async (own) => {
      const account = await MirroredAccount.make(own, '1');
      const making = Promise.withResolvers<void>();
      const maker = own.kysely.transaction().execute(async (trx) => {
        await sql`lock table other_sync.migration in share row exclusive mode`.execute(trx);
        making.resolve();
        // Longer than the wait for a reader of the table.
        await sql`select pg_sleep(0.6)`.execute(trx);
      });
      await making.promise;
      await account.page('lists', '[{"list_id":1,"colour":"red"}]');
      await maker;
      expect(await lines(account, 'select colour from other.lists')).toEqual(['red']);
    });
  });
});
