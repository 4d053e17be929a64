import type { Db } from '../../db/connection/db.ts';
import type { Config } from '../../config/config.ts';
import { ownIdentity } from '../../db/ownership/process-identity.ts';
import { replayEvents } from '../../db/events/stored-events.ts';
import { wake } from '../../db/notify/wakeups.ts';
import type { HintedRow } from '../../model/hint.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import { daemonLives } from '../../db/ownership/lease.ts';

/** How often (ms) it looks what was read. */
const LOOK_MS = 250;
/** How long (ms) it waits: what is not read by then waits for something else, such as a stopped account. */
const PATIENCE_MS = 60_000;

/**
 * Replays stored events, and waits until the daemon has read once what they name. Without a daemon, or when it takes
 * too long, what they name stays due.
 * @param onProgress how many rows, and lists as a whole, the events name, and how many of them were read since
 * @returns the same; IDs that were `replayed`, one for each account that has the event, and that are `missing`; whether
 * a daemon runs, which reads them
 * @throws the signal's reason
 */
export async function replayAndFollow(
  { collections }: Config,
  db: Db,
  ids: readonly string[],
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  onProgress: (rows: number, read: number) => void,
) {
  const events = await replayEvents(db, ids, collections);
  await wake(db);
  const replayed = events.map(({ id }) => id);
  const daemon = await daemonLives(db, await ownIdentity());
  const all = events.flatMap(({ userId, rows }) => rows.map((row) => ({ userId, ...row })));
  const named = [...new Map(all.map((row) => [JSON.stringify(row), row])).values()];
  const rows = named.length;
  const until = clock.monotonic() + PATIENCE_MS;
  for (;;) {
    const read = rows - (await unread(db, named));
    onProgress(rows, read);
    if (!daemon || read === rows || clock.monotonic() > until)
      return { replayed, missing: ids.filter((id) => !replayed.includes(id)), rows, read, daemon };
    await clock.sleep(LOOK_MS, signal);
  }
}

type NamedRow = HintedRow & { readonly userId: string };

/** How many of the rows have not been read since: each reading removes a hint, or raises its step. */
async function unread(db: Db, rows: readonly NamedRow[]): Promise<number> {
  const column = (field: keyof NamedRow): string[] => rows.map((row) => row[field]);
  const { rows: found } = await db.sql<{ unread: string }>`
    select count(*) as unread from ${db.stateTable('hint')} as h
    join unnest(${column('userId')}::bigint[], ${column('collection')}::text[], ${column('parent')}::text[],
      ${column('key')}::text[]) as x (user_id, collection, parent, key)
      on h._user_id = x.user_id and h.collection = x.collection and h.parent = x.parent and h.key = x.key
    where h.step = 0`;
  return Number(found[0]?.unread ?? 0);
}
