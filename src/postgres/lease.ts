import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { sql } from 'kysely';
import { AccountRetired, LeaseLost } from '../model/errors.ts';
import { AHEAD_MS, hasCome } from './clock-step.ts';
import type { Db } from './db.ts';
import { type Fence, fenced } from './fenced.ts';
import { HEARTBEAT, isDeadHere, type ProcessIdentity } from './heartbeat.ts';
import { wake } from './notifications.ts';

/** The result of an attempt to own an account. */
export type TakeResult =
  | { readonly state: 'taken'; readonly fence: Fence }
  /** A living process owns it. */
  | { readonly state: 'owned'; readonly by: Holder };

/** A process that owns accounts, for users. */
export interface Holder {
  readonly processId: string;
  /** `start`, `sync`, … */
  readonly command: string;
  readonly pid: number;
  /** It runs on this machine, so its process ID means something here. */
  readonly here: boolean;
  readonly aliveUntil: Date;
}

/** Makes the account's row, without an owner, where there is none. */
export async function ensureAccount(db: Db, userId: string, now: Date): Promise<void> {
  await db.state
    .insertInto('account')
    .values({ _user_id: userId, created_at: now })
    .onConflict((conflict) => conflict.column('_user_id').doNothing())
    .execute();
}

/** How often to look again: another process may take or release the account between our look and our attempt. */
const ATTEMPTS = 5;

/**
 * Takes the account for `processId` unless a living process owns it (docs/design/ownership.md, "Takeover"): reads the
 * row, then raises its fencing token by compare-and-set. The update waits for a transaction of the old owner that has
 * locked the row: seconds at most, by the transaction's bounds (database.ts). The new owner sees what that commits.
 * @param self this process: it knows at once that an owner on the same machine is dead
 * @throws AccountRetired; RangeError without the account's row; DatabaseUnavailable
 */
export async function takeAccount(
  db: Db,
  userId: string,
  processId: string,
  self: ProcessIdentity,
): Promise<TakeResult> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const account = await db.state
      .selectFrom('account')
      .select(['owner', 'token', 'state'])
      .where('_user_id', '=', userId)
      .executeTakeFirst();
    if (account === undefined) throw new RangeError(`account ${userId} has no row`);
    if (account.state === 'retired') throw new AccountRetired(userId);
    if (account.owner !== null && account.owner !== processId) {
      const by = await livingHolder(db, account.owner, self);
      if (by !== undefined) return { state: 'owned', by };
    }
    const token = (BigInt(account.token) + 1n).toString();
    const taken = await db.state
      .updateTable('account')
      .set({ owner: processId, token })
      .where('_user_id', '=', userId)
      .where('token', '=', account.token)
      .where(sql`owner`, 'is not distinct from', account.owner)
      .returning('token')
      .executeTakeFirst();
    if (taken !== undefined) return { state: 'taken', fence: { userId, owner: processId, token } };
  }
  throw new DatabaseUnavailable(`account ${userId} changes hands too often to be taken`);
}

/** Gives the account up, so that the next owner need not wait; changes nothing where another owns it by now. */
export async function releaseAccount(db: Db, fence: Fence): Promise<void> {
  await db.state
    .updateTable('account')
    .set({ owner: null })
    .where('_user_id', '=', fence.userId)
    .where('owner', '=', fence.owner)
    .where('token', '=', fence.token)
    .execute();
}

/** The living process that owns the account. */
export async function livingOwner(
  db: Db,
  userId: string,
  self: ProcessIdentity,
): Promise<Holder | undefined> {
  const account = await db.state
    .selectFrom('account')
    .select('owner')
    .where('_user_id', '=', userId)
    .executeTakeFirst();
  const owner = account?.owner ?? null;
  return owner === null ? undefined : livingHolder(db, owner, self);
}

/** The process `processId` if it lives, by its heartbeat and by what this machine knows of it. */
export async function livingHolder(
  db: Db,
  processId: string,
  self: ProcessIdentity,
): Promise<Holder | undefined> {
  return (await livingProcesses(db, self)).find((each) => each.processId === processId);
}

