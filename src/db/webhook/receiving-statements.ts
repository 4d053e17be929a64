import type { Db } from '../connection/db.ts';
import { sql } from 'kysely';
import { MISMATCHES } from '../../model/webhook/registration.ts';
import type { StoredSecrets } from '../../model/webhook/webhook-secrets.ts';
import { registrationState } from './webhook-store.ts';

/** One reading of an account's registration. */
export interface Snapshot {
  readonly secrets: Omit<StoredSecrets, 'now'>;
  /** The time of the reading, by the database's clock and by our monotonic one. */
  readonly at: Date;
  readonly readAt: number;
  /** Both include what this process has stored since. */
  verifiedAt: Date | undefined;
  mismatches: number;
}

/** Accounts, and owners of keys: a key's owner is known some moments before its account has a row. */
export async function accountIds(db: Db): Promise<ReadonlySet<string>> {
  const rows = await db.state
    .selectFrom('api_key')
    .select('_user_id')
    .union(db.state.selectFrom('account').select('_user_id'))
    .execute();
  return new Set(rows.flatMap(({ _user_id: userId }) => userId ?? []));
}

export async function readReceivingSnapshot(db: Db, userId: string, readAt: number): Promise<Snapshot> {
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
export async function storeSuccess(db: Db, userId: string, secret: string, at: Date): Promise<void> {
  const success = db.state.updateTable('registration').set({ verified_at: at, mismatches: 0 });
  await success.where('_user_id', '=', userId).where('secret', '=', secret).execute();
}

export async function countMismatch(db: Db, userId: string, secret: string): Promise<void> {
  await db.sql`
    update ${db.stateTable('registration')}
    set mismatches = mismatches + 1
    where _user_id = ${userId}::bigint and secret = ${secret} and mismatches < ${MISMATCHES}::integer`;
}
