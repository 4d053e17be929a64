import { describe, expect, it } from 'vitest';
import { listEvents, replayEvents } from '../../../../src/db/events/stored-events.ts';
import { COLLECTION_NAMES } from '../../../../src/model/collections.ts';
import { EventAccount, eventAccounts } from '../../../support/webhooks/event-account.ts';
import { envelope } from '../../../support/webhooks/signing.ts';

const scene = eventAccounts();

describe('events that were received', () => {
  it('are listed, the last one first, of all accounts or one, of all types or one', async () => {
    await scene.account.store(envelope('evt_a', { data: { job_id: '9007199254740993', n: 1.0 } }));
    const another = await EventAccount.make(scene.database);
    await another.store(envelope('evt_b', { type: 'list.failed', data: undefined }));
    await another.store(envelope('evt_c'));
    const ids = async (filter: Parameters<typeof listEvents>[1]): Promise<string[]> =>
      (await listEvents(scene.database.db, filter)).map(({ id }) => id);
    expect(await ids({ limit: 3 })).toEqual(['evt_c', 'evt_b', 'evt_a']);
    expect(await ids({ limit: 1 })).toEqual(['evt_c']);
    expect(await ids({ limit: 9, userId: scene.account.userId })).toEqual(['evt_a']);
    expect(await ids({ limit: 9, userId: another.userId, type: 'list.failed' })).toEqual(['evt_b']);
    expect((await listEvents(scene.database.db, { limit: 9, userId: scene.account.userId }))[0]).toEqual({
      userId: scene.account.userId,
      id: 'evt_a',
      type: 'research.completed',
      createdAt: new Date('2026-01-02T03:04:05Z'),
      receivedAt: expect.any(Date) as Date,
      collection: 'research_jobs',
      key: '9007199254740993',
      data: '{"n": 1, "job_id": "9007199254740993"}',
    });
  });

  it('are replayed: what they name is due again; what is not there is left out', async () => {
    await scene.account.store(envelope('evt_x', { data: { job_id: 1 } }));
    await scene.account.store(envelope('evt_y', { type: 'list.failed', data: { list_id: 2 } }));
    await scene.database.db.sql`delete from mirror_sync.hint where _user_id = ${scene.account.userId}`;
    const ids = ['evt_x', 'evt_y', 'evt_z'];
    expect(await replayEvents(scene.database.db, ids, COLLECTION_NAMES)).toEqual([
      {
        userId: scene.account.userId,
        id: 'evt_x',
        rows: [{ collection: 'research_jobs', parent: '', key: '1' }],
      },
      {
        userId: scene.account.userId,
        id: 'evt_y',
        rows: [
          { collection: 'lists', parent: '', key: '2' },
          { collection: 'list_items', parent: '2', key: '' },
        ],
      },
    ]);
    expect(await scene.account.hints()).toEqual(['list_items/2//1', 'lists//2/1', 'research_jobs//1/1']);
    await replayEvents(scene.database.db, ['evt_x', 'evt_y'], ['lists']);
    expect(await scene.account.hints()).toEqual(['list_items/2//1', 'lists//2/2', 'research_jobs//1/1']);
  });
});
