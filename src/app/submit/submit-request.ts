import { type Db, onlyRow } from '../../db/connection/db.ts';
import type { Operator } from '../../db/roles/operator-log.ts';
import { sql } from 'kysely';
import { isRefusedValue, sqlState } from '../../db/connection/sql-state.ts';
import { messageOf } from '@research-mirror/runtime/message';

/** A POST operation to be queued: arguments of `<schema>.submit`. */
export interface SubmitRequest {
  /** As the user typed it. */
  readonly operation: string;
  /** JSON text of an object. */
  readonly payload: string;
  readonly target: string | undefined;
  readonly userId: string | undefined;
  readonly idempotencyKey: string | undefined;
}

/** `<schema>.submit` or `<schema>.cancel_submission` refused. */
export class SubmitRefused extends Error {
  override readonly name = 'SubmitRefused';
  /** The request itself is wrong; false: it can't be done at the moment, or not with these settings. */
  readonly wrong: boolean;

  constructor(error: Error, wrong: boolean) {
    const { hint } = error as { readonly hint?: string };
    super(hint === undefined ? messageOf(error) : `${messageOf(error)}. ${hint}`, { cause: error });
    this.wrong = wrong;
  }
}

/** The queue is full, or off: the request is not wrong. */
const NOT_NOW = new Set(['RM014', 'RM015']);

/** Queues it by the SQL function that analysts call. @returns the submission's ID @throws SubmitRefused */
export async function queueSubmission(
  db: Db,
  { operation, payload, target, userId, idempotencyKey }: SubmitRequest,
): Promise<string> {
  return refusing(async () => {
    const found = await db.sql<{ id: string }>`
      select ${db.table('submit')}(${operation}, ${payload}::text::jsonb, ${target ?? null},
        ${userId ?? null}::bigint, ${idempotencyKey ?? null}) as id`;
    return onlyRow(found).id;
  });
}

/** Cancels a submission that has not been sent. @param id decimal digits @throws SubmitRefused */
export async function cancelSubmission(db: Db, id: string, by: Operator): Promise<void> {
  await refusing(() =>
    db.transaction(async (trx) => {
      // The function, which stores who did it, knows the login alone by itself.
      await trx.sql`
        select set_config('research_mirror.os_user', ${by.osUser}, true),
          set_config('research_mirror.program', ${by.program}, true)`;
      await trx.sql`select ${trx.table('cancel_submission')}(${id}::bigint)`;
    }),
  );
}

/** The account that is meant; undefined where that is not clear: the SQL function then says so. */
export async function accountMeant(db: Db, userId: string | undefined): Promise<string | undefined> {
  const all = db.state.selectFrom('account').select('_user_id').limit(2);
  // Compared as text: the user may have typed something that is no bigint.
  const named = userId === undefined ? all : all.where(sql`_user_id::text`, '=', userId);
  const accounts = await named.execute();
  return accounts.length === 1 ? accounts[0]?._user_id : undefined;
}

async function refusing<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    const state = sqlState(error);
    if (state === undefined || !(error instanceof Error)) throw error;
    if (state.startsWith('RM')) throw new SubmitRefused(error, !NOT_NOW.has(state));
    if (isRefusedValue(error)) throw new SubmitRefused(error, true);
    throw error;
  }
}
