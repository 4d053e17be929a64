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

/** Time between two looks, ms: a retired account is released within it. */
const LOOK_MS = 5_000;
/** Time between two writes of an unchanged assignment, ms: another process may have removed the row as a dead one's. */
const SAVE_AGAIN_MS = 60_000;

/**
 * Stores which accounts and collections this daemon mirrors, and marks those that no daemon mirrors as paused: they are
 * not late. The owner marks an account's collections; any daemon takes an unowned account for that. Releases retired
 * ones.
 */
export function pauseKeeper(context: ProcessContext, accounts: Pick<AccountsService, 'runners' | 'allKnown'>): Service {
  const { db, config, clock, log, failures, processId } = context;
  /** The assignment as last stored, and when. */
  let saved = '';
  let savedAt = Number.NEGATIVE_INFINITY;

  const look = async (): Promise<void> => {
    const states = db.state.selectFrom('account').select('_user_id').where('state', '=', 'retired');
    const retired = new Set((await states.execute()).map(({ _user_id: userId }) => userId));
    const runners = accounts.runners();
    for (const runner of runners) if (retired.has(runner.userId)) void runner.current()?.service.stop();
    const own: DaemonAssignment = {
      accounts: runners.map(({ userId }) => userId).filter((userId) => !retired.has(userId)),
      collections: config.collections,
      allKnown: accounts.allKnown(),
    };
    const text = JSON.stringify(own);
    if (text !== saved || clock.monotonic() - savedAt >= SAVE_AGAIN_MS) {
      await db.sql`
        update ${db.stateTable('process')} set asked = ${text}::text::jsonb
        where process_id = ${processId} and asked is distinct from ${text}::text::jsonb`;
      [saved, savedAt] = [text, clock.monotonic()];
    }
    const stored = (await storedPauses(db, own)).filter(({ userId }) => !retired.has(userId));
    if (stored.length === 0) return;
    const daemons = await daemonAssignments(db);
    // A daemon that does not say what it mirrors (null) may mirror anything.
    const isMirrored = ({ userId, collection }: StoredPause): boolean =>
      daemons.some(
        (each) =>
          each === null ||
          (each.collections.includes(collection) && (!each.allKnown || each.accounts.includes(userId))),
      );
    const wrong = stored.filter((each) => each.paused === isMirrored(each));
    for (const [userId, some] of Map.groupBy(wrong, (each) => each.userId)) {
      const runner = runners.find((each) => each.userId === userId);
      const fence = runner?.current()?.fence;
      // If another process owns the account, that one does it.
      if (fence !== undefined) await store(fence, some);
      else if (runner === undefined) await storeUnowned(userId, some);
    }
  };

  const store = (fence: Fence, wrong: readonly StoredPause[]): Promise<void> =>
    fenced(db, fence, async (trx, now) => {
      for (const { collection, paused } of wrong)
        await saveCollection(trx, fence.userId, collection, { pausedAt: paused ? null : now }, now);
    });

  const storeUnowned = async (userId: string, wrong: readonly StoredPause[]): Promise<void> => {
    try {
      await withLease(context, userId, (fence) => store(fence, wrong));
      log.info(
        `account ${userId}: paused, since no daemon mirrors them: ${wrong.map(({ collection }) => collection).join(', ')}`,
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
        // Another process took the account, or it was retired: the next look sees it.
        if (!(error instanceof LeaseLost)) failures.failed('pauses', 'pausing collections', error);
      }
      await clock.sleep(LOOK_MS, signal);
    }
  });
}

/** What a daemon mirrors. `accounts`: the known owners of its keys; `allKnown`: there are no others. */
interface DaemonAssignment {
  readonly accounts: readonly string[];
  readonly collections: readonly CollectionName[];
  readonly allKnown: boolean;
}

/**
 * What the daemons mirror. A dead daemon counts, as it will be started again, until a later one replaces it on its
 * machine or its row is removed (heartbeat.ts). A stopped daemon has no row.
 */
async function daemonAssignments(db: Db): Promise<(DaemonAssignment | null)[]> {
  const process = db.stateTable('process');
  const { rows } = await db.sql<{ asked: DaemonAssignment | null }>`
    select p.asked from ${process} as p
    where p.command = ${DAEMON} and (p.alive_until > clock_timestamp() or not exists (
      select from ${process} as q
      where q.command = p.command and q.host = p.host and q.started_at > p.alive_until - interval '12 seconds'))`;
  return rows.map(({ asked }) => asked);
}

type StoredPause = Awaited<ReturnType<typeof storedPauses>>[number];

/** Collections that are paused, and those that this daemon does not mirror: the others are right. */
async function storedPauses(db: Db, own: DaemonAssignment) {
  const { rows } = await db.sql<{ userId: string; collection: CollectionName; paused: boolean }>`
    select c._user_id as "userId", c.collection, c.paused_at is not null as paused
    from ${db.table('_collections')} as c
    where c.paused_at is not null or not (c.collection = any(${[...own.collections]}::text[])
      and (${!own.allKnown} or c._user_id = any(${[...own.accounts]}::bigint[])))`;
  return rows;
}
