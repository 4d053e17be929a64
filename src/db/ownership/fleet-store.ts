import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { wake } from '../notify/wakeups.ts';
import { HEARTBEAT } from './heartbeat.ts';
import type { Holder } from './lease.ts';
import { AHEAD_MS, hasCome } from './moment-ahead.ts';
import { isDeadHere, type ProcessIdentity } from './process-identity.ts';

/** Processes and accounts, as one look finds them. */
export interface SeenFleet {
  /** Processes that live, by their ID; this one always does. */
  readonly living: ReadonlyMap<string, LivingProcess>;
  /** All that are not retired. */
  readonly accounts: readonly { readonly userId: string; readonly owner: string | null }[];
  readonly retired: ReadonlySet<string>;
  /** Milliseconds until the first heartbeat of another process runs out if no other follows; Infinity: there is none. */
  readonly expiresInMs: number;
}

export interface LivingProcess extends Holder {
  /** User IDs; undefined: it takes no part in the sharing. */
  readonly serves: ReadonlySet<string> | undefined;
  /** The last heartbeat that was due has come. */
  readonly prompt: boolean;
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

/** A heartbeat may be so late (ms) on a busy machine, and its process counts as prompt. */
const LATE_MS = 2_000;

export function createFleetStore(db: Db, processId: string, self: ProcessIdentity): FleetStore {
  return {
    offer: async (serves) => {
      await db.sql`update ${db.stateTable('process')} set serves = ${[...serves]}::bigint[] where process_id = ${processId}`;
    },
    withdraw: async () => {
      await db.sql`update ${db.stateTable('process')} set serves = null where process_id = ${processId}`;
    },
    look: async () => {
      const living = new Map<string, LivingProcess>();
      let expiresInMs = Infinity;
      for (const row of await storedProcesses(db)) {
        const isSelf = row.processId === processId;
        if (!isSelf && (await isDeadHere(self, row))) continue;
        const leftMs = Number(row.leftMs);
        if (!isSelf) expiresInMs = Math.min(expiresInMs, Math.max(0, leftMs));
        living.set(row.processId, {
          ...row,
          here: row.machine !== '' && row.machine === self.machine,
          serves: row.serves === null ? undefined : new Set(row.serves),
          prompt: isSelf || leftMs >= HEARTBEAT.validFor - HEARTBEAT.beatEvery - LATE_MS,
        });
      }
      const accounts = await db.state
        .selectFrom('account')
        .select(['_user_id as userId', 'owner', 'state'])
        .execute();
      return {
        living,
        accounts: accounts.filter(({ state }) => state !== 'retired'),
        retired: new Set(accounts.filter(({ state }) => state === 'retired').map(({ userId }) => userId)),
        expiresInMs,
      };
    },
    wakeOthers: () => wake(db),
  };
}

interface StoredProcess extends Omit<Holder, 'here'> {
  readonly machine: string;
  readonly startedTicks: string;
  readonly serves: readonly string[] | null;
  readonly leftMs: string;
}

async function storedProcesses(db: Db): Promise<readonly StoredProcess[]> {
  const { rows } = await db.sql<StoredProcess>`
    select process_id as "processId", command, machine, pid, started_ticks as "startedTicks",
      alive_until as "aliveUntil", serves, extract(epoch from alive_until - clock_timestamp()) * 1000 as "leftMs"
    from ${db.stateTable('process')}
    where not ${hasCome(sql`alive_until`, AHEAD_MS.aliveUntil)}`;
  return rows;
}
