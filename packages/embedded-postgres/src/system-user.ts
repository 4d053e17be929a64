import { readFile } from 'node:fs/promises';
import { Unusable } from '@research-mirror/runtime/errors';

/** A user of the operating system, from `/etc/passwd`. */
export interface SystemUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** Tried in this order: users that exist on most systems and have few rights. */
const USER_NAMES = ['postgres', '_postgres', 'nobody', 'daemon'];

/**
 * The user that runs PostgreSQL when this program runs as root, which PostgreSQL refuses. It must have a line in
 * `/etc/passwd`, for PostgreSQL's programs look it up.
 * @param owner uid of an existing database's owner: only that user can run its server
 * @throws Unusable when there is no such user
 */
export async function unprivilegedUser(owner: number | undefined): Promise<SystemUser> {
  const users = parsePasswd(await readFile('/etc/passwd', 'utf8'));
  const found =
    owner === undefined
      ? USER_NAMES.map((name) => users.find((user) => user.name === name && user.uid > 0)).find(
          (user) => user !== undefined,
        )
      : users.find((user) => user.uid === owner && user.uid > 0);
  if (found !== undefined) return found;
  throw new Unusable(
    owner === undefined
      ? `PostgreSQL refuses to run as root, and there is none of the users ${USER_NAMES.join(', ')} to run it as. ` +
          'Run research-mirror as an ordinary user, or set DATABASE_URL.'
      : owner === 0
        ? 'the embedded database belongs to root, as whom PostgreSQL refuses to run: give its folder to an ordinary user.'
        : `the embedded database belongs to user ID ${owner}, which /etc/passwd does not know: ` +
          'add that user, or give the folder to an existing one.',
  );
}

/** Lines `name:password:uid:gid:…`; macOS writes the uid of nobody as -2. */
export function parsePasswd(text: string): SystemUser[] {
  return text.split('\n').flatMap((line) => {
    const [name, , uid, gid] = line.split(':');
    if (name === undefined || name === '' || name.startsWith('#') || uid === undefined || gid === undefined) {
      return [];
    }
    return [{ name, uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 }];
  });
}
