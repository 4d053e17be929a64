import { sql } from 'kysely';
import { afterEach, beforeEach } from 'vitest';
import type { Database } from '../../../src/postgres/pool.ts';
import type { Hold } from '../../../src/postgres/hold.ts';
import { openInstallation, type InstallationOptions } from '../../../src/postgres/installation.ts';
import { createSubmissionStore } from '../../../src/submissions/submission-store.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { databaseForEach, openTestDatabase } from './migrated-database.ts';

type On = Pick<Database, 'db'>;

/** To be called once in a test file: a mirror with two accounts for each test, and what is done with it or a copy. */
export function installed() {
  const database = databaseForEach();
  const others: Database[] = [];
  const closeOthers = async (): Promise<void> => {
    for (const each of others.splice(0)) await each.close();
  };
  const run = async (text: string, on: On = database) =>
    (await on.db.sql<Record<string, unknown>>`${sql.raw(text)}`).rows;
  const options = (on: On = database): InstallationOptions => ({
    db: on.db,
    host: undefined,
    submit: { enabled: true, maxQueued: 5 },
    clock: systemClock,
  });
  beforeEach(() =>
    run(
      `insert into mirror_sync.account (_user_id, owner, token, created_at) values (7, 'owner', 1, now()), (8, 'owner', 1, now())`,
    ),
  );
  afterEach(closeOthers);
  return {
    database,
    run,
    options,
    open: async (on?: On, more: Partial<InstallationOptions> = {}): Promise<Hold | undefined> =>
      (await openInstallation({ ...options(on), ...more })).hold,
    queue: (user = 7, on?: On) => run(`select mirror.submit('research', '{}', user_id => ${user})`, on),
    states: async (on?: On) =>
      (await run('select state from mirror.submissions order by submission_id', on)).map(({ state }) => state),
    storeOf: (user = 7, { db }: On = database) => {
      const fence = { userId: String(user), owner: 'owner', token: '1' };
      return createSubmissionStore({ db, fence, collections: new Set() });
    },
    /** Moves the last heartbeat `seconds` back. */
    silence: (seconds: number) =>
      run(`update mirror_sync.installation set alive_at = clock_timestamp() - interval '${seconds} s'`),
    /** Opens another one, until the test ends or `closeOthers`. */
    opened: async (url: string): Promise<Database> => {
      const one = await openTestDatabase(url);
      others.push(one);
      return one;
    },
    closeOthers,
  };
}
