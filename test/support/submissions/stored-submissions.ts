import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import type { Db } from '../../../src/db/connection/db.ts';
import { openInstallation } from '../../../src/db/installation/installation.ts';
import { createSubmissionStore } from '../../../src/db/submissions/submission-store.ts';
import type { CollectionName } from '../../../src/model/collections.ts';
import type { Fence } from '../../../src/model/fence.ts';
import type { SubmissionStore } from '../../../src/model/submission.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { createMigratedDatabase, type MigratedDatabase } from '../databases/migrated-database.ts';

/** Opens the installation of a database, as a daemon does that takes submissions: `submit()` queues them from here on. */
export async function takeSubmissions({ db }: Pick<MigratedDatabase, 'db'>): Promise<void> {
  const submit = { enabled: true, maxQueued: 10_000 };
  await openInstallation({ db, host: undefined, submit, clock: systemClock });
}

type Row = Record<string, unknown>;

/** An account of its own for each test, in one database, and its submissions. */
export interface StoredSubmissions {
  readonly db: Db;
  /** The account, and its first owner. */
  readonly user: number;
  readonly fence: Fence;
  /** The first owner's. */
  readonly store: SubmissionStore;
  readonly run: (text: string) => Promise<Row[]>;
  /** Another store, as another process or a broken connection has it. */
  readonly storeOf: (by: Fence, db?: Db) => SubmissionStore;
  /** @param call arguments of `mirror.submit` @returns the submission's ID */
  readonly queue: (call?: string) => Promise<string>;
  /** Makes one more account. */
  readonly nextAccount: () => Promise<void>;
  /** Another process takes the account. */
  readonly takeover: () => Promise<Fence>;
  readonly cancel: (id: string) => Promise<Row[]>;
  readonly row: (id: string) => Promise<Row | undefined>;
  readonly state: (id: string) => Promise<unknown>;
  /** Of what may be tried now. */
  readonly ids: (limit?: number) => Promise<string[]>;
}

/** To be called once in a test file. */
export function storedSubmissions(): StoredSubmissions {
  let database: MigratedDatabase | undefined;
  let user = 0;
  let store: SubmissionStore | undefined;
  const scene: StoredSubmissions = {
    get db() {
      if (database === undefined) throw new RangeError('no test runs');
      return database.db;
    },
    get user() {
      return user;
    },
    get fence() {
      return { userId: String(user), owner: 'first', token: '1' };
    },
    get store() {
      if (store === undefined) throw new RangeError('no test runs');
      return store;
    },
    run: async (text) => (await sql<Row>`${sql.raw(text)}`.execute(scene.db)).rows,
    storeOf: (by, db = scene.db) => {
      const collections = new Set<CollectionName>(['research_jobs', 'bulk_research_jobs']);
      return createSubmissionStore({ db, fence: by, collections });
    },
    queue: async (call = `'research', '{}'`) => {
      const [row] = await scene.run(`select mirror.submit(${call}, user_id => ${user}) as id`);
      return String(row?.['id']);
    },
    nextAccount: async () => {
      user += 1;
      await scene.run(
        `insert into mirror_sync.account (_user_id, owner, token, created_at) values (${user}, 'first', 1, now())`,
      );
    },
    takeover: async () => {
      await scene.run(`update mirror_sync.account set owner = 'second', token = 2 where _user_id = ${user}`);
      return { userId: String(user), owner: 'second', token: '2' };
    },
    cancel: (id) => scene.run(`select mirror.cancel_submission(${id})`),
    row: async (id) =>
      (
        await scene.run(
          `select *, response::text as text from mirror.submissions where submission_id = ${id}`,
        )
      )[0],
    state: async (id) => (await scene.row(id))?.['state'],
    ids: async (limit = 10) => (await scene.store.queued(limit)).map(({ id }) => id),
  };
  beforeAll(async () => {
    database = await createMigratedDatabase();
    await takeSubmissions(database);
  });
  afterAll(() => database?.drop());
  beforeEach(async () => {
    await scene.nextAccount();
    store = scene.storeOf(scene.fence);
  });
  return scene;
}
