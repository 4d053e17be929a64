import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { sqlState } from '../../../../src/postgres/sql-state.ts';
import { refreshDependents } from '../../../../src/mirror/table-columns.ts';
import { COLLECTION_NAMES } from '../../../../src/model/collections.ts';
import { accountsWithHistory } from '../../../support/mirror/accounts-with-history.ts';
import { lines } from '../../../support/mirror/lines.ts';
import { MirroredAccount } from '../../../support/mirror/mirrored-account.ts';

const scene = accountsWithHistory();
const { open } = scene;

/** Sets since when an account's jobs are mirrored, and since when every version is kept. */
const cover = (account: MirroredAccount, from: string | null, history: string | null) =>
  account.query(`
    update mirror._collections set mirrored_from = ${from === null ? 'null' : `'${from}'`},
      history_from = ${history === null ? 'null' : `'${history}'`}
    where _user_id = ${account.fence.userId} and collection = 'research_jobs'`);

const coverage = (account: MirroredAccount) =>
  account.query<{ collection: string; mirrored_from: Date | number; history_from: Date | null }>(`
    select collection, mirrored_from, history_from from mirror._collections
    where _user_id = ${account.fence.userId} order by 1`);

/** Why the jobs are not known as of a moment: message and detail; undefined: they are. */
async function refusal(moment: string): Promise<readonly string[] | undefined> {
  try {
    await scene.first.query(`select * from mirror.research_jobs_as_of('${moment}')`);
    return undefined;
  } catch (error) {
    if (sqlState(error) !== 'RM001') throw error;
    const { message, detail } = error as Error & { readonly detail: string };
    return [message.replace(/^mirror\.research_jobs is not known as of /, ''), detail];
  }
}

const everythingGone = () =>
  scene.first.query('delete from mirror.research_jobs; delete from mirror.research_jobs_history');

describe('since when history covers an account', () => {
  it('is noted when the account is opened, and stays', async () => {
    await open(scene.first);
    const [lists, jobs] = await coverage(scene.first);
    expect(jobs).toEqual({ ...lists, collection: 'research_jobs' });
    expect(jobs?.history_from).toEqual(jobs?.mirrored_from);
    const versions = () => scene.first.rowsOf('xmin::text', 'mirror._collections');
    const before = await versions();
    await open(scene.first);
    expect(await coverage(scene.first)).toEqual([lists, jobs]);
    expect(await versions()).toEqual(before);
  });

  it('is undefined if no history is kept from the first page on', async () => {
    const third = await MirroredAccount.make(scene.database, '3');
    await open(third, false);
    const none = { mirrored_from: expect.any(Date) as Date, history_from: null };
    expect(await coverage(third)).toMatchObject([none, none]);
    await third.query('delete from mirror._collections where _user_id = 3');
  });

  it('is forgotten while no history is kept, and starts again afterwards', async () => {
    const [before] = await coverage(scene.first);
    await open(scene.first, false);
    expect(await coverage(scene.first)).toMatchObject([{ history_from: null }, { history_from: null }]);
    await open(scene.first);
    const [after] = await coverage(scene.first);
    expect(after?.mirrored_from).toEqual(before?.mirrored_from);
    expect(Number(after?.history_from)).toBeGreaterThan(Number(before?.history_from));
  });

  it('is not before now for rows that were mirrored before it was noted', async () => {
    await cover(scene.first, null, null);
    await open(scene.first);
    const jobs = { collection: 'research_jobs', mirrored_from: Number.NEGATIVE_INFINITY };
    const now = { ...jobs, history_from: expect.any(Date) as Date };
    expect(await coverage(scene.first)).toContainEqual(now);
    // What is known of the versions stays as it is.
    await cover(scene.first, null, '2026-04-01Z');
    await open(scene.first);
    const april = { ...jobs, history_from: new Date('2026-04-01T00:00:00Z') };
    expect(await coverage(scene.first)).toContainEqual(april);
  });
});

