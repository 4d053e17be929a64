import { Db } from '../../../../src/db/connection/db.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readiness } from '../../../../src/app/daemon/readiness.ts';
import type { Database } from '../../../../src/db/connection/database.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/postgres/postgres.ts';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { openTestDatabase } from '../../../support/databases/migrated-database.ts';

let database: TestDatabase;
let opened: Database;
beforeAll(async () => {
  database = await createTestDatabase();
  opened = await openTestDatabase(database.url);
});
afterAll(async () => {
  await opened.close();
  await database.drop();
});

const clock = new VirtualClock();
const ready = (ownsUntil: number, db = opened.db): ReturnType<typeof readiness> =>
  readiness({ db, ownsUntil: () => ownsUntil, clock });

describe('whether a delivery could be stored now', () => {
  it('is said by heartbeats: each of them is a write that was committed', async () => {
    const now = clock.monotonic();
    expect(await ready(now + 10_000)).toEqual({ ok: true });
    expect(await ready(now - 5_000)).toEqual({
      ok: false,
      why: expect.stringContaining('takes no heartbeat: the last one ran out 5 s ago') as string,
    });
    expect(await ready(-Infinity)).toEqual({
      ok: false,
      why: expect.stringContaining('is starting') as string,
    });
  });

  it('is no at once where the database is read-only', async () => {
    const transaction = opened.kysely.transaction().setAccessMode('read only');
    expect(
      await transaction.execute((standby) => ready(clock.monotonic() + 10_000, new Db(standby, 'mirror'))),
    ).toEqual({
      ok: false,
      why: expect.stringContaining('the database is read-only') as string,
    });
  });

  it('is an error where the database does not answer', async () => {
    const gone = await openTestDatabase(database.url);
    await gone.close();
    await expect(ready(clock.monotonic() + 10_000, gone.db)).rejects.toThrow();
  });
});
