import { hostname, userInfo } from 'node:os';
import { programVersion } from '../config/program.ts';
import { type Db, onlyRow } from './db.ts';

/**
 * A person, as their process tells it: their login in Postgres, `user@host` of the system, and the program's version.
 * null: not known.
 */
export type Operator = Readonly<Record<'databaseUser' | 'osUser' | 'program', string | null>>;

interface Act {
  /** The command that does it: `accounts retire`. */
  readonly act: string;
  /** Left out: it is about no single account. */
  readonly userId?: string;
  /** Its arguments: no secret, and no key of a row. */
  readonly given: object;
}

/** Stores what a person did, in the transaction that does it: one that is rolled back leaves no row. */
export async function logAct(
  trx: Db,
  { databaseUser, osUser, program }: Operator,
  { act, userId = '0', given }: Act,
): Promise<void> {
  await trx.sql`
    insert into ${trx.table('operator_log')} (_user_id, act, arguments, database_user, os_user, program)
    values (${userId}::bigint, ${act}, ${JSON.stringify(given)}::text::jsonb, ${databaseUser}, ${osUser}, ${program})`;
}

/** Who runs this process. */
export async function operatorOn(db: Db): Promise<Operator> {
  const { databaseUser } = onlyRow(
    await db.sql<{ databaseUser: string }>`select session_user as "databaseUser"`,
  );
  return { databaseUser, osUser: `${systemUser()}@${hostname()}`, program: programVersion() };
}

/** In a container the user may have a number alone. */
function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.());
  }
}
