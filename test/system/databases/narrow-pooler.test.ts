import { afterEach, describe, expect, it } from 'vitest';
import { createTestDatabase } from '../../support/postgres/postgres.ts';
import { isPgbouncerTested, startPgbouncer } from '../../support/databases/pgbouncer.ts';
import { createSystem, type System } from '../../support/processes/system.ts';

describe.runIf(isPgbouncerTested())('a session pooler with fewer sessions than are needed', () => {
  let system: System;
  afterEach(() => system.close());

  it.each([2, 3])('with %i: a first sync says that it gets no connection, and nothing else', async (sessions) => {
    const database = await createTestDatabase();
    const pooler = await startPgbouncer(database.url, 'session', sessions);
    system = await createSystem({}, database);
    expect(await system.run(['migrate'])).toMatchObject({ code: 0 });
    const { code, stderr } = await system.run(['sync'], { DATABASE_URL: pooler.url, LOG_FORMAT: 'json' });
    await pooler.stop();
    expect(stderr).toMatch(/research-mirror: the database can't be reached: no answer came in time: a pooler/);
    expect(stderr).not.toMatch(/went back/);
    expect((await system.db.query('select from mirror.recoveries')).rows).toEqual([]);
    expect(code).toBe(3);
  });
});
