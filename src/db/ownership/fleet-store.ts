import type { Db } from '../connection/db.ts';
import { wake } from '../notify/wakeups.ts';
import { livingProcesses } from './lease.ts';
import type { ProcessIdentity } from './process-identity.ts';

/** What a daemon tells others of itself, and sees of them. */
export type FleetStore = ReturnType<typeof createFleetStore>;

/** Processes and accounts, as one look finds them. */
export type SeenFleet = Awaited<ReturnType<FleetStore['look']>>;

export function createFleetStore(db: Db, processId: string, self: ProcessIdentity) {
  const setServes = async (serves: string[] | null): Promise<void> => {
    await db.state.updateTable('process').set({ serves }).where('process_id', '=', processId).execute();
  };
  return {
    /** Takes part in the sharing with these accounts. */
    offer: (serves: Iterable<string>) => setServes([...serves]),
    /** Takes part no longer: what this process gives up now, others take. */
    withdraw: () => setServes(null),
    /** Two statements, however many accounts there are. */
    look: async () => {
      const living = await livingProcesses(db, self);
      const { rows } = await db.sql<{ userId: string; owner: string | null; retired: boolean }>`
        select _user_id as "userId", owner, state = 'retired' as retired from ${db.stateTable('account')}`;
      return { living, accounts: new Map(rows.map((row) => [row.userId, row])) };
    },
    /** Has other daemons look at once. */
    wakeOthers: () => wake(db),
  };
}
