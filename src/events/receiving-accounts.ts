import type { Db } from '../postgres/db.ts';
import { sql } from 'kysely';
import { MISMATCHES, type ReceivingAccounts, type StoredSecrets } from './registration.ts';
import { askedAtMost } from '@research-mirror/runtime/asked-at-most';
import type { Clock } from '@research-mirror/runtime/clock';
import { registrationState } from './webhook-store.ts';

export interface ReceivingAccountsOptions {
  readonly db: Db;
  readonly clock: Clock;
  /** Whether every configured key's owner is known: an ID that is not among the accounts is then none. */
  readonly allPinged: () => boolean;
  /** Keeps it out of all output from now on. */
  readonly hide: (secret: string) => void;
}

/** How old (ms) secrets may be. */
const CACHED_MS = 2_000;
/**
 * Least time (ms) between the starts of two readings of one account's secrets, so that not every forged delivery
 * becomes a query. Whoever asks for fresh secrets sooner waits for the next reading: one that began before a delivery
 * came may lack the secret that signed it, and a refusal is final.
 */
const FRESH_MS = 100;
/** How old (ms) the list of accounts may be that lacks an ID. */
const IDS_MS = 1_000;
/** A success is stored where the stored one is older than this (ms). */
const VERIFIED_MS = 60_000;

/** One reading of an account's registration. */
interface Snapshot {
  readonly secrets: Omit<StoredSecrets, 'now'>;
  /** The time of the reading, by the database's clock and by our monotonic one. */
  readonly at: Date;
  readonly readAt: number;
  /** Both include what this process has stored since. */
  verifiedAt: Date | undefined;
  mismatches: number;
}

/**
 * The accounts as receivers see them: any process may receive for all of them. Whatever arrives, this makes at most
 * one query a second for the IDs, ten for one account, and three writes between two genuine deliveries.
 */
export function receivingAccounts(options: ReceivingAccountsOptions): ReceivingAccounts {
  const { db, clock } = options;
  /** Each account's last reading; while it is under way all wait for it. */
  const readings = new Map<string, { readonly snapshot: Promise<Snapshot>; readonly startedAt: number }>();

  const place = askedAtMost(
    clock,
    async () => {
      // Where every owner was known before the reading, there are no other accounts.
      const missing = options.allPinged() ? ('none' as const) : ('unknown-yet' as const);
      return { ids: await accountIds(db), missing };
    },
    () => IDS_MS,
  );

  const databaseNow = ({ at, readAt }: Snapshot): Date => new Date(at.getTime() + clock.monotonic() - readAt);

  const read = (userId: string): Promise<Snapshot> => {
    const startedAt = clock.monotonic();
    const snapshot = readReceivingSnapshot(db, userId, startedAt).then((it) => {
      for (const stored of [it.secrets.current, it.secrets.previous])
        if (stored !== undefined) options.hide(stored.secret);
      return it;
    });
    const reading = { snapshot, startedAt };
    readings.set(userId, reading);
    snapshot.catch(() => {
      if (readings.get(userId) === reading) readings.delete(userId);
    });
    return snapshot;
  };

  /** @param after the reading began later than this, by the monotonic clock */
  const snapshotOf = async (userId: string, after = clock.monotonic() - CACHED_MS): Promise<Snapshot> => {
    const last = readings.get(userId);
    if (last === undefined) return read(userId);
    if (last.startedAt > after) return last.snapshot;
    const waitMs = last.startedAt + FRESH_MS - clock.monotonic();
    if (waitMs <= 0) return read(userId);
    await clock.sleep(waitMs);
    return snapshotOf(userId, after);
  };

  return {
    async secretsOf(userId, fresh) {
      if (!/^[1-9]\d{0,18}$/.test(userId)) return 'none';
      if (!readings.has(userId)) {
        const { ids, missing } = await place();
        if (!ids.has(userId)) return missing;
      }
      const last = await snapshotOf(userId, fresh ? clock.monotonic() : undefined);
      return { ...last.secrets, now: databaseNow(last) };
    },

    async verified(userId, secret) {
      const last = await snapshotOf(userId);
      if (last.secrets.current?.secret !== secret) return;
      const at = databaseNow(last);
      const { verifiedAt } = last;
      const recent = verifiedAt !== undefined && at.getTime() - verifiedAt.getTime() < VERIFIED_MS;
      if (recent && last.mismatches === 0) return;
      await storeSuccess(db, userId, secret, at);
      last.verifiedAt = at;
      last.mismatches = 0;
    },

    async mismatched(userId) {
      const last = await snapshotOf(userId);
      const { current } = last.secrets;
      if (current === undefined || last.mismatches >= MISMATCHES) return;
      last.mismatches += 1;
      await countMismatch(db, userId, current.secret);
    },
  };
}

/** Accounts, and owners of keys: a key's owner is known some moments before its account has a row. */
async function accountIds(db: Db): Promise<ReadonlySet<string>> {
  const rows = await db.state
    .selectFrom('api_key')
    .select('_user_id')
    .union(db.state.selectFrom('account').select('_user_id'))
    .execute();
  return new Set(rows.flatMap(({ _user_id: userId }) => userId ?? []));
}

async function readReceivingSnapshot(db: Db, userId: string, readAt: number): Promise<Snapshot> {
  const row = await db.state
    .selectFrom('registration')
    .select(['state', 'verified_at', 'mismatches', 'secret', 'secret_at as since'])
    .select(['previous_secret as previous', 'previous_until as until'])
    .select(sql<Date>`clock_timestamp()`.as('now'))
    .where('_user_id', '=', userId)
    .executeTakeFirst();
  const { secret = null, since = null, previous = null, until = null } = row ?? {};
  return {
    secrets: {
      state: registrationState(row?.state),
      current: secret === null || since === null ? undefined : { secret, since },
      previous: previous === null || until === null ? undefined : { secret: previous, until },
    },
    at: row?.now ?? new Date(0),
    readAt,
    verifiedAt: row?.verified_at ?? undefined,
    mismatches: row?.mismatches ?? 0,
  };
}

/** Stores that a delivery was verified. It names the secret, as all writes here do: it leaves alone a newer one. */
async function storeSuccess(db: Db, userId: string, secret: string, at: Date): Promise<void> {
  const success = db.state.updateTable('registration').set({ verified_at: at, mismatches: 0 });
  await success.where('_user_id', '=', userId).where('secret', '=', secret).execute();
}

async function countMismatch(db: Db, userId: string, secret: string): Promise<void> {
  await db.sql`
    update ${db.stateTable('registration')}
    set mismatches = mismatches + 1
    where _user_id = ${userId}::bigint and secret = ${secret} and mismatches < ${MISMATCHES}::integer`;
}
