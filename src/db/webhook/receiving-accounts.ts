import type { Db } from '../connection/db.ts';
import { sql } from 'kysely';
import { MISMATCHES } from '../../model/webhook/registration.ts';
import type { ReceivingAccounts, StoredSecrets } from '../../model/webhook/webhook-secrets.ts';
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

/** How old (ms) secrets and the list of accounts may be. */
const CACHED_MS = 2_000;
/**
 * Least time (ms) between the starts of two readings of one account's secrets, so that not every forged delivery
 * becomes a query. Whoever asks for fresh secrets sooner waits for the next reading: one that began before a delivery
 * came may lack the secret that signed it, and a refusal is final.
 */
const FRESH_MS = 100;
/** Least time (ms) between two readings of the list of accounts because of an ID that is not in it. */
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

/** The accounts' IDs from one reading. */
interface KnownIds {
  readonly ids: Promise<ReadonlySet<string>>;
  readonly startedAt: number;
  /** Every owner was known before the reading, so there are no other accounts. */
  readonly complete: boolean;
}

interface Entry {
  /** The valid reading; while it is under way all wait for it. */
  readonly reading: Promise<Snapshot>;
  readonly startedAt: number;
  /** The next reading, where somebody waits for it. */
  next: Promise<Snapshot> | undefined;
}

/**
 * The accounts as receivers see them: any process may receive for all of them. Whatever arrives, this makes at most
 * one query a second for the IDs, ten for one account, and three writes between two genuine deliveries.
 */
export function receivingAccounts(options: ReceivingAccountsOptions): ReceivingAccounts {
  const { db, clock } = options;
  const entries = new Map<string, Entry>();
  /** Hiding a secret again costs milliseconds where there are a thousand. */
  const hiddenOnes = new Set<string>();
  let known: KnownIds | undefined;

  const place = async (userId: string): Promise<'known' | 'none' | 'unknown-yet'> => {
    if (known !== undefined && (await known.ids).has(userId)) return 'known';
    const now = clock.monotonic();
    if (known === undefined || now - known.startedAt >= IDS_MS) {
      const ids = accountIds(db);
      const reading = { ids, startedAt: now, complete: options.allPinged() };
      known = reading;
      ids.catch(() => {
        if (known === reading) known = undefined;
      });
    }
    const { ids, complete } = known;
    if ((await ids).has(userId)) return 'known';
    return complete ? 'none' : 'unknown-yet';
  };

  const databaseNow = ({ at, readAt }: Snapshot): Date => new Date(at.getTime() + clock.monotonic() - readAt);

  const hidden = async (reading: Promise<Snapshot>): Promise<Snapshot> => {
    const { current, previous } = (await reading).secrets;
    for (const stored of [current, previous]) {
      if (stored === undefined || hiddenOnes.has(stored.secret)) continue;
      options.hide(stored.secret);
      hiddenOnes.add(stored.secret);
    }
    return reading;
  };

  const read = (userId: string): Promise<Snapshot> => {
    const startedAt = clock.monotonic();
    const reading = hidden(readReceivingSnapshot(db, userId, startedAt));
    const entry: Entry = { reading, startedAt, next: undefined };
    entries.set(userId, entry);
    reading.catch(() => {
      if (entries.get(userId) === entry) entries.delete(userId);
    });
    return reading;
  };

  const snapshot = (userId: string, fresh: boolean): Promise<Snapshot> => {
    const entry = entries.get(userId);
    const now = clock.monotonic();
    if (entry === undefined) return read(userId);
    const age = now - entry.startedAt;
    if (!fresh) return age >= CACHED_MS ? read(userId) : entry.reading;
    if (age >= FRESH_MS) return read(userId);
    entry.next ??= clock.sleep(FRESH_MS - age).then(() => read(userId));
    return entry.next;
  };

  return {
    async secretsOf(userId, fresh) {
      if (!/^[1-9]\d{0,18}$/.test(userId)) return 'none';
      const found = await place(userId);
      if (found !== 'known') return found;
      const last = await snapshot(userId, fresh);
      return { ...last.secrets, now: databaseNow(last) };
    },

    async verified(userId, secret) {
      const last = await snapshot(userId, false);
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
      const last = await snapshot(userId, false);
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
