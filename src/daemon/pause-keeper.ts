import { type Service, service } from '@research-mirror/runtime/service';
import type { AccountsService } from '../account/accounts-service.ts';
import type { ProcessContext } from '../account/process.ts';
import { AccountHeld, withLease } from '../account/with-account.ts';
import { saveCollection } from '../mirror/sync-log.ts';
import type { CollectionName } from '../model/collections.ts';
import { LeaseLost } from '../model/errors.ts';
import type { Db } from '../postgres/db.ts';
import { type Fence, fenced } from '../postgres/fenced.ts';
import { DAEMON } from '../postgres/lease.ts';

/** How often (ms) it looks: a retired account is released within that time. */
const LOOK_MS = 5_000;
/** How often (ms) it stores again what has not changed: a row that others took for a dead process's was removed. */
const SAVE_AGAIN_MS = 60_000;

/**
 * Stores what this daemon is asked to mirror, and marks collections as paused that no daemon is asked for: they are
 * not late. An account's owner marks its collections; where nobody owns the account, any daemon takes it for a
 * moment. Accounts that were retired are released.
 */
export function pauseKeeper(
  context: ProcessContext,
  accounts: Pick<AccountsService, 'runners' | 'allKnown'>,
): Service {
  const { db, config, clock, log, failures, processId } = context;
  /** What this daemon is asked for, as stored last, and when. */
  let saved = '';
  let savedAt = Number.NEGATIVE_INFINITY;

  const look = async (): Promise<void> => {
    const retired = await retiredAccounts(db);
    const runners = accounts.runners();
    for (const runner of runners) if (retired.has(runner.userId)) void runner.current()?.service.stop();
    const own: DaemonAssignment = {
      accounts: runners.map(({ userId }) => userId).filter((userId) => !retired.has(userId)),
      collections: config.collections,
      allKnown: accounts.allKnown(),
    };
    const asked = JSON.stringify(own);
    if (asked !== saved || clock.monotonic() - savedAt >= SAVE_AGAIN_MS) {
      await saveAssignment(db, processId, own);
      [saved, savedAt] = [asked, clock.monotonic()];
    }
    const stored = (await storedPauses(db, own)).filter(({ userId }) => !retired.has(userId));
    if (stored.length === 0) return;
    const daemons = await daemonAssignments(db, DAEMON);
    const wrong = stored.filter(
      ({ userId, collection, paused }) => paused === isAssigned(daemons, userId, collection),
    );
    for (const [userId, some] of Map.groupBy(wrong, (each) => each.userId)) {
      const runner = runners.find((each) => each.userId === userId);
      const fence = runner?.current()?.fence;
      // Where another process owns the account, that one does it.
      if (fence !== undefined) await store(fence, some);
      else if (runner === undefined) await storeOfNobody(userId, some);
    }
  };

  const store = (fence: Fence, wrong: readonly StoredPause[]): Promise<void> =>
    fenced(db, fence, async (trx, now) => {
      for (const { collection, paused } of wrong)
        await saveCollection(trx, fence.userId, collection, { pausedAt: paused ? null : now }, now);
    });

  const storeOfNobody = async (userId: string, wrong: readonly StoredPause[]): Promise<void> => {
    try {
      await withLease(context, userId, (fence) => store(fence, wrong));
      log.info(
        `account ${userId}: no daemon is asked for ${wrong.map(({ collection }) => collection).join(', ')}`,
      );
    } catch (error) {
      if (!(error instanceof AccountHeld)) throw error;
    }
  };

  return service('pauses', async ({ signal, ready }) => {
    ready();
    for (;;) {
      try {
        await look();
      } catch (error) {
        // Else another process took the account meanwhile, or it was retired: the next look sees it.
        if (!(error instanceof LeaseLost)) failures.failed('pauses', 'what is to be mirrored', error);
      }
      await clock.sleep(LOOK_MS, signal);
    }
  });
}

/** What a daemon is configured to mirror. */
interface DaemonAssignment {
  /** User IDs of the known owners of its keys. */
  readonly accounts: readonly string[];
  readonly collections: readonly CollectionName[];
  /** The owner of each of its keys is known, so there are no other accounts. */
  readonly allKnown: boolean;
}

/**
 * Whether any of the daemons mirrors the account's collection, or may do so. A daemon is undefined where it does not
 * say what it mirrors.
 */
function isAssigned(
  daemons: readonly (DaemonAssignment | undefined)[],
  userId: string,
  collection: CollectionName,
): boolean {
  return daemons.some(
    (each) =>
      each === undefined ||
      (each.collections.includes(collection) && (!each.allKnown || each.accounts.includes(userId))),
  );
}

/** Stores in the process's row what it mirrors. */
async function saveAssignment(db: Db, processId: string, asked: DaemonAssignment): Promise<void> {
  await db.sql`
    update ${db.stateTable('process')} set asked = ${JSON.stringify(asked)}::text::jsonb
    where process_id = ${processId} and asked is distinct from ${JSON.stringify(asked)}::text::jsonb`;
}

/**
 * What the daemons mirror. One that died counts, too, since it will be started again: until a later one has taken its
 * place on its machine, or its row is removed (heartbeat.ts). One that was stopped has no row.
 */
async function daemonAssignments(db: Db, command: string): Promise<(DaemonAssignment | undefined)[]> {
  const process = db.stateTable('process');
  const { rows } = await db.sql<{ asked: DaemonAssignment | null }>`
    select p.asked from ${process} as p
    where p.command = ${command} and (p.alive_until > clock_timestamp() or not exists (
      select from ${process} as q
      where q.command = p.command and q.host = p.host and q.started_at > p.alive_until - interval '12 seconds'))`;
  return rows.map(({ asked }) => asked ?? undefined);
}

/** An account's collection, and whether it is paused. */
interface StoredPause {
  readonly userId: string;
  readonly collection: CollectionName;
  readonly paused: boolean;
}

/** Those that are paused, and those that a daemon so assigned is not asked for: all others are as they should be. */
async function storedPauses(db: Db, own: DaemonAssignment): Promise<StoredPause[]> {
  const { rows } = await db.sql<StoredPause>`
    select c._user_id as "userId", c.collection, c.paused_at is not null as paused
    from ${db.table('_collections')} as c
    where c.paused_at is not null or not (c.collection = any(${[...own.collections]}::text[])
      and (${!own.allKnown} or c._user_id = any(${[...own.accounts]}::bigint[])))`;
  return rows;
}

/** Accounts that were retired; their data may have been removed. */
async function retiredAccounts(db: Db): Promise<ReadonlySet<string>> {
  const rows = await db.state
    .selectFrom('account')
    .select('_user_id')
    .where('state', '=', 'retired')
    .execute();
  return new Set(rows.map(({ _user_id: userId }) => userId));
}
