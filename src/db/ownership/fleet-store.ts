import type { Db } from '../connection/db.ts';
import { wake } from '../notify/wakeups.ts';
import { livingProcesses, type LivingProcess } from './lease.ts';
import type { ProcessIdentity } from './process-identity.ts';

/** Processes and accounts, as one look finds them. */
export interface SeenFleet {
  /** Processes that live, by their ID; this one too, unless its row ran out or was removed. */
  readonly living: ReadonlyMap<string, LivingProcess>;
  /** All that are not retired. */
  readonly accounts: readonly { readonly userId: string; readonly owner: string | null }[];
  readonly retired: ReadonlySet<string>;
  /** Milliseconds until the first heartbeat of another process runs out if no other follows; Infinity: there is none. */
  readonly expiresInMs: number;
}

/** What a daemon tells others of itself, and sees of them. */
export interface FleetStore {
  /** Takes part in the sharing with these accounts. */
  offer(serves: readonly string[]): Promise<void>;
  /** Takes part no longer: what this process gives up now, others take. */
  withdraw(): Promise<void>;
  /** Two statements, however many accounts there are. */
  look(): Promise<SeenFleet>;
  /** Has other daemons look at once. */
  wakeOthers(): Promise<void>;
}

export function createFleetStore(db: Db, processId: string, self: ProcessIdentity): FleetStore {
  const setServes = async (serves: string[] | null): Promise<void> => {
    await db.state.updateTable('process').set({ serves }).where('process_id', '=', processId).execute();
  };
  return {
    offer: (serves) => setServes([...serves]),
    withdraw: () => setServes(null),
    look: async () => {
      const living = await livingProcesses(db, self);
      const { rows: accounts } = await db.sql<{ userId: string; owner: string | null; retired: boolean }>`
        select _user_id as "userId", owner, state = 'retired' as retired from ${db.stateTable('account')}`;
      const others = living.filter((each) => each.processId !== processId);
      return {
        living: new Map(living.map((each) => [each.processId, each])),
        accounts: accounts.filter(({ retired }) => !retired),
        retired: new Set(accounts.filter(({ retired }) => retired).map(({ userId }) => userId)),
        expiresInMs: Math.min(...others.map(({ leftMs }) => Math.max(0, leftMs))),
      };
    },
    wakeOthers: () => wake(db),
  };
}
