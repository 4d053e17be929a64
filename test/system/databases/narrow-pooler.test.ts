import { afterEach, describe, expect, it } from 'vitest';
import { createTestDatabase } from '../../support/postgres/postgres.ts';
import { isPgbouncerTested, startPgbouncer } from '../../support/databases/pgbouncer.ts';
import { createSystem, type System } from '../../support/processes/system.ts';

describe.runIf(isPgbouncerTested())(
  'a session pooler that lets fewer sessions through than are needed',
  () => {
    let system: System;
    afterEach(() => system.close());

    it.each([2, 3])(
      'with %i sessions: a first sync says that it gets no connection, and nothing else',
      async (sessions) => {
        const database = await createTestDatabase();
        const pooler = await startPgbouncer(database.url, 'session', sessions);
        system = await createSystem({}, database);
        const migrated = await system.run(['migrate']);
        expect(migrated).toMatchObject({ code: 0 });
        const outcome = await system.run(['sync'], { DATABASE_URL: pooler.url, LOG_FORMAT: 'json' });
        await pooler.stop();
        expect(outcome.stderr).toMatch(
          /research-mirror: the database can't be reached: no answer came in time: a pooler/,
        );
        expect(outcome.stderr).not.toMatch(/went back/);
        expect((await system.db.query('select from mirror.recoveries')).rows).toEqual([]);
        expect(outcome.code).toBe(3);
      },
    );
  },
);
