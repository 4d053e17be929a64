import { hostname, userInfo } from 'node:os';
import { type Db, onlyRow } from '../../db/connection/db.ts';
import type { Operator } from '../../db/roles/operator-log.ts';
import { programVersion } from '../program-files.ts';

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
