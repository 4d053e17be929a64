import { describe, expect, it } from 'vitest';
import { dueWork } from '../../src/daemon/work-finder.ts';
import { newestRows, readRow, searchMirror } from '../../src/status/lookup-store.ts';
import { OwnedAccounts } from '../../src/postgres/lease.ts';
import { testDatabase } from '../support/databases/migrated-database.ts';
import { MirroredAccount } from '../support/mirror/mirrored-account.ts';

const database = testDatabase();

describe('on a distributed mirror', () => {
  it('runs of many accounts that are due, and the next one, are found by one look', async () => {
    const at = (moment: string): Date => new Date(moment);
    for (const [userId, day] of [
      ['7', 1],
      ['8', 3],
      ['9', 9],
    ] as const) {
      await MirroredAccount.make(database, userId);
      await database.rows(`insert into mirror._collections (_user_id, collection, next_poll_at)
        values (${userId}, 'lists', '2026-01-0${day}Z')`);
    }
    const latest = [{ name: 'lists', nextPollAt: at('2026-01-04Z'), nextFullAt: null }] as const;
    const { runs, nextRunAt } = await dueWork(database.db, ['7', '8', '9'], latest, at('2026-01-02Z'));
    const found = runs.map(({ userId, isTooLate }) => `${userId} ${isTooLate ? 'too late' : 'due'}`);
    expect(found.toSorted()).toEqual(['7 due', '9 too late']);
    expect(nextRunAt).toEqual(at('2026-01-03Z'));
  });

  it('a row has its columns and its story, and its collection its rows', async () => {
    const account = await MirroredAccount.make(database, '10');
    for (const status of ['queued', 'done']) {
      await account.page('research_jobs', JSON.stringify([{ job_id: 17, status }]));
    }
    await account.query(`
      insert into mirror.submissions (_user_id, operation, payload, state, response, created_at)
      values (10, 'research', '{}', 'accepted', '{"job_id": 17}', now() - interval '1 h')`);
    const row = await readRow(database.db, { userId: '10', collection: 'research_jobs', key: '17' });
    expect(row?.columns).toContainEqual({ name: 'status', value: 'done' });
    expect(row?.timeline.map(({ what }) => what)).toEqual(['changed', 'mirrored', 'queued']);
    const asked = { userId: '10', collection: 'research_jobs', state: 'done', before: undefined } as const;
    expect(await newestRows(database.db, asked)).toMatchObject({ found: [{ row: { key: '17' } }] });
  });

  it('a process gives up accounts that name it while it does not work on them, and ends its work on others', async () => {
    const { db } = database;
    for (const userId of ['13', '14']) await MirroredAccount.make(database, userId);
    await db.sql`update mirror_sync.account set owner = 'self', token = 1 where _user_id in (13, 14)`;
    const owners = async () => {
      const rows = await database.rows(
        'select owner from mirror_sync.account where _user_id in (13, 14) order by _user_id',
      );
      return rows.map(({ owner }) => owner);
    };
    const owned = new OwnedAccounts();
    let ended = 0;
    owned.add({ userId: '14', owner: 'self', token: '1' }, () => void (ended += 1));
    const look = () => owned.releaseStrays(db, 'self');
    expect([await look(), await look()]).toEqual([[], ['13']]);
    expect(await owners()).toEqual([null, 'self']);
    await owned.reopen(db);
    expect({ ended, owners: await owners() }).toEqual({ ended: 1, owners: [null, 'self'] });
  });

  it('a search finds the rows of a company in each account that has some', async () => {
    for (const userId of ['11', '12']) {
      const account = await MirroredAccount.make(database, userId);
      await account.page('research_jobs', JSON.stringify([{ job_id: 18, domain: 'found.example' }]));
    }
    const { found } = await searchMirror(database.db, 'found.example');
    expect(found.map(({ userId }) => userId).toSorted()).toEqual(['11', '12']);
  });
});
