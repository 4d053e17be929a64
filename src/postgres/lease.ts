import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { sql } from 'kysely';
import { AccountRetired, LeaseLost } from '../model/errors.ts';
import { AHEAD_MS, hasCome } from './clock-step.ts';
import type { Db } from './db.ts';
import { type Fence, fenced } from './fenced.ts';
import { HEARTBEAT, isDeadHere, type ProcessIdentity } from './heartbeat.ts';
import { wake } from './notifications.ts';

/** Creates the account's row, without an owner, if there is none. */
export async function ensureAccount(db: Db, userId: string, now: Date): Promise<void> {
  await db.sql`
    insert into ${db.stateTable('account')} (_user_id, created_at) values (${userId}::bigint, ${now})
    on conflict (_user_id) do nothing`;
}

export type TakeResult = Awaited<ReturnType<typeof takeAccount>>;

/** Attempts to take an account: another process may take or release it between the read and the update. */
const ATTEMPTS = 5;

/**
 * Takes the account for `processId` unless a living process owns it (docs/design/ownership.md, "Takeover"): reads the
 * row, then raises its fencing token by compare-and-set. The update waits, for seconds at most (database.ts), for a
 * transaction of the old owner that has locked the row. The new owner sees what that transaction commits.
 * @param self this process: it knows at once that an owner on the same machine is dead
 * @throws AccountRetired; RangeError without the account's row; DatabaseUnavailable
 */
export async function takeAccount(db: Db, userId: string, processId: string, self: ProcessIdentity) {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const { rows } = await db.sql<{ owner: string | null; token: string; state: string }>`
      select owner, token, state from ${db.stateTable('account')} where _user_id = ${userId}::bigint`;
    const [account] = rows;
    if (account === undefined) throw new RangeError(`account ${userId} has no row`);
    if (account.state === 'retired') throw new AccountRetired(userId);
    if (account.owner !== null && account.owner !== processId) {
      const by = await livingProcess(db, account.owner, self);
      if (by !== undefined) return { state: 'owned' as const, by };
    }
    const token = (BigInt(account.token) + 1n).toString();
    const taken = await db.sql`
      update ${db.stateTable('account')} set owner = ${processId}, token = ${token}::bigint
      where _user_id = ${userId}::bigint and token = ${account.token}::bigint
        and owner is not distinct from ${account.owner}
      returning token`;
    const fence: Fence = { userId, owner: processId, token };
    if (taken.rows.length > 0) return { state: 'taken' as const, fence };
  }
  throw new DatabaseUnavailable(`account ${userId} changes hands too often to be taken`);
}

/** Releases the account, so that the next owner need not wait. Does nothing if it has another owner by now. */
export async function releaseAccount(db: Db, { userId, owner, token }: Fence): Promise<void> {
  await db.sql`
    update ${db.stateTable('account')} set owner = null
    where _user_id = ${userId}::bigint and owner = ${owner} and token = ${token}::bigint`;
}

/** The living process that owns the account. */
export async function livingOwner(db: Db, userId: string, self: ProcessIdentity) {
  const { rows } = await db.sql<{ owner: string | null }>`
    select owner from ${db.stateTable('account')} where _user_id = ${userId}::bigint`;
  const owner = rows[0]?.owner ?? null;
  return owner === null ? undefined : livingProcess(db, owner, self);
}

/** The process `processId` if it lives, by its heartbeat and by this machine's process table. */
export async function livingProcess(db: Db, processId: string, self: ProcessIdentity) {
  return (await livingProcesses(db, self)).find((each) => each.processId === processId);
}

/** Largest delay of a heartbeat, ms, with which its process counts as prompt: machines may be busy. */
const LATE_MS = 2_000;

export type LivingProcess = Awaited<ReturnType<typeof livingProcesses>>[number];

/** Living processes, by their heartbeats and by this machine's process table; the oldest first. */
async function livingProcesses(db: Db, self: ProcessIdentity) {
  // After the clock went back, a living process beats again within 4 s; until then its token protects it.
  const { rows } = await db.sql<{
    processId: string;
    /** `start`, `sync`, … */
    command: string;
    version: string;
    machine: string;
    pid: number;
    startedTicks: string;
    aliveUntil: Date;
    serves: string[] | null;
    /** Time until the heartbeat expires, ms. */
    leftMs: number;
  }>`
    select process_id as "processId", command, version, machine, pid, started_ticks as "startedTicks",
      alive_until as "aliveUntil", serves,
      (extract(epoch from alive_until - clock_timestamp()) * 1000)::float8 as "leftMs"
    from ${db.stateTable('process')} where not ${hasCome(sql`alive_until`, AHEAD_MS.aliveUntil)}
    order by started_at, process_id`;
  const dead = await Promise.all(rows.map((row) => isDeadHere(self, row)));
  return rows
    .filter((_, at) => dead[at] !== true)
    .map(({ machine, serves, ...row }) => ({
      ...row,
      /** It runs on this machine, where its process ID means something. */
      here: machine !== '' && machine === self.machine,
      /** User IDs of its accounts; undefined: it is not part of the fleet. */
      serves: serves === null ? undefined : new Set(serves),
      /** Its last heartbeat was on time. */
      prompt: row.leftMs >= HEARTBEAT.validFor - HEARTBEAT.beatEvery - LATE_MS,
    }));
}

