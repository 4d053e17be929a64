import type { Db } from '../../db/connection/db.ts';
import { type Holder, livingHolder } from '../../db/ownership/lease.ts';
import type { ProcessIdentity } from '../../db/ownership/process-identity.ts';

/** The daemon's command: its processes carry out what other commands leave for them. */
export const DAEMON = 'start';

/**
 * Who sends an account's submissions now:
 * - `daemon`: one that owns the account, or lives and may take it
 * - `other`: a command that owns it for a while
 * - `nobody`
 */
export type Carrier =
  | { readonly kind: 'daemon'; readonly owns: boolean }
  | { readonly kind: 'other'; readonly holder: Holder }
  | { readonly kind: 'nobody' };

export async function carrierOf(db: Db, userId: string, identity: ProcessIdentity): Promise<Carrier> {
  const account = await db.state
    .selectFrom('account')
    .select('owner')
    .where('_user_id', '=', userId)
    .executeTakeFirst();
  const owner = account?.owner ?? undefined;
  const holder = owner === undefined ? undefined : await livingHolder(db, owner, identity);
  if (holder?.command === DAEMON) return { kind: 'daemon', owns: true };
  if (holder !== undefined) return { kind: 'other', holder };
  return (await daemonLives(db, identity)) ? { kind: 'daemon', owns: false } : { kind: 'nobody' };
}

/** Whether a daemon runs on this mirror, whichever accounts it owns. */
export async function daemonLives(db: Db, identity: ProcessIdentity): Promise<boolean> {
  const daemons = await db.state
    .selectFrom('process')
    .select('process_id')
    .where('command', '=', DAEMON)
    .execute();
  for (const { process_id: processId } of daemons) {
    if ((await livingHolder(db, processId, identity)) !== undefined) return true;
  }
  return false;
}
