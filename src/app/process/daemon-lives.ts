import type { Db } from '../../db/connection/db.ts';
import { livingProcesses } from '../../db/ownership/lease.ts';
import type { ProcessIdentity } from '../../db/ownership/process-identity.ts';

/** The daemon's command: its processes carry out what other commands leave for them. */
export const DAEMON = 'start';

/** Whether a daemon runs on this mirror, whichever accounts it owns. */
export async function daemonLives(db: Db, identity: ProcessIdentity): Promise<boolean> {
  return (await livingProcesses(db, identity)).some(({ command }) => command === DAEMON);
}