describe('<table>_as_of', () => {
  it('says why, in each case', async () => {
    const nothing = 'Nothing of it was mirrored then.';
    const lost = 'Account 1 was mirrored then, but its superseded versions of that time are not kept.';
    const february = '2026-02-01 00:00:00+00';
    const may = '2026-05-01 00:00:00+00';
    await scene.first.query(`delete from mirror._collections where collection = 'research_jobs'`);
    expect(await refusal(may)).toEqual([`${may}: nothing of it has been mirrored`, nothing]);
    await open(scene.first);
    await cover(scene.first, '2026-03-01Z', '2026-03-01Z');
    const covered = 'history covers it from 2026-03-01 00:00:00+00 on';
    expect(await refusal(february)).toEqual([`${february}: ${covered}`, nothing]);
    expect(await refusal('-infinity')).toEqual([`-infinity: ${covered}`, nothing]);
    expect(await refusal(may)).toBeUndefined();
    // History was switched on later, or its retention ends there.
    const later = 'history covers it from 2026-06-01 00:00:00+00 on';
    for (const from of ['2026-03-01Z', '-infinity', null]) {
      await cover(scene.first, from, '2026-06-01Z');
      expect(await refusal(may)).toEqual([`${may}: ${later}`, lost]);
    }
    await cover(scene.first, '-infinity', '2026-06-01Z');
    expect(await refusal('-infinity')).toEqual([`-infinity: ${later}`, lost]);
    // History is switched off.
    for (const from of ['2026-03-01Z', '-infinity', null]) {
      await cover(scene.first, from, null);
      expect(await refusal(may)).toEqual([`${may}: no history of account 1 is kept`, lost]);
    }
    await cover(scene.first, '2026-03-01Z', null);
    expect(await refusal(february)).toEqual([`${february}: no history of account 1 is kept`, nothing]);
  });

  it('raises when it knows one account and not the other', async () => {
    await open(scene.second);
    await cover(scene.first, '2026-03-01Z', '2026-03-01Z');
    await cover(scene.second, '2026-05-01Z', '2026-06-01Z');
    const later = [expect.stringMatching(/from 2026-06-01/), expect.anything()];
    for (const known of ['2026-04-01Z', '2026-06-01Z']) expect(await refusal(known)).toBeUndefined();
    for (const unknown of ['2026-05-01Z', '2026-02-01Z']) expect(await refusal(unknown)).toEqual(later);
    await cover(scene.first, '2026-03-01Z', '2026-05-15Z');
    expect(await refusal('2026-03-15Z')).toEqual(later);
    const lost = 'Account 2 was mirrored then, but its superseded versions of that time are not kept.';
    expect((await refusal('2026-05-20Z'))?.[1]).toBe(lost);
    await cover(scene.second, '2026-05-01Z', null);
    expect((await refusal('2026-07-01Z'))?.[0]).toMatch(/no history of account 2 is kept/);
  });

  it('refuses a null moment instead of giving no rows', async () => {
    await expect(scene.first.query('select * from mirror.lists_as_of(null)')).rejects.toThrow(/the moment is null/);
  });

  it('is the table for each moment from now on, also where the database’s clock has gone back', async () => {
    await scene.first.page('research_jobs', '[{"job_id":1,"status":"a"},{"job_id":2,"status":"a"}]');
    await scene.first.page('research_jobs', '[{"job_id":1,"status":"b"}]');
    // The same seen from a clock that is an hour behind.
    await scene.first.age(-3_600_000);
    await scene.first.query(`
      update mirror._collections set mirrored_from = now() + interval '1 hour', history_from = now() + interval '1 hour'`);
    for (const moment of ['now()', 'clock_timestamp()']) {
      const statuses = `select status from mirror.research_jobs_as_of(${moment}) order by job_id`;
      expect(await lines(scene.first, statuses)).toEqual(['b', 'a']);
    }
    await everythingGone();
  });

  it('applies a query’s conditions to table and history: a job is found by its key, the check runs once', async () => {
    const jobs = (a: number) => JSON.stringify(Array.from({ length: 200 }, (_, n) => ({ job_id: n + 1, a })));
    for (const a of [1, 2]) await scene.first.page('research_jobs', jobs(a));
    await scene.first.query('analyze mirror.research_jobs, mirror.research_jobs_history');
    const { rows } = await scene.database.db.transaction(async (trx) => {
      await trx.sql`set local enable_seqscan = off`;
      return trx.sql<{ 'QUERY PLAN': string }>`
        explain select * from mirror.research_jobs_as_of(now() - interval '1 day') where _user_id = 1 and job_id = 1`;
    });
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(plan.match(/\w+ Scan using \w+|(?:Seq|Function|Bitmap \w+) Scan/g)).toEqual([
      'Index Scan using research_jobs_pkey',
      'Index Scan using research_jobs_history_pkey',
    ]);
    expect(plan).toContain('One-Time Filter');
    await everythingGone();
  });

  it('returns columns that came later, also in a session that used it before', async () => {
    await cover(scene.first, '-infinity', '-infinity');
    await cover(scene.second, '-infinity', '-infinity');
    await scene.first.page('research_jobs', '[{"job_id":1,"status":"a"}]');
    await scene.database.kysely.connection().execute(async (session) => {
      const query = sql<Record<string, unknown>>`select * from mirror.research_jobs_as_of('infinity')`;
      expect((await query.execute(session)).rows[0]).not.toHaveProperty('later');
      await scene.first.page('research_jobs', '[{"job_id":1,"status":"b","later":1}]');
      expect((await query.execute(session)).rows).toMatchObject([{ status: 'b', later: '1', _deleted_at: null }]);
    });
    await scene.first.query('alter table mirror.research_jobs add column mine integer default 5');
    await scene.first.query('alter table mirror.research_jobs_history drop column later cascade');
    await refreshDependents(scene.database.db);
    const [moment] = await lines(scene.first, 'select _valid_from::text as moment from mirror.research_jobs_history');
    const as = (of = '') => lines(scene.first, `select status, later, mine from mirror.research_jobs_as_of('${of}')`);
    expect(await as(moment)).toEqual(['a - -']);
    expect(await as('infinity')).toEqual(['b 1 5']);
  });

  it('may be called by readers only', async () => {
    for (const name of COLLECTION_NAMES) {
      const asked = scene.database.db.transaction(async (trx) => {
        await trx.sql`set local role mirror_reader`;
        await trx.raw(`select * from mirror.${name}_as_of('2001-01-01Z')`);
      });
      await asked.catch((error: unknown) => expect(sqlState(error)).toBe('RM001'));
    }
    const wrong = await scene.first.query(`
      select proname from pg_proc where pronamespace = 'mirror'::regnamespace
        and (has_function_privilege('public', oid, 'execute')
          or (proname ~ '_as_of$' and not has_function_privilege('mirror_reader', oid, 'execute')))`);
    expect(wrong).toEqual([]);
  });
});
