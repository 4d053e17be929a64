import type { Db } from '../connection/db.ts';
import { sql } from 'kysely';
import { SUSPECT_MISMATCHES } from '../../model/webhook/registration.ts';
import { SIGNATURE_SCHEMES, type Scheme } from '../../model/webhook/signature-scheme.ts';
import type { ProvenSecret, StoredSecrets } from '../../model/webhook/webhook-secrets.ts';
import { registrationState } from './registration-state.ts';

/** One account's registration as it was read. */
export interface Snapshot {
  readonly secrets: Omit<StoredSecrets, 'now'>;
  /** Database's clock, and our monotonic one, at the reading. */
  readonly at: Date;
  readonly readAt: number;
  /** What has been stored since then by this process is added. */
  verifiedAt: Date | undefined;
  mismatches: number;
}

/** Accounts that have a row, and owners of keys: a key's owner is known some moments before its account has one. */
export async function accountIds(db: Db): Promise<ReadonlySet<string>> {
  const tables = db.state;
  const rows = await tables
    .selectFrom('api_key')
    .select('_user_id')
    .union(tables.selectFrom('account').select('_user_id'))
    .execute();
  return new Set(rows.flatMap(({ _user_id: userId }) => userId ?? []));
}

export async function readReceivingSnapshot(db: Db, userId: string, readAt: number): Promise<Snapshot> {
  const row = await db.state
    .selectFrom('registration')
    .select([
      'state',
      'secret',
      'secret_at',
      'scheme',
      'previous_secret',
      'previous_until',
      'previous_scheme',
      'verified_at',
      'mismatches',
      sql<Date>`clock_timestamp()`.as('now'),
    ])
    .where('_user_id', '=', userId)
    .executeTakeFirst();
  const { secret = null, secret_at: since = null } = row ?? {};
  const { previous_secret: previous = null, previous_until: until = null } = row ?? {};
  return {
    secrets: {
      state: registrationState(row?.state),
      current:
        secret === null || since === null ? undefined : { secret, since, scheme: schemeOf(row?.scheme) },
      previous:
        previous === null || until === null
          ? undefined
          : { secret: previous, until, scheme: schemeOf(row?.previous_scheme) },
    },
    at: row?.now ?? new Date(0),
    readAt,
    verifiedAt: row?.verified_at ?? undefined,
    mismatches: row?.mismatches ?? 0,
  };
}

/**
 * As all writes here it names the secret that it is about: one that came meanwhile is not touched. Neither is a pin that
 * another delivery, or process, has set since this one was judged: it may be a stronger one.
 */
export async function storeSuccess(
  db: Db,
  userId: string,
  { secret, pinned, pin }: ProvenSecret,
  at: Date,
): Promise<void> {
  await db.sql`
    update ${db.stateTable('registration')}
    set scheme = case when scheme is not distinct from ${pinned ?? null}::text then ${pin}::text else scheme end,
      verified_at = ${at}::timestamptz, mismatches = 0
    where _user_id = ${userId}::bigint and secret = ${secret}`;
}

export async function pinPrevious(
  db: Db,
  userId: string,
  { secret, pinned, pin }: ProvenSecret,
): Promise<void> {
  await db.sql`
    update ${db.stateTable('registration')} set previous_scheme = ${pin}
    where _user_id = ${userId}::bigint and previous_secret = ${secret}
      and previous_scheme is not distinct from ${pinned ?? null}::text`;
}

export async function countMismatch(db: Db, userId: string, secret: string): Promise<void> {
  await db.sql`
    update ${db.stateTable('registration')}
    set mismatches = mismatches + 1
    where _user_id = ${userId}::bigint and secret = ${secret} and mismatches < ${SUSPECT_MISMATCHES}::integer`;
}

function schemeOf(text: string | null | undefined): Scheme | undefined {
  return SIGNATURE_SCHEMES.find((scheme): scheme is Scheme => scheme === text && scheme !== 'auto');
}
