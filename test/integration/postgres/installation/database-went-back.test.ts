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
// standby that lagged, or of a crash that lost commits. Real ones are in test/system/databases/failover-*.test.ts.

const newAccount = testAccounts();
const AT = new Date('2026-01-01T00:00:00Z');
const APPLIED = { state: 'applied' };

let account: MirroredAccount;
beforeEach(async () => {
  account = await newAccount();
});

const scope = () => account.scope('research_jobs');
const setAccount = (set: string) =>
  account.query(`update mirror_sync.account set ${set} where _user_id = ${account.fence.userId}`);
/** As if the account's last change ID had never been taken. */
const setBack = () => setAccount('change_id = change_id - 1');
const writeNothing = () => fenced(account.database.db, account.fence, () => Promise.resolve());
const commitList = () => account.page('lists', '[{"list_id":1}]');

/** Writes a page whose connection ends while its transaction commits. */
async function cutCommit(): Promise<void> {
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

describe('where this process knows two observations of a scope,', () => {
  /** Writes that rest on them. */
  const WRITES: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['a page', () => account.page('research_jobs', jobs(3), { obs: 3, after: 2 })],
    ['a page that changes nothing', () => account.page('research_jobs', jobs(1), { obs: 3, after: 2 })],
    [
      'suspected deletions',
      () => {
        const change = { ...NO_SUSPECTS, add: [{ key: '1', kind: 'pair' }] } as const;
        return account.mirror.recordSuspects(account.fence, scope(), change, 2);
      },
    ],
    [
      'the end of a walk that completes it',
      () => {
        const walk = { kind: 'full', startedAt: AT, outcome: 'completed', totals: NO_TOTALS } as const;
        const end = { scope: { completeAsOf: AT }, walkEnd: { ...walk, scope: scope() } };
        return account.mirror.endWalk(account.fence, scope(), end, 2);
      },
    ],
    ['deletions', () => account.mirror.applyDeletions(account.fence, scope(), { accept: OPERATOR, obs: 2 })],
  ];
  beforeEach(async () => {
    for (let obs = 1; obs <= 2; obs += 1) await account.page('research_jobs', jobs(1, 2));
  });

  async function expectRefused(
    write: () => Promise<unknown>,
    last: number,
    why: typeof Superseded | typeof DatabaseWentBack,
  ) {
    await account.query(`update mirror_sync.scope set last_obs = ${last} where _user_id = ${account.fence.userId}`);
    const stored = async () => (await rowsWith(account.database.db, '')).toSorted();
    const before = await stored();
    await expect(write()).rejects.toBeInstanceOf(why);
    expect(await stored()).toEqual(before);
  }

  it.each(WRITES)(
    '%s is not written after the last one was lost, and the owner loses the account',
    async (_, write) => {
      await proveAbsent(account, 'research_jobs', jobs(1));
      await expectRefused(write, 1, DatabaseWentBack);
      // Writes that rest on no observation as well: all that the process remembers of the account is void.
      await expect(writeNothing()).rejects.toBeInstanceOf(DatabaseWentBack);
    },
  );

  it.each(WRITES)('%s is superseded if there are later ones, and the owner continues', async (_, write) => {
    await expectRefused(write, 1_000_002, Superseded);
    await expect(writeNothing()).resolves.toBeUndefined();
  });
});

describe('after commits of other scopes were lost', () => {
  beforeEach(commitList);

  it('the next write notices it by the account’s change ID', async () => {
    await setBack();
    await expect(account.page('research_jobs', jobs(1))).rejects.toThrow(/the last commit of this process is gone/);
    expect(await account.query(`select 1 from mirror.research_jobs where _user_id = ${account.fence.userId}`)).toEqual(
      [],
    );
  });

  it('another process, which does not know them, continues', async () => {
    await setBack();
    const other = await openTestDatabase(account.database.url);
    try {
      const next = await MirroredAccount.make({ ...account.database, ...other }, account.fence.userId);
      await expect(next.page('research_jobs', jobs(1))).resolves.toMatchObject(APPLIED);
    } finally {
      await other.close();
    }
  });
});

describe('a commit of this process before it took the account again', () => {
  /** By another fence of the same process, as after an outage. */
  const write = async () =>
    (await MirroredAccount.make(account.database, account.fence.userId)).page('research_jobs', jobs(1));
  const recover = (at: string) =>
    account.query(`insert into mirror.recoveries (detected_at, reason) values (${at}, 'tests')`);
  const RECOVERIES = 'delete from mirror.recoveries';

  it('is missed by the new fence, and by each later one', async () => {
    await commitList();
    await setBack();
    for (let n = 0; n < 2; n += 1) await expect(write()).rejects.toBeInstanceOf(DatabaseWentBack);
  });

  it('is missed even if the last commit was not answered', async () => {
    await commitList();
    await cutCommit();
    // In either case, the commit before it was there.
    await setAccount(`change_id = ${changeId(0)}`);
    await expect(write()).rejects.toBeInstanceOf(DatabaseWentBack);
  });

  it('is not missed if nothing went back', async () => {
    await commitList();
    await expect(write()).resolves.toMatchObject(APPLIED);
    await setAccount('change_id = change_id + 5');
    await expect(write()).resolves.toMatchObject(APPLIED);
  });

  it('is no longer missed once a recovery is recorded', async () => {
    await commitList();
    await setBack();
    await recover('now()');
    try {
      await expect(write()).resolves.toMatchObject(APPLIED);
      await setBack();
      await expect(write()).rejects.toBeInstanceOf(DatabaseWentBack);
    } finally {
      await account.query(RECOVERIES);
    }
  });

  it('is missed if a recovery that it knew is lost, whatever the change ID', async () => {
    await recover(`now() - interval '1 s'`);
    await recover('now()');
    await commitList();
    await account.query(`${RECOVERIES} where detected_at = (select max(detected_at) from mirror.recoveries)`);
    try {
      await expect(write()).rejects.toBeInstanceOf(DatabaseWentBack);
    } finally {
      await account.query(RECOVERIES);
    }
    await expect(write()).rejects.toBeInstanceOf(DatabaseWentBack);
  });

  it('is not missed in an account that was removed and made again', async () => {
    await commitList();
    await account.query(`delete from mirror_sync.account where _user_id = ${account.fence.userId}`);
    await expect(write()).resolves.toMatchObject(APPLIED);
  });
});

it('a server that writes another timeline is noticed by every fence, before anything is written', async () => {
  await account.page('research_jobs', jobs(1));
  await account.query(`insert into mirror_sync.installation (created_at, nodes)
    select now(), jsonb_build_object(system_identifier::text, '000000FF') from pg_control_system()
    on conflict (singleton) do update set nodes = excluded.nodes`);
  try {
    // It knows the timeline that it saw first.
    await expect(account.page('research_jobs', jobs(1))).resolves.toMatchObject(APPLIED);
    const next = await MirroredAccount.make(account.database, account.fence.userId);
    const error = await next.page('research_jobs', jobs(2)).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(DatabaseWentBack);
    expect(error).toMatchObject({ by: 'timeline' });
  } finally {
    await account.query('delete from mirror_sync.installation');
  }
});

it('a commit that is not answered leaves its outcome unknown: the account must be opened again in either case', async () => {
  await account.page('research_jobs', jobs(1));
  await cutCommit();
  // Neither outcome counts as a database that went back.
  await expect(writeNothing()).resolves.toBeUndefined();
});
