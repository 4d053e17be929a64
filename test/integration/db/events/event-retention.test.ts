import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { pruneEvents } from '../../../../src/db/events/prune-events.ts';
import { LeaseLost } from '../../../../src/model/errors.ts';
import { EventAccount, eventAccounts } from '../../../support/webhooks/event-account.ts';
import { envelope } from '../../../support/webhooks/signing.ts';
import { earlier } from '../../../support/postgres/earlier.ts';

const scene = eventAccounts();

describe('retention', () => {
  const DAY = 86_400_000;

  function prune(keepMs: number, fence = scene.account.fence): Promise<void> {
    return pruneEvents(scene.database.db, fence, keepMs, new AbortController().signal);
  }

  /** So many events of ten days ago. */
  async function old(count: number): Promise<void> {
    await scene.database.db.sql`insert into mirror.events (_user_id, id, received_at, _raw)
      select ${scene.account.userId}::bigint, n::text, now() - interval '10 days', '{}'
      from generate_series(1, ${count}::integer) as n`;
  }

  async function age(days: number, { userId } = scene.account): Promise<void> {
    for (const table of [sql.id('mirror', 'events'), sql.id('mirror_sync', 'event_seen')]) {
      await scene.database.db
        .sql`update ${table} set received_at = ${sql.raw(earlier('received_at', `${days} days`))}
        where _user_id = ${userId}`;
    }
  }

  it('removes rows that are old enough; their IDs stay known', async () => {
    await scene.account.store(envelope('evt_old'));
    await age(91);
    await scene.account.store(envelope('evt_new'));
    await prune(90 * DAY);
    expect((await scene.account.events()).map(({ id }) => id)).toEqual(['evt_new']);
    expect(await scene.account.store(envelope('evt_old'))).toBe('known');
  });

  it('forgets IDs after 400 days, or four times the retention', async () => {
    await scene.account.store(envelope('evt_old'));
    await age(401);
    await prune(200 * DAY);
    expect(await scene.account.store(envelope('evt_old'))).toBe('known');
    await prune(100 * DAY);
    expect(await scene.account.store(envelope('evt_old'))).toBe('stored');
  });

  it('removes any number, and nothing of other accounts', async () => {
    await old(12_000);
    const another = await EventAccount.make(scene.database);
    await another.store(envelope('evt_1'));
    await age(10, another);
    // An old event of theirs has this ID, too.
    await another.store(envelope('7'));
    await prune(DAY, another.fence);
    expect((await another.events()).map(({ id }) => id)).toEqual(['7']);
    expect(await scene.account.events()).toHaveLength(12_000);
    await prune(DAY);
    expect(await scene.account.events()).toHaveLength(0);
    expect(await another.events()).toHaveLength(1);
  });

  it('ends after the batch in hand where it is stopped, and goes on the next time', async () => {
    await old(12_000);
    const stop = new AbortController();
    const pruning = pruneEvents(scene.database.db, scene.account.fence, DAY, stop.signal);
    stop.abort();
    await pruning;
    expect(await scene.account.events()).toHaveLength(7_000);
    await prune(DAY);
    expect(await scene.account.events()).toHaveLength(0);
  });

  it('is the account’s owner’s to mind', async () => {
    await expect(prune(DAY, { ...scene.account.fence, token: '2' })).rejects.toBeInstanceOf(LeaseLost);
  });
});
