import { sql } from 'kysely';
import { afterEach, beforeEach } from 'vitest';
import type { Database } from '../../../src/db/connection/database.ts';
import type { Hold } from '../../../src/db/installation/hold.ts';
import { openInstallation, type InstallationOptions } from '../../../src/db/installation/installation.ts';
import { createSubmissionStore } from '../../../src/db/submissions/submission-store.ts';
import type { SubmissionStore } from '../../../src/model/submission.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { createMigratedDatabase, type MigratedDatabase, openTestDatabase } from './migrated-database.ts';

type Rows = Record<string, unknown>[];
type On = Pick<Database, 'db'>;

/** A mirror with two accounts for each test, and what tests of its installation do with it or with a copy of it. */
export interface Installed {
  readonly database: MigratedDatabase;
  /** Opened beside it, closed after the test. */
  readonly alsoOpen: Database[];
  readonly run: (text: string, on?: On) => Promise<Rows>;
  readonly open: (on?: On, more?: Partial<InstallationOptions>) => Promise<Hold | undefined>;
  readonly options: (on?: On) => InstallationOptions;
  readonly queue: (user?: number, on?: On) => Promise<Rows>;
  readonly states: (on?: On) => Promise<unknown[]>;
  readonly storeOf: (user?: number, on?: On) => SubmissionStore;
  /** As if the last beat had been so many seconds ago. */
  readonly silence: (seconds: number) => Promise<Rows>;
  readonly opened: (url: string) => Promise<Database>;
}

/** To be called once in a test file: makes the database before each test. */
export function installed(): Installed {
  let database: MigratedDatabase | undefined;
  const now = (): MigratedDatabase => {
    if (database === undefined) throw new RangeError('no test runs');
    return database;
  };
  const alsoOpen: Database[] = [];
  const scene: Installed = {
    get database() {
      return now();
    },
    alsoOpen,
    run: async (text, on = now()) => (await on.db.sql<Record<string, unknown>>`${sql.raw(text)}`).rows,
    open: async (on = now(), more = {}) => (await openInstallation({ ...scene.options(on), ...more })).hold,
    options: (on = now()) => ({
      db: on.db,
      host: undefined,
      submit: { enabled: true, maxQueued: 5 },
      clock: systemClock,
    }),
    queue: (user = 7, on) => scene.run(`select mirror.submit('research', '{}', user_id => ${user})`, on),
    states: async (on) =>
      (await scene.run('select state from mirror.submissions order by submission_id', on)).map(
        ({ state }) => state,
      ),
    storeOf: (user = 7, on = now()) =>
      createSubmissionStore({
        db: on.db,
        fence: { userId: String(user), owner: 'owner', token: '1' },
        collections: new Set(),
      }),
    silence: (seconds) =>
      scene.run(`update mirror_sync.installation set alive_at = clock_timestamp() - interval '${seconds} s'`),
    opened: async (url) => {
      const one = await openTestDatabase(url);
      alsoOpen.push(one);
      return one;
    },
  };
  beforeEach(async () => {
    database = await createMigratedDatabase();
    await scene.run(
      `insert into mirror_sync.account (_user_id, owner, token, created_at) values (7, 'owner', 1, now()), (8, 'owner', 1, now())`,
    );
  });
  afterEach(async () => {
    for (const each of alsoOpen.splice(0)) await each.close();
    await now().drop();
  });
  return scene;
}
