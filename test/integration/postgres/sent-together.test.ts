import { beforeEach, describe, expect, it } from 'vitest';
import { allSent, type Db } from '../../../src/postgres/db.ts';
import { testDatabase } from '../../support/databases/migrated-database.ts';

const database = testDatabase();
beforeEach(() => database.rows('create table if not exists mirror.noted (what text); truncate mirror.noted'));

const note = (trx: Db, what: string) => trx.sql`insert into mirror.noted values (${what})`;
const noted = () => database.rows('select what from mirror.noted');

describe('statements of a transaction', () => {
  it('are sent while earlier ones are unanswered, and run in the order of the calls', async () => {
    const answered: string[] = [];
    const asked: string[] = [];
    await database.db.transaction(async (trx) => {
      const ask = async (what: string): Promise<void> => {
        asked.push(what);
        await note(trx, what);
        answered.push(what);
      };
      const all = ['1', '2', '3'].map(ask);
      expect([asked, answered]).toEqual([['1', '2', '3'], []]);
      await allSent(...all);
      const { rows } = await trx.sql<{ what: string }>`select what from mirror.noted order by ctid`;
      expect(rows.map(({ what }) => what)).toEqual(['1', '2', '3']);
    });
    expect(answered.toSorted()).toEqual(['1', '2', '3']);
  });

  it('fail with the first error, and leave nothing', async () => {
    const failing = database.db.transaction(async (trx) => {
      const nested = (async () => {
        await note(trx, 'before');
        await trx.sql`select ${'x'}::text::bigint`;
      })();
      await allSent(nested, note(trx, 'beside'), trx.sql`select ${'y'}::text::bigint`, note(trx, 'behind'));
    });
    await expect(failing).rejects.toThrow('"y"');
    expect(await noted()).toEqual([]);
  });

  it('are no longer sent once the work has ended: they would be outside of the transaction', async () => {
    let left: Db | undefined;
    let late: Promise<unknown> | undefined;
    const goOn = async (trx: Db): Promise<void> => {
      for (let time = 0; time < 10_000; time += 1) await note(trx, 'late');
    };
    const failing = database.db.transaction(async (trx) => {
      left = trx;
      late = goOn(trx);
      late.catch(() => {});
      await trx.sql`select 1`;
      throw new Error('found wanting');
    });
    await expect(failing).rejects.toThrow('found wanting');
    // Either the connection or Kysely notices first.
    await expect(late).rejects.toThrow(/ended|rolled back/);
    if (left === undefined) throw new Error('no transaction');
    const later = left.state.deleteFrom('command').execute();
    await expect(later).rejects.toThrow(/ended|rolled back/);
    expect(await noted()).toEqual([]);
  });
});
