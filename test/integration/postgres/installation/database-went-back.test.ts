import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { fenced } from '../../../../src/postgres/fenced.ts';
import { Superseded } from '../../../../src/mirror/scope-store.ts';
import { NO_SUSPECTS } from '../../../../src/model/absence.ts';
import { DatabaseWentBack, LeaseLost, OutcomeUnknown } from '../../../../src/model/errors.ts';
import { NO_TOTALS } from '../../../../src/model/sync-events.ts';
import { openTestDatabase } from '../../../support/databases/migrated-database.ts';
import { jobs, proveAbsent } from '../../../support/mirror/deleting.ts';
import { rowsWith } from '../../../support/mirror/search-everything.ts';
import { changeId, MirroredAccount } from '../../../support/mirror/mirrored-account.ts';
import { testAccounts } from '../../../support/mirror/test-accounts.ts';
import { OPERATOR } from '../../../support/mirror/operator.ts';

// Commits are taken back by writing the rows as they were before them: that is what an owner sees of a promoted
// standby that lagged, or of a crash that lost commits. Real ones are in test/system/failover-*.test.ts.

const newAccount = testAccounts();
const AT = new Date('2026-01-01T00:00:00Z');

/** An account with one committed page of jobs, taken by another process. */
async function withPage(): Promise<MirroredAccount> {
  const account = await newAccount();
  await account.page('research_jobs', jobs(1, 2));
  await account.page('research_jobs', jobs(1, 2));
  return account;
}

const setObservation = (account: MirroredAccount, obs: number): Promise<unknown> =>
  account.query(`update mirror_sync.scope set last_obs = ${obs} where _user_id = ${account.fence.userId}`);

/** As if the account's last change ID had never been taken. */
const setBack = (account: MirroredAccount): Promise<unknown> =>
  account.query(
    `update mirror_sync.account set change_id = change_id - 1 where _user_id = ${account.fence.userId}`,
  );

/** Writes a page whose connection ends while its transaction commits. */
async function cutCommit(account: MirroredAccount): Promise<void> {
  await account.query(`
    create function public.cut() returns trigger language plpgsql as
      $$ begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$;
    create constraint trigger cut after insert on mirror.research_jobs deferrable initially deferred
      for each row execute function public.cut()`);
  try {
    const error = await account.page('research_jobs', jobs(2)).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(OutcomeUnknown);
    expect(error).toBeInstanceOf(LeaseLost);
  } finally {
    await account.query('drop trigger cut on mirror.research_jobs; drop function public.cut()');
  }
}

const stored = async ({ database }: MirroredAccount): Promise<string[]> =>
  (await rowsWith(database.db, '')).toSorted();

type Write = (account: MirroredAccount) => Promise<unknown>;

/** Writes that rest on the two observations that this process knows to be committed. */
const WRITES: readonly (readonly [string, Write])[] = [
  ['a page', (account) => account.page('research_jobs', jobs(3), { obs: 3, after: 2 })],
  ['a page that changes nothing', (account) => account.page('research_jobs', jobs(1), { obs: 3, after: 2 })],
  [
    'suspected deletions',
    (account) => {
      const change = { ...NO_SUSPECTS, add: [{ key: '1', kind: 'pair' }] } as const;
      return account.mirror.recordSuspects(account.fence, account.scope('research_jobs'), change, 2);
    },
  ],
  [
    'the end of a walk that completes it',
    (account) => {
      const scope = account.scope('research_jobs');
      const walk = { scope, kind: 'full', startedAt: AT, outcome: 'completed', totals: NO_TOTALS } as const;
      return account.mirror.endWalk(account.fence, scope, { scope: { completeAsOf: AT }, walkEnd: walk }, 2);
    },
  ],
  [
    'deletions',
    ({ mirror, fence }) => {
      const scope = { userId: fence.userId, collection: 'research_jobs', parent: '' } as const;
      return mirror.applyDeletions(fence, scope, { accept: OPERATOR, obs: 2 });
    },
  ],
];

let account: MirroredAccount;
beforeEach(async () => {
  account = await newAccount();
});

describe('after the last observation was lost', () => {
  it.each(WRITES)('%s is not written, and the owner loses the account', async (_, write) => {
    const account = await withPage();
    await proveAbsent(account, 'research_jobs', jobs(1));
    await setObservation(account, 1);
    const before = await stored(account);
    await expect(write(account)).rejects.toBeInstanceOf(DatabaseWentBack);
    expect(await stored(account)).toEqual(before);
    // Writes that rest on no observation as well: all that the process remembers of the account is void.
    const { db } = account.database;
    await expect(fenced(db, account.fence, () => Promise.resolve())).rejects.toBeInstanceOf(DatabaseWentBack);
  });

  it.each(WRITES)('%s is superseded if there are later ones, and the owner continues', async (_, write) => {
    const account = await withPage();
    await setObservation(account, 1_000_002);
    const before = await stored(account);
    await expect(write(account)).rejects.toBeInstanceOf(Superseded);
    expect(await stored(account)).toEqual(before);
    const { db } = account.database;
    await expect(fenced(db, account.fence, () => Promise.resolve())).resolves.toBeUndefined();
  });
});

