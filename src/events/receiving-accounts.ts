import { sql } from 'kysely';
import { askedAtMost } from '@research-mirror/runtime/asked-at-most';
import type { Clock } from '@research-mirror/runtime/clock';
import type { Db } from '../postgres/db.ts';
import { MISMATCHES, registrationState } from './registration.ts';

/** Maximum age of cached secrets, ms. */
const CACHED_MS = 2_000;
/**
 * Least time between the starts of two readings of one account's secrets, ms: otherwise every forged delivery would
 * cause a query. A caller that needs fresh secrets sooner waits for the next reading: one that began before the
 * delivery arrived may lack the secret that signed it, and a refusal is final.
 */
const FRESH_MS = 100;
/** Maximum age of a list of accounts that lacks an ID, ms. */
const IDS_MS = 1_000;
/** Age from which a stored success is renewed, ms. */
const VERIFIED_MS = 60_000;

type Snapshot = Awaited<ReturnType<typeof readSnapshot>>;
export type ReceivingAccounts = ReturnType<typeof receivingAccounts>;
/** Secrets that verify an account's deliveries: keep them out of logs, errors and answers. */
export type StoredSecrets = Exclude<Awaited<ReturnType<ReceivingAccounts['secretsOf']>>, string>;

/**
 * The accounts as receivers see them: any process may receive for all of them. Causes at most one query a second for
 * the IDs, ten for one account, and three writes between two genuine deliveries.
 */
export function receivingAccounts(options: {
  readonly db: Db;
  readonly clock: Clock;
  /** Whether every configured key's owner is known: an unknown ID then belongs to no account. */
  readonly allPinged: () => boolean;
  /** Keeps a secret out of all output. */
  readonly hide: (secret: string) => void;
}) {
  const { db, clock, allPinged, hide } = options;
  /** Each account's last reading; while it is under way, all callers wait for it. */
  const readings = new Map<string, { readonly snapshot: Promise<Snapshot>; readonly startedAt: number }>();

  const place = askedAtMost(
    clock,
    async () => {
      // If every owner was known before the reading, there are no other accounts.
      const missing = allPinged() ? ('none' as const) : ('unknown-yet' as const);
      // A key's owner is known some moments before its account has a row.
      const owners = db.state.selectFrom('api_key').select('_user_id');
      const rows = await owners.union(db.state.selectFrom('account').select('_user_id')).execute();
      return { ids: new Set(rows.flatMap(({ _user_id: userId }) => userId ?? [])), missing };
    },
    () => IDS_MS,
  );

  const databaseNow = ({ at, readAt }: Snapshot): Date => new Date(at.getTime() + clock.monotonic() - readAt);

  const read = (userId: string): Promise<Snapshot> => {
    const startedAt = clock.monotonic();
    const snapshot = readSnapshot(db, userId, startedAt).then((it) => {
      for (const each of [it.secrets.current, it.secrets.previous]) if (each !== undefined) hide(each.secret);
      return it;
    });
    const reading = { snapshot, startedAt };
    readings.set(userId, reading);
    snapshot.catch(() => {
      if (readings.get(userId) === reading) readings.delete(userId);
    });
    return snapshot;
  };

  /** @param after the reading must have begun later, on the monotonic clock */
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
    /**
     * @param fresh false: the secrets may be two seconds old; true after a signature that did not match
     * @returns `none`: there is no such account; `unknown-yet`: no ping has named the accounts yet
     */
    async secretsOf(userId: string, fresh: boolean) {
      if (!/^[1-9]\d{0,18}$/.test(userId)) return 'none' as const;
      if (!readings.has(userId)) {
        const { ids, missing } = await place();
        if (!ids.has(userId)) return missing;
      }
      const last = await snapshotOf(userId, fresh ? clock.monotonic() : undefined);
      return { ...last.secrets, now: databaseNow(last) };
    },

    /** Notes that a delivery's signature was valid. */
    async verified(userId: string, secret: string): Promise<void> {
      const last = await snapshotOf(userId);
      if (last.secrets.current?.secret !== secret) return;
      const at = databaseNow(last);
      const { verifiedAt } = last;
      const recent = verifiedAt !== null && at.getTime() - verifiedAt.getTime() < VERIFIED_MS;
      if (recent && last.mismatches === 0) return;
      // All writes here name the secret: they leave a newer one alone.
      const success = db.state.updateTable('registration').set({ verified_at: at, mismatches: 0 });
      await success.where('_user_id', '=', userId).where('secret', '=', secret).execute();
      last.verifiedAt = at;
      last.mismatches = 0;
    },

    /** Notes a delivery in the service's form with a signature that matches no secret. */
    async mismatched(userId: string): Promise<void> {
      const last = await snapshotOf(userId);
      const { current } = last.secrets;
      if (current === undefined || last.mismatches >= MISMATCHES) return;
      last.mismatches += 1;
      await db.sql`
        update ${db.stateTable('registration')}
        set mismatches = mismatches + 1
        where _user_id = ${userId}::bigint and secret = ${current.secret} and mismatches < ${MISMATCHES}::integer`;
    },
  };
}

/** One reading of an account's registration. @param readAt its monotonic time */
async function readSnapshot(db: Db, userId: string, readAt: number) {
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
      /** The replaced secret, accepted before `until`: deliveries signed with it may still be under way. */
      previous: previous === null || until === null ? undefined : { secret: previous, until },
    },
    /** The database's time of the reading. */
    at: row?.now ?? new Date(0),
    readAt,
    // Both include what this process has stored since.
    verifiedAt: row?.verified_at ?? null,
    mismatches: row?.mismatches ?? 0,
  };
}