/** A heartbeat may be so late (ms) on a busy machine, and its process counts as prompt. */
const LATE_MS = 2_000;

/** A process that lives. */
export interface LivingProcess extends Holder {
  /** Of the program. */
  readonly version: string;
  /** User IDs; undefined: it takes no part in the sharing. */
  readonly serves: ReadonlySet<string> | undefined;
  /** Milliseconds until its heartbeat runs out if no other follows. */
  readonly leftMs: number;
  /** The last heartbeat that was due has come. */
  readonly prompt: boolean;
}

/** Processes that live, by their heartbeats and by what this machine knows of them; the oldest first. */
async function livingProcesses(db: Db, self: ProcessIdentity): Promise<LivingProcess[]> {
  type Row = Omit<Holder, 'here'> &
    Pick<ProcessIdentity, 'machine' | 'startedTicks'> & {
      version: string;
      serves: string[] | null;
      leftMs: number;
    };
  // After the clock went back, a living process beats again within 4 s; until then its token protects it.
  const { rows } = await db.sql<Row>`
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
      here: machine !== '' && machine === self.machine,
      serves: serves === null ? undefined : new Set(serves),
      prompt: row.leftMs >= HEARTBEAT.validFor - HEARTBEAT.beatEvery - LATE_MS,
    }));
}

/** The daemon's command: its processes carry out what other commands leave for them. */
export const DAEMON = 'start';

/** Whether a daemon runs on this mirror, whichever accounts it owns. */
export async function daemonLives(db: Db, identity: ProcessIdentity): Promise<boolean> {
  return (await livingProcesses(db, identity)).some(({ command }) => command === DAEMON);
}

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

/**
 * The accounts on which a process works. After the database went back, an account's row may name a process that has
 * given the account up. It lives, so nobody takes the account from it; and it does not work on the account. Or the row
 * names it no more, and the process, which has nothing to write at the moment, would not notice.
 */
export class OwnedAccounts {
  readonly #fences = new Map<string, Fence>();
  readonly #ends = new Map<Fence, () => void>();
  /** By account, the tokens under which a row named the process at the last look while it did not work. */
  #strays = new Map<string, string>();

  /** @param end ends the work on it, so that it is opened again; left out: the work's next write tells it */
  add(fence: Fence, end = (): void => {}): void {
    this.#fences.set(fence.userId, fence);
    this.#ends.set(fence, end);
  }

  remove(fence: Fence): void {
    this.#ends.delete(fence);
    if (this.#fences.get(fence.userId) === fence) this.#fences.delete(fence.userId);
  }

  /** Has the work on all accounts begin again: the clock stepped, which each one's own transaction is to notice. */
  async reopen(db: Db): Promise<void> {
    for (const [fence, end] of this.#ends) {
      await fenced(db, fence, () => Promise.resolve()).catch((error: unknown) => {
        if (!(error instanceof LeaseLost)) throw error;
      });
      end();
    }
  }

  /**
   * Gives up accounts whose row names the process while it does not work on them: in two looks in a row, since an
   * account that it has just taken may not be known here yet. And ends the work on those whose row names it no more.
   * @returns the accounts that were given up
   */
  async releaseStrays(db: Db, processId: string): Promise<string[]> {
    const worked = [...this.#ends];
    const own = db.state.selectFrom('account').select(['_user_id as userId', 'token']);
    const rows = await own.where('owner', '=', processId).execute();
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
    // One statement for all of them: the next heartbeat waits for it.
    const released = await db.sql<{ userId: string }>`
      update ${db.stateTable('account')} set owner = null
      where _user_id = any(${still.map(({ userId }) => userId)}::bigint[]) and owner = ${processId}
        and _user_id::text || ' ' || token::text = any(${still.map(named)}::text[])
      returning _user_id as "userId"`;
    return released.rows.map((row) => row.userId);
  }
}

/** An account under a token, as one text: an array has them in a condition that is the same on each node. */
function named({ userId, token }: Pick<Fence, 'userId' | 'token'>): string {
  return `${userId} ${token}`;
}
