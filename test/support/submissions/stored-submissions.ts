import { sql } from 'kysely';
import { beforeAll, beforeEach } from 'vitest';
import type { Db } from '../../../src/postgres/db.ts';
import { openInstallation } from '../../../src/postgres/installation.ts';
import { createSubmissionStore } from '../../../src/submissions/submission-store.ts';
import type { Fence } from '../../../src/postgres/fenced.ts';
import type { SubmissionStore } from '../../../src/model/submission.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { type MigratedDatabase, testDatabase } from '../databases/migrated-database.ts';

/** Opens the installation of a database, as a daemon does that takes submissions: `submit()` queues them from here on. */
export async function takeSubmissions({ db }: Pick<MigratedDatabase, 'db'>): Promise<void> {
  const submit = { enabled: true, maxQueued: 10_000 };
  await openInstallation({ db, host: undefined, submit, clock: systemClock });
}

type Row = Record<string, unknown>;

/** To be called once in a test file: an account of its own for each test, in one database, and its submissions. */
export function storedSubmissions() {
  const database = testDatabase();
  let user = 0;
  const run = async (text: string): Promise<Row[]> => (await sql<Row>`${sql.raw(text)}`.execute(database.db)).rows;
  const scene = {
    /** The account, and its first owner; `nextAccount` changes both, but not the store. */
    get user() {
      return user;
    },
    get fence(): Fence {
      return { userId: String(user), owner: 'first', token: '1' };
    },
    get db() {
      return database.db;
    },
    /** The first owner's, of the account that the test began with. */
    store: {} as SubmissionStore,
    run,
    /** Another store, as another process or a broken connection has it. */
    storeOf: (fence: Fence, db: Db = database.db): SubmissionStore =>
      createSubmissionStore({ db, fence, collections: new Set(['research_jobs', 'bulk_research_jobs']) }),
    row: async (id: string): Promise<Row | undefined> =>
      (await run(`select *, response::text as text from mirror.submissions where submission_id = ${id}`))[0],
    state: async (id: string) => (await scene.row(id))?.['state'],
    /** Makes one more account. */
    nextAccount: async (): Promise<void> => {
      user += 1;
      await run(`insert into mirror_sync.account (_user_id, owner, token, created_at)
        values (${user}, 'first', 1, now())`);
    },
    /** @param call arguments of `mirror.submit` @returns the submission's ID */
    queue: async (call = `'research', '{}'`) =>
      String((await run(`select mirror.submit(${call}, user_id => ${user}) as id`))[0]?.['id']),
    /** Another process takes the account. */
    takeover: async (): Promise<Fence> => {
      await run(`update mirror_sync.account set owner = 'second', token = 2 where _user_id = ${user}`);
      return { userId: String(user), owner: 'second', token: '2' };
    },
    cancel: (id: string) => run(`select mirror.cancel_submission(${id})`),
    /** IDs of the submissions that may be tried now. */
    ids: async (limit = 10) => (await scene.store.queued(limit)).map(({ id }) => id),
  };
  beforeAll(() => takeSubmissions(database));
  beforeEach(async () => {
    await scene.nextAccount();
    scene.store = scene.storeOf(scene.fence);
  });
  return scene;
}
