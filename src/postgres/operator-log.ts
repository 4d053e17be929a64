import { hostname, userInfo } from 'node:os';
import { programVersion } from '../config/program.ts';
import { type Db, onlyRow } from './db.ts';

/** A person's login in Postgres, `user@host` of the system, and version of the program. Null: not known. */
export type Operator = Readonly<Record<'databaseUser' | 'osUser' | 'program', string | null>>;

/**
 * Stores what a person does, in the transaction that does it: a rollback leaves no row. `act` is the command (`accounts
 * retire`), `given` its arguments without secrets and keys of rows; without `userId` it is about no single account.
 */
export async function logAct(
  trx: Db,
  { databaseUser, osUser, program }: Operator,
  { act, userId = '0', given }: { readonly act: string; readonly userId?: string; readonly given: object },
): Promise<void> {
  await trx.sql`
    insert into ${trx.table('operator_log')} (_user_id, act, arguments, database_user, os_user, program)
    values (${userId}::bigint, ${act}, ${JSON.stringify(given)}::text::jsonb, ${databaseUser}, ${osUser}, ${program})`;
}

/** The person who runs this process. */
export async function operatorOn(db: Db): Promise<Operator> {
  const { databaseUser } = onlyRow(await db.sql<{ databaseUser: string }>`select session_user as "databaseUser"`);
  return { databaseUser, osUser: `${systemUser()}@${hostname()}`, program: programVersion() };
}

/** In a container the user may have a number only. */
function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.());
  }
}