describe('after commits of other scopes were lost', () => {
  it('the next write notices it by the account’s change ID', async () => {
    await account.page('lists', '[{"list_id":1}]');
    const { userId } = account.fence;
    await setBack(account);
    await expect(account.page('research_jobs', jobs(1))).rejects.toThrow(/what this process committed last/);
    expect(await account.query(`select 1 from mirror.research_jobs where _user_id = ${userId}`)).toEqual([]);
  });

  it('another process, which does not know them, continues', async () => {
    await account.page('lists', '[{"list_id":1}]');
    await setBack(account);
    const other = await openTestDatabase(account.database.url);
    try {
      const database = { ...account.database, ...other };
      const next = await MirroredAccount.make(database, account.fence.userId);
      await expect(next.page('research_jobs', jobs(1))).resolves.toMatchObject({ state: 'applied' });
    } finally {
      await other.close();
    }
  });
});

describe('a commit of this process before it took the account again', () => {
  /** Another fence of the same process, as after an outage. */
  const takenAnew = ({ database, fence }: MirroredAccount): Promise<MirroredAccount> =>
    MirroredAccount.make(database, fence.userId);
  const write = async (account: MirroredAccount): Promise<unknown> =>
    (await takenAnew(account)).page('research_jobs', jobs(1));
  const committed = async (): Promise<MirroredAccount> => {
    await account.page('lists', '[{"list_id":1}]');
    return account;
  };
  const APPLIED = { state: 'applied' };
  const recover = (account: MirroredAccount, at: string): Promise<unknown> =>
    account.query(`insert into mirror.recoveries (detected_at, reason) values (${at}, 'tests')`);
  const RECOVERIES = 'delete from mirror.recoveries';

  it('is missed by the new fence, and by each later one', async () => {
    const account = await committed();
    await setBack(account);
    for (let n = 0; n < 2; n += 1) await expect(write(account)).rejects.toBeInstanceOf(DatabaseWentBack);
  });

  it('is missed even if the last commit was not answered', async () => {
    const account = await committed();
    await cutCommit(account);
    // In either case, the commit before it was there.
    await account.query(
      `update mirror_sync.account set change_id = ${changeId(0)} where _user_id = ${account.fence.userId}`,
    );
    await expect(write(account)).rejects.toBeInstanceOf(DatabaseWentBack);
  });

  it('is not missed if nothing went back', async () => {
    const account = await committed();
    await expect(write(account)).resolves.toMatchObject(APPLIED);
    await account.query(
      `update mirror_sync.account set change_id = change_id + 5 where _user_id = ${account.fence.userId}`,
    );
    await expect(write(account)).resolves.toMatchObject(APPLIED);
  });

  it('is no longer missed once a recovery is recorded', async () => {
    const account = await committed();
    await setBack(account);
    await recover(account, 'now()');
    try {
      await expect(write(account)).resolves.toMatchObject(APPLIED);
      await setBack(account);
      await expect(write(account)).rejects.toBeInstanceOf(DatabaseWentBack);
    } finally {
      await account.query(RECOVERIES);
    }
  });

  it('is missed if a recovery that it knew is lost, whatever the change ID', async () => {
    await recover(account, `now() - interval '1 s'`);
    await recover(account, 'now()');
    await account.page('lists', '[{"list_id":1}]');
    await account.query(`${RECOVERIES} where detected_at = (select max(detected_at) from mirror.recoveries)`);
    try {
      await expect(write(account)).rejects.toBeInstanceOf(DatabaseWentBack);
    } finally {
      await account.query(RECOVERIES);
    }
    await expect(write(account)).rejects.toBeInstanceOf(DatabaseWentBack);
  });

  it('is not missed in an account that was removed and made again', async () => {
    const account = await committed();
    const { userId } = account.fence;
    await account.query(`delete from mirror_sync.account where _user_id = ${userId}`);
    await expect(write(account)).resolves.toMatchObject(APPLIED);
  });
});

describe('a server that writes another timeline', () => {
  it('is noticed by every fence, before anything is written', async () => {
    await account.page('research_jobs', jobs(1));
    const [row] = await account.query<{ system: string }>(
      'select system_identifier::text as system from pg_control_system()',
    );
    await account.query(`insert into mirror_sync.installation (created_at, nodes)
      values (now(), '{"${row?.system}": "000000FF"}') on conflict (singleton) do update set nodes = excluded.nodes`);
    try {
      // It knows the timeline that it saw first.
      await expect(account.page('research_jobs', jobs(1))).resolves.toMatchObject({ state: 'applied' });
      const next = await MirroredAccount.make(account.database, account.fence.userId);
      const error = await next.page('research_jobs', jobs(2)).catch((cause: unknown) => cause);
      expect(error).toBeInstanceOf(DatabaseWentBack);
      expect(error).toMatchObject({ by: 'timeline' });
    } finally {
      await account.query('delete from mirror_sync.installation');
    }
  });
});

describe('a commit that is not answered', () => {
  it('leaves its outcome unknown: the account must be opened again in either case', async () => {
    await account.page('research_jobs', jobs(1));
    await cutCommit(account);
    // Neither outcome counts as a database that went back.
    const { db } = account.database;
    const one = await fenced(db, account.fence, async (trx) => {
      const { rows } = await sql<{ n: number }>`select 1 as n`.execute(trx);
      return rows[0]?.n;
    });
    expect(one).toBe(1);
  });
});
