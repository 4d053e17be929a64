import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Proof } from '../../src/model/absence.ts';
import type { MirrorOptions } from '../../src/mirror/mirror.ts';
import { createMigratedDatabase, type MigratedDatabase } from '../support/migrated-database.ts';
import { MirroredAccount } from '../support/mirrored-account.ts';

let database: MigratedDatabase;
let nextUser = 0;

beforeAll(async () => {
  database = await createMigratedDatabase();
});
afterAll(() => database.drop());

const SETTLE = 60_000;
const SNAPSHOT: Proof = { kind: 'snapshot' };

const newAccount = (options: Partial<MirrorOptions> = {}): Promise<MirroredAccount> => {
  nextUser += 1;
  return MirroredAccount.make(database, String(nextUser), options);
};

const jobs = (...ids: number[]): string => `[${ids.map((id) => `{"job_id":${id},"status":"open"}`).join()}]`;

interface Row {
  readonly job_id: string;
  readonly deleted: boolean;
  readonly moved: boolean;
  readonly _change_id: string;
}

const rows = (account: MirroredAccount): Promise<Row[]> =>
  account.query<Row>(`
    select job_id, _deleted_at is not null as deleted, _deleted_at = _changed_at as moved, _change_id
    from mirror.research_jobs where _user_id = ${account.fence.userId} order by job_id`);

const live = async (account: MirroredAccount): Promise<number[]> =>
  (await rows(account)).filter(({ deleted }) => !deleted).map((row) => Number(row.job_id));

/** Two snapshots without the row, the settle time apart. */
async function proveAbsent(account: MirroredAccount, left: string): Promise<void> {
  await account.age(SETTLE);
  await account.observe('research_jobs', left, { proof: SNAPSHOT });
  await account.age(SETTLE);
  await account.observe('research_jobs', left, { proof: SNAPSHOT });
}

describe('a row that the source has no more', () => {
  it('is deleted by two proofs, the settle time apart', async () => {
    const account = await newAccount();
    await account.observe('research_jobs', jobs(1, 2, 3));
    await account.age(SETTLE);
    await account.observe('research_jobs', jobs(1, 3), { proof: SNAPSHOT });
    expect(await account.candidates('research_jobs')).toMatchObject([
      { key: '2', kind: 'snapshot', proven: false },
    ]);
    expect(await account.applyDeletions('research_jobs')).toEqual({
      deleted: 0,
      held: 0,
      waiting: 1,
      changed: [],
    });
    await account.age(SETTLE);
    await account.observe('research_jobs', jobs(1, 3), { proof: SNAPSHOT });
    expect(await account.candidates('research_jobs')).toMatchObject([{ key: '2', proven: true }]);
    expect(await account.applyDeletions('research_jobs')).toEqual({
      deleted: 1,
      held: 0,
      waiting: 0,
      changed: [{ table: 'research_jobs', userId: account.fence.userId, changeId: '4' }],
    });
    expect(await rows(account)).toMatchObject([
      { job_id: '1', deleted: false, _change_id: '1' },
      { job_id: '2', deleted: true, moved: true, _change_id: '4' },
      { job_id: '3', deleted: false, _change_id: '3' },
    ]);
    expect(await account.candidates('research_jobs')).toEqual([]);
  });
});
