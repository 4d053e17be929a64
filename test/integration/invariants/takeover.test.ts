import { sql, type Transaction } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { takeAccount, type TakeResult } from '../../../src/postgres/lease.ts';
import type { ProcessIdentity } from '../../../src/postgres/heartbeat.ts';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { testDatabase } from '../../support/databases/migrated-database.ts';
import { sessionsWaiting } from '../../support/postgres/sessions-waiting.ts';

const HERE: ProcessIdentity = { host: 'here', machine: 'this machine', pid: 1, startedTicks: '1' };
const database = testDatabase();

beforeEach(async () => {
  await database.db.raw(`
    delete from mirror_sync.account; delete from mirror_sync.process;
    insert into mirror_sync.process
      (process_id, command, version, host, machine, pid, started_ticks, started_at, alive_until)
    select id, 'start', '0', 'there', 'another machine', 1, '1', now(), now() + interval '12 seconds'
    from unnest(array['A', 'B']) as id;
    insert into mirror_sync.account (_user_id, owner, token, created_at) values (7, null, 5, now())`);
});

/** Lets the processes look at the account and take it at the same moment; `meanwhile` runs in between. */
async function race(
  processIds: readonly string[],
  meanwhile: (trx: Transaction<unknown>) => Promise<unknown> = () => Promise.resolve(),
): Promise<TakeResult[]> {
  const taking = await database.kysely.transaction().execute(async (trx) => {
    await sql`select from mirror_sync.account where _user_id = 7 for update`.execute(trx);
    const takes = processIds.map((id) => takeAccount(database.db, '7', id, HERE));
    const run = async (text: string): Promise<object[]> =>
      (await sql<object>`${sql.raw(text)}`.execute(database.kysely)).rows;
    const wait = async () => (await sessionsWaiting(run)) === takes.length;
    await eventually('all of them to wait for the row', wait);
    await meanwhile(trx);
    // Not awaited here: they continue when this transaction has ended.
    return { takes };
  });
  return Promise.all(taking.takes);
}

describe('a takeover', () => {
  it('goes to one of two processes that look at the same moment', async () => {
    const results = await race(['A', 'B']);
    expect(results.map(({ state }) => state).toSorted()).toEqual(['owned', 'taken']);
    const taken = results.find((each) => each.state === 'taken');
    const { rows } = await sql`select owner, token from mirror_sync.account`.execute(database.kysely);
    expect(rows).toEqual([{ owner: taken?.fence.owner, token: '6' }]);
  });

  it('always raises the token, also when another process took the account and gave it up since the look', async () => {
    const [taken] = await race(['A'], (trx) => sql`update mirror_sync.account set token = 6`.execute(trx));
    expect(taken).toMatchObject({ state: 'taken', fence: { token: '7' } });
  });
});
