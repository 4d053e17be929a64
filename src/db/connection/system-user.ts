import { userInfo } from 'node:os';
import { Unusable } from '@research-mirror/runtime/errors';

/**
 * The user that libpq takes where none is given.
 * @param name reads the name of this process's user; fails for a user ID without one, as in containers
 * @throws Unusable
 */
export function systemUser(name: () => string = () => userInfo().username): string {
  try {
    return name();
  } catch {
    throw new Unusable(
      `the database's user is not known, since user ID ${process.getuid?.() ?? ''} has no name on this machine: ` +
        'put the user into DATABASE_URL, or set PGUSER',
    );
  }
}
