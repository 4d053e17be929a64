import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createBudgetStore } from '../../../src/service/budget-store.ts';
import { databaseTime } from '../../../src/postgres/db.ts';
import type { Database } from '../../../src/postgres/pool.ts';
import { fenced } from '../../../src/postgres/fenced.ts';
import { createHeartbeat, ownIdentity } from '../../../src/postgres/heartbeat.ts';
import { ensureAccount, takeAccount } from '../../../src/postgres/lease.ts';
import { createWakeups } from '../../../src/postgres/notifications.ts';
import { LeaseLost } from '../../../src/model/errors.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { Doorbell } from '@research-mirror/runtime/doorbell';
import {
  createEmptyDatabase,
  migrateTo,
  openTestDatabase,
  testDatabase,
} from '../../support/databases/migrated-database.ts';
import { isPgbouncerTested, startPgbouncer, type Pooler } from '../../support/databases/pgbouncer.ts';
import { MirroredAccount } from '../../support/mirror/mirrored-account.ts';

/** More than the pooler has connections. */
const WRITERS = ['1', '2', '3', '4', '5', '6', '7', '8'];

describe.runIf(isPgbouncerTested())('through pgbouncer in transaction mode', () => {
  const database = testDatabase(createEmptyDatabase);
  let pooler: Pooler;
  let open: Database;

  beforeAll(async () => {
    pooler = await startPgbouncer(database.url);
    open = await openTestDatabase(pooler.url);
  });
  afterAll(async () => {
    await open.close();
    await pooler.stop();
  });

  it('is refused, with the remedy, if it pools by statement', async () => {
    const byStatement = await startPgbouncer(database.url, 'statement');
    await expect(migrateTo(byStatement.url, 'mirror')).rejects.toThrow(
      /\(08P01 .*\)\. A pooler in front of the database must pool by transaction or by session, not by statement$/,
    );
    await byStatement.stop();
  });

  it('migrates once, however many programs begin together', async () => {
    const applied = await Promise.all([1, 2, 3, 4].map(() => migrateTo(pooler.url, 'mirror')));
    expect(applied.flat().filter((name) => name === '0001_mirror')).toHaveLength(1);
  });

  it('owns an account, reserves slots and writes under the fence, with more writers than connections', async () => {
    const identity = await ownIdentity();
    const log = { info: () => {}, warn: () => {} };
    const program = { processId: 'self', command: 'start', version: '9.9.9' };
    const heartbeat = createHeartbeat({ ...program, db: open.db, identity, clock: systemClock, log });
    await heartbeat.start();
    await Promise.all(
      WRITERS.map(async (userId) => {
        await ensureAccount(open.db, userId, await databaseTime(open.db));
        const taken = await takeAccount(open.db, userId, heartbeat.processId, identity);
        if (taken.state !== 'taken') throw new Error('held');
        const store = createBudgetStore(open.db, taken.fence);
        const nothing = { keyHash: userId, blocks: [], learnt: [] };
        await store.reserve(userId, { group: 'other', blockId: 1, size: 5, validForMs: 10_000 }, nothing);
        await fenced(
          open.db,
          taken.fence,
          (trx) => trx.sql`update mirror_sync.account set change_id = change_id + 1 where _user_id = ${userId}`,
        );
        const stale = { ...taken.fence, token: '0', ownership: undefined };
        await expect(fenced(open.db, stale, async () => {})).rejects.toThrow(LeaseLost);
      }),
    );
    const { rows } = await open.db.sql`select (select sum(change_id) from mirror_sync.account) as changes,
      (select count(*) from mirror_sync.slot_block) as blocks`;
    expect(rows).toEqual([{ changes: '8', blocks: '8' }]);
    await heartbeat.stop();
  });

  it('writes pages whose statements are sent together, good and refused ones, with more writers than connections', async () => {
    const behind = { ...open, url: pooler.url, drop: () => Promise.resolve() };
    await Promise.all(
      WRITERS.map(async (userId) => {
        const account = await MirroredAccount.make(behind, `10${userId}`);
        for (const value of ['1', '2', '1e200000', '2']) {
          const items = [1, 2, 3].map((key) => `{"job_id":${key},"status":"open","value":${value}}`);
          expect(await account.page('research_jobs', `[${items.join()}]`)).toMatchObject({
            state: 'applied',
          });
        }
      }),
    );
    const { rows } = await open.db.sql`
      select count(*)::int as rows, min(value)::int as least, max(value)::int as most from mirror.research_jobs`;
    expect(rows).toEqual([{ rows: 3 * WRITERS.length, least: 2, most: 2 }]);
  });

  it('leaves no setting of a transaction to the connection’s next user', async () => {
    await open.db.transaction((trx) => trx.sql`select 1`);
    const { rows } = await open.db.sql`select current_setting('statement_timeout') as statement,
      current_setting('idle_in_transaction_session_timeout') as idle`;
    expect(rows).toEqual([{ statement: '0', idle: '0' }]);
  });

  it('makes LISTEN deliver nothing, which is noticed: the program looks each second', async () => {
    const lines: string[] = [];
    const bell = new Doorbell();
    const causes: boolean[] = [];
    const wakeups = createWakeups({
      connection: { url: pooler.url, program: 'research-mirror wake-ups' },
      schema: 'mirror',
      clock: systemClock,
      log: { info: (line) => void lines.push(line), warn: (line) => void lines.push(line) },
      onWake: (isRung) => {
        causes.push(isRung);
        bell.ring();
      },
    });
    await wakeups.start();
    for (let look = 0; look < 2; look += 1) await bell.heard(new AbortController().signal);
    await wakeups.stop();
    expect(causes).not.toContain(true);
    expect(lines).toEqual([expect.stringContaining('LISTEN delivers nothing here')]);
  });
});