/** The daemon's command. Daemons carry out commands that others leave for them. */
export const DAEMON = 'start';

/** Whether a daemon runs on this mirror, with any accounts. */
export async function daemonLives(db: Db, identity: ProcessIdentity): Promise<boolean> {
  return (await livingProcesses(db, identity)).some(({ command }) => command === DAEMON);
}

export type FleetStore = ReturnType<typeof createFleetStore>;
export type SeenFleet = Awaited<ReturnType<FleetStore['look']>>;

/** How a daemon shows itself to the fleet and sees it. */
export function createFleetStore(db: Db, processId: string, self: ProcessIdentity) {
  const setServes = async (serves: string[] | null): Promise<void> => {
    await db.sql`update ${db.stateTable('process')} set serves = ${serves} where process_id = ${processId}`;
  };
  return {
    /** Joins the fleet with these accounts. */
    offer: (serves: Iterable<string>) => setServes([...serves]),
    /** Leaves the fleet: others take the accounts that this process releases. */
    withdraw: () => setServes(null),
    /** Two statements, however many accounts there are. */
    look: async () => {
      const living = await livingProcesses(db, self);
      const { rows } = await db.sql<{ userId: string; owner: string | null; retired: boolean }>`
        select _user_id as "userId", owner, state = 'retired' as retired from ${db.stateTable('account')}`;
      return { living, accounts: new Map(rows.map((row) => [row.userId, row])) };
    },
    /** Wakes other daemons for a look. */
    wakeOthers: () => wake(db),
  };
}

/**
 * The accounts that a process works on. After the database went back, an account's row may name a process that has
 * released it: no process would take it. Or it no longer names the process that works on it, and notices too late.
 */
export class OwnedAccounts {
  readonly #fences = new Map<string, Fence>();
  readonly #ends = new Map<Fence, () => void>();
  /** By account, tokens of rows that named the process at the last look although it did not work on them. */
  #strays = new Map<string, string>();

  /** @param end ends the work, so that the account is opened again; left out: its next write fails */
  add(fence: Fence, end = (): void => {}): void {
    this.#fences.set(fence.userId, fence);
    this.#ends.set(fence, end);
  }

  remove(fence: Fence): void {
    this.#ends.delete(fence);
    if (this.#fences.get(fence.userId) === fence) this.#fences.delete(fence.userId);
  }

  /** Opens all accounts again after a step of the clock, which a transaction of each account handles first. */
  async reopen(db: Db): Promise<void> {
    for (const [fence, end] of this.#ends) {
      await fenced(db, fence, () => Promise.resolve()).catch((error: unknown) => {
        if (!(error instanceof LeaseLost)) throw error;
      });
      end();
    }
  }

  /**
   * Releases accounts whose row names the process in two consecutive looks although it does not work on them: one that
   * was just taken may not be known here yet. Ends the work on accounts whose row no longer names the process.
   * @returns the released accounts
   */
  async releaseStrays(db: Db, processId: string): Promise<string[]> {
    const worked = [...this.#ends];
    const { rows } = await db.sql<{ userId: string; token: string }>`
      select _user_id as "userId", token from ${db.stateTable('account')} where owner = ${processId}`;
    const owned = new Set(rows.map(named));
    for (const [fence, end] of worked) if (!owned.has(named(fence))) end();
    const before = this.#strays;
    this.#strays = new Map(
      rows
        .filter(({ userId, token }) => this.#fences.get(userId)?.token !== token)
        .map(({ userId, token }) => [userId, token]),
    );
    const still = [...this.#strays].flatMap(([userId, token]) =>
      before.get(userId) === token ? [{ userId, token }] : [],
    );
    if (still.length === 0) return [];
    // One statement: the next heartbeat waits for it.
    const released = await db.sql<{ userId: string }>`
      update ${db.stateTable('account')} set owner = null
      where _user_id = any(${still.map(({ userId }) => userId)}::bigint[]) and owner = ${processId}
        and _user_id::text || ' ' || token::text = any(${still.map(named)}::text[])
      returning _user_id as "userId"`;
    return released.rows.map((row) => row.userId);
  }
}

/** Account and token as one text, for one array that each node of Citus can compare. */
function named({ userId, token }: Pick<Fence, 'userId' | 'token'>): string {
  return `${userId} ${token}`;
}
